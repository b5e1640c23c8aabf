"""The posterior of the exact filter in compiled code: the law of its guide, for tables of many rows."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions.compiled.filtering import (
    FilterState,
    filter_points,
    in_own_order,
)
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.compiled.protocol import compile_family, family_of, tabulate
from pyroclust.distributions.sequential.anchored import AnchoredPartition
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.partitions import canonical
from pyroclust.threads import num_threads

__all__ = ["CompiledFilter", "can_compile"]

# Clusters at first; where a draw has more, all of the block are drawn again with room for twice as many.
_CLUSTERS = 64
_NONE = np.empty(0)
# Labels one row, by uniform random numbers or as it is, and returns its log-probability.
_Runs: TypeAlias = Callable[[np.ndarray, np.ndarray], float]


def can_compile(posterior: Any) -> bool:
    """Return whether a posterior is the exact filter's, of one data set, with a compiled family.

    That of an :class:`~pyroclust.guides.AnchoredGuide` is, from the anchors on.

    Args:
        posterior: of any guide.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> can_compile(PredictiveFilter(gaussian2d()).posterior(torch.zeros(3, 2)))
        True
    """
    if isinstance(posterior, AnchoredPartition):
        return can_compile(posterior.rest)
    if not isinstance(posterior, SequentialPartition) or not isinstance(posterior.scorer, FilterScorer):
        return False
    encoding = posterior.encoding
    is_one = len(posterior.order) == 1 and not posterior.batch_shape and not posterior.scorer.conditions
    return is_one and type(encoding.component) in compile_family.registry


class CompiledFilter:
    """The law of a posterior of :class:`~pyroclust.guides.PredictiveFilter`, with other random numbers.

    Where that one takes a step a point for all draws at once, in arrays of all draws and clusters, this takes
    one draw after the other in each thread: about ten times as fast. Of a posterior of
    :class:`~pyroclust.guides.AnchoredGuide` the guide labels the anchors as ever, and this all others.

    Args:
        posterior: one for which :func:`can_compile` holds.

    Attributes:
        order: visiting order, ``(1, N)``.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> posterior = PredictiveFilter(gaussian2d()).posterior(torch.tensor([[0.0, 0.0], [30.0, 0.0]]))
        >>> draws, log_prob = CompiledFilter(posterior).sample_and_log_prob((5,))
        >>> torch.allclose(log_prob, posterior.log_prob(draws))
        True
    """

    def __init__(self, posterior: SequentialPartition | AnchoredPartition) -> None:
        self._first = posterior.first if isinstance(posterior, AnchoredPartition) else None
        rest = posterior.rest if isinstance(posterior, AnchoredPartition) else posterior
        self._encoding: FilterEncoding = rest.encoding
        self.is_exact = posterior.is_exact
        self.order = rest.order
        self._order = rest.order[0]
        self._known = 1 if self._first is None else self._first.num_points

    def sample_and_log_prob(self, sample_shape: tuple[int]) -> tuple[Tensor, Tensor]:
        """Draw partitions, with their log-probabilities in nats; random numbers come from torch.

        Shape:
            output: ``(S, N)`` int64, canonical, and ``(S,)`` float64.
        """
        number, num_points = sample_shape[0], len(self._order)
        uniforms = torch.rand(number, num_points, dtype=torch.float64).numpy()
        draws, log_prob = np.empty((number, num_points), np.int64), np.empty(number)
        order = self._order.numpy()
        anchors, own = np.zeros((number, 1), np.int64), torch.zeros(number, dtype=torch.float64)
        if self._first is not None:
            drawn, own = self._first.sample_and_log_prob((number,))
            anchors = drawn.numpy()

        def draw(runs: _Runs, row: int) -> float:
            labels = np.empty(num_points, np.int64)
            labels[: self._known] = anchors[row]
            found = runs(uniforms[row], labels)
            if found < math.inf:
                in_own_order(labels, order, np.empty(num_points, np.int64), draws[row])
            return found

        self._each(draw, log_prob, most=int(anchors.max()) + 1)
        return torch.from_numpy(draws), torch.from_numpy(log_prob) + own

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the same as :meth:`merged_log_prob`."""
        return self.merged_log_prob(value)

    def merged_log_prob(self, value: Tensor) -> Tensor:
        """Return the log-probabilities of partitions in nats.

        Shape:
            value: ``(S, N)`` canonical; output: ``(S,)`` float64.
        """
        labels = canonical(value[:, self._order]).contiguous().numpy()
        log_prob = np.empty(len(labels))
        most = int(labels.max()) + 1
        self._each(lambda runs, row: runs(_NONE, labels[row]), log_prob, most=most)
        found = torch.from_numpy(log_prob)
        if self._first is None:
            return found
        return found + self._first.merged_log_prob(torch.from_numpy(labels[:, : self._known]))

    def _each(
        self,
        visit: Callable[[_Runs, int], float],
        log_prob: np.ndarray,
        *,
        most: int = 0,
    ) -> None:
        """Visit every row, each thread with work arrays of its own; rows of too many clusters again."""
        width, rows = _CLUSTERS, np.arange(len(log_prob))
        while width <= most:
            width *= 2
        while len(rows):
            log_open = np.ascontiguousarray(self._encoding.log_open(width).numpy())
            parts = np.array_split(rows, min(num_threads(), len(rows)))

            def run(part: np.ndarray, log_open: np.ndarray = log_open) -> None:
                runs = self._runs(log_open)
                for row in part.tolist():
                    log_prob[row] = visit(runs, row)

            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(run, parts))
            rows, width = rows[np.isposinf(log_prob[rows])], 2 * width

    def _runs(self, log_open: np.ndarray) -> _Runs:
        """Return the compiled function with work arrays of its own."""
        encoding, width = self._encoding, log_open.shape[1]
        points, moments = (
            np.ascontiguousarray(one[0].numpy()) for one in (encoding.points, encoding.moments)
        )
        state = FilterState(
            moments=moments,
            log_alone=np.ascontiguousarray(encoding.opening[0].numpy()),
            log_join=encoding.log_join().numpy(),
            log_open=log_open,
            sizes=np.zeros(width, np.int64),
            sums=np.zeros((width, moments.shape[1])),
            weights=np.zeros(width + 1),
            logs=np.zeros(width + 1),
        )
        family_at = Address(family_of(encoding.component, points, width, len(points)))
        state_at = Address(state)
        tabulate(family_at)
        known = self._known
        return lambda uniforms, labels: filter_points(family_at, state_at, uniforms, labels, known)
