"""Small float32 networks in compiled code, and the head that foreseeing scorers have in common."""

from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.nn.compiled.filter import array_of
from pyroclust.nn.compiled.foresight_loops import FEATURES, NUM_FEATURES
from pyroclust.nn.compiled.lanes import raise_floats


class Head(NamedTuple):
    """Weights that make logits of what is seen, float32, matrices ``(inputs, outputs)``; W of most layers."""

    put: int  # address of the function that puts a point into a cluster, and writes what the cluster is
    see: int  # address of the function that adds what a candidate has for itself
    filtered: int  # whether the filter's log-weights are added
    foresight: int  # whether there are features of the foresight
    epsilon: float  # of the layer norms
    to_head: np.ndarray
    contribute: np.ndarray
    contribute_bias: np.ndarray
    pool_norm: np.ndarray
    pool: np.ndarray
    pool_bias: np.ndarray
    head_norm: np.ndarray
    head: np.ndarray
    head_bias: np.ndarray
    last: np.ndarray
    last_bias: np.ndarray
    ahead: np.ndarray
    trust: np.ndarray
    trust_bias: np.ndarray

    @classmethod
    def of(cls, scorer: Any) -> "Head":
        """Lay out the weights of a foreseeing scorer."""
        none, nothing = np.zeros((NUM_FEATURES, scorer.width), np.float32), np.zeros(NUM_FEATURES, np.float32)
        last = (scorer.to_join, scorer.to_open)
        return cls(
            0,
            0,
            int(scorer.filter is not None),
            int(scorer.foresight > 0),
            float(scorer.head[0].eps),
            matrix(scorer.state_to_head),
            matrix(scorer.contribute),
            array_of(scorer.contribute.bias),
            _norm(scorer.pool[0]),
            matrix(scorer.pool[1]),
            array_of(scorer.pool[1].bias),
            _norm(scorer.head[0]),
            matrix(scorer.head[2]),
            array_of(scorer.head[2].bias),
            np.concatenate([array_of(one.weight) for one in last]),
            np.concatenate([array_of(one.bias) for one in last]),
            matrix(scorer.ahead_to_head) if scorer.foresight else none,
            array_of(scorer.trust.weight) if scorer.foresight else none,
            array_of(scorer.trust.bias) if scorer.foresight else nothing,
        )


def matrix(layer: Any) -> np.ndarray:
    """Return the weights of a linear layer, ``(inputs, outputs)``."""
    return array_of(layer.weight.T)


def _norm(layer: Any) -> np.ndarray:
    return np.stack([array_of(layer.weight), array_of(layer.bias)])


class Scratch(NamedTuple):
    """Scratch space of a thread, float32 of width W unless another is said."""

    own: int  # address of what the scorer has for itself in this thread
    one: np.ndarray  # input of the head
    two: np.ndarray  # state of a cluster
    shared: np.ndarray  # what all candidates of a decision share
    values: np.ndarray  # for exponentials, as many as there may be at once
    powers: np.ndarray  # int32
    as_floats: np.ndarray  # the same memory as float32
    ahead: np.ndarray  # (7,), features of the foresight
    trusted: np.ndarray  # (7,), weights of these

    @classmethod
    def empty(cls, own: int, width: int, most: int) -> "Scratch":
        """Make scratch space, for up to ``most`` exponentials at once."""
        powers = np.zeros(max(most, width), np.int32)
        one, two, shared = np.zeros((3, width), np.float32)
        ahead, trusted = np.zeros((2, NUM_FEATURES), np.float32)
        values = np.zeros(len(powers), np.float32)
        return cls(own, one, two, shared, values, powers, powers.view(np.float32), ahead, trusted)


@inner
def multiply(matrix: Any, values: Any, found: Any) -> None:
    """Add a product to ``found``."""
    number = len(matrix)
    for i in range(0, number - 3, 4):
        one, two, three, four = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        a, b, c, d = values[i], values[i + 1], values[i + 2], values[i + 3]
        for j in range(len(found)):
            found[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]
    for i in range(number // 4 * 4, number):
        one, a = matrix[i], values[i]
        for j in range(len(found)):
            found[j] += a * one[j]


@inner
def silu(room: Any, values: Any, count: int) -> None:
    """Apply the sigmoid linear unit to the first ``count`` values."""
    inverse = room.values
    for j in range(count):
        inverse[j] = min(max(-values[j], np.float32(-80.0)), np.float32(80.0))
    raise_floats(inverse, room.powers, room.as_floats, count)
    for j in range(count):
        values[j] = values[j] / (np.float32(1.0) + inverse[j])


@inner
def _normalise(values: Any, norm: Any, epsilon: float) -> None:
    """Apply a layer norm with weights and biases, ``(2, W)``."""
    total, square, number = np.float32(0.0), np.float32(0.0), np.float32(len(values))
    weight, bias = norm[0], norm[1]
    for j in range(len(values)):
        total += values[j]
    mean = total / number
    for j in range(len(values)):
        values[j] -= mean
        square += values[j] * values[j]
    inverse = np.float32(1.0) / np.sqrt(square / number + np.float32(epsilon))
    for j in range(len(values)):
        values[j] = values[j] * inverse * weight[j] + bias[j]


@inner
def add_state(head: Any, room: Any, state: Any, pooled: Any) -> None:
    """Write what a cluster adds to the head and to the pool, first in ``state``, from ``room.two``."""
    one, two, width = room.one, room.two, len(room.one)
    for j in range(width):
        one[j] = 0.0
    multiply(head.to_head, two, one)
    for j in range(width):
        state[j] = one[j]
        one[j] = head.contribute_bias[j]
    multiply(head.contribute, two, one)
    for j in range(width):
        pooled[j] += np.float64(one[j]) - np.float64(state[width + j])
        state[width + j] = one[j]


@inner
def share(head: Any, room: Any, context: Any, pooled: Any) -> None:
    """Write what all candidates of a decision share."""
    one, shared = room.one, room.shared
    for j in range(len(one)):
        one[j] = np.float32(pooled[j])
        shared[j] = context[j] + head.pool_bias[j]
    _normalise(one, head.pool_norm, head.epsilon)
    multiply(head.pool, one, shared)
    if head.foresight:
        for f in range(NUM_FEATURES):
            total, trust = head.trust_bias[f], head.trust[f]
            for j in range(len(one)):
                total += trust[j] * shared[j]
            room.trusted[f] = total


@inner
def judge(head: Any, room: Any, found: Any, is_new: int) -> float:
    """Return the logit of a candidate from the input of the head, ``room.one``."""
    one, two = room.one, room.two
    for j in range(len(two)):
        two[j] = head.head_bias[j]
    if head.foresight:
        for f in range(NUM_FEATURES):
            room.ahead[f] = found[FEATURES + f]
        multiply(head.ahead, room.ahead, one)
    _normalise(one, head.head_norm, head.epsilon)
    silu(room, one, len(one))
    multiply(head.head, one, two)
    silu(room, two, len(two))
    logit, last = head.last_bias[is_new], head.last[is_new]
    for j in range(len(two)):
        logit += last[j] * two[j]
    if head.foresight:
        for f in range(NUM_FEATURES):
            logit += room.trusted[f] * room.ahead[f]
    return np.float64(logit)
