"""What compiled loops over points do with the clusters of a family: add points, draw one, filter."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.protocol import log_predictive_above, refresh

NEGLIGIBLE = -40.0
"""Log weights so far below the largest are 0: exp(-40) is below half a unit in the last place of the sum."""


@inner
def add_point(
    family: Any, sizes: np.ndarray, sums: np.ndarray, moments: np.ndarray, point: int, cluster: int
) -> None:
    """Put a point into a cluster; what a cluster of size 0 held is forgotten."""
    if sizes[cluster] == 0:
        for f in range(moments.shape[1]):
            sums[cluster, f] = 0.0
    sizes[cluster] += 1
    for f in range(moments.shape[1]):
        sums[cluster, f] += moments[point, f]
    refresh(family, sums, cluster, sizes[cluster])


@inner
def draw_index(weights: np.ndarray, count: int, best: float, uniform: float) -> int:
    """Draw an index from log weights whose largest is ``best``; the weights are overwritten."""
    total = 0.0
    for j in range(count):
        difference = weights[j] - best
        if difference > NEGLIGIBLE:
            total += math.exp(difference)
        weights[j] = total
    target = uniform * total
    chosen = 0
    while chosen < count - 1 and weights[chosen] <= target:
        chosen += 1
    return chosen


class FilterState(NamedTuple):
    """What the filter knows of the points, in visiting order, and of at most W clusters."""

    moments: np.ndarray  # of single points, (N, F)
    log_alone: np.ndarray  # log predictive density of single points in an empty cluster, (N,)
    log_join: np.ndarray  # log(n - d), the weight of joining a cluster of n points, (N + 1,)
    log_open: np.ndarray  # weight of a new cluster after n points in K clusters, (N + 1, W)
    sizes: np.ndarray  # points in each cluster, (W,)
    sums: np.ndarray  # their summed moments, (W, F)
    weights: np.ndarray  # scratch space, (W + 1,)
    logs: np.ndarray  # scratch space, (W + 1,)


@compiled(allocates=False)
def filter_points(family: Any, state: Any, uniforms: np.ndarray, labels: np.ndarray, first: int) -> float:
    """Label the points from ``first`` on, or score their labels without uniforms, and return log q in nats.

    That is infinity where there would be W clusters or more.
    """
    for k in range(len(state.sizes)):
        state.sizes[k] = 0
    labels[0], clusters, total = 0, 0, 0.0
    for point in range(first):
        clusters = max(clusters, labels[point] + 1)
        if clusters >= len(state.sizes):
            return math.inf
        add_point(family, state.sizes, state.sums, state.moments, point, labels[point])
    for point in range(first, len(labels)):
        best = state.log_open[point, clusters] + state.log_alone[point]
        state.logs[clusters] = best
        for k in range(clusters):
            size = state.sizes[k]
            floor = best + NEGLIGIBLE - state.log_join[size]
            if len(uniforms) == 0 and k == labels[point]:
                floor = -math.inf
            state.logs[k] = state.log_join[size] + log_predictive_above(family, point, k, size, floor)
            best = max(best, state.logs[k])
        for k in range(clusters + 1):
            state.weights[k] = state.logs[k]
        if len(uniforms) > 0:
            chosen = draw_index(state.weights, clusters + 1, best, uniforms[point])
            labels[point] = chosen
        else:
            chosen = labels[point]
            draw_index(state.weights, clusters + 1, best, 0.0)
        total += state.logs[chosen] - best - math.log(state.weights[clusters])
        if chosen == clusters:
            clusters += 1
            # The next point needs the weight of one more cluster.
            if clusters == len(state.sizes):
                return math.inf
        add_point(family, state.sizes, state.sums, state.moments, point, chosen)
    return total


@compiled(allocates=False)
def filter_rows(
    family: Any,
    state: Any,
    uniforms: np.ndarray,
    labels: np.ndarray,
    rows: np.ndarray,
    first: int,
    log_prob: np.ndarray,
) -> None:
    """Do so for some rows of labels ``(S, N)``, and of uniforms or none."""
    for row in rows:
        log_prob[row] = filter_points(family, state, uniforms[row], labels[row], first)
