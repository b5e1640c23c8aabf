"""Graphs of the stochastic block model: guides, MCMC, the exact filter, and other methods.

    python benchmarks/graphs.py [--graphs 200] [--errors 20] [--calibrated 400]

Each graph is drawn anew from models.StochasticBlockModel with 50 to 300 nodes and two blocks or more. Long
chains are four of 2,000 draws of merge-split moves and Gibbs sweeps, short ones have a tenth of their
length. The guides of the shelf draw 50 partitions, and 200, counted alike and by their weights, and search
for one by a beam of 8; refined draws are 200, from 1,000 of the exact filter. Spectral
clustering is told the number of blocks, or finds it by the largest gap; Louvain (networkx) finds its own, and
so does graph-tool where Debian's package is installed, whose prior is another one. Partitions are point
estimates of least expected variation of information, and are judged by the adjusted mutual information with
the simulated blocks. Seconds are those of the draws, with encoding and warm-up, on one core. One result a
graph and guide is kept in runs/graphs, so that a run goes on where the last one ended.

On graphs of 100 nodes refined draws of the first guide are compared with longer chains pair by pair.
Simulation-based calibration ranks the number of blocks and the log joint of graphs of 30 nodes among 99
thinned draws of a chain. The last report is in benchmarks/results/graphs.json.
"""

import itertools
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, weights_of, write_report
from rich.console import Console
from sklearn.metrics import adjusted_mutual_info_score

from pyroclust import load_guide
from pyroclust.baselines import GraphTool, Louvain, SpectralCommunities
from pyroclust.diagnostics import (
    co_assignment,
    importance_efficiency,
    importance_weights,
    point_estimate,
    sbc,
)
from pyroclust.guides import BlockFilter
from pyroclust.infer import Refinement, importance_sample, refine, simulate
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, MergeSplit
from pyroclust.models import StochasticBlockModel
from pyroclust.partitions import Draws

RUNS = Path(__file__).parents[1] / "runs" / "graphs"
RESULTS = Path(__file__).parent / "results" / "graphs.json"
MODEL = StochasticBlockModel()
SMALLEST, LARGEST, NODES = 50, 300, 100
GUIDES = ("ncp-sbm", "acp-sbm")
REFINED = "ncp-sbm"
DRAWS, FEW, BEAM = 200, 50, 8


def kernel(thin: int) -> Compose:
    return Compose([MergeSplit(MODEL), CollapsedGibbs(MODEL)], thin=thin)


