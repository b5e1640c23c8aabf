"""The compiled exact filter: points join clusters one after the other, by their collapsed predictive."""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import compiled
from pyroclust.distributions.compiled.clusters import NEGLIGIBLE, add_point, draw_index
from pyroclust.distributions.compiled.protocol import log_predictive_above


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
    """Label the points from ``first`` on, and return the log-probability of their labels in nats."""
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
