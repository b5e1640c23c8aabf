"""Distances between partitions, and their posterior expectation."""

from collections.abc import Callable

import numpy as np

from pyroclust.diagnostics.membership import checked_labels, checked_weights, flatten, memberships

__all__ = ["binder", "expected_vi", "variation_of_information"]

_MAX_CELLS = 4_000_000


def variation_of_information(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    r"""Return the variation of information of pairs of partitions, in bits.

    .. math::
        VI(a, b) = 2 H(a, b) - H(a) - H(b), \qquad
        H(a, b) = -\sum_{kl} \tfrac{n_{kl}}{N} \log_2 \tfrac{n_{kl}}{N}

    A metric; 0 for equal partitions, at most :math:`\log_2 N`. Cost O(N + K_a K_b) a pair, in blocks.

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
    points = np.shape(a)[-1]

    def loss(table: np.ndarray) -> np.ndarray:
        rows, columns = table.sum(-1), table.sum(-2)
        joint = _entropy_terms(table, points).sum((-1, -2))
        return 2 * joint - _entropy_terms(rows, points).sum(-1) - _entropy_terms(columns, points).sum(-1)

    return np.maximum(_over_tables(a, b, loss), 0.0)


def binder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    r"""Return the Binder loss of pairs of partitions, divided by N squared.

    .. math:: B(a, b) = \frac{1}{N^2} \sum_{ij} \bigl(1[a_i = a_j] - 1[b_i = b_j]\bigr)^2

    The share of ordered pairs of points on which the partitions disagree: 1 minus the Rand index, times (N -
    1) / N. Cost O(N + K_a K_b) a pair, in blocks.

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

    def loss(table: np.ndarray) -> np.ndarray:
        rows, columns = table.sum(-1), table.sum(-2)
        return (rows**2).sum(-1) + (columns**2).sum(-1) - 2 * (table**2).sum((-1, -2))

    return _over_tables(a, b, loss) / np.shape(a)[-1] ** 2


def expected_vi(
    candidates: np.ndarray, draws: np.ndarray, *, weights: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the posterior expected variation of information of candidate partitions, in bits.

    .. math:: \sum_s w_s \, VI(c, c^{(s)})

    All contingency tables of a block come from one matrix product: cost O(C S K^2 N) multiply-adds in
    compiled code.

    Shape:
        candidates: ``(C, N)``; draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries;
        output: ``(C,)``.

    Raises:
        ValueError: if labels are not integers from 0 to N - 1, or shapes do not fit.

    Example:
        >>> expected_vi(np.array([[0, 0], [0, 1]]), np.array([[0, 0], [0, 0], [0, 1], [0, 1]])).tolist()
        [0.5, 0.5]
    """
    candidates, draws = checked_labels("candidates", candidates), flatten(draws)
    _check_points(candidates, draws)
    points = draws.shape[-1]
    share = checked_weights(weights, len(draws))
    terms = _entropy_terms(np.arange(points + 1), points)
    joint, own, other = np.zeros(len(candidates)), np.zeros(len(candidates)), 0.0
    # Blocks of at most 2000 rows keep the table of their products near 16 MB.
    for members, owner, _ in memberships(draws, max_entries=2000 * points):
        row_share = share[owner]
        other += float(terms[members.sum(-1).astype(np.int64)] @ row_share)
        for rows, candidate, starts in memberships(candidates, max_entries=2000 * points):
            table = (rows @ members.T).astype(np.int64)
            joint[np.unique(candidate)] += np.add.reduceat(terms[table] @ row_share, starts)
    for rows, candidate, starts in memberships(candidates):
        own[np.unique(candidate)] = np.add.reduceat(terms[rows.sum(-1).astype(np.int64)], starts)
    return np.maximum(2 * joint - own - other, 0.0)


def _entropy_terms(counts: np.ndarray, points: int) -> np.ndarray:
    share = counts / points
    return -share * np.log2(share, out=np.zeros_like(share), where=share > 0)


def _over_tables(a: np.ndarray, b: np.ndarray, loss: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    a, b = checked_labels("a", a), checked_labels("b", b)
    _check_points(a, b)
    points, rows, columns = a.shape[-1], int(a.max()) + 1, int(b.max()) + 1
    batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    code = (a * columns + b).reshape(-1, points)
    step = max(1, _MAX_CELLS // (rows * columns))
    losses = []
    for begin in range(0, len(code), step):
        block = code[begin : begin + step]
        cells = block + rows * columns * np.arange(len(block))[:, None]
        table = np.bincount(cells.ravel(), minlength=len(block) * rows * columns)
        losses.append(loss(table.reshape(-1, rows, columns)))
    return np.concatenate(losses).reshape(batch)


def _check_points(a: np.ndarray, b: np.ndarray) -> None:
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"the partitions have {a.shape[-1]} and {b.shape[-1]} points, expected equally many")
