"""The compiled family of components whose parameters do not integrate out: it knows nothing of the data."""

from typing import Any, NamedTuple

import numpy as np

from pyroclust.distributions import PyroComponent
from pyroclust.distributions.compiled.protocol import (
    compile_family,
    implements,
    log_marginal,
    log_predictive,
    log_predictive_without,
    refresh,
    tabulate,
)

__all__ = ["Uncollapsed"]


class Uncollapsed(NamedTuple):
    """No likelihood: compiled moves beside an uncollapsed sampler may update the prior alone."""

    hyper: np.ndarray


@compile_family.register
def _(component: PyroComponent, data: np.ndarray, num_slots: int) -> Uncollapsed:
    return Uncollapsed(np.zeros(0))


@implements(tabulate, Uncollapsed)
def _tabulate(family: Any) -> None:
    pass


@implements(refresh, Uncollapsed)
def _refresh(family: Any, sums: np.ndarray, slot: int, size: int) -> None:
    pass


@implements(log_predictive, Uncollapsed)
def _log_predictive(family: Any, point: int, slot: int, size: int) -> float:
    return 0.0


@implements(log_predictive_without, Uncollapsed)
def _log_predictive_without(family: Any, point: int, slot: int, size: int) -> float:
    return 0.0


@implements(log_marginal, Uncollapsed)
def _log_marginal(family: Any, sums: np.ndarray, slot: int, size: int) -> float:
    return 0.0
