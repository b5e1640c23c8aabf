"""Partitions drawn from the light scorer, and scored, in compiled code."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.nn.cluster_shape import AdaptiveShape, FixedShape
from pyroclust.nn.compiled_foresight import ROOM, Decisions, add_up_ahead
from pyroclust.nn.compiled_light import Network, Points, Prefixes, Room, Tree, absorb, branch, choose, score
from pyroclust.nn.compiled_look import Look
from pyroclust.nn.filter_tables import array_of, can_foresee, in_threads, threads_for
from pyroclust.nn.foresight import Foresight

__all__ = ["label_points"]

# Fewer candidates than this are not worth a thread.
_CANDIDATES_A_THREAD = 1 << 8


def label_points(
    scorer: Any, encoding: Any, dataset: Tensor, known: Tensor | None
) -> tuple[Tensor, Tensor] | None:
    """Draw partitions, or score known ones, as the scorer would; None where compiled code cannot.

    One step a point, draws that agree so far in one row. Draws are those that torch would make with the same
    random numbers, but for rounding.

    Shape:
        dataset: ``(S,)``; known: ``(S, N)`` canonical in visiting order; output: ``(S, N)`` and ``(S,)``
            float64.
    """
    some_known = known is not None and known.shape[1] < encoding.positions.shape[1]
    if some_known or not _can_compile(scorer, encoding):
        return None
    # Without a filter there has to be something that is never asked.
    foresight = encoding.foresight or Foresight(encoding.filter or _nothing(), 0)
    if foresight.shape.is_other:
        return None
    number, points = len(dataset), encoding.positions.shape[1]
    uniform = torch.zeros(points - 1, number, dtype=torch.float64)
    if known is None:
        uniform.uniform_()
    labels = torch.zeros(number, points, dtype=torch.int64) if known is None else known.clone()
    sampler = _Sampler(scorer, encoding, foresight, dataset)
    drawn, found = sampler.run(array_of(labels), array_of(uniform), is_free=known is None)
    return torch.from_numpy(drawn), torch.from_numpy(found)


def _can_compile(scorer: Any, encoding: Any) -> bool:
    """Return whether all is float32 on a processor, of kinds that are compiled."""
    if encoding.positions.device.type != "cpu" or encoding.positions.dtype != torch.float32:
        return False
    known = isinstance(scorer.shape, AdaptiveShape | FixedShape)
    return known and (scorer.filter is None or can_foresee(scorer.filter))


def _nothing() -> FilterEncoding:
    """Return the filter of a point."""
    return FilterScorer(ChineseRestaurantPrior(1.0), NormalKnownVariance(1)).encode(torch.zeros(1, 1, 1))


class _Sampler:
    """Labels data sets, with rows and scratch space for that."""

    def __init__(self, scorer: Any, encoding: Any, foresight: Foresight, dataset: Tensor) -> None:
        self._foresight, kernels = foresight, scorer.look_at_mean
        positions, bias = encoding.positions, scorer.state[0].bias
        bias = (
            bias.expand(len(positions), -1) if encoding.state_shift is None else bias + encoding.state_shift
        )
        self._num_points, dim = positions.shape[1:]
        stride = kernels.stride(self._num_points)
        looked = positions[:, ::stride]
        points = Points(
            self._num_points,
            stride,
            looked.shape[1],
            array_of(positions.flatten(0, 1)),
            array_of(encoding.moments.flatten(0, 1)),
            array_of(encoding.context.flatten(0, 1)),
            array_of(bias),
        )
        self._points, self._num_moments = Address(points), points.moments.shape[1]
        looked = array_of(looked.flatten(0, 1))
        net = _network(scorer)
        self._net, self._width, self._dim = Address(net), scorer.width, dim
        precision = array_of((-2 * kernels.log_bandwidths).exp())
        self._make_look = lambda: Address(Look.of(looked, precision, kernels.columns))
        self._make_room = lambda: Address(
            Room.empty(
                len(net.first), scorer.width, dim, (len(precision), 1 + dim + kernels.columns.shape[1])
            )
        )
        self._filtered = scorer.filter is not None
        self._skip, self._references = scorer.shape.num_moments, scorer.foresight
        self._parts: list[tuple[Any, ...]] = []
        distinct, self._first = (array_of(one) for one in dataset.unique(return_inverse=True))
        self._prefixes = self._empty(len(distinct) + 8, 6)
        self._prefixes.dataset[: len(distinct)] = distinct
        self._rows = len(distinct)
        self._take()

    def run(self, labels: np.ndarray, uniform: np.ndarray, *, is_free: bool) -> tuple[np.ndarray, np.ndarray]:
        number = len(labels)
        content = Tree(
            np.array([self._rows, self._rows, 1]),
            self._first.copy(),
            labels,
            np.full(number, is_free),
            uniform,
        )
        tree = Address(content)
        for step in range(1, self._num_points):
            rows = int(content.number[0])
            parts = self._threads(threads_for(rows * self._prefixes.room, _CANDIDATES_A_THREAD, rows))

            def work(part: tuple[Any, ...], begin: int, end: int, step: int = step) -> None:
                room, look, family, shape, lanes, ahead = part
                own, decisions, points = self._own, self._decisions, self._points
                absorb(self._net, room, look, points, own, decisions, step, begin, end)
                if self._filtered:
                    add_up_ahead(family, shape, lanes, self._data, decisions, ahead, begin, end)
                score(self._net, room, points, own, decisions, step, begin, end)

            in_threads(work, parts, rows)
            choose(self._own, tree, step)
            _, rows, most = content.number.tolist()
            if rows > len(self._prefixes.clusters) or most > self._prefixes.room:
                self._enlarge(max(rows, len(self._prefixes.clusters)), max(most, self._prefixes.room))
            branch(self._own, tree, step)
        return labels, self._prefixes.log_prob[content.prefix]

    def _empty(self, rows: int, room: int) -> Prefixes:
        """Make rows for as many prefixes, with room for as many clusters each."""
        width, dim, moments = self._width, self._dim, self._num_moments
        return Prefixes(
            room,
            np.zeros(rows, np.int64),
            np.zeros(rows, np.int64),
            np.zeros(rows * room),
            np.zeros((rows * room, moments)),
            np.zeros((rows, room * dim), np.float32),
            np.zeros((rows, room * dim * dim), np.float32),
            np.zeros((rows, room * width), np.float32),
            np.zeros((rows, room * width), np.float32),
            np.zeros((rows, width)),
            np.zeros(rows),
            np.zeros(rows, np.int64),
            np.zeros((rows, room + 1)),
            np.zeros((rows, room + 1), np.int64),
        )

    def _enlarge(self, rows: int, room: int) -> None:
        """Make room for more rows and clusters, half as many again at a time."""
        old = self._prefixes
        had = len(old.clusters)
        rows = rows if rows == had else rows + rows // 2
        room = room if room == old.room else room + room // 2
        new = self._empty(rows, room)
        for name in ("dataset", "clusters", "pooled", "log_prob", "label", "log_probs", "child"):
            one = getattr(old, name)
            target = getattr(new, name)[:had]
            target[..., : one.shape[-1]] = one
        for name in ("counts", "moments", "mean", "whiten", "head", "contribution"):
            one, target = (
                getattr(each, name).reshape(len(each.clusters), each.room, -1) for each in (old, new)
            )
            target[:had, : old.room] = one
        self._prefixes = new
        self._take()

    def _take(self) -> None:
        """Let compiled functions see the rows, and make room for as many decisions."""
        rows, room = len(self._prefixes.clusters), self._prefixes.room
        self._own, self._parts = Address(self._prefixes), []
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
                self._prefixes.counts,
                self._prefixes.moments,
                np.zeros((rows * (room + 1), 5)),
            )
        )

    def _threads(self, number: int) -> list[tuple[Any, ...]]:
        if len(self._parts) < number:
            parts = self._foresight.parts(self._prefixes.room + ROOM + 2, number)
            self._data = self._foresight.data
            self._parts = [(self._make_room(), self._make_look(), *one) for one in parts]
        return self._parts[:number]


def _network(scorer: Any) -> Network:
    """Lay out the weights."""

    def matrix(layer: Any) -> np.ndarray:
        return array_of(layer.weight.T)

    def norm(layer: Any) -> np.ndarray:
        return np.stack([array_of(layer.weight), array_of(layer.bias)])

    adaptive = isinstance(scorer.shape, AdaptiveShape)
    width, features = scorer.width, Foresight.num_features
    none, nothing = np.zeros((features, width), np.float32), np.zeros(features, np.float32)
    last = (scorer.to_join, scorer.to_open)
    return Network(
        float(scorer.shape.scale),
        float(scorer.shape.weight) if adaptive else 0.0,
        int(adaptive),
        int(scorer.filter is not None),
        int(scorer.foresight > 0),
        float(scorer.head[0].eps),
        matrix(scorer.state[0]),
        matrix(scorer.state[2]),
        array_of(scorer.state[2].bias),
        matrix(scorer.state_to_head),
        matrix(scorer.contribute),
        array_of(scorer.contribute.bias),
        norm(scorer.pool[0]),
        matrix(scorer.pool[1]),
        array_of(scorer.pool[1].bias),
        matrix(scorer.difference),
        array_of(scorer.new_cluster),
        norm(scorer.head[0]),
        matrix(scorer.head[2]),
        array_of(scorer.head[2].bias),
        np.concatenate([array_of(one.weight) for one in last]),
        np.concatenate([array_of(one.bias) for one in last]),
        matrix(scorer.ahead_to_head) if scorer.foresight else none,
        array_of(scorer.trust.weight) if scorer.foresight else none,
        array_of(scorer.trust.bias) if scorer.foresight else nothing,
    )
