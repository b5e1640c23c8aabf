"""Communities of graphs: spectral clustering, and Louvain's method."""

from dataclasses import dataclass

import numpy as np

from pyroclust.baselines.baseline import Baseline, Clustering
from pyroclust.baselines.number_of_clusters import check_num_clusters
from pyroclust.partitions.graph_spectra import leading_eigenpairs

# Every pair of nodes is joined by so little, so that a graph in several pieces has eigenvectors all the same.
_FAINT = 1e-3


@dataclass(frozen=True)
class SpectralCommunities(Baseline):
    """K-means on leading eigenvectors of the normalised adjacency; its largest gap chooses their number.

    Cost: O(N^2) a step of Lanczos' method, some hundreds of them; O(N^3) up to 400 nodes.

    Args:
        num_clusters: K; chosen by the gap if ``None``.
        max_clusters: largest K that the rule tries.

    Raises:
        ValueError: if a number is below 1.

    References:
        von Luxburg (2007), A tutorial on spectral clustering. https://doi.org/10.1007/s11222-007-9033-z

    Example:
        >>> graph = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
        >>> SpectralCommunities().partition(graph, seed=0).assignments.tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]
    """

    num_clusters: int | None = None
    max_clusters: int = 20

    def __post_init__(self) -> None:
        check_num_clusters("num_clusters", self.num_clusters)
        check_num_clusters("max_clusters", self.max_clusters)

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "spectral clustering"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        from sklearn.cluster import SpectralClustering

        matrix = check_matrix(data) + _FAINT
        given = self.num_clusters
        number = _by_gap(matrix, self.max_clusters) if given is None else given
        check_num_clusters("num_clusters", number, len(matrix))
        how = "by the largest gap of the eigenvalues" if given is None else "as given"
        about = f"Spectral clustering of the nodes with K = {number} {how}."
        if number in (1, len(matrix)):
            return Clustering(np.arange(len(matrix)) if number > 1 else np.zeros(len(matrix)), about)
        method = SpectralClustering(
            number, affinity="precomputed", assign_labels="kmeans", random_state=seed, n_init=10
        )
        return Clustering(method.fit_predict(matrix), about)


@dataclass(frozen=True)
class Louvain(Baseline):
    """Communities of largest modularity that Louvain's method finds (networkx).

    Cost: about O(edges log N).

    Args:
        resolution: above 1 for smaller communities.

    References:
        Blondel et al. (2008), Fast unfolding of communities in large networks.
        https://doi.org/10.1088/1742-5468/2008/10/P10008

    Example:
        >>> graph = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
        >>> Louvain().partition(graph, seed=0).assignments.tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]
    """

    resolution: float = 1.0

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "Louvain"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        import networkx

        graph = networkx.from_numpy_array(check_matrix(data))
        labels = np.zeros(len(data), dtype=np.int64)
        found = networkx.community.louvain_communities(graph, resolution=self.resolution, seed=seed)
        for place, members in enumerate(found):
            labels[list(members)] = place
        return Clustering(labels, f"Louvain's method, of modularity with resolution {self.resolution:g}.")


def check_matrix(data: np.ndarray) -> np.ndarray:
    """Refuse what is no matrix of a graph."""
    if data.shape[0] != data.shape[1] or not np.array_equal(data, data.T):
        raise ValueError(f"data has shape {data.shape}, expected the symmetric matrix of a graph, (N, N)")
    return data


def _by_gap(matrix: np.ndarray, most: int) -> int:
    """Return the number of eigenvalues before the largest gap but that after the first, which is 1."""
    values = leading_eigenpairs(matrix, most + 1)[0][1:]
    return int(np.argmax(values[:-1] - values[1:])) + 2 if len(values) > 1 else 2
