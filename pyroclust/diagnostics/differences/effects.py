"""By how much two sources of draws differ, in what, and whether chance explains it."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from pyroclust.diagnostics.differences.agreement import Marginals
from pyroclust.diagnostics.differences.two_sample import TwoSampleTest


@dataclass(frozen=True)
class Effect:
    """One way in which two sources differ."""

    name: str
    value: float
    noise: float
    limit: float
    p_value: float

    @property
    def large(self) -> bool:
        """Whether the difference matters, if it is real."""
        return self.value > self.limit


@dataclass(frozen=True)
class VariationBlocks:
    """Expected variation of information of two random draws, in bits."""

    between: float
    within_a: float
    within_b: float
    noise: float

    @property
    def excess(self) -> float:
        """Share by which draws lie further apart between the sources than within; 0 where they do not."""
        return _excess(self.between, self.within_a, self.within_b)


def variation_blocks(losses: np.ndarray, num_a: int) -> VariationBlocks:
    """Average a matrix of variations of information over its blocks."""
    parts = [losses[:num_a, :num_a], losses[num_a:, num_a:]]
    noise = max(_excess(*_blocks(part, len(part) // 2)) for part in parts)
    return VariationBlocks(*_blocks(losses, num_a), noise)


def largest_pair(a: Marginals, b: Marginals) -> tuple[int, int]:
    """Return the two points whose co-assignment probabilities differ most."""
    first, second = _largest(a, b)
    return (first, second) if a.points is None else (int(a.points[first]), int(a.points[second]))


def pair_p_value(a: Marginals, b: Marginals, *, effective_a: float, effective_b: float) -> float:
    """Return the p-value of the largest difference of co-assignment probabilities."""
    pair = _largest(a, b)
    first, second, points = a.together[pair], b.together[pair], len(a.together)
    if first == second:
        return 1.0
    effective_a, effective_b = max(1.0, effective_a), max(1.0, effective_b)
    pooled = (effective_a * first + effective_b * second) / (effective_a + effective_b)
    error = math.sqrt(pooled * (1 - pooled) * (1 / effective_a + 1 / effective_b))
    return float(min(1.0, points * (points - 1) * ndtr(-abs(first - second) / error)))


def separation_effect(test: TwoSampleTest, *, limit: float) -> Effect:
    """Return how well a classifier separates the sources: 0 for not better than chance, 1 for always."""
    noise, value = (max(0.0, 2 * x - 1) for x in (float(np.quantile(test.null, 0.95)), test.statistic))
    return Effect("separation by a classifier", value, noise, limit, test.p_value)


def _largest(a: Marginals, b: Marginals) -> tuple[int, int]:
    """Return where in the matrices the pair is that differs most."""
    gap = np.abs(a.together - b.together)
    first, second = np.unravel_index(gap.argmax(), gap.shape)
    return int(first), int(second)


def _blocks(losses: np.ndarray, num_a: int) -> tuple[float, float, float]:
    return (
        float(losses[:num_a, num_a:].mean()),
        _mean_of_pairs(losses[:num_a, :num_a]),
        _mean_of_pairs(losses[num_a:, num_a:]),
    )


def _mean_of_pairs(losses: np.ndarray) -> float:
    return float(losses.sum() / max(1, len(losses) * (len(losses) - 1)))


def _excess(between: float, within_a: float, within_b: float) -> float:
    within = (within_a + within_b) / 2
    if within == 0:
        return 0.0 if between == 0 else math.inf
    return max(0.0, between / within - 1)
