"""Convergence of chains of functionals: split rank-normalised R-hat, bulk and tail ESS."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from arviz_stats.base import array_stats
from scipy.special import ndtri
from scipy.stats import rankdata

from pyroclust.arrays import as_finite, unit_of
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT

__all__ = [
    "Convergence",
    "bulk_ess",
    "convergence",
    "ess",
    "have_converged_well",
    "max_rhat",
    "min_ess",
    "rhat",
    "rhats",
]


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

    @property
    def is_good(self) -> bool:
        """Whether R-hat is at most 1.01; not where it is undefined."""
        return bool(self.rhat <= GOOD_RHAT)


def rhat(x: np.ndarray) -> float:
    """Return the split rank-normalised R-hat of chains, or of the two halves of one chain.

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
    return float(rhats((x / unit_of(x))[..., None])[0])


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
    return float(bulk_ess((x / unit_of(x))[..., None])[0])


def rhats(x: np.ndarray) -> np.ndarray:
    """Return :func:`rhat` of many functionals at once.

    Shape:
        x: ``(chains, draws, F)``, finite; output: ``(F,)``.

    Example:
        >>> rhats(np.zeros((4, 100, 2))).tolist()
        [nan, nan]
    """
    still = (x == x[:, :1]).all((0, 1))
    found = np.where(still, np.inf, np.nan)
    found[_undefined(x)] = np.nan
    moving = ~still & ~_undefined(x)
    if moving.any():
        split = _one_chain if len(x) == 1 else _many_chains
        with np.errstate(all="ignore"):
            found[moving] = split(x[..., moving])
    return found


def bulk_ess(x: np.ndarray) -> np.ndarray:
    """Return :func:`ess` of many functionals at once.

    Shape:
        x: ``(chains, draws, F)``, finite; output: ``(F,)``.

    Example:
        >>> bulk_ess(np.zeros((4, 100, 2))).tolist()
        [nan, nan]
    """
    found = np.full(x.shape[-1], np.nan)
    varies = ~_undefined(x)
    if varies.any():
        with np.errstate(all="ignore"):
            found[varies] = array_stats.ess(x[..., varies], chain_axis=0, draw_axis=1, method="bulk")
    return found


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
    if not isinstance(values, Mapping):
        raise ValueError(
            f"values is of type {type(values).__name__}, expected a dictionary of (chains, draws): give "
            '{"x": x} for one functional'
        )
    return tuple(_row(name, _checked(x, name=str(name))) for name, x in values.items())


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


def have_converged_well(rows: Sequence[Convergence]) -> bool:
    """Return whether all functionals that vary have R-hat at most 1.01 and 400 effective draws or more.

    Example:
        >>> have_converged_well(convergence({"num_clusters": np.full((4, 100), 3.0)}))
        True
    """
    return max_rhat(rows) <= GOOD_RHAT and min_ess(rows) >= GOOD_ESS


def can_converge_well(num_draws: int) -> bool:
    """Return whether so many draws can be 400 effective ones, which :func:`have_converged_well` asks for.

    Example:
        >>> can_converge_well(399), can_converge_well(4000)
        (False, True)
    """
    return num_draws >= GOOD_ESS


def _many_chains(x: np.ndarray) -> np.ndarray:
    # The folded part is nan where deviations from the median are constant, as for a fair coin.
    scaled, folded = (
        array_stats.rhat(x, chain_axis=0, draw_axis=1, method=method) for method in ("z_scale", "folded")
    )
    return np.fmax(scaled, folded)


def _one_chain(x: np.ndarray) -> np.ndarray:
    """The same of the two halves of one chain, for which arviz_stats has no number."""
    half = x.shape[1] // 2
    halves = np.concatenate([x[:, :half], x[:, -half:]])
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.fmax(*(_ratio(_rank_normal(part)) for part in (halves, folded)))


def _rank_normal(x: np.ndarray) -> np.ndarray:
    ranks = rankdata(x.reshape(-1, x.shape[-1]), axis=0).reshape(x.shape)
    return ndtri((ranks - 0.375) / (x.shape[0] * x.shape[1] + 0.25))


def _ratio(x: np.ndarray) -> np.ndarray:
    within, between = x.var(1, ddof=1).mean(0), x.mean(1).var(0, ddof=1)
    ratio = np.sqrt(between / within + (x.shape[1] - 1) / x.shape[1])
    return np.where(within > 0, ratio, np.nan)


def _row(name: str, x: np.ndarray) -> Convergence:
    unit = unit_of(x)
    x = x / unit
    tail = float("nan")
    if not _undefined(x[..., None])[0]:
        with np.errstate(all="ignore"):
            tail = float(array_stats.ess(x, method="tail", prob=(0.05, 0.95)))
    constant = bool((x == x.flat[0]).all())
    mean, sd = (unit * float(one) for one in (x.mean(), x.std()))
    return Convergence(name, mean, sd, rhat(x), ess(x), tail, constant)


def _checked(x: np.ndarray, *, name: str = "x") -> np.ndarray:
    x = as_finite(name, x)
    if x.ndim != 2 or x.size == 0:
        raise ValueError(f"{name} has shape {x.shape}, expected (chains, draws)")
    return x


def _undefined(x: np.ndarray) -> np.ndarray:
    return (x.shape[1] < 4) | (x == x[:1, :1]).all((0, 1))
