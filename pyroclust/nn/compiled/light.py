"""The light scorer in compiled code."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.pointers import from_place
from pyroclust.nn.compiled.filter_tables import array_of
from pyroclust.nn.compiled.foresight_loops import Foreseer
from pyroclust.nn.compiled.kernels import Look, add_kernels
from pyroclust.nn.compiled.networks import matrix, multiply, silu
from pyroclust.nn.compiled.prefixes import PrefixSampler, add_point
from pyroclust.nn.features.cluster_shape import AdaptiveShape


class Light(NamedTuple):
    """Weights of the light scorer, float32, data sets laid end to end, and scratch space of a thread."""

    scale: float  # of the shape
    weight: float  # of the shape where it is adaptive
    adaptive: int  # whether it is
    stride: int  # of the points that are looked at
    looked: int  # how many these are of each data set
    look: Look  # these points, and kernels
    positions: np.ndarray  # (B N, D)
    bias: np.ndarray  # (B, W), of the first layer of the state network
    first: np.ndarray  # (inputs, W), its weights, as those of the others
    second: np.ndarray
    second_bias: np.ndarray
    difference: np.ndarray
    new_cluster: np.ndarray
    features: np.ndarray  # inputs of the state network
    seen: np.ndarray  # (2 D + 1,), what is seen of a point from a cluster
    sums: np.ndarray  # (H, 1 + D + C), of kernels
    frame: np.ndarray  # (2, D, D) float64, factor of a cluster's covariance, and the inverse of that
    middle: np.ndarray  # (D,), mean of a cluster
    whiten: np.ndarray  # (D, D)

    @classmethod
    def of(cls, scorer: Any, encoding: Any) -> "Light":
        """Lay out weights and data sets."""
        kernels, state, bias = scorer.look_at_mean, scorer.state, scorer.state[0].bias
        number, points, dim = encoding.positions.shape
        stride = kernels.stride(points)
        looked = array_of(encoding.positions[:, ::stride])
        bias = bias.expand(number, -1) if encoding.state_shift is None else bias + encoding.state_shift
        precision = array_of((-2 * kernels.log_bandwidths).exp())
        adaptive = isinstance(scorer.shape, AdaptiveShape)
        return cls(
            float(scorer.shape.scale),
            float(scorer.shape.weight) if adaptive else 0.0,
            int(adaptive),
            stride,
            looked.shape[1],
            Look.of(looked.reshape(-1, dim), precision, kernels.columns),
            array_of(encoding.positions.flatten(0, 1)),
            array_of(bias),
            matrix(state[0]),
            matrix(state[2]),
            array_of(state[2].bias),
            matrix(scorer.difference),
            array_of(scorer.new_cluster),
            np.zeros(state[0].in_features, np.float32),
            np.zeros(2 * dim + 1, np.float32),
            np.zeros((len(precision), 1 + dim + kernels.columns.shape[1]), np.float32),
            np.zeros((2, dim, dim)),
            np.zeros(dim, np.float32),
            np.zeros((dim, dim), np.float32),
        )


@inner
def _frame(own: Any, size: float, moments: Any) -> float:
    """Write mean and whitening matrix of a cluster, and return its log volume."""
    dim = len(own.middle)
    for d in range(dim):
        own.middle[d] = np.float32(moments[d] / size)
        for e in range(dim):
            own.whiten[d, e] = np.float32(1.0 / own.scale if d == e else 0.0)
    if own.adaptive == 0:
        return 0.0
    factor, inverse = own.frame[0], own.frame[1]
    volume = -dim * math.log(own.scale)
    for d in range(dim):
        for e in range(d + 1):
            entry = moments[dim + d * dim + e] - moments[d] * (moments[e] / size)
            if d == e:
                entry += own.weight * own.scale**2
            entry /= own.weight + size
            for c in range(e):
                entry -= factor[d, c] * factor[e, c]
            factor[d, e] = entry / factor[e, e] if e < d else math.sqrt(max(entry, 1e-12))
        volume += math.log(factor[d, d])
        for e in range(d + 1):
            entry = 1.0 if d == e else 0.0
            for c in range(e, d):
                entry -= factor[d, c] * inverse[c, e]
            inverse[d, e] = entry / factor[d, d]
            own.whiten[d, e] = np.float32(inverse[d, e])
    return volume


@inner
def _see_ahead(own: Any, dataset: int, step: int, at: int) -> None:
    """Write what kernels say of the points to come around a cluster, from a place in the features on."""
    look, begin = own.look, dataset * own.looked
    many = look.columns.shape[1]
    first = begin + (step + own.stride) // own.stride
    sums, kernels = own.sums, len(look.precision)
    for h in range(kernels):
        for c in range(sums.shape[1]):
            sums[h, c] = 0.0
    add_kernels(look, first, begin + own.looked, own.middle, own.whiten, sums)
    dim = len(own.middle)
    for h in range(kernels):
        count = sums[h, 0] * np.float32(own.stride)
        share = np.float32(own.stride) / (np.float32(1.0) + count)
        root = np.sqrt(look.precision[h])
        own.features[at + h] = np.log1p(count)
        for d in range(dim):
            own.features[at + kernels + h * dim + d] = sums[h, 1 + d] * share * root
        for c in range(many):
            place = at + kernels * (1 + dim) + h * many + c
            own.features[place] = sums[h, 1 + dim + c] * share * look.precision[h]


@inner
def _put(own: Any, room: Any, points: Any, prefixes: Any, dataset: int, point: int, at: int) -> None:
    """Put a point into a cluster, and write the state of that."""
    add_point(points, prefixes, at, point)
    width, dim, size, state = len(room.one), len(own.middle), prefixes.counts[at], prefixes.state[at]
    volume = _frame(own, size, prefixes.moments[at])
    for d in range(dim):
        state[2 * width + d] = own.middle[d]
        own.features[d] = np.arcsinh(own.middle[d] / np.float32(own.scale))
        for e in range(dim):
            state[2 * width + dim + d * dim + e] = own.whiten[d, e]
    own.features[dim] = np.float32(math.log(size) / 3.0)
    own.features[dim + 1] = np.float32(1.0 / size)
    own.features[dim + 2] = np.float32(volume)
    if len(own.look.precision):
        _see_ahead(own, dataset, point - dataset * points.num_points, dim + 3)
    one, two, bias = room.one, room.two, own.bias[dataset]
    for j in range(width):
        one[j], two[j] = bias[j], own.second_bias[j]
    multiply(own.first, own.features, one)
    silu(room, one, width)
    multiply(own.second, one, two)
    silu(room, two, width)


@inner
def _see(own: Any, room: Any, prefixes: Any, dataset: int, point: int, at: int) -> None:
    """Add to the input of the head what a cluster is, and how the point differs from it."""
    dim, width, scale = len(own.middle), len(room.one), np.float32(own.scale)
    if at < 0:
        for j in range(width):
            room.one[j] += own.new_cluster[j]
        return
    state, square = prefixes.state[at], np.float32(0.0)
    mean, whiten = from_place(state, 2 * width), from_place(state, 2 * width + dim)
    for d in range(dim):
        offset = np.float32(0.0)
        for e in range(d + 1):
            shift = own.positions[point, e] - mean[e]
            offset += whiten[d * dim + e] * shift
        square += offset * offset
        own.seen[d] = np.arcsinh(offset)
        own.seen[dim + d] = np.arcsinh((own.positions[point, d] - mean[d]) / scale)
    own.seen[2 * dim] = np.log1p(square)
    for j in range(width):
        room.one[j] += state[j]
    multiply(own.difference, own.seen, room.one)


class LightSampler(PrefixSampler):
    """Draws from the light scorer."""

    functions = _put, _see

    def __init__(self, scorer: Any, encoding: Any) -> None:
        dim = encoding.positions.shape[-1]
        super().__init__(scorer, encoding, encoding.moments, num_kept=dim + dim**2, exponentials=scorer.width)

    def tables(self, thread: Foreseer) -> Light:
        """Return weights, data sets and scratch space."""
        return Light.of(self.scorer, self.encoding)
