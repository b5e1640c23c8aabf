"""Are counts in equal bins those of uniform numbers? Chi-square, and simultaneous bands of the ECDF."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_number, whole_numbers

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
    reached, mass, passed = np.zeros(1, dtype=np.int64), np.ones(1), 0.0
    for least, most, threshold in zip(low, high, thresholds, strict=True):
        following = np.arange(least, most + 1)
        # A value that is not yet below is uniform on what is left.
        share = (threshold - passed) / (1 - passed)
        added = following[:, None] - reached
        mass = scipy.stats.binom.pmf(added, num_values - reached, share) @ mass
        reached, passed = following, threshold
    return float(mass.sum())
