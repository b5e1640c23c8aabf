"""Searches for a point estimate side by side, and the cost of the co-assignment matrix.

    python benchmarks/point_estimates.py

Eight overlapping clusters in two dimensions, 1000 draws of the posterior under overlap2d by Gibbs sampling
(one in three kept), and as many draws of label noise around a fixed partition: how small an expected loss
each search reaches, and in how many seconds. Then seconds and peak memory of the co-assignment matrix of
random draws with 20 clusters, each in a process of its own. The last result is kept in
benchmarks/results/point_estimates.json.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from pyro.infer import MCMC
from rich.console import Console

from pyroclust.core.machine import num_threads
from pyroclust.diagnostics import (
    Binder,
    DrawsSearch,
    LinkageSearch,
    PartitionLoss,
    SalsoSearch,
    VariationOfInformation,
    co_assignment,
    partition_entropy,
    point_estimate,
)
from pyroclust.infer.mcmc import CollapsedGibbs, assignments
from pyroclust.models import overlap2d

RESULTS = Path(__file__).parent / "results" / "point_estimates.json"
NUM_DRAWS, NUM_CLUSTERS, NOISE, THIN = 1000, 8, 0.3, 3
SEARCHES = [DrawsSearch(), LinkageSearch(), SalsoSearch()]
LOSSES: list[PartitionLoss] = [VariationOfInformation(), Binder()]
# Draws and points of the co-assignment matrix.
SIZES = [(1000, 100), (1000, 1000), (10_000, 1000), (1000, 10_000), (10_000, 10_000)]
Row = dict[str, Any]


def posterior_draws(num_points: int) -> np.ndarray:
    """Return draws of the posterior of overlapping clusters."""
    torch.manual_seed(num_points)
    centres = 3 * torch.randn(NUM_CLUSTERS, 2)
    data = centres[torch.arange(num_points) % NUM_CLUSTERS] + torch.randn(num_points, 2)
    mcmc = MCMC(
        CollapsedGibbs(overlap2d()), num_samples=THIN * NUM_DRAWS, warmup_steps=500, disable_progbar=True
    )
    mcmc.run(data)
    return assignments(mcmc)[0, ::THIN].numpy()


def noisy_draws(num_points: int) -> np.ndarray:
    """Return draws around one partition, three points of ten with a random label."""
    rng = np.random.default_rng(num_points)
    wrong = rng.random((NUM_DRAWS, num_points)) < NOISE
    random = rng.integers(NUM_CLUSTERS, size=wrong.shape)
    return np.where(wrong, random, rng.integers(NUM_CLUSTERS, size=num_points))


def searched(draws: np.ndarray, loss: PartitionLoss) -> list[Row]:
    """Time every search on the same draws."""
    rows = []
    for search in SEARCHES:
        start = time.perf_counter()
        found = point_estimate(draws, seed=0, loss=loss, search=search)
        seconds = time.perf_counter() - start
        rows.append(
            {
                "loss": type(loss).__name__,
                "search": type(search).__name__,
                "expected loss": float(loss.expected(found[None], draws)[0]),
                "K": int(found.max()) + 1,
                "seconds": seconds,
            }
        )
    return rows


def matrix(num_draws: int, num_points: int) -> None:
    """Print seconds and memory of one co-assignment matrix as JSON."""
    rng = np.random.default_rng(0)
    draws = rng.integers(20, size=(num_draws, num_points))
    co_assignment(np.array([[0, 1]]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    co_assignment(draws)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = {
        "seconds": seconds,
        "MiB of draws": draws.nbytes / 2**20,
        "MiB of output": 8 * num_points**2 / 2**20,
        "MiB more": (peak - before) / 2**10,
    }
    typer.echo(json.dumps({"draws": num_draws, "points": num_points} | figures))


def main(only: tuple[int, int] = (0, 0)) -> None:
    """Compare the searches, then measure the co-assignment matrix."""
    if only[0]:
        matrix(*only)
        return
    torch.set_num_threads(1)
    rows, matrices = [], []
    for search in SEARCHES:
        point_estimate(np.array([[0, 1], [0, 0]]), seed=0, search=search)
    for name, make in (("posterior", posterior_draws), ("noise", noisy_draws)):
        for num_points in (100, 300, 1000):
            draws = make(num_points)
            distinct = partition_entropy(draws).num_distinct
            rows += [
                {"draws": name, "N": num_points, "distinct": distinct} | row
                for loss in LOSSES
                for row in searched(draws, loss)
            ]
    for num_draws, num_points in SIZES:
        command = [sys.executable, __file__, "--only", str(num_draws), str(num_points)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        matrices.append(json.loads(printed))
    console = Console(width=140)
    console.print(pd.DataFrame(rows).round(4).to_string(index=False))
    console.print(pd.DataFrame(matrices).round(3).to_string(index=False))
    machine = {
        "processor": platform.processor() or platform.machine(),
        "threads": num_threads(),
        "load": os.getloadavg()[0],
    }
    RESULTS.write_text(
        json.dumps({"machine": machine, "searches": rows, "co_assignment": matrices}, indent=1) + "\n"
    )


if __name__ == "__main__":
    typer.run(main)
