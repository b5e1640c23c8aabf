"""Where the nodes of a graph are drawn."""

import numpy as np
from numpy.typing import NDArray

from pyroclust.partitions.graph_spectra import leading_eigenpairs

__all__ = ["node_positions"]

# Above, forces between all pairs of nodes take too long.
_MOST_BY_FORCES = 600


def node_positions(adjacency: np.ndarray) -> NDArray[np.float64]:
    """Return places of the nodes of a graph in a plane, the same every time.

    By forces that pull the ends of edges together and push nodes apart, as networkx has them; above 600 nodes
    by the two leading eigenvectors of the normalised adjacency, the first left out. Cost O(N^2) an iteration
    of 50, or that of :func:`~pyroclust.partitions.graph_spectra.leading_eigenpairs`.

    Shape:
        adjacency: ``(N, N)``; output: ``(N, 2)``.

    References:
        Fruchterman & Reingold (1991), Graph drawing by force-directed placement.
        https://doi.org/10.1002/spe.4380211102

    Example:
        >>> node_positions(np.ones((4, 4)) - np.eye(4)).shape
        (4, 2)
    """
    matrix = np.asarray(adjacency, dtype=np.float64)
    if len(matrix) > _MOST_BY_FORCES:
        return leading_eigenpairs(matrix, 3)[1][:, 1:].copy()
    import networkx

    places = networkx.spring_layout(networkx.from_numpy_array(matrix), seed=0)
    found = np.array([places[node] for node in range(len(matrix))]).reshape(-1, 2)
    centred = found - found.mean(0)
    # The longer axis lies across.
    return centred @ np.linalg.svd(centred, full_matrices=False)[2].T
