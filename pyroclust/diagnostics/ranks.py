"""Simulation-based calibration: ranks of true values among draws, and whether they are uniform."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from pyroclust.core.machine import check_memory
from pyroclust.core.messages import listed
from pyroclust.core.numbers import as_numbers, check_count, check_number, check_seed, whole_numbers

_LEAST_EXPECTED = 5.0
_BISECTIONS = 40
# Both tails, and whether they are large enough.
_BYTES_A_COUNT = 40


@dataclass(frozen=True)
class Uniformity:
    """Two tests of one set of counts.

    Attributes:
        chi_square: p-value of Pearson's chi-square; sees any bin that is out of line.
        ecdf: p-value of the largest deviation of the empirical distribution function, all thresholds at
            once; sees shifts and wrong widths, which are small in every single bin.
    """

    chi_square: float
    ecdf: float

    @property
    def p_value(self) -> float:
        """Both tests in one, by Bonferroni."""
        return min(1.0, 2 * min(self.chi_square, self.ecdf))


def uniformity(counts: np.ndarray) -> Uniformity:
    r"""Test whether counts in equal bins, ``(num_bins,)``, are those of independent uniform numbers.

    The test of the ECDF takes the threshold z that is least likely by the binomial law of the count below it,

    .. math:: \gamma = \min_z 2 \min(P(R_z \le r_z), P(R_z \ge r_z)), \qquad R_z \sim \text{Bin}(n, z)

    and its p-value is the exact probability of a smaller or equal gamma anywhere. Cost O(n^2) a bin at most.

    Raises:
        ValueError: if there are fewer than two bins, or no or negative counts.

    References:
        Säilynoja, Bürkner & Vehtari (2022), Graphical test for discrete uniformity and its applications in
        goodness-of-fit evaluation and multiple sample comparison. https://doi.org/10.1007/s11222-022-10090-6

    Example:
        >>> uniformity(np.array([25, 25, 25, 25])).ecdf
        1.0
        >>> uniformity(np.array([40, 10, 10, 40])).chi_square < 0.001
        True
    """
    counts = whole_numbers("counts", counts)
    if counts.ndim != 1 or len(counts) < 2 or (counts < 0).any() or counts.sum() < 1:
        raise ValueError(
            f"counts has shape {counts.shape} and sum {counts.sum()}, expected non-negative counts in at "
            "least two bins"
        )
    total = int(counts.sum())
    check_memory(
        _BYTES_A_COUNT * (total + 1) * len(counts),
        f"counts of {total} in {len(counts)} bins: probabilities of all counts",
        remedy="take fewer bins or values",
    )
    p_value = ecdf_test(counts.cumsum()[:-1], _inner(len(counts)), num_values=total)
    return Uniformity(float(scipy.stats.chisquare(counts).pvalue), p_value)


def ecdf_test(below: np.ndarray, thresholds: np.ndarray, *, num_values: int) -> float:
    """Return the p-value of the largest deviation of an ECDF from uniformity at given thresholds."""
    lower = scipy.stats.binom.cdf(below, num_values, thresholds)
    upper = scipy.stats.binom.sf(below - 1, num_values, thresholds)
    gamma = float(min(1.0, 2 * np.minimum(lower, upper).min()))
    # Strictly inside: gamma itself counts as a deviation. Its own rounding must not.
    inside = _coverage(num_values, thresholds, gamma * (1 + 1e-9))
    return float(np.clip(1 - inside, 0, 1))


def ecdf_band(num_values: int, num_bins: int, *, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return a band that contains the whole ECDF of uniform numbers, where m equal bins meet, at a level."""
    return threshold_band(num_values, _inner(num_bins), level=level)


