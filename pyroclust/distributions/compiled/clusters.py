"""What compiled loops over points do with the clusters of a family."""

from typing import Any

import numpy as np

from pyroclust.compiling import inner
from pyroclust.distributions.compiled.protocol import refresh

__all__ = ["add_point"]


@inner
def add_point(
    family: Any, sizes: np.ndarray, sums: np.ndarray, moments: np.ndarray, point: int, cluster: int
) -> None:
    """Put a point into a cluster; what a cluster of size 0 held is forgotten.

    Args:
        family: tables and caches of the family.
        sizes: points in each cluster, ``(W,)``.
        sums: their summed moments, ``(W, F)``.
        moments: of single points, ``(N, F)``.
        point: the point.
        cluster: its cluster.
    """
    if sizes[cluster] == 0:
        for f in range(moments.shape[1]):
            sums[cluster, f] = 0.0
    sizes[cluster] += 1
    for f in range(moments.shape[1]):
        sums[cluster, f] += moments[point, f]
    refresh(family, sums, cluster, sizes[cluster])
