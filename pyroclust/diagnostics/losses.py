"""Losses between partitions, and their posterior expectation."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pyroclust.core.compiling import compiled
from pyroclust.core.machine import each_in_threads, num_threads
from pyroclust.core.numbers import check_number
from pyroclust.diagnostics.labels import (
    checked_labels,
    checked_row_weights,
    compact,
    flat_and_shares,
    flatten,
)
from pyroclust.partitions.raw_labels import DrawsLike

_PAIRS_A_BLOCK = 1_000_000
_POINTS_A_THREAD = 1_000_000
# Cells that stay in the first cache.
_SMALL_TABLE = 4096


@compiled(allocates=False, fastmath=False)
def _sorted_points(labels: np.ndarray, starts: np.ndarray, points: np.ndarray, clusters: int) -> None:
    for k in range(clusters + 1):
        starts[k] = 0
    for i in range(len(labels)):
        starts[labels[i] + 1] += 1
    for k in range(1, clusters + 1):
        starts[k] += starts[k - 1]
    for i in range(len(labels)):
        points[starts[labels[i]]] = i
        starts[labels[i]] += 1
    for k in range(clusters, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0


@compiled(allocates=False, fastmath=False)
def _losses(
    a: np.ndarray,
    a_counts: np.ndarray,
    b: np.ndarray,
    b_counts: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    terms: np.ndarray,
    form: np.ndarray,
    weights: np.ndarray | None,
    stride: int,
    room: np.ndarray,
    losses: np.ndarray,
) -> None:
    points, starts, begins, sizes, row, spare = room[0], room[1], room[2], room[3], room[4], room[5]
    last, own, is_small = -1, 0.0, False
    for p in range(len(rows)):
        clusters = a_counts[rows[p]]
        if rows[p] != last:
            last = rows[p]
            _sorted_points(a[last], starts, points, clusters)
            own = 0.0
            for k in range(clusters):
                size = np.int64(starts[k + 1] - starts[k])
                # Of two ways numba compiles the one that is asked for.
                if weights is not None:
                    size = np.int64(0)
                    for i in range(starts[k], starts[k + 1]):
                        size += weights[points[i]]
                own += terms[size]
            is_small = weights is None and clusters * stride <= _SMALL_TABLE
            for i in range(a.shape[1]):
                begins[i] = stride * a[last, i] if is_small else 0
        partner, width = b[columns[p]], b_counts[columns[p]]
        joint, cells = 0.0, 0
        if is_small:
            # In the order of the points, and into two tables: a count seldom waits for the one before.
            for i in range(a.shape[1] // 2):
                row[begins[2 * i] + partner[2 * i]] += 1
                spare[begins[2 * i + 1] + partner[2 * i + 1]] += 1
            if a.shape[1] % 2:
                row[begins[a.shape[1] - 1] + partner[a.shape[1] - 1]] += 1
            for cell in range(clusters * stride):
                row[cell] += spare[cell]
                spare[cell] = 0
        for k in range(clusters):
            begin, end = starts[k], starts[k + 1]
            if is_small:
                table = row[k * stride :]
            else:
                table = row
                for i in range(begin, end):
                    table[partner[points[i]]] += 1 if weights is None else weights[points[i]]
            if end - begin < width:
                # Cells met again are empty by then and add nothing: cheaper than asking.
                for i in range(begin, end):
                    label = partner[points[i]]
                    count = table[label]
                    joint += terms[count]
                    cells += count > 0
                    sizes[label] += count
                    table[label] = 0
            else:
                for label in range(width):
                    count = table[label]
                    joint += terms[count]
                    cells += count > 0
                    sizes[label] += count
                    table[label] = 0
        other = 0.0
        for label in range(width):
            other += terms[sizes[label]]
            sizes[label] = 0
        # As many cells as clusters on either side: equal partitions, whatever the rounding says.
        if cells == clusters and cells == width:
            losses[p] = 0.0
        else:
            above = form[0] * own + form[1] * other - 2 * joint
            below = form[2] + form[3] * joint + form[4] * (own + other) + form[5] * own * other
            losses[p] = max(above / below, 0.0)


def matched_losses(
    a: np.ndarray,
    b: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    loss: "PartitionLoss",
    *,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the losses of listed pairs of partitions: O(N) a pair, in threads."""
    left, right = compact(a), compact(b)
    terms, form = loss.terms(a.shape[1] if weights is None else int(weights.sum())), loss.form()
    losses, stride = np.empty(len(rows)), int(right[1].max())
    # Few pairs are not worth a thread.
    step = max(1 + _POINTS_A_THREAD // a.shape[1], -(-len(rows) // num_threads()))

    def run(begin: int) -> None:
        part = slice(begin, begin + step)
        room = np.zeros((6, max(_SMALL_TABLE, a.shape[1] + 1)), np.int32)
        _losses(*left, *right, rows[part], columns[part], terms, form, weights, stride, room, losses[part])

    each_in_threads(run, range(0, len(rows), step))
    return losses


def all_losses(
    a: np.ndarray, b: np.ndarray, loss: "PartitionLoss", row_weights: np.ndarray | None
) -> Iterator[np.ndarray]:
    """Yield the losses of all pairs of partitions in blocks of rows, so that memory stays below 100 MB."""
    step, times = max(1, _PAIRS_A_BLOCK // len(b)), checked_row_weights(row_weights, a.shape[-1])
    for begin in range(0, len(a), step):
        rows = np.arange(len(a[begin : begin + step]))
        pairs = np.repeat(rows, len(b)), np.tile(np.arange(len(b)), len(rows))
        losses = matched_losses(a[begin : begin + step], b, *pairs, loss, weights=times)
        yield losses.reshape(len(rows), len(b))


@dataclass(frozen=True)
class PartitionLoss(ABC):
    r"""A loss between two partitions that is made of sums over the cells of their contingency table.

    With :math:`J = \sum_{kl} \phi(n_{kl})`, :math:`A = \sum_k \phi(n_{k\cdot})` of the first partition and
    :math:`B = \sum_l \phi(n_{\cdot l})` of the second,

    .. math:: L = \frac{(2 - w) A + w B - 2 J}{f_2 + f_3 J + f_4 (A + B) + f_5 A B}

    and 0 for equal partitions. A subclass gives :math:`\phi` (:meth:`terms`) and the six numbers
    (:meth:`form`). Calling a loss costs O(N) a pair, in compiled threads.
    """

    @abstractmethod
    def terms(self, num_points: int) -> np.ndarray:
        """Return phi of 0 to N points, ``(N + 1,)``, the first 0."""

    def form(self) -> np.ndarray:
        """Return 2 - w, w and the four numbers of the denominator, ``(6,)``."""
        return np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])

    def __call__(self, a: np.ndarray, b: np.ndarray, *, row_weights: np.ndarray | None = None) -> np.ndarray:
        """Return the losses of pairs of partitions, the estimate first.

        Args:
            a: ``(..., N)`` labels 0 to N - 1.
            b: the same; leading dimensions broadcast.
            row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

        Raises:
            ValueError: if the labels are not integers from 0 to N - 1 or the numbers of points differ.

        Example:
            >>> float(AdjustedRand()(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])))
            1.0
        """
        a, b = checked_labels("a", a), checked_labels("b", b)
        check_same_points(a, b)
        points = a.shape[-1]
        try:
            shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        except ValueError:
            raise ValueError(
                f"a and b have shapes {a.shape} and {b.shape}, expected (..., N) that broadcast"
            ) from None
        rows, columns = (
            np.broadcast_to(np.arange(labels.size // points).reshape(labels.shape[:-1]), shape).flatten()
            for labels in (a, b)
        )
        a, b, times = a.reshape(-1, points), b.reshape(-1, points), checked_row_weights(row_weights, points)
        return matched_losses(a, b, rows, columns, self, weights=times).reshape(shape)

    def expected(
        self,
        candidates: DrawsLike,
        draws: DrawsLike,
        *,
        weights: np.ndarray | None = None,
        row_weights: np.ndarray | None = None,
    ) -> np.ndarray:
        r"""Return the posterior expected losses of candidate partitions, :math:`\sum_s w_s \, L(c, c^{(s)})`.

        Cost: O(C S N) in compiled threads, a second for about 10^9 of that product.

        Args:
            candidates: ``(C, N)``.
            draws: ``(chains, draws, N)`` or ``(S, N)``.
            weights: of the draws, ``(S,)``; equal by default.
            row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

        Example:
            >>> draws = np.array([[0, 0], [0, 0], [0, 1], [0, 1]])
            >>> Binder().expected(np.array([[0, 0], [0, 1]]), draws).tolist()
            [0.25, 0.25]
        """
        draws, share = flat_and_shares(draws, weights)
        candidates = flatten(candidates, name="candidates")
        check_same_points(candidates, draws)
        return np.concatenate([block @ share for block in all_losses(candidates, draws, self, row_weights)])


@dataclass(frozen=True)
class _Weighted(PartitionLoss):
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_number("weight", self.weight, above=0, below=2))

    def form(self) -> np.ndarray:
        return np.array([2 - self.weight, self.weight, 1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class VariationOfInformation(_Weighted):
    r"""The variation of information, in bits, with a price for each of the two mistakes.

    .. math:: a \, H(\hat c \mid c) + (2 - a) \, H(c \mid \hat c)

    The first term is what the estimate (the first argument) separates though it belongs together, the second
    what it joins though it does not. ``weight`` is a: 1 gives the metric, more gives fewer clusters.

    References:
        Meila (2007), Comparing clusterings. https://doi.org/10.1016/j.jmva.2006.11.013

    Example:
        >>> float(VariationOfInformation(weight=1.5)(np.array([0, 1]), np.array([0, 0])))
        1.5
    """

    def terms(self, num_points: int) -> np.ndarray:
        """Return n/N log2(n/N): sums are entropies in bits with their sign turned."""
        share = np.arange(num_points + 1) / num_points
        return share * np.log2(share, out=np.zeros_like(share), where=share > 0)


@dataclass(frozen=True)
class Binder(_Weighted):
    r"""The Binder loss divided by N squared, with a price for each of the two mistakes.

    .. math:: \frac{1}{N^2} \sum_{ij} a \, 1[\hat c_i \ne \hat c_j, c_i = c_j]
        + (2 - a) \, 1[\hat c_i = \hat c_j, c_i \ne c_j]

    ``weight`` is a: 1 gives the share of ordered pairs of points on which the partitions disagree.

    Example:
        >>> float(Binder(weight=0.5)(np.array([0, 1]), np.array([0, 0])))
        0.25
    """

    def terms(self, num_points: int) -> np.ndarray:
        """Return the squared share of the points."""
        return (np.arange(num_points + 1) / num_points) ** 2


@dataclass(frozen=True)
class NormalisedVariationOfInformation(PartitionLoss):
    r"""One minus the mutual information as a share of the joint entropy: a metric from 0 to 1.

    .. math:: 1 - \frac{I(a, b)}{H(a, b)}

    References:
        Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison.
        https://jmlr.org/papers/v11/vinh10a.html

    Example:
        >>> float(NormalisedVariationOfInformation()(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])))
        1.0
    """

    def terms(self, num_points: int) -> np.ndarray:
        """Return n/N log2(n/N)."""
        return VariationOfInformation().terms(num_points)

    def form(self) -> np.ndarray:
        """Divide the variation of information by the joint entropy."""
        return np.array([1.0, 1.0, 0.0, -1.0, 0.0, 0.0])


@dataclass(frozen=True)
class AdjustedRand(PartitionLoss):
    r"""One minus the adjusted Rand index: 0 for equal partitions, 1 on average for unrelated ones.

    .. math:: 1 - \frac{J - A B}{(A + B) / 2 - A B}

    J, A and B are shares of the pairs of points that are together in both, in the first, in the second.

    References:
        Hubert and Arabie (1985), Comparing partitions. https://doi.org/10.1007/BF01908075

    Example:
        >>> float(AdjustedRand()(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])))
        1.5
    """

    def terms(self, num_points: int) -> np.ndarray:
        """Return the number of pairs as a share of all pairs."""
        counts = np.arange(num_points + 1.0)
        return counts * (counts - 1) / max(1, num_points * (num_points - 1))

    def form(self) -> np.ndarray:
        """Divide by the same with the joint pairs replaced by those expected by chance."""
        return np.array([1.0, 1.0, 0.0, 0.0, 1.0, -2.0])


def check_same_points(a: np.ndarray, b: np.ndarray) -> None:
    """Refuse two arrays of labels with different numbers of points."""
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"the partitions have {a.shape[-1]} and {b.shape[-1]} points, expected equally many")


_DEFAULT_LOSS = VariationOfInformation()


def pairwise_loss(
    a: DrawsLike, b: DrawsLike, *, loss: PartitionLoss = _DEFAULT_LOSS, row_weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the losses of every partition of the first set with every one of the second, ``(S, T)``.

    Cost: O(S T N) in compiled threads, a second for about 10^9 of that product; memory O(S T).

    Args:
        a: ``(S, N)`` labels 0 to N - 1, or with a dimension of chains in front, which is merged.
        b: ``(T, N)``, the same.
        loss: the loss, of a partition of ``a`` first.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Example:
        >>> labels = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
        >>> pairwise_loss(labels, labels).tolist()
        [[0.0, 2.0], [2.0, 0.0]]
    """
    a, b = flatten(a, name="a"), flatten(b, name="b")
    check_same_points(a, b)
    return np.concatenate(list(all_losses(a, b, loss, row_weights)))


def losses_within(
    draws: np.ndarray, *, loss: PartitionLoss = _DEFAULT_LOSS, row_weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the losses of every two of some partitions, for a loss that is a metric: half of the work."""
    pairs = np.triu_indices(len(draws), 1)
    losses = np.zeros((len(draws), len(draws)))
    losses[pairs] = matched_losses(draws, draws, *pairs, loss, weights=row_weights)
    return losses + losses.T


def variation_of_information(a: np.ndarray, b: np.ndarray, *, weight: float = 1.0) -> np.ndarray:
    r"""Return the variation of information of pairs of partitions ``(..., N)``, in bits.

    .. math::
        VI(a, b) = 2 H(a, b) - H(a) - H(b), \qquad
        H(a, b) = -\sum_{kl} \tfrac{n_{kl}}{N} \log_2 \tfrac{n_{kl}}{N}

    A metric; 0 for equal partitions, at most :math:`\log_2 N`. For ``weight`` see
    :class:`VariationOfInformation`.

    Example:
        >>> float(variation_of_information(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])))
        2.0
    """
    return VariationOfInformation(weight)(a, b)