def threshold_band(
    num_values: int, thresholds: np.ndarray, *, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return a band that contains the ECDF of uniform numbers at all thresholds with a given probability."""
    level = check_number("level", level, above=0, below=1)
    low, high = _band(num_values, tuple(thresholds.tolist()), level)
    # The caller may write into what it gets.
    return low.copy(), high.copy()


def goodness_of_fit(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the p-value of Pearson's chi-square for counts with given probabilities."""
    if counts[probabilities == 0].any():
        return 0.0
    expected = counts.sum() * probabilities / probabilities.sum()
    groups = _groups(expected)
    observed, wanted = (np.bincount(groups, weights=row) for row in (counts, expected))
    return 1.0 if len(wanted) < 2 else float(scipy.stats.chisquare(observed, wanted).pvalue)


def _groups(expected: np.ndarray) -> np.ndarray:
    group, mass, found = 0, 0.0, []
    rest = expected.sum() - expected.cumsum()
    for value, after in zip(expected, rest, strict=True):
        found.append(group)
        mass += value
        if mass >= _LEAST_EXPECTED and after >= _LEAST_EXPECTED:
            group, mass = group + 1, 0.0
    return np.array(found)


def _inner(num_bins: int) -> np.ndarray:
    """Return where equal bins meet."""
    return np.arange(1, num_bins) / num_bins


@lru_cache(maxsize=64)
def _band(num_values: int, levels: tuple[float, ...], level: float) -> tuple[np.ndarray, np.ndarray]:
    thresholds = np.array(levels)
    small, large = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (small + large) / 2
        if _coverage(num_values, thresholds, middle) >= level:
            small = middle
        else:
            large = middle
    low, high = _limits(num_values, thresholds, small)
    return low / num_values, high / num_values


def _limits(num_values: int, thresholds: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest counts below each threshold whose tail probabilities exceed gamma."""
    every = np.arange(num_values + 1)[:, None]
    lower = 2 * scipy.stats.binom.cdf(every, num_values, thresholds) > gamma
    upper = 2 * scipy.stats.binom.sf(every - 1, num_values, thresholds) > gamma
    inside = lower & upper
    # argmax finds the first: from below, and from above.
    return inside.argmax(0), num_values - inside[::-1].argmax(0)


def _coverage(num_values: int, thresholds: np.ndarray, gamma: float) -> float:
    """Return the probability that every count below a threshold lies within the limits of gamma."""
    if gamma >= 1:
        return 0.0
    low, high = _limits(num_values, thresholds, gamma)
    log_factorials = scipy.special.gammaln(np.arange(num_values + 1) + 1.0)
    reached, mass, passed = np.zeros(1, dtype=np.int64), np.ones(1), 0.0
    for least, most, threshold in zip(low, high, thresholds, strict=True):
        following = np.arange(least, most + 1)
        # A value that is not yet below is uniform on what is left.
        share = (threshold - passed) / (1 - passed)
        added, left = following[:, None] - reached, num_values - reached
        # The binomial law of those that are added, several times as fast as scipy's.
        log_choices = log_factorials[left] - log_factorials[added] - log_factorials[left - added]
        log_pmf = log_choices + added * np.log(share) + (left - added) * np.log1p(-share)
        mass = np.exp(np.where(added >= 0, log_pmf, -np.inf)) @ mass
        reached, passed = following, threshold
    return float(mass.sum())


def rank_statistics(
    truth: np.ndarray, draws: np.ndarray, *, seed: int, uniforms: np.ndarray | None = None
) -> np.ndarray:
    """Return the rank of each true value among its draws, ties broken at random."""
    truth, draws = as_numbers("truth", truth), as_numbers("draws", draws)
    if truth.ndim != 1 or draws.ndim != 2 or draws.shape[1:] != truth.shape:
        raise ValueError(
            f"truth and draws have shapes {truth.shape} and {draws.shape}, expected (B,) and (S, B)"
        )
    if np.isnan(truth).any() or np.isnan(draws).any():
        raise ValueError("truth or draws hold nan, expected numbers that can be ranked")
    choices = (draws == truth).sum(0) + 1
    below = (draws < truth).sum(0)
    if uniforms is None:
        return below + np.random.default_rng(check_seed(seed)).integers(choices)
    found = as_numbers("uniforms", uniforms)
    if found.shape != truth.shape or not ((found >= 0) & (found < 1)).all():
        raise ValueError(f"uniforms has shape {found.shape}, expected {truth.shape} of numbers in [0, 1)")
    kept = np.asarray(uniforms)
    uniforms = kept if kept.dtype.kind == "f" else found
    # In the precision of the uniform numbers, where no product reaches the number of choices.
    return below + (uniforms * choices.astype(uniforms.dtype)).astype(np.int64)


def rank_counts(ranks: np.ndarray, *, num_draws: int, num_bins: int) -> np.ndarray:
    """Count ranks in equal bins of 0, ..., S."""
    if (num_draws + 1) % num_bins:
        raise ValueError(
            f"num_bins is {num_bins}, expected a divisor of the {num_draws + 1} possible ranks: "
            "bins must be equally probable"
        )
    return np.bincount(ranks * num_bins // (num_draws + 1), minlength=num_bins)


@dataclass(frozen=True)
class SbcRow:
    """The ranks of one functional."""

    name: str
    counts: np.ndarray
    chi_square: float
    ecdf: float
    p_value: float
    mean_rank: float

    def __repr__(self) -> str:
        return f"SbcRow({self.name}: p = {self.p_value:.2g}, mean rank {self.mean_rank:.3f})"


@dataclass(frozen=True)
class SimulationBasedCalibration:
    """The ranks of all functionals.

    Attributes:
        rows: one a functional, in the order given.
        ranks: of the truth, 0, ..., S, ``(B,)`` by functional.
        num_draws: S.
        num_datasets: B.
    """

    rows: tuple[SbcRow, ...]
    ranks: Mapping[str, np.ndarray]
    num_draws: int
    num_datasets: int

    def __repr__(self) -> str:
        size = f"{len(self.rows)} functionals, {self.num_datasets} data sets"
        return f"SimulationBasedCalibration({size}: p = {self.p_value:.2g}, worst {self.worst.name})"

    @property
    def p_value(self) -> float:
        """All functionals in one, by Bonferroni: valid however they depend on each other."""
        return min(1.0, len(self.rows) * min(row.p_value for row in self.rows))

    @property
    def worst(self) -> SbcRow:
        """The functional with the smallest p-value."""
        return min(self.rows, key=lambda row: row.p_value)


def sbc(
    truth: Mapping[str, np.ndarray],
    draws: Mapping[str, np.ndarray],
    *,
    seed: int,
    num_bins: int = 20,
    uniforms: Mapping[str, np.ndarray] | None = None,
) -> SimulationBasedCalibration:
    r"""Rank each functional of the truth among the same functional of the draws, and test the ranks.

    .. math::
        c \sim p(c),\; x \sim p(x \mid c),\; c_1, \ldots, c_S \sim q(c \mid x)
        \;\Rightarrow\; \#\{s: f(c_s, x) < f(c, x)\} + \text{random ties} \sim U\{0, \ldots, S\}
        \quad\text{if } q(c \mid x) = p(c \mid x)

    One functional is one view: draws from the prior pass in every functional that does not look at the data.

    Args:
        truth: functionals of the simulated partition of each data set, ``(B,)`` by name.
        draws: the same of its posterior draws, ``(S, B)`` by name.
        seed: of the ties, which are broken for each functional anew.
        num_bins: equal bins of the ranks; a divisor of S + 1.
        uniforms: numbers in [0, 1) that break the ties instead of the seed's, ``(B,)`` by name.

    Raises:
        ValueError: if the names or shapes differ, or the bins are not equal.

    References:
        Talts et al. (2018), Validating Bayesian inference algorithms with simulation-based calibration.
        https://arxiv.org/abs/1804.06788
        Modrák et al. (2023), Simulation-based calibration checking for Bayesian computation: the choice of
        test quantities shapes sensitivity. https://doi.org/10.1214/23-BA1404

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth, draws = rng.standard_normal(500), rng.standard_normal((99, 500))
        >>> sbc({"x": truth}, {"x": draws}, seed=0).p_value > 0.01
        True
        >>> sbc({"x": truth}, {"x": 0.5 * draws}, seed=0).p_value < 0.01
        True
    """
    for name, given in {"truth": truth, "draws": draws, "uniforms": uniforms}.items():
        if not isinstance(given, Mapping) and not (name == "uniforms" and given is None):
            raise ValueError(
                f"{name} is of type {type(given).__name__}, expected a dictionary of functionals by name"
            )
    if set(truth) != set(draws) or not truth or (uniforms is not None and not set(truth) <= set(uniforms)):
        theirs = listed(map(str, draws)) or "none"
        raise ValueError(
            f"truth has the functionals {listed(map(str, truth)) or 'none'} and draws {theirs}, expected the "
            "same, at least one, also in uniforms where given"
        )
    num_bins = check_count("num_bins", num_bins)
    seeds = np.random.SeedSequence(check_seed(seed)).generate_state(len(truth))
    ranks = {
        name: rank_statistics(
            values, draws[name], seed=int(own), uniforms=None if uniforms is None else uniforms[name]
        )
        for (name, values), own in zip(truth.items(), seeds, strict=True)
    }
    shapes = {np.shape(one) for one in draws.values()}
    if len(shapes) > 1:
        raise ValueError(f"the functionals of the draws have shapes {sorted(shapes)}, expected equal ones")
    num_draws, num_datasets = shapes.pop()
    rows = tuple(_row(name, found, num_draws, num_bins) for name, found in ranks.items())
    return SimulationBasedCalibration(rows, ranks, num_draws, num_datasets)


def _row(name: str, ranks: np.ndarray, num_draws: int, num_bins: int) -> SbcRow:
    counts = rank_counts(ranks, num_draws=num_draws, num_bins=num_bins)
    found = uniformity(counts)
    mean = float(ranks.mean() / num_draws) if num_draws else 0.5
    return SbcRow(name, counts, found.chi_square, found.ecdf, found.p_value, mean)
