"""Convergence of chains of functionals: split rank-normalised R-hat, bulk and tail ESS."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pyroclust.core.numbers import as_finite, overflow_scale
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT


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
    """Return the split rank-normalised R-hat of chains ``(chains, draws)``: 1 at convergence.

    nan for a constant, fewer than four draws a chain, or halves that each stand still; inf for chains that
    each stand still at different values.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> rhat(np.random.default_rng(0).standard_normal((4, 500))) < 1.01
        True
    """
    x = _checked(x)
    return float(rhats_and_ess((x / overflow_scale(x))[..., None])[0][0])


def ess(x: np.ndarray) -> float:
    """Return the bulk effective sample size of chains ``(chains, draws)``; nan where it is undefined.

    Example:
        >>> ess(np.random.default_rng(0).standard_normal((4, 500))) > 1500
        True
    """
    x = _checked(x)
    return float(rhats_and_ess((x / overflow_scale(x))[..., None])[1][0])


def rhats_and_ess(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`rhat` and :func:`ess` of many functionals at once."""
    undefined, still = _undefined(x), (x == x[:, :1]).all((0, 1))
    ratios = np.where(still & ~undefined, np.inf, np.nan)
    effective = np.full(x.shape[-1], np.nan)
    if not undefined.all():
        halves = _halves(x[..., ~undefined])
        scores = normal_scores(halves)
        effective[~undefined] = _effective(scores)
        moving = ~still[~undefined]
        if moving.any():
            halves = halves[..., moving]
            folded = normal_scores(np.abs(halves - np.median(halves, axis=(0, 1))))
            # The folded part is nan where deviations from the median are constant, as for a fair coin.
            both = (_ratio(part, is_one_chain=len(x) == 1) for part in (scores[..., moving], folded))
            ratios[~undefined & ~still] = np.fmax(*both)
    return ratios, effective


def convergence(values: Mapping[str, np.ndarray]) -> tuple[Convergence, ...]:
    """Return one row of convergence figures a functional, from chains ``(chains, draws)`` by name.

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
    """Return the largest R-hat of the functionals that vary; 1 when none does, inf where one is undefined."""
    found = [row.rhat for row in rows if not row.constant]
    return max((math.inf if math.isnan(value) else value for value in found), default=1.0)


def min_ess(rows: Sequence[Convergence]) -> float:
    """Return the fewest bulk effective draws of the functionals that vary; inf when none does."""
    found = [row.ess_bulk for row in rows if not row.constant]
    return min((0.0 if math.isnan(value) else value for value in found), default=math.inf)


def have_converged_well(rows: Sequence[Convergence]) -> bool:
    """Return whether all functionals that vary have R-hat at most 1.01 and 400 effective draws or more."""
    return max_rhat(rows) <= GOOD_RHAT and min_ess(rows) >= GOOD_ESS


def can_converge_well(num_draws: int) -> bool:
    """Return whether so many draws can be 400 effective ones, which :func:`have_converged_well` asks for."""
    return num_draws >= GOOD_ESS


def normal_scores(x: np.ndarray) -> np.ndarray:
    """Replace numbers by the normal quantiles of their ranks; equal ones share the mean of their ranks."""
    flat = x.reshape(-1, x.shape[-1])
    ranks = np.empty(flat.shape)
    for column, rank in zip(flat.T, ranks.T, strict=True):
        order = column.argsort()
        rising = column[order]
        first = np.flatnonzero(np.r_[True, rising[1:] != rising[:-1]])
        size = np.diff(first, append=len(flat))
        rank[order] = np.repeat(first + (size + 1) / 2, size)
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(x.shape)


def _halves(x: np.ndarray) -> np.ndarray:
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _ratio(x: np.ndarray, *, is_one_chain: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        within, between = x.var(1, ddof=1).mean(0), x.mean(1).var(0, ddof=1)
        ratio = np.sqrt(between / within + (x.shape[1] - 1) / x.shape[1])
    return np.where(within > 0, ratio, np.nan) if is_one_chain else ratio


def _effective(x: np.ndarray) -> np.ndarray:
    """Return effective draws of the means of functionals, by Geyer's initial monotone sequences."""
    chains, draws, _ = x.shape
    length = 1 << (2 * draws - 1).bit_length()
    power = (np.abs(np.fft.rfft(x - x.mean(1, keepdims=True), length, axis=1)) ** 2).mean(0)
    covariance = np.fft.irfft(power, length, axis=0)[:draws] / draws
    variance = covariance[0] * draws / (draws - 1)
    total = covariance[0] + (x.mean(1).var(0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(all="ignore"):
        correlation = 1 - (variance - covariance) / total
    correlation[0] = 1.0
    pairs = correlation[: draws // 2 * 2].reshape(-1, 2, x.shape[-1]).sum(1)
    # The sums of pairs that count are those before the first that is not positive; of that one, or of the
    # last, the even lag counts where it is positive, and in the last one always.
    last = max(0, (draws - 3) // 2)
    stops = pairs[: last + 1] <= 0
    stops[last] = True
    stop, every = stops.argmax(0), np.arange(x.shape[-1])
    even = correlation[2 * stop, every]
    even = np.where((even > 0) | (pairs[stop, every] >= 0), even, 0.0)
    falling = np.minimum.accumulate(pairs[: last + 1])
    counted = np.where(np.arange(last + 1)[:, None] < stop, falling, 0.0).sum(0)
    size = chains * draws
    found = size / np.maximum(2 * counted + even - 1, 1 / np.log10(size))
    return np.where(np.ptp(x, axis=(0, 1)) < np.finfo(float).resolution, size, found)


def _row(name: str, x: np.ndarray) -> Convergence:
    unit = overflow_scale(x)
    x = x / unit
    ratio, bulk = rhats_and_ess(x[..., None])
    tail = float("nan")
    if not _undefined(x[..., None])[0]:
        beyond = x[..., None] <= np.quantile(x, (0.05, 0.95))
        tail = float(_effective(_halves(beyond.astype(np.float64))).min())
    constant = bool((x == x.flat[0]).all())
    mean, sd = (unit * float(one) for one in (x.mean(), x.std()))
    return Convergence(name, mean, sd, float(ratio[0]), float(bulk[0]), tail, constant)


def _checked(x: np.ndarray, *, name: str = "x") -> np.ndarray:
    x = as_finite(name, x)
    if x.ndim != 2 or x.size == 0:
        raise ValueError(f"{name} has shape {x.shape}, expected (chains, draws)")
    return x


def _undefined(x: np.ndarray) -> np.ndarray:
    return (x.shape[1] < 4) | (x == x[:1, :1]).all((0, 1))
