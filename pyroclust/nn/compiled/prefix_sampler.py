"""Partitions drawn from foreseeing scorers, and scored, in compiled code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import types
from torch import Tensor

from pyroclust.distributions.compiled.pointers import Address, address_of
from pyroclust.nn.compiled.filter_tables import array_of, in_threads, threads_for
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.nn.compiled.foresight_loops import ROOM, Decisions
from pyroclust.nn.compiled.networks import Head, Scratch
from pyroclust.nn.compiled.prefix_tree import Points, Prefixes, Tree, advance, branch, choose

__all__ = ["PrefixSampler"]

# Fewer candidates than this are not worth a thread.
_CANDIDATES_A_THREAD = 1 << 8
# Draws at once, but for those of one data set: the rows of more do not stay in the cache.
_DRAWS_AT_ONCE = 1 << 13


class PrefixSampler:
    """Labels data sets by a foreseeing scorer, one step a point, draws that agree so far in one row.

    Args:
        scorer: the scorer, float32 on a processor.
        foresight: of the data sets, which gives the filter's log-weights too.
        moments: that clusters sum up, ``(B, N, F)``, those of the filter last.
        context: ``(B, N, W)``.
        num_kept: numbers that the scorer keeps of a cluster beside its part of the head and of the pool.
        skip: how many of the moments come before the filter's.
        most: exponentials at once.
        put: compiled: puts a point into a cluster, and writes the state of that into ``room.two``.
        see: compiled: adds what a candidate has for itself to ``room.one``.
        own: makes what these two work on, of the family of the filter and its clusters, for a thread.
    """

    def __init__(
        self,
        scorer: Any,
        foresight: Foresight,
        *,
        moments: Tensor,
        context: Tensor,
        num_kept: int,
        skip: int,
        most: int,
        put: Any,
        see: Any,
        own: Callable[[Any, Any], Address],
    ) -> None:
        self._head, self._put, self._see = Head.of(scorer), put, see
        self._foresight, self._references, self._skip = foresight, scorer.foresight, skip
        self._num_points, num_moments = moments.shape[1:]
        self._points = Address(
            Points(self._num_points, array_of(moments.flatten(0, 1)), array_of(context.flatten(0, 1)))
        )
        width = scorer.width
        self._empty = lambda rows: Prefixes.empty(rows, 6, num_moments, width, 2 * width + num_kept)
        self._make_scratch = lambda own: Address(Scratch.empty(own.number, width, most))
        self._make_own = own

    def label(self, dataset: Tensor, known: Tensor | None) -> tuple[Tensor, Tensor]:
        """Draw partitions, or score known ones.

        Draws are those that torch would make with the same random numbers, but for rounding.

        Shape:
            dataset: ``(S,)``; known: ``(S, N)`` canonical in visiting order; output: ``(S, N)`` and ``(S,)``
                float64.
        """
        number, points = len(dataset), self._num_points
        uniform = torch.zeros(points - 1, number, dtype=torch.float64)
        if known is None:
            uniform.uniform_()
        labels = torch.zeros(number, points, dtype=torch.int64) if known is None else known.clone()
        log_prob = torch.empty(number, dtype=torch.float64)
        _, place, counts = dataset.unique(return_inverse=True, return_counts=True)
        together = ((counts.cumsum(0) - counts) // _DRAWS_AT_ONCE)[place]
        for group in together.unique():
            of = (together == group).nonzero().squeeze(-1)
            labels[of], log_prob[of] = self._grow(
                dataset[of], labels[of], uniform[:, of], is_free=known is None
            )
        return labels, log_prob

    def _grow(
        self, dataset: Tensor, known: Tensor, uniform: Tensor, *, is_free: bool
    ) -> tuple[Tensor, Tensor]:
        """Label some data sets, all their draws together."""
        points, labels = self._num_points, array_of(known)
        distinct, first = (array_of(one) for one in dataset.unique(return_inverse=True))
        rows = len(distinct)
        content = Tree(
            np.array([rows, rows, 1]),
            first.copy(),
            labels,
            np.full(len(labels), is_free),
            array_of(uniform),
        )
        tree = Address(content)
        self._take(self._empty(rows + 8))
        self._prefixes.dataset[:rows] = distinct
        for step in range(1, points):
            self._score(step, int(content.number[0]))
            choose(self._rows, tree, step)
            _, rows, most = content.number.tolist()
            self._enlarge(rows, most)
            branch(self._rows, tree, step)
        return torch.from_numpy(labels), torch.from_numpy(self._prefixes.log_prob[content.prefix])

    def _score(self, step: int, rows: int) -> None:
        """Put the point before into clusters, and score where this one may go."""
        parts = self._threads(threads_for(rows * self._prefixes.room, _CANDIDATES_A_THREAD, rows))

        def work(part: tuple[Any, ...], begin: int, end: int) -> None:
            head, scratch, _, data, *filtered, ahead = part
            advance(
                head,
                scratch,
                self._points,
                self._rows,
                *filtered,
                data,
                self._decisions,
                ahead,
                step,
                begin,
                end,
            )

        in_threads(work, parts, rows)

    def _enlarge(self, rows: int, room: int) -> None:
        """Make room for more rows and clusters, half as many again at a time."""
        old = self._prefixes
        had = len(old.clusters)
        if rows > had or room > old.room:
            rows = rows + rows // 2 if rows > had else had
            self._take(old.enlarged(rows, room + room // 2 if room > old.room else old.room))

    def _take(self, prefixes: Prefixes) -> None:
        """Let compiled functions see the rows, and make room for as many decisions."""
        rows, room = len(prefixes.clusters), prefixes.room
        self._prefixes, self._rows = prefixes, Address(prefixes)
        self._parts: list[tuple[Any, ...]] = []
        one, two, three, four = np.zeros((4, rows), np.int64)
        self._decisions = Address(
            Decisions(
                self._references,
                self._foresight.within,
                self._skip,
                one,
                two,
                three,
                four,
                np.arange(rows * room),
                prefixes.counts,
                prefixes.moments,
                np.zeros((rows * (room + 1), 5)),
            )
        )

    def _threads(self, number: int) -> list[tuple[Any, ...]]:
        """Return what as many threads work with."""
        if len(self._parts) < number:
            self._parts = [
                self._part(*one) for one in self._foresight.parts(self._prefixes.room + ROOM + 2, number)
            ]
        return self._parts[:number]

    def _part(self, family: Any, shape: Any, lanes: Any, ahead: Any) -> tuple[Any, ...]:
        own = self._make_own(family, lanes)
        scratch = self._make_scratch(own)
        kinds = own.type, scratch.type
        put = address_of(self._put, *kinds, self._points.type, self._rows.type, *(types.int64,) * 3)
        see = address_of(self._see, *kinds, self._rows.type, *(types.int64,) * 3)
        head = Address(self._head._replace(put=put, see=see))
        return head, scratch, own, self._foresight.data, family, shape, lanes, ahead
