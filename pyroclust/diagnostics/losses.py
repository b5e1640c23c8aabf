"""Distances between partitions, and their posterior expectation."""

import numpy as np

from pyroclust.diagnostics.partition_losses import (
    AdjustedRand,
    Binder,
    NormalisedVariationOfInformation,
    VariationOfInformation,
)

__all__ = ["adjusted_rand_loss", "binder", "expected_vi", "normalised_vi", "variation_of_information"]


def variation_of_information(a: np.ndarray, b: np.ndarray, *, weight: float = 1.0) -> np.ndarray:
    r"""Return the variation of information of pairs of partitions, in bits.

    .. math::
        VI(a, b) = 2 H(a, b) - H(a) - H(b), \qquad
        H(a, b) = -\sum_{kl} \tfrac{n_{kl}}{N} \log_2 \tfrac{n_{kl}}{N}

    A metric; 0 for equal partitions, at most :math:`\log_2 N`. Cost O(N) a pair, in compiled threads.

    Args:
        a: partitions, the estimates where ``weight`` is not 1.
        b: partitions.
        weight: see :class:`VariationOfInformation`.

    Shape:
        a, b: ``(..., N)`` labels 0 to N - 1, leading dimensions broadcast; output: ``(...)``.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1 or the numbers of points differ.

    References:
        Meila (2007), Comparing clusterings. https://doi.org/10.1016/j.jmva.2006.11.013

    Example:
        >>> float(variation_of_information(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])))
        2.0
    """
    return VariationOfInformation(weight)(a, b)


def binder(a: np.ndarray, b: np.ndarray, *, weight: float = 1.0) -> np.ndarray:
    r"""Return the Binder loss of pairs of partitions, divided by N squared.

    .. math:: B(a, b) = \frac{1}{N^2} \sum_{ij} \bigl(1[a_i = a_j] - 1[b_i = b_j]\bigr)^2

    The share of ordered pairs of points on which the partitions disagree: 1 minus the Rand index, times (N -
    1) / N. Cost O(N) a pair, in compiled threads.

    Args:
        a: partitions, the estimates where ``weight`` is not 1.
        b: partitions.
        weight: see :class:`Binder`.

    Shape:
        a, b: ``(..., N)`` labels 0 to N - 1, leading dimensions broadcast; output: ``(...)``.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1 or the numbers of points differ.

    References:
        Wade and Ghahramani (2018), Bayesian cluster analysis. https://doi.org/10.1214/17-BA1073

    Example:
        >>> float(binder(np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1])))
        0.5
    """
    return Binder(weight)(a, b)


def normalised_vi(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the variation of information of pairs of partitions as a share of their joint entropy.

    See :class:`NormalisedVariationOfInformation`. Cost O(N) a pair, in compiled threads.

    Shape:
        a, b: ``(..., N)`` labels 0 to N - 1, leading dimensions broadcast; output: ``(...)`` in [0, 1].

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1 or the numbers of points differ.

    Example:
        >>> float(normalised_vi(np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1])))
        1.0
    """
    return NormalisedVariationOfInformation()(a, b)


def adjusted_rand_loss(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return one minus the adjusted Rand index of pairs of partitions.

    See :class:`AdjustedRand`. Cost O(N) a pair, in compiled threads.

    Shape:
        a, b: ``(..., N)`` labels 0 to N - 1, leading dimensions broadcast; output: ``(...)``.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1 or the numbers of points differ.

    Example:
        >>> float(adjusted_rand_loss(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])))
        0.0
    """
    return AdjustedRand()(a, b)


def expected_vi(
    candidates: np.ndarray, draws: np.ndarray, *, weights: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the posterior expected variation of information of candidate partitions, in bits.

    .. math:: \sum_s w_s \, VI(c, c^{(s)})

    Cost: O(C S N) in compiled threads.

    Shape:
        candidates: ``(C, N)``; draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries;
        output: ``(C,)``.

    Raises:
        ValueError: if labels are not integers from 0 to N - 1, or shapes do not fit.

    Example:
        >>> expected_vi(np.array([[0, 0], [0, 1]]), np.array([[0, 0], [0, 0], [0, 1], [0, 1]])).tolist()
        [0.5, 0.5]
    """
    return VariationOfInformation().expected(candidates, draws, weights=weights)
