"""The light scorer in compiled code: what it makes of clusters and of candidates, and the tree of draws."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.compiling import inner, lean
from pyroclust.nn.compiled_look import add_kernels, raise_floats

__all__ = ["Network", "Points", "Prefixes", "Room", "Tree", "absorb", "branch", "choose", "score"]

_GAIN, _LOSS, _EVIDENCE, _OWN, _OPEN = range(5)


class Network(NamedTuple):
    """Weights of the light scorer, float32, matrices ``(inputs, outputs)``; W of most layers."""

    scale: float
    weight: float
    adaptive: int
    filtered: int
    foresight: int
    epsilon: float
    first: np.ndarray
    second: np.ndarray
    second_bias: np.ndarray
    to_head: np.ndarray
    contribute: np.ndarray
    contribute_bias: np.ndarray
    pool_norm: np.ndarray
    pool: np.ndarray
    pool_bias: np.ndarray
    difference: np.ndarray
    new_cluster: np.ndarray
    head_norm: np.ndarray
    head: np.ndarray
    head_bias: np.ndarray
    last: np.ndarray
    last_bias: np.ndarray
    ahead: np.ndarray
    trust: np.ndarray
    trust_bias: np.ndarray


class Points(NamedTuple):
    """Data sets laid end to end, in visiting order.

    Attributes:
        num_points: N, of each.
        stride: of the points that are looked at.
        looked: how many these are of each.
        positions: ``(B N, D)`` float32.
        moments: ``(B N, F)``.
        context: ``(B N, W)`` float32.
        bias: of the first layer of the state network, ``(B, W)`` float32.
    """

    num_points: int
    stride: int
    looked: int
    positions: np.ndarray
    moments: np.ndarray
    context: np.ndarray
    bias: np.ndarray


class Prefixes(NamedTuple):
    """Partitions of the first points: P rows with room for K clusters each.

    Attributes:
        room: K.
        dataset: ``(P,)``.
        clusters: ``(P,)``.
        counts: points of clusters, ``(P K,)``.
        moments: sums over them, ``(P K, F)``.
        mean: ``(P, K D)`` float32.
        whiten: ``(P, K D D)`` float32.
        head: what clusters add to the head, ``(P, K W)`` float32.
        contribution: what they add to the pool, ``(P, K W)`` float32.
        pooled: ``(P, W)``.
        log_prob: ``(P,)``.
        label: cluster of the last point, which is still to be put there, ``(P,)``.
        log_probs: of the candidates, ``(P, K + 1)``.
        child: the row of each candidate that was drawn, -1 for others, ``(P, K + 1)``.
    """

    room: int
    dataset: np.ndarray
    clusters: np.ndarray
    counts: np.ndarray
    moments: np.ndarray
    mean: np.ndarray
    whiten: np.ndarray
    head: np.ndarray
    contribution: np.ndarray
    pooled: np.ndarray
    log_prob: np.ndarray
    label: np.ndarray
    log_probs: np.ndarray
    child: np.ndarray


class Tree(NamedTuple):
    """Draws, and which of the prefixes each of them extends.

    Attributes:
        number: rows in use, those of the next step, and most clusters of one, ``(3,)``.
        prefix: ``(S,)``.
        labels: ``(S, N)``.
        is_free: whether labels are drawn or known, ``(S,)``.
        uniform: random numbers for each step and draw, ``(N - 1, S)``.
    """

    number: np.ndarray
    prefix: np.ndarray
    labels: np.ndarray
    is_free: np.ndarray
    uniform: np.ndarray


class Room(NamedTuple):
    """Scratch space of a thread: of width W unless another is said.

    Attributes:
        features: inputs of the state network.
        one: float32.
        two: float32.
        shared: float32.
        values: float32, for exponentials.
        powers: int32.
        as_floats: the same memory as float32.
        seen: what is seen of a point from a cluster, ``(2 D + 1,)``.
        ahead: features of the foresight, ``(7,)``.
        trusted: weights of these, ``(7,)``.
        sums: of kernels, ``(H, 1 + D + C)``.
        frame: covariance, its factor, and the inverse of that, ``(3, D, D)`` float64.
        middle: mean of a cluster, ``(D,)`` float32.
        whiten: ``(D, D)`` float32.
    """

    features: np.ndarray
    one: np.ndarray
    two: np.ndarray
    shared: np.ndarray
    values: np.ndarray
    powers: np.ndarray
    as_floats: np.ndarray
    seen: np.ndarray
    ahead: np.ndarray
    trusted: np.ndarray
    sums: np.ndarray
    frame: np.ndarray
    middle: np.ndarray
    whiten: np.ndarray

    @classmethod
    def empty(cls, inputs: int, width: int, dim: int, sums: tuple[int, int]) -> "Room":
        """Make scratch space."""
        one, two, shared, values = np.zeros((4, width), np.float32)
        powers = np.zeros(width, np.int32)
        return cls(
            np.zeros(inputs, np.float32),
            one,
            two,
            shared,
            values,
            powers,
            powers.view(np.float32),
            np.zeros(2 * dim + 1, np.float32),
            np.zeros(7, np.float32),
            np.zeros(7, np.float32),
            np.zeros(sums, np.float32),
            np.zeros((3, dim, dim)),
            np.zeros(dim, np.float32),
            np.zeros((dim, dim), np.float32),
        )


@inner
def _multiply(matrix: Any, values: Any, found: Any) -> None:
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
def _silu(room: Any, values: Any) -> None:
    inverse = room.values
    for j in range(len(inverse)):
        inverse[j] = min(max(-values[j], np.float32(-80.0)), np.float32(80.0))
    raise_floats(inverse, room.powers, room.as_floats, len(inverse))
    for j in range(len(inverse)):
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
def _frame(net: Any, room: Any, size: float, moments: Any) -> float:
    """Write mean and whitening matrix of a cluster, and return its log volume."""
    dim = len(room.middle)
    for d in range(dim):
        room.middle[d] = np.float32(moments[d] / size)
        for e in range(dim):
            room.whiten[d, e] = np.float32(1.0 / net.scale if d == e else 0.0)
    if net.adaptive == 0:
        return 0.0
    covariance, factor, inverse = room.frame[0], room.frame[1], room.frame[2]
    volume = -dim * math.log(net.scale)
    for d in range(dim):
        for e in range(d + 1):
            entry = moments[dim + d * dim + e] - moments[d] * (moments[e] / size)
            if d == e:
                entry += net.weight * net.scale**2
            entry /= net.weight + size
            for c in range(e):
                entry -= factor[d, c] * factor[e, c]
            covariance[d, e] = entry
            factor[d, e] = entry / factor[e, e] if e < d else math.sqrt(max(entry, 1e-12))
        volume += math.log(factor[d, d])
        for e in range(d + 1):
            entry = 1.0 if d == e else 0.0
            for c in range(e, d):
                entry -= factor[d, c] * inverse[c, e]
            inverse[d, e] = entry / factor[d, d]
            room.whiten[d, e] = np.float32(inverse[d, e])
    return volume


@inner
def _see_ahead(room: Any, look: Any, points: Any, dataset: int, step: int, at: int) -> None:
    """Write what kernels say of the points to come around a cluster, from a place in the features on."""
    begin, many = dataset * points.looked, look.columns.shape[1]
    first = begin + (step + points.stride) // points.stride
    sums, kernels = room.sums, len(look.precision)
    for h in range(kernels):
        for c in range(sums.shape[1]):
            sums[h, c] = 0.0
    add_kernels(look, first, begin + points.looked, room.middle, room.whiten, sums)
    dim = len(room.middle)
    for h in range(kernels):
        count = sums[h, 0] * np.float32(points.stride)
        share = np.float32(points.stride) / (np.float32(1.0) + count)
        root = np.sqrt(look.precision[h])
        room.features[at + h] = np.log1p(count)
        for d in range(dim):
            room.features[at + kernels + h * dim + d] = sums[h, 1 + d] * share * root
        for c in range(many):
            place = at + kernels * (1 + dim) + h * many + c
            room.features[place] = sums[h, 1 + dim + c] * share * look.precision[h]


@inner
def _describe_ahead(room: Any, found: Any, to_come: int) -> None:
    """Bring gains, losses and evidence to the scale of a network."""
    net, evidence = found[_GAIN] - found[_LOSS], found[_EVIDENCE]
    root = math.sqrt(1.0 + to_come)
    room.ahead[0], room.ahead[1] = net / root, evidence / root
    room.ahead[2], room.ahead[3] = np.arcsinh(net), np.arcsinh(evidence)
    room.ahead[4], room.ahead[5] = math.log1p(found[_GAIN]), math.log1p(found[_LOSS])
    room.ahead[6] = min(max(evidence, -10.0), 10.0) / 4.0


@inner
def _see_cluster(net: Any, room: Any, points: Any, prefixes: Any, row: int, point: int, cluster: int) -> None:
    """Add to the input of the head what a cluster is, and how the point differs from it."""
    dim, width, scale = len(room.middle), len(room.one), np.float32(net.scale)
    mean, whiten, head = prefixes.mean[row], prefixes.whiten[row], prefixes.head[row]
    square = np.float32(0.0)
    for d in range(dim):
        offset = np.float32(0.0)
        for e in range(d + 1):
            shift = points.positions[point, e] - mean[cluster * dim + e]
            offset += whiten[(cluster * dim + d) * dim + e] * shift
        square += offset * offset
        room.seen[d] = np.arcsinh(offset)
        room.seen[dim + d] = np.arcsinh((points.positions[point, d] - mean[cluster * dim + d]) / scale)
    room.seen[2 * dim] = np.log1p(square)
    for j in range(width):
        room.one[j] += head[cluster * width + j]
    _multiply(net.difference, room.seen, room.one)


@lean
def absorb(
    net: Any,
    room: Any,
    look: Any,
    points: Any,
    prefixes: Any,
    decisions: Any,
    step: int,
    begin: int,
    end: int,
) -> None:
    """Put the point before ``step`` into clusters, in some rows, and say what there is to decide then."""
    width, dim = len(room.one), len(room.middle)
    for row in range(begin, end):
        label, dataset = prefixes.label[row], prefixes.dataset[row]
        point, bias = dataset * points.num_points + step - 1, points.bias[dataset]
        at = row * prefixes.room + label
        mean, whiten = prefixes.mean[row], prefixes.whiten[row]
        head, contribution, pooled = prefixes.head[row], prefixes.contribution[row], prefixes.pooled[row]
        moments = prefixes.moments[at]
        if label == prefixes.clusters[row]:
            prefixes.clusters[row] += 1
            prefixes.counts[at] = 0.0
            for f in range(len(moments)):
                moments[f] = 0.0
            for j in range(width):
                contribution[label * width + j] = 0.0
        prefixes.counts[at] += 1.0
        for f in range(len(moments)):
            moments[f] += points.moments[point, f]
        size = prefixes.counts[at]
        volume = _frame(net, room, size, moments)
        for d in range(dim):
            mean[label * dim + d] = room.middle[d]
            room.features[d] = np.arcsinh(room.middle[d] / np.float32(net.scale))
            for e in range(dim):
                whiten[(label * dim + d) * dim + e] = room.whiten[d, e]
        room.features[dim] = np.float32(math.log(size) / 3.0)
        room.features[dim + 1] = np.float32(1.0 / size)
        room.features[dim + 2] = np.float32(volume)
        if len(look.precision):
            _see_ahead(room, look, points, dataset, step - 1, dim + 3)
        one, two = room.one, room.two
        for j in range(width):
            one[j], two[j] = bias[j], net.second_bias[j]
        _multiply(net.first, room.features, one)
        _silu(room, one)
        _multiply(net.second, one, two)
        _silu(room, two)
        for j in range(width):
            one[j] = 0.0
        _multiply(net.to_head, two, one)
        for j in range(width):
            head[label * width + j] = one[j]
            one[j] = net.contribute_bias[j]
        _multiply(net.contribute, two, one)
        for j in range(width):
            pooled[j] += np.float64(one[j]) - np.float64(contribution[label * width + j])
            contribution[label * width + j] = one[j]
        decisions.dataset[row], decisions.step[row] = dataset, step
        decisions.clusters[row], decisions.starts[row] = prefixes.clusters[row], row * prefixes.room


@inner
def _share(net: Any, room: Any, points: Any, prefixes: Any, row: int, point: int) -> None:
    """Write what all candidates of a decision share."""
    one, shared, pooled, context = room.one, room.shared, prefixes.pooled[row], points.context[point]
    for j in range(len(one)):
        one[j] = np.float32(pooled[j])
        shared[j] = context[j] + net.pool_bias[j]
    _normalise(one, net.pool_norm, net.epsilon)
    _multiply(net.pool, one, shared)
    if net.foresight:
        for f in range(7):
            total, trust = net.trust_bias[f], net.trust[f]
            for j in range(len(one)):
                total += trust[j] * shared[j]
            room.trusted[f] = total


@inner
def _judge(
    net: Any, room: Any, points: Any, prefixes: Any, found: Any, row: int, point: int, c: int, to_come: int
) -> float:
    """Return the network's logit of a candidate."""
    one, two, shared, width = room.one, room.two, room.shared, len(room.one)
    is_new = 1 if c == prefixes.clusters[row] else 0
    for j in range(width):
        one[j], two[j] = shared[j], net.head_bias[j]
    if is_new:
        for j in range(width):
            one[j] += net.new_cluster[j]
    else:
        _see_cluster(net, room, points, prefixes, row, point, c)
    if net.foresight:
        _describe_ahead(room, found, to_come)
        _multiply(net.ahead, room.ahead, one)
    _normalise(one, net.head_norm, net.epsilon)
    _silu(room, one)
    _multiply(net.head, one, two)
    _silu(room, two)
    logit, last = net.last_bias[is_new], net.last[is_new]
    for j in range(width):
        logit += last[j] * two[j]
    if net.foresight:
        for f in range(7):
            logit += room.trusted[f] * room.ahead[f]
    return np.float64(logit)


