"""The scorer of tables in compiled code."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.protocol import (
    Family,
    column_functions,
    log_predictives_by_column,
    refresh,
)
from pyroclust.nn.compiled.filter_tables import array_of
from pyroclust.nn.compiled.foresight_loops import Foreseer
from pyroclust.nn.compiled.networks import matrix, multiply, silu
from pyroclust.nn.compiled.prefixes import PrefixSampler, add_point


class Layers(NamedTuple):
    """Two linear layers, each before a sigmoid linear unit; matrices are ``(inputs, outputs)``."""

    first: np.ndarray
    first_bias: np.ndarray
    second: np.ndarray
    second_bias: np.ndarray

    @classmethod
    def of(cls, network: Any) -> "Layers":
        """Lay out the weights."""
        one, two = network[0], network[2]
        return cls(matrix(one), array_of(one.bias), matrix(two), array_of(two.bias))


class Columns(NamedTuple):
    """Weights of the column scorer, data sets laid end to end, and scratch space of a thread.

    Of the moments that clusters sum up the first G are gains: log densities of their cells, each given the
    points before it, less those of the cells alone. Then come the numbers of cells, and the filter's.
    """

    family: Family  # of the filter
    functions: np.ndarray  # of its columns
    candidate: Layers  # what a column says of a candidate
    cluster: Layers  # what it says of a cluster
    state: Layers  # of a cluster
    to_head: np.ndarray  # (2 V + 1, W) float32
    there: np.ndarray  # (B N, G), which cells are there
    alone: np.ndarray  # (B N, G), log densities of cells alone
    whole: np.ndarray  # (B N, G), gains of cells from all points as one cluster
    cohesion: np.ndarray  # (B, G), mean gain of a cell in that cluster
    opening: np.ndarray  # (B N, W) float32, what a new cluster has for itself
    sums: np.ndarray  # moments of the family's clusters, of which the first is used here
    gain: np.ndarray  # (G,), of the cells of a point
    seen: np.ndarray  # (G, 7) float32, what there is to see of each column
    hidden: np.ndarray  # (G, V) float32, of the first layer
    all_hidden: np.ndarray  # the same memory in a row
    outer: np.ndarray  # (G, V) float32, of the second layer
    all_outer: np.ndarray  # the same memory in a row
    pooled: np.ndarray  # (2 V + 2,) float32, over columns


@inner
def _gain(own: Any, prefixes: Any, point: int, at: int) -> None:
    """Write what each cell of a point gains from a cluster that it is not in."""
    groups, moments = len(own.gain), prefixes.moments[at]
    for f in range(own.sums.shape[1]):
        own.sums[0, f] = moments[2 * groups + f]
    refresh(own.family, own.sums, 0, int(prefixes.counts[at]))
    log_predictives_by_column(own.family, own.functions, point, 0, own.gain)
    for g in range(groups):
        own.gain[g] -= own.alone[point, g]


@inner
def _pool(own: Any, layers: Any, room: Any, number: int) -> None:
    """Pool what so many columns say, as a mean and as a sum that grows with their root."""
    hidden, outer, pooled, width = own.hidden, own.outer, own.pooled, own.hidden.shape[1]
    for i in range(number):
        one = hidden[i]
        for j in range(width):
            one[j] = layers.first_bias[j]
        multiply(layers.first, own.seen[i], one)
    silu(room, own.all_hidden, number * width)
    for i in range(number):
        one = outer[i]
        for j in range(width):
            one[j] = layers.second_bias[j]
        multiply(layers.second, hidden[i], one)
    silu(room, own.all_outer, number * width)
    for j in range(width):
        pooled[j] = 0.0
    for i in range(number):
        one = outer[i]
        for j in range(width):
            pooled[j] += one[j]
    mean = np.float32(1.0 / max(number, 1))
    root = np.sqrt(mean)
    for j in range(width):
        pooled[width + j] = pooled[j] * root
        pooled[j] *= mean


@inner
def _put(own: Any, room: Any, points: Any, prefixes: Any, dataset: int, point: int, at: int) -> None:
    """Put a point into a cluster, and write the state of that."""
    groups, width, moments = len(own.gain), len(room.one), prefixes.moments[at]
    if prefixes.counts[at] > 0.0:
        _gain(own, prefixes, point, at)
        for g in range(groups):
            moments[g] += own.gain[g]
    add_point(points, prefixes, at, point)
    state, size, number = prefixes.state[at], prefixes.counts[at], np.int64(0)
    for g in range(groups):
        cells = moments[groups + g]
        if cells > 0.0:
            seen = own.seen[number]
            state[2 * width + g] = math.log1p(cells) / 3.0
            seen[0], seen[1] = moments[g] / cells, own.cohesion[dataset, g]
            seen[2] = state[2 * width + g]
            number += 1
    _pool(own, own.cluster, room, number)
    own.pooled[len(own.pooled) - 2] = math.log(size) / 3.0
    own.pooled[len(own.pooled) - 1] = 1.0 / size
    one, two = room.one, room.two
    for j in range(width):
        one[j], two[j] = own.state.first_bias[j], own.state.second_bias[j]
    multiply(own.state.first, own.pooled, one)
    silu(room, one, width)
    multiply(own.state.second, one, two)
    silu(room, two, width)


@inner
def _see(own: Any, room: Any, prefixes: Any, dataset: int, point: int, at: int) -> None:
    """Add to the input of the head what a cluster is, and what the cells of the point say of it."""
    groups, width = len(own.gain), len(room.one)
    if at < 0:
        opening = own.opening[point]
        for j in range(width):
            room.one[j] += opening[j]
        return
    _gain(own, prefixes, point, at)
    moments, state, number, total = prefixes.moments[at], prefixes.state[at], np.int64(0), 0.0
    for g in range(groups):
        if own.there[point, g]:
            seen, gain, whole = own.seen[number], own.gain[g], own.whole[point, g]
            mean = moments[g] / max(moments[groups + g], 1.0)
            seen[0], seen[1] = np.arcsinh(gain), np.arcsinh(whole)
            seen[2], seen[3] = np.arcsinh(gain - whole), np.arcsinh(gain - mean)
            seen[4], seen[5], seen[6] = state[2 * width + g], mean, own.cohesion[dataset, g]
            total += gain
            number += 1
    _pool(own, own.candidate, room, number)
    own.pooled[len(own.pooled) - 2] = np.arcsinh(total)
    for j in range(width):
        room.one[j] += state[j]
    multiply(own.to_head, own.pooled, room.one)


class ColumnSampler(PrefixSampler):
    """Draws from the column scorer."""

    functions = _put, _see

    def __init__(self, scorer: Any, encoding: Any) -> None:
        there = encoding.there.double()
        # Gains of cells are no sums over points: they are added as points come.
        moments = torch.cat([torch.zeros_like(there), there, encoding.filter.moments], -1)
        groups = there.shape[-1]
        super().__init__(
            scorer, encoding, moments, num_kept=groups, exponentials=groups * scorer.column_width
        )
        thread: Any = self.foresight.threads(0, 1)[0].content
        # None where one of the columns has none of its own.
        self.columns = column_functions(thread.family)
        cohesion = encoding.cohesion.unsqueeze(1).expand_as(encoding.whole)
        with torch.no_grad():
            opening = scorer.own_of_new(encoding.whole, encoding.there, cohesion)
        self._opening = array_of(opening.flatten(0, 1))

    def tables(self, thread: Foreseer) -> Columns:
        """Return weights, data sets and scratch space."""
        assert self.columns is not None
        scorer, encoding = self.scorer, self.encoding
        groups, width = encoding.there.shape[-1], scorer.column_width
        hidden, outer = np.zeros((2, groups, width), np.float32)
        return Columns(
            thread.family,
            self.columns,
            Layers.of(scorer.see_candidate),
            Layers.of(scorer.see_cluster),
            Layers.of(scorer.state),
            matrix(scorer.columns_to_head),
            array_of(encoding.there.flatten(0, 1) > 0),
            array_of(encoding.moments.flatten(0, 1)[:, :groups]),
            array_of(encoding.whole.flatten(0, 1)),
            array_of(encoding.cohesion),
            self._opening,
            thread.lanes.sums,
            np.zeros(groups),
            np.zeros((groups, 7), np.float32),
            hidden,
            hidden.reshape(-1),
            outer,
            outer.reshape(-1),
            np.zeros(2 * width + 2, np.float32),
        )
