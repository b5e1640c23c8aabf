"""What compiled loops over points do with the clusters of a family."""

import math
from typing import Any

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.protocol import refresh

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
