"""Communities of graphs: spectral clustering, Louvain, and block models by graph-tool."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from pyroclust.baselines.baseline import Baseline, Clustering
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

    References:
        von Luxburg (2007), A tutorial on spectral clustering. https://doi.org/10.1007/s11222-007-9033-z

    Example:
        >>> graph = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
        >>> SpectralCommunities().partition(graph, seed=0).assignments.tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]
    """

    num_clusters: int | None = None
    max_clusters: int = 20
    name: ClassVar[str] = "spectral clustering"

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        from sklearn.cluster import SpectralClustering

        matrix = check_matrix(data) + _FAINT
        given = self.num_clusters
        number = _by_gap(matrix, self.max_clusters) if given is None else given
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
    name: ClassVar[str] = "Louvain"

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


_DEBIAN = "/usr/bin/python3"
_REMEDY = "apt install python3-graph-tool"
_PACKAGE = Path("/usr/lib/python3/dist-packages/graph_tool")

# graph-tool is compiled for the interpreter of the distribution, and its license is not that of pyroclust:
# it is another program, which reads edges and writes labels.
_PROGRAM = """
import json, sys
import numpy
import graph_tool, graph_tool.inference
given = json.load(sys.stdin)
graph = graph_tool.Graph(directed=False)
graph.add_vertex(given["nodes"])
graph.add_edge_list(given["edges"])
numpy.random.seed(given["seed"])
graph_tool.seed_rng(given["seed"])
best = None
for _ in range(given["starts"]):
    state = graph_tool.inference.minimize_blockmodel_dl(graph, state_args={"deg_corr": given["by_degree"]})
    if best is None or state.entropy() < best.entropy():
        best = state
json.dump([int(one) for one in best.get_blocks().a], sys.stdout)
"""


@dataclass(frozen=True)
class GraphTool(Baseline):
    """The stochastic block model of least description length that graph-tool finds.

    Its model is not :class:`~pyroclust.models.StochasticBlockModel`: numbers of edges between blocks have a
    flat law, rates within blocks need not be larger than those between, and every number of blocks is as
    probable as any other. The seconds hold two or three for the start of another Python.

    Args:
        degree_corrected: whether nodes of one block may have degrees of their own.
        num_starts: searches, the best of which counts.
        python: interpreter that has graph-tool, as Debian's has after ``apt install python3-graph-tool``.

    Raises:
        ValueError: if it cannot be run, or has no graph-tool.

    References:
        Peixoto (2014), Efficient Monte Carlo and greedy heuristic for the inference of stochastic block
        models. https://doi.org/10.1103/PhysRevE.89.012804

    Example:
        >>> GraphTool().name
        'graph-tool'
    """

    degree_corrected: bool = False
    num_starts: int = 3
    python: str = _DEBIAN
    name: ClassVar[str] = "graph-tool"

    @staticmethod
    def is_installed() -> bool:
        """Return whether Debian's package is there; looks for its folder only."""
        return _PACKAGE.is_dir() and Path(_DEBIAN).exists()

    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        given = {
            "nodes": len(check_matrix(data)),
            "edges": np.argwhere(np.triu(data)).tolist(),
            "seed": seed,
            "starts": self.num_starts,
            "by_degree": self.degree_corrected,
        }
        try:
            found = subprocess.run(
                [self.python, "-I", "-c", _PROGRAM],
                input=json.dumps(given),
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise ValueError(
                f"python is {self.python!r}, which cannot be run ({error.strerror}): {_REMEDY}"
            ) from None
        if found.returncode:
            last = (found.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
            raise ValueError(f"{self.python} did not run graph-tool ({last}): {_REMEDY}")
        kind = "degree-corrected block model" if self.degree_corrected else "block model"
        about = (
            f"The {kind} of least description length in {self.num_starts} searches of graph-tool, whose "
            "prior is another one."
        )
        return Clustering(np.array(json.loads(found.stdout)), about)


GRAPH_BASELINES: tuple[Baseline, ...] = (
    SpectralCommunities(),
    Louvain(),
    *([GraphTool()] if GraphTool.is_installed() else []),
)
"""Methods that take the matrix of a graph; graph-tool where Debian's package is installed."""
