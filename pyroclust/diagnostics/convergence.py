"""Convergence of chains of functionals: split rank-normalised R-hat, bulk and tail ESS."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from arviz_stats.base import array_stats

__all__ = ["Convergence", "convergence", "ess", "max_rhat", "min_ess", "rhat"]


@dataclass(frozen=True)
class Convergence:
    """How well chains agree on one functional.

    Attributes:
        name: of the functional.
        mean: over all draws, in the functional's unit.
        sd: standard deviation over all draws.
        rhat: split rank-normalised R-hat; nan where undefined (constant, or fewer than four draws).
        ess_bulk: effective draws for the centre; nan where undefined.
        ess_tail: effective draws for the 5 % and 95 % quantiles, the fewer; nan where undefined.
        constant: whether every draw has the same value: R-hat and ESS then say nothing.
    """

    name: str
    mean: float
    sd: float
    rhat: float
    ess_bulk: float
    ess_tail: float
    constant: bool


def rhat(x: np.ndarray) -> float:
    """Return the split rank-normalised R-hat of chains.

    Shape:
        x: ``(chains, draws)``; output: a number, 1 at convergence; nan for a constant, fewer than four draws
        a chain or halves that each stand still, inf for chains that each stand still at different values.

    Raises:
        ValueError: if ``x`` is not a finite matrix.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> rhat(np.random.default_rng(0).standard_normal((4, 500))) < 1.01
        True
    """
    x = _checked(x)
    if _undefined(x):
        return float("nan")
    if (x == x[:, :1]).all():
        return float("inf")
    with np.errstate(all="ignore"):
        # The folded part is nan where deviations from the median are constant, as for a fair coin.
        scaled, folded = (float(array_stats.rhat(x, method=method)) for method in ("z_scale", "folded"))
    return float(np.fmax(scaled, folded))


def ess(x: np.ndarray) -> float:
    """Return the bulk effective sample size of chains.

    Shape:
        x: ``(chains, draws)``; output: a number of draws; nan for a constant or fewer than
        four draws a chain.

    Raises:
        ValueError: if ``x`` is not a finite matrix.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> ess(np.random.default_rng(0).standard_normal((4, 500))) > 1500
        True
    """
    x = _checked(x)
    if _undefined(x):
        return float("nan")
    with np.errstate(all="ignore"):
        return float(array_stats.ess(x, method="bulk"))


def convergence(values: Mapping[str, np.ndarray]) -> tuple[Convergence, ...]:
    """Return one row of convergence figures a functional.

    Shape:
        values: name -> ``(chains, draws)``.

    Raises:
        ValueError: if one of the functionals is not a finite matrix.

    Example:
        >>> convergence({"num_clusters": np.full((4, 100), 3.0)})[0].constant
        True
    """
    return tuple(_row(name, _checked(x)) for name, x in values.items())


def max_rhat(rows: Sequence[Convergence]) -> float:
    """Return the largest R-hat of the functionals that vary; 1 when none does, inf where one is undefined.

    Example:
        >>> max_rhat(convergence({"num_clusters": np.full((4, 100), 3.0)}))
        1.0
    """
    found = [row.rhat for row in rows if not row.constant]
    return max((math.inf if math.isnan(value) else value for value in found), default=1.0)


def min_ess(rows: Sequence[Convergence]) -> float:
    """Return the fewest bulk effective draws of the functionals that vary; inf when none does.

    Example:
        >>> min_ess(convergence({"num_clusters": np.full((4, 100), 3.0)}))
        inf
    """
    found = [row.ess_bulk for row in rows if not row.constant]
    return min((0.0 if math.isnan(value) else value for value in found), default=math.inf)


def _row(name: str, x: np.ndarray) -> Convergence:
    tail = float("nan")
    if not _undefined(x):
        with np.errstate(all="ignore"):
            tail = float(array_stats.ess(x, method="tail", prob=(0.05, 0.95)))
    constant = bool((x == x.flat[0]).all())
    return Convergence(name, float(x.mean()), float(x.std()), rhat(x), ess(x), tail, constant)


def _checked(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or x.size == 0:
        raise ValueError(f"x has shape {x.shape}, expected (chains, draws)")
    if not np.isfinite(x).all():
        raise ValueError("x has values that are not finite")
    return x


def _undefined(x: np.ndarray) -> bool:
    return x.shape[1] < 4 or bool((x == x.flat[0]).all())
