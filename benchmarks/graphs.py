"""Graphs of the stochastic block model: MCMC, refined draws of the exact filter, and other methods.

    python benchmarks/graphs.py [--graphs 200] [--errors 20] [--calibrated 400]

Each graph is drawn anew from models.StochasticBlockModel with 50 to 300 nodes and two blocks or more. Long
chains are four of 2,000 draws of merge-split moves and Gibbs sweeps. Refined draws are 200, from 1,000 of the
exact filter; those as drawn and weighted stand beside them. Spectral clustering is told the number of blocks,
Louvain (networkx) finds its own. Partitions are point estimates of least expected variation of information,
and are judged by the adjusted mutual information with the simulated blocks. One result a graph is kept in
runs/graphs, so that a run goes on where the last one ended.

On graphs of 100 nodes refined draws are compared with longer chains pair by pair. Simulation-based
calibration ranks the number of blocks and the log joint of graphs of 30 nodes among 99 thinned draws of a
chain. The last report is in benchmarks/results/graphs.json.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import torch
import typer
from rich.console import Console
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_mutual_info_score

from pyroclust.diagnostics import co_assignment, importance_weights, point_estimate, sbc
from pyroclust.files import replace_file
from pyroclust.guides import BlockFilter
from pyroclust.infer import refine, simulate
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, MergeSplit
from pyroclust.models import StochasticBlockModel

RUNS = Path(__file__).parents[1] / "runs" / "graphs"
RESULTS = Path(__file__).parent / "results" / "graphs.json"
MODEL = StochasticBlockModel()
SMALLEST, LARGEST, NODES = 50, 300, 100


def kernel(thin: int) -> Compose:
    return Compose([MergeSplit(MODEL), CollapsedGibbs(MODEL)], thin=thin)


def graph_of(num_nodes: int, seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """Simulate a graph of two blocks or more."""
    torch.manual_seed(seed)
    while True:
        graph, blocks = simulate(MODEL, torch.empty(num_nodes, num_nodes))
        if int(blocks.max()) > 0:
            return graph.double(), blocks.numpy()


def louvain(graph: np.ndarray) -> np.ndarray:
    """Return the communities of Louvain's method as labels."""
    labels = np.zeros(len(graph), dtype=int)
    communities = networkx.community.louvain_communities(networkx.from_numpy_array(graph), seed=0)
    for place, members in enumerate(communities):
        labels[list(members)] = place
    return labels


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    return run(), time.perf_counter() - begin


def one_graph(seed: int) -> dict[str, Any]:
    """Return the adjusted mutual information of every method on one graph, and seconds."""
    size = int(np.random.default_rng(seed).integers(SMALLEST, LARGEST + 1))
    graph, blocks = graph_of(size, seed)
    number, matrix = int(blocks.max()) + 1, graph.numpy()
    chains, of_chains = timed(
        lambda: kernel(2).run(graph, num_draws=2000, warmup=1000, num_chains=4, seed=0).assignments.numpy()
    )
    refined, of_refined = timed(lambda: refine(MODEL, BlockFilter(MODEL), graph, num_draws=200, seed=0))
    proposals = refined.proposals
    drawn, weights = proposals.assignments.numpy(), importance_weights(proposals.log_weights.numpy())
    spectral = SpectralClustering(number, affinity="precomputed", assign_labels="kmeans", random_state=0)
    partitions = {
        "long chains": point_estimate(chains, seed=0),
        "filter, as drawn": point_estimate(drawn, seed=0),
        "filter, weighted": point_estimate(drawn, seed=0, weights=weights),
        "filter, refined": point_estimate(refined.assignments.numpy(), seed=0),
        "spectral, told K": spectral.fit_predict(matrix + 1e-3),
        "Louvain": louvain(matrix),
    }
    return {
        "nodes": size,
        "blocks": number,
        "efficiency": proposals.efficiency,
        "settled": refined.settled,
        "seconds": {"long chains": of_chains, "filter, refined": of_refined},
        "ami": {name: adjusted_mutual_info_score(blocks, one) for name, one in partitions.items()},
    }


def largest_error(seed: int) -> float:
    """Return the largest difference of co-assignment probabilities of refined draws and long chains."""
    graph, _ = graph_of(NODES, 10_000 + seed)
    chains = kernel(4).run(graph, num_draws=4000, warmup=2000, num_chains=4, seed=0).assignments.numpy()
    refined = refine(MODEL, BlockFilter(MODEL), graph, num_draws=1000, seed=0).assignments.numpy()
    return float(np.abs(co_assignment(refined) - co_assignment(chains)).max())


def calibration(number: int) -> dict[str, float]:
    """Rank the number of blocks and the log joint of simulated graphs among draws of a chain."""
    torch.manual_seed(0)
    graphs, blocks = simulate(MODEL, torch.empty(number, 30, 30))
    truth = {
        "number of blocks": blocks.max(-1).values + 1,
        "log joint": MODEL.log_joint(graphs, blocks).round(decimals=6),
    }
    found: dict[str, list[np.ndarray]] = {name: [] for name in truth}
    for seed, graph in enumerate(graphs.double()):
        run = kernel(10).run(graph, num_draws=99, warmup=50, num_chains=1, seed=seed)
        found["number of blocks"].append(run.assignments[0].max(-1).values.numpy() + 1)
        # Many draws are the truth itself, whose log joint compiled code sums in another order.
        found["log joint"].append(run.log_joint[0].round(decimals=6).numpy())
    ranks = sbc(
        {name: one.numpy().astype(float) for name, one in truth.items()},
        {name: np.stack(one, 1).astype(float) for name, one in found.items()},
        seed=0,
    )
    return {row.name: float(row.p_value) for row in ranks.rows}


def main(graphs: int = 200, errors: int = 20, calibrated: int = 400) -> None:
    """Measure all graphs and print what was found."""
    torch.set_num_threads(1)
    RUNS.mkdir(parents=True, exist_ok=True)
    rows = []
    for seed in range(graphs):
        path = RUNS / f"{seed}.json"
        if not path.exists():
            replace_file(path, json.dumps(one_graph(seed)).encode())
        rows.append(json.loads(path.read_text()))
    ami, spent = (pd.DataFrame([row[name] for row in rows]) for name in ("ami", "seconds"))
    found = {
        name: {
            "ami": float(ami[name].mean()),
            "error": float(ami[name].sem()),
            "seconds": float(spent[name].mean()) if name in spent else None,
        }
        for name in ami
    }
    gaps = [largest_error(seed) for seed in range(errors)]
    report = {
        "graphs": graphs,
        "rows": found,
        "median efficiency": float(np.median([row["efficiency"] for row in rows])),
        "settled": float(np.mean([row["settled"] for row in rows])),
        "largest co-assignment error": {"median": float(np.median(gaps)), "worst": max(gaps)},
        "calibration, p": calibration(calibrated),
    }
    console = Console(width=140)
    console.print(pd.DataFrame(found).T.round(3).to_string())
    console.print({name: one for name, one in report.items() if name != "rows"})
    replace_file(RESULTS, (json.dumps(report, indent=1) + "\n").encode())


if __name__ == "__main__":
    typer.run(main)