@lean
def score(
    net: Any, room: Any, points: Any, prefixes: Any, decisions: Any, step: int, begin: int, end: int
) -> None:
    """Write the log-probabilities of the candidates of some rows."""
    to_come = points.num_points - 1 - step
    for row in range(begin, end):
        clusters, is_shared = prefixes.clusters[row], False
        point = prefixes.dataset[row] * points.num_points + step
        logits, top = prefixes.log_probs[row], -math.inf
        for c in range(prefixes.room + 1):
            if c > clusters:
                logits[c] = -math.inf
                continue
            found = decisions.found[len(decisions.place) + row if c == clusters else row * prefixes.room + c]
            logits[c] = found[_OWN] if net.filtered else 0.0
            if net.foresight == 0 or found[_OPEN] > 0.0:
                if not is_shared:
                    _share(net, room, points, prefixes, row, point)
                    is_shared = True
                logits[c] += _judge(net, room, points, prefixes, found, row, point, c, to_come)
            top = max(top, logits[c])
        total = 0.0
        for c in range(clusters + 1):
            total += math.exp(logits[c] - top)
        for c in range(clusters + 1):
            logits[c] -= top + math.log(total)


@lean
def choose(prefixes: Any, tree: Any, step: int) -> None:
    """Draw a candidate for each draw by inversion, and count the rows and clusters that this takes."""
    for row in range(tree.number[0]):
        for c in range(prefixes.room + 1):
            prefixes.child[row, c] = -1
        prefixes.label[row] = -1
    rows, most = tree.number[0], 1
    for i in range(len(tree.prefix)):
        row, label = tree.prefix[i], tree.labels[i, step]
        if tree.is_free[i]:
            log_probs, clusters = prefixes.log_probs[row], prefixes.clusters[row]
            total, so_far, label = 0.0, 0.0, 0
            for c in range(clusters + 1):
                total += math.exp(log_probs[c])
            for c in range(clusters):
                so_far += math.exp(log_probs[c])
                if so_far <= tree.uniform[step - 1, i] * total:
                    label = c + 1
            tree.labels[i, step] = label
        if prefixes.child[row, label] < 0:
            # The first child takes the place of its parent.
            if prefixes.label[row] < 0:
                prefixes.label[row], prefixes.child[row, label] = label, row
            else:
                prefixes.child[row, label] = rows
                rows += 1
        most = max(most, max(prefixes.clusters[row], label + 1))
    tree.number[1], tree.number[2] = rows, most


