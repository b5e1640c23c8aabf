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

    Degrees below 1 count as 1. Cost O(N^3) up to 400 nodes; above, Lanczos' method takes O(N^2) a step, some
    hundreds of them, and O(N^3) where it does not converge, as on a graph without edges.

    Args:
        adjacency: symmetric, of numbers that are not negative.
        count: how many; a smaller graph has as many as it has nodes.

    Shape:
        adjacency: ``(N, N)``; output: ``(count,)`` and ``(N, count)``.

    Example:
        >>> values, vectors = leading_eigenpairs(np.ones((4, 4)) - np.eye(4), 2)
        >>> values.round(3).tolist(), vectors.shape
        ([1.0, -0.333], (4, 2))
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
    positions = np.array([places[node] for node in range(len(matrix))]).reshape(-1, 2)
    centred = positions - positions.mean(0)
    # The longer axis lies across.
    return centred @ np.linalg.svd(centred, full_matrices=False)[2].T
