"""Blocks of graphs by graph-tool, which runs in a Python of its own."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pyroclust.baselines.baseline import Baseline, Clustering
from pyroclust.baselines.communities import check_matrix

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

    Its model is a neighbour of :class:`~pyroclust.models.StochasticBlockModel`, not the same: numbers of
    edges between blocks have a flat law, rates within blocks need not be larger than those between, every
    number of blocks is as probable as any other, and the answer is the one best partition. The seconds hold
    two or three for the start of another Python.

    Args:
        degree_corrected: whether nodes of one block may have degrees of their own.
        num_starts: searches, the best of which counts.
        python: interpreter that has graph-tool, as Debian's has after ``apt install python3-graph-tool``.

    Raises:
        ValueError: if there is no such interpreter, or it has no graph-tool.

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

    @property
    def name(self) -> str:
        """What tables call the method."""
        return "graph-tool"

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
