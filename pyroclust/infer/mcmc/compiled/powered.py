"""Compiled functions of a family whose likelihood is raised to a power."""

from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions.compiled.protocol import (
    implements,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)

__all__ = ["Powered"]


class Powered(NamedTuple):
    """A family whose every density is raised to a power, which may change from step to step.

    Attributes:
        hyper: hyperparameters of the base.
        base: a family.
        power: ``(1,)``.
    """

    hyper: np.ndarray
    base: Any
    power: np.ndarray


@implements(tabulate, Powered)
def _tabulate(family: Any) -> None:
    tabulate(family.base)


@implements(refresh, Powered)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    refresh(family.base, sums, slot, size)


@implements(log_predictive, Powered)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    return family.power[0] * log_predictive(family.base, point, slot, size)


@implements(log_predictive_without, Powered)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    return family.power[0] * log_predictive_without(family.base, point, slot, size)


@implements(log_marginal, Powered)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    return family.power[0] * log_marginal(family.base, sums, slot, size)
