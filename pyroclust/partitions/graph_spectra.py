"""Leading eigenvectors of one graph in NumPy, and where its nodes are drawn."""

import numpy as np
from numpy.typing import NDArray

# Below, all eigenvectors together take less time than a few one by one.
_FEW_NODES = 400
# Above, forces between all pairs of nodes take too long.
_MOST_BY_FORCES = 600


def leading_eigenpairs(adjacency: np.ndarray, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the largest eigenvalues of the normalised adjacency and their eigenvectors, the largest first.

    .. math:: D^{-1/2} A D^{-1/2} v_j = \mu_j v_j, \qquad \mu_1 \ge \mu_2 \ge \ldots

    Degrees below 1 count as 1. Above 400 nodes by Lanczos' method, where that converges.
    """
    from scipy.sparse.linalg import ArpackError, eigsh

    matrix = np.asarray(adjacency, dtype=np.float64)
    scale = np.maximum(matrix.sum(1), 1) ** -0.5
    normalised = scale[:, None] * matrix * scale
    if len(matrix) > max(_FEW_NODES, 2 * count):
        # A start of its own, so that two runs are equal.
        start = np.random.default_rng(0).random(len(matrix))
        try:
            values, vectors = eigsh(normalised, count, which="LA", v0=start)
        except ArpackError:
            pass
        else:
            return values[::-1], vectors[:, ::-1]
    values, vectors = np.linalg.eigh(normalised)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def node_positions(adjacency: np.ndarray) -> NDArray[np.float64]:
    """Return places of the nodes of a graph in a plane, ``(N, N) -> (N, 2)``, the same every time.

    By forces, as networkx has them; above 600 nodes by the two leading eigenvectors of the normalised
    adjacency, the first left out. See Fruchterman & Reingold (1991), https://doi.org/10.1002/spe.4380211102.
    """
    matrix = np.asarray(adjacency, dtype=np.float64)
    if len(matrix) > _MOST_BY_FORCES:
        return leading_eigenpairs(matrix, 3)[1][:, 1:].copy()
    import networkx

    places = networkx.spring_layout(networkx.from_numpy_array(matrix), seed=0)
    positions = np.array([places[node] for node in range(len(matrix))]).reshape(-1, 2)
    centred = positions - positions.mean(0)
    # The longer axis lies across.
    return centred @ np.linalg.svd(centred, full_matrices=False)[2].T