@inner
def _copy_row(rows: Any, parent: int, child: int, count: int) -> None:
    source, target = rows[parent], rows[child]
    for j in range(count):
        target[j] = source[j]


@lean
def branch(prefixes: Any, tree: Any, step: int) -> None:
    """Make a row of each candidate that was drawn."""
    for row in range(tree.number[0]):
        clusters, own = prefixes.clusters[row], prefixes.label[row]
        for c in range(clusters + 1):
            child = prefixes.child[row, c]
            if child < 0 or child == row:
                continue
            prefixes.clusters[child], prefixes.label[child] = clusters, c
            prefixes.dataset[child] = prefixes.dataset[row]
            prefixes.log_prob[child] = prefixes.log_prob[row] + prefixes.log_probs[row, c]
            for k in range(clusters):
                prefixes.counts[child * prefixes.room + k] = prefixes.counts[row * prefixes.room + k]
                source, target = row * prefixes.room + k, child * prefixes.room + k
                _copy_row(prefixes.moments, source, target, prefixes.moments.shape[1])
            dim = prefixes.mean.shape[1] // prefixes.room
            width = prefixes.head.shape[1] // prefixes.room
            _copy_row(prefixes.mean, row, child, clusters * dim)
            _copy_row(prefixes.whiten, row, child, clusters * dim * dim)
            _copy_row(prefixes.head, row, child, clusters * width)
            _copy_row(prefixes.contribution, row, child, clusters * width)
            _copy_row(prefixes.pooled, row, child, width)
        prefixes.log_prob[row] += prefixes.log_probs[row, own]
    for i in range(len(tree.prefix)):
        tree.prefix[i] = prefixes.child[tree.prefix[i], tree.labels[i, step]]
    tree.number[0] = tree.number[1]