def graph_of(num_nodes: int, seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """Simulate a graph of two blocks or more."""
    torch.manual_seed(seed)
    while True:
        graph, blocks = simulate(MODEL, torch.empty(num_nodes, num_nodes))
        if int(blocks.max()) > 0:
            return graph.double(), blocks.numpy()


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    return run(), time.perf_counter() - begin


def simulated(seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """Return the graph of a seed and its blocks."""
    return graph_of(int(np.random.default_rng(seed).integers(SMALLEST, LARGEST + 1)), seed)


def without_guides(seed: int) -> dict[str, Any]:
    """Measure chains, the exact filter and other methods on one graph."""
    graph, blocks = simulated(seed)
    number, matrix, run = int(blocks.max()) + 1, graph.numpy(), kernel(2).run
    chains, of_chains = timed(lambda: run(graph, num_draws=2000, warmup=1000, num_chains=4, seed=0))
    short, of_short = timed(lambda: run(graph, num_draws=200, warmup=100, num_chains=4, seed=0))
<<<<<<< HEAD
    (again, record), of_filter = timed(lambda: refined_of(BlockFilter(MODEL), graph, DRAWS))
    proposed = record.proposals
    found = {
        "long chains": point(chains.assignments),
        "short chains": point(short.assignments),
        "filter, refined": point(again.assignments),
        "filter, as drawn": point(proposed.assignments),
        "filter, weighted": point(proposed.assignments, proposed.log_ratios.ravel()),
=======
    (again, refinement), of_filter = timed(lambda: refined_of(BlockFilter(MODEL), graph, DRAWS))
    proposed = refinement.proposals
    found = {
        "long chains": point(chains.flat),
        "short chains": point(short.flat),
        "filter, refined": point(again.flat),
        "filter, as drawn": point(proposed.flat),
        "filter, weighted": point(proposed.flat, proposed.log_ratios),
>>>>>>> draws
    }
    seconds = {"long chains": of_chains, "short chains": of_short, "filter, refined": of_filter}
    others = {"spectral, told K": SpectralCommunities(number), "spectral": SpectralCommunities()}
    others |= {"Louvain": Louvain()} | ({"graph-tool": GraphTool()} if GraphTool.is_installed() else {})
    for name, one in others.items():
        ended = one.partition(matrix, seed=0)
        found[name], seconds[name] = ended.assignments, ended.seconds
    return judged(
        blocks,
        found,
        seconds,
<<<<<<< HEAD
        efficiency={"filter": record.efficiency},
        settled={"filter, refined": float(record.settled)},
=======
        efficiency={"filter": refinement.efficiency},
        settled={"filter, refined": float(refinement.settled)},
>>>>>>> draws
    )


def by_guide(name: str, seed: int) -> dict[str, Any]:
    """Measure a guide on one graph."""
    graph, blocks = simulated(seed)
    guide = load_guide(name)
    torch.manual_seed(seed)
    few, of_few = timed(lambda: few_of(guide, graph))
    best, of_beam = timed(lambda: guide.posterior(graph).map_partition(width=BEAM))
    drawn, of_all = timed(lambda: importance_sample(MODEL, guide, graph, num_draws=DRAWS))
    found = {
        f"{name}, {FEW} draws": point(few.numpy()),
        f"{name}, beam": best.numpy(),
        f"{name}, as drawn": point(drawn.flat),
        f"{name}, weighted": point(drawn.flat, drawn.log_weights),
    }
    seconds = dict(zip(found, (of_few, of_beam, of_all, of_all), strict=True))
    return judged(blocks, found, seconds, efficiency={name: importance_efficiency(drawn.log_weights)})


def judged(
    blocks: np.ndarray, partitions: dict[str, np.ndarray], seconds: dict[str, float], **others: Any
) -> dict[str, Any]:
    scores = {name: adjusted_mutual_info_score(blocks, one) for name, one in partitions.items()}
    return {"ami": scores, "seconds": seconds, **others}


<<<<<<< HEAD
def point(draws: Any, log_weights: Any = None) -> np.ndarray:
    weights = None if log_weights is None else importance_weights(np.asarray(log_weights))
    return point_estimate(np.asarray(draws).reshape(-1, draws.shape[-1]), seed=0, weights=weights)
=======
def point(draws: np.ndarray, log_weights: np.ndarray | None = None) -> np.ndarray:
    weights = None if log_weights is None else importance_weights(log_weights)
    return point_estimate(draws, seed=0, weights=weights)
>>>>>>> draws


def few_of(guide: Any, graph: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return guide.posterior(graph).sample((FEW,))


def refined_of(guide: Any, graph: torch.Tensor, num_draws: int) -> tuple[Draws, Refinement]:
    return refine(MODEL, guide, graph, num_draws=num_draws, seed=0)


def largest_error(seed: int) -> float:
    """Return the largest difference of co-assignment probabilities of refined draws and long chains."""
    graph, _ = graph_of(NODES, 10_000 + seed)
    chains = kernel(4).run(graph, num_draws=4000, warmup=2000, num_chains=4, seed=0)
    refined, _ = refined_of(load_guide(REFINED), graph, 1000)
<<<<<<< HEAD
    gaps = co_assignment(refined.assignments) - co_assignment(chains.assignments)
    return float(np.abs(gaps).max())
=======
    return float(np.abs(co_assignment(refined) - co_assignment(chains)).max())
>>>>>>> draws


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
        found["number of blocks"].append(run.num_clusters[0])
        # Many draws are the truth itself, whose log joint compiled code sums in another order.
        found["log joint"].append(run.log_joint[0].round(6))
    ranks = sbc(
        {name: one.numpy().astype(float) for name, one in truth.items()},
        {name: np.stack(one, 1).astype(float) for name, one in found.items()},
        seed=0,
    )
    return {row.name: float(row.p_value) for row in ranks.rows}


def merged(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return dict(itertools.chain.from_iterable(one.items() for one in parts))


def main(graphs: int = 200, errors: int = 20, calibrated: int = 400) -> None:
    """Measure all graphs and print what was found."""
    torch.set_num_threads(1)
    measures = {"others": without_guides}
    for name in GUIDES:
        measures[f"{name}-{weights_of(load_guide(name))}"] = partial(by_guide, name)
    rows = []
    for seed in range(graphs):
        parts = [
            kept(RUNS / folder / f"{seed}.json", partial(measure, seed))
            for folder, measure in measures.items()
        ]
        rows.append({key: merged(part.get(key, {}) for part in parts) for key in parts[0]})
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
        "median efficiency": {
            name: float(np.median([row["efficiency"][name] for row in rows]))
            for name in rows[0]["efficiency"]
        },
        "settled": {
            name: float(np.mean([row["settled"][name] for row in rows])) for name in rows[0]["settled"]
        },
        "largest co-assignment error": {"median": float(np.median(gaps)), "worst": max(gaps)},
        "calibration, p": calibration(calibrated),
    }
    console = Console(width=140)
    console.print(pd.DataFrame(found).T.round(3).to_string())
    console.print({name: one for name, one in report.items() if name != "rows"})
    write_report(RESULTS, report)


if __name__ == "__main__":
    typer.run(main)
