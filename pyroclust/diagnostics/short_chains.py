"""Many short chains: whether they have forgotten where they began, and whether their law still moves."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import as_numbers, check_count, check_seed
from pyroclust.diagnostics.chains import normal_scores
from pyroclust.diagnostics.limits import GOOD_ESS, MAX_RHAT, MIN_SETTLED

# Sums of the same numbers in another order differ by less.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class StartMemory:
    """What short chains remember of their starts, by one functional."""

    rhat: float
    effective: float


@dataclass(frozen=True)
class Drift:
    """Whether many chains have another law later than before, by several functionals at once."""

    p_value: float
    changes: np.ndarray
    worst: int


@dataclass(frozen=True)
class CheckedRound:
    """What was seen of many short chains that had gone on since the last look, by several functionals."""

    sweeps: int
    p_value: float
    moved: str
    change: float
    nested_rhat: float
    start_p_value: float
    effective_draws: float
    num_chains: int

    @property
    def wanted_draws(self) -> float:
        """How many effective draws are enough: half of all, or what is plenty."""
        return min(GOOD_ESS, self.num_chains / 2)

    @property
    def looks_alike(self) -> bool:
        """Whether chains of one start look so much alike that it counts, be it by chance."""
        return self.nested_rhat > MAX_RHAT or self.effective_draws < self.wanted_draws

    @property
    def remembers(self) -> bool:
        """Whether chains of one start are still alike, by more than chance."""
        return self.looks_alike and self.start_p_value < MIN_SETTLED

    @property
    def has_settled(self) -> bool:
        """Whether nothing moved since the last look, and chains of one start are not alike."""
        return self.p_value > MIN_SETTLED and not self.remembers


def nested_rhat(x: np.ndarray, starts: np.ndarray) -> float:
    r"""Return the nested R-hat of one number a chain, where several chains began at the same place.

    .. math:: \hat R_\nu = \sqrt{1 + \sigma_b^2 / \sigma_w^2}

    of normal scores of ranks, with their variances among chains of one start and of the starts' expectations,
    both estimated without bias; nan where every chain has its own start, all have one, or nothing varies.

    Args:
        x: ``(S,)``.
        starts: ``(S,)`` integers, equal where chains began at one place.

    References:
        Margossian et al. (2024), Nested R-hat: assessing the convergence of Markov chain Monte Carlo when
        running many short chains. https://doi.org/10.1214/24-BA1453

    Example:
        >>> rng = np.random.default_rng(0)
        >>> starts = np.arange(400) // 20
        >>> nested_rhat(rng.standard_normal(400), starts) < 1.05
        True
        >>> nested_rhat(rng.standard_normal(400) + starts, starts) > 2
        True
    """
    return start_memory(x, starts).rhat


def start_memory(x: np.ndarray, starts: np.ndarray) -> StartMemory:
    """Return how much the last states of short chains depend on where each chain began."""
    x, starts = as_numbers("x", x), np.asarray(starts)
    if x.ndim != 1 or x.shape != starts.shape or not x.size:
        raise ValueError(f"x and starts have shapes {x.shape} and {starts.shape}, expected (S,) of both")
    if not np.isfinite(x).all():
        raise ValueError("x has values that are not finite, expected one finite number a chain")
    _, group, sizes = np.unique(starts, return_inverse=True, return_counts=True)
    total, groups = len(x), len(sizes)
    if groups == total or groups < 2 or (x == x[0]).all():
        return StartMemory(np.nan, float(total))
    scores = normal_scores(x[:, None])[:, 0]
    sums = np.bincount(group, scores)
    between = ((sums**2 / sizes).sum() - scores.sum() ** 2 / total) / (groups - 1)
    within = ((scores - (sums / sizes)[group]) ** 2).sum() / (total - groups)
    usual = (total - (sizes**2).sum() / total) / (groups - 1)
    variance = max(0.0, (between - within) / usual)
    if within <= 0:
        return StartMemory(np.inf, float(groups))
    share = variance / (variance + within)
    spread = 1 + share * ((sizes**2).sum() / total - 1)
    return StartMemory(float(np.sqrt(1 + variance / within)), float(total / spread))


def start_test(values: np.ndarray, starts: np.ndarray, *, seed: int, num_permutations: int = 199) -> float:
    """Return the p-value of the test that chains of one start are no more alike than others."""
    varies = (values != values[0]).any(0)
    _, group, sizes = np.unique(starts, return_inverse=True, return_counts=True)
    if not 1 < len(sizes) < len(values) or not varies.any():
        return 1.0
    scores = normal_scores(values[:, varies])[np.argsort(group, kind="stable")]
    scores -= scores.mean(0)
    first = np.cumsum(sizes) - sizes
    generator = np.random.default_rng(check_seed(seed))
    orders = [np.arange(len(scores)), *(generator.permutation(len(scores)) for _ in range(num_permutations))]
    # The sum over the starts of the squared sum of their chains, which orders as the variance between them.
    between = np.stack(
        [(np.add.reduceat(scores[order], first, axis=0) ** 2 / sizes[:, None]).sum(0) for order in orders]
    )
    spread = between.std(0)
    largest = ((between - between.mean(0)) / np.where(spread > 0, spread, 1.0)).max(1)
    return float((largest >= largest[0] - _ROUNDING).mean())


def drift(before: np.ndarray, after: np.ndarray, *, seed: int, num_permutations: int = 999) -> Drift:
    r"""Test whether the law of many chains is the same at two times, by the changes of each chain.

    With :math:`D_{sf}` the change of functional f of chain s, the statistic is

    .. math:: \max_f \Big| \sum_s D_{sf} \Big| \Big/ \sqrt{\sum_s D_{sf}^2}

    against its values when every chain's changes get a random sign. Two states of one stationary chain can be
    exchanged where the kernel is reversible. Chains that remember where they began are rejected more often.

    Args:
        before: functionals of the chains, ``(S, F)``.
        after: the same, later.
        seed: of the signs.
        num_permutations: P; cost O(P S F).

    Raises:
        ValueError: if the shapes differ, or a number is not finite.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> before, after = rng.normal(size=(500, 3)), rng.normal(size=(500, 3))
        >>> drift(before, after, seed=0).p_value > 0.05
        True
        >>> drift(before, after + 0.3, seed=0).p_value
        0.001
    """
    before, after = as_numbers("before", before), as_numbers("after", after)
    if before.ndim != 2 or before.shape != after.shape:
        raise ValueError(f"before and after have shapes {before.shape} and {after.shape}, expected (S, F)")
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise ValueError("before or after has values that are not finite, expected finite numbers")
    num_permutations = check_count("num_permutations", num_permutations)
    change = after - before
    scale = np.sqrt((change**2).sum(0))
    moves = scale > 0
    if not moves.any():
        return Drift(1.0, change.mean(0), -1)
    standard = change[:, moves] / scale[moves]
    signs = (
        np.random.default_rng(check_seed(seed)).integers(2, size=(num_permutations, len(change))) * 2.0 - 1
    )
    null = np.abs(signs @ standard).max(1)
    observed = np.abs(standard.sum(0))
    above = int((null >= observed.max() - _ROUNDING).sum())
    worst = int(np.flatnonzero(moves)[observed.argmax()])
    return Drift((1 + above) / (1 + num_permutations), change.mean(0), worst)
