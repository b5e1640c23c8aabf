"""Permutation tests of two samples, all permutations at once."""

from dataclasses import dataclass

import numpy as np

__all__ = ["TwoSampleTest", "against_null", "permuted_memberships"]

_TIE = 1e-9


@dataclass(frozen=True)
class TwoSampleTest:
    """A statistic of two samples, against its values under random exchanges of draws between them.

    Attributes:
        statistic: of the two sources, larger where they differ more.
        p_value: share of the permutations, this one included, whose statistic is at least as large.
        null: the statistics of the permutations, ``(P,)``.
        num_a: draws used of the first source, after thinning.
        num_b: draws used of the second source.
    """

    statistic: float
    p_value: float
    null: np.ndarray
    num_a: int
    num_b: int


def permuted_memberships(num_a: int, num_b: int, *, num_permutations: int, seed: int) -> np.ndarray:
    """Return which draws belong to the first source: as they are, then randomly permuted.

    Shape:
        output: ``(P + 1, num_a + num_b)`` of 0 and 1, float64; the first row is 1 for the first ``num_a``.

    Raises:
        ValueError: if a source has fewer than two draws or there is no permutation.

    Example:
        >>> permuted_memberships(2, 3, num_permutations=10, seed=0).sum(1).tolist() == [2.0] * 11
        True
    """
    if min(num_a, num_b) < 2:
        raise ValueError(
            f"the sources have {num_a} and {num_b} independent draws, expected at least two each"
        )
    if num_permutations < 1:
        raise ValueError(f"num_permutations is {num_permutations}, expected at least 1")
    members = np.zeros((num_permutations + 1, num_a + num_b))
    members[:, :num_a] = 1
    members[1:] = np.random.default_rng(seed).permuted(members[1:], axis=1)
    return members


def against_null(statistics: np.ndarray, *, num_a: int, num_b: int) -> TwoSampleTest:
    """Return the test of the first of the statistics against the others.

    Shape:
        statistics: ``(P + 1,)``.

    Example:
        >>> against_null(np.array([3.0, 1.0, 2.0, 4.0]), num_a=5, num_b=5).p_value
        0.5
    """
    observed, null = float(statistics[0]), statistics[1:]
    # Ties that rounding splits would make the test liberal.
    above = int((null >= observed - _TIE).sum())
    return TwoSampleTest(observed, (1 + above) / (1 + len(null)), null, num_a, num_b)
