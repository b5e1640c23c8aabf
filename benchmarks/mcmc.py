"""Samplers of one posterior side by side: effective draws of K, sweeps, and cost by N and K.

    python benchmarks/mcmc.py [--quick]

Three tables: (1) effective draws of the number of clusters per second, warm-up and adaptation apart, of every
sampler on the same model and data, NUTS on the companion program being what Pyro offers today; (2) sweeps a
second beside a plain numba sweep; (3) seconds a sweep and point for N up to 100,000. All on one core, in one
run; the result is kept in ``benchmarks/results/mcmc.json``.
"""

import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import torch
import typer
from plain_gibbs import plain_sweeps
from rich.console import Console
from rich.table import Table
from torch import Tensor

from pyroclust import Draws, read_table
from pyroclust.diagnostics import ess
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    CollapsedGibbs,
    CompanionNUTS,
    Compose,
    MergeSplit,
    OneCluster,
    SplitMerge,
)
from pyroclust.models import Mixture, companion, gaussian2d, nig_mixture, niw_mixture, overlap2d

RESULT = Path(__file__).parent / "results" / "mcmc.json"
Row = dict[str, Any]


def ring(num_points: int, *, num_clusters: int, radius: float) -> Tensor:
    """Return unit-variance clusters on a ring."""
    torch.manual_seed(0)
    angle = 2 * math.pi * (torch.arange(num_points) % num_clusters) / num_clusters
    return radius * torch.stack([angle.cos(), angle.sin()], -1) + torch.randn(num_points, 2)


def galaxies() -> Tensor:
    """Return the galaxy velocities, standardised."""
    values = torch.from_numpy(read_table("galaxies").data)
    return (values - values.mean(0)) / values.std(0, correction=0)


def samplers(model: Mixture, *, quick: bool) -> Iterator[tuple[str, Callable[[Tensor], Draws]]]:
    """Yield the name of each sampler and a function that runs one chain of it."""
    scale = 10 if quick else 1
    kernels = {
        "CollapsedGibbs": (CollapsedGibbs(model), 200_000),
        "SplitMerge + CollapsedGibbs": (Compose([SplitMerge(model), CollapsedGibbs(model)]), 100_000),
        "MergeSplit + CollapsedGibbs": (Compose([MergeSplit(model), CollapsedGibbs(model)]), 100_000),
        "AuxiliaryGibbs": (AuxiliaryGibbs(model), 10_000),
        "CompanionNUTS, 10 components": (CompanionNUTS(companion(model, 10)), 400),
    }
    for name, (kernel, draws) in kernels.items():

        def run(data: Tensor, kernel: Any = kernel, draws: int = draws // scale) -> Draws:
            return kernel.run(data, num_draws=draws, warmup=draws // 4, num_chains=1, seed=0)

        yield name, run


def effective_draws(*, quick: bool) -> Iterator[Row]:
    """Measure effective draws of K a second of every sampler on every data set."""
    cases = {
        "galaxies, normal-inverse-gamma": (nig_mixture(1), galaxies()),
        "ring of 5, N = 100, known variance": (overlap2d(), ring(100, num_clusters=5, radius=3.5).double()),
    }
    for case, (model, data) in cases.items():
        for name, run in samplers(model, quick=quick):
            began = time.perf_counter()
            draws = run(data)
            clusters = draws.num_clusters.astype(float)
            count = ess(clusters)
            yield {
                "data": case,
                "sampler": name,
                "draws": clusters.size,
                "seconds": draws.seconds,
                "seconds_in_all": time.perf_counter() - began,
                "ess": count,
                "ess_per_second": count / draws.seconds,
                "mean_clusters": clusters.mean(),
                "sd_clusters": clusters.std(ddof=1),
            }


def sweeps(*, quick: bool) -> Iterator[Row]:
    """Measure sweeps a second, plain and ours in turn, the best of several."""
    seconds = 0.3 if quick else 1.0
    for num_points in (100, 1000):
        apart = ring(num_points, num_clusters=5, radius=12.0).double()
        close = ring(num_points, num_clusters=5, radius=3.5).double()
        scaled = (apart - apart.mean(0)) / apart.std(0)
        known = {"apart": (gaussian2d(), apart, 10.0), "overlapping": (overlap2d(), close, 3.0)}
        for case, (model, data, prior_scale) in known.items():
            yield best_rate(f"plain sweep, {case}", num_points, plain(data, prior_scale), seconds)
            yield best_rate(f"CollapsedGibbs, {case}", num_points, gibbs(model, data), seconds)
        for name, model in {"inverse-gamma": nig_mixture(2), "inverse-Wishart": niw_mixture(2)}.items():
            yield best_rate(f"CollapsedGibbs, {name}", num_points, gibbs(model, scaled), seconds)


def gibbs(model: Mixture, data: Tensor) -> Callable[[int], float]:
    """Return a function that runs a number of sweeps and returns the seconds."""
    return lambda count: (
        CollapsedGibbs(model, init=OneCluster()).run(data, num_draws=count, num_chains=1, seed=0).seconds
    )


def plain(data: Tensor, prior_scale: float) -> Callable[[int], float]:
    """Return a function that runs a number of plain sweeps and returns the seconds."""

    def run(count: int) -> float:
        began = time.perf_counter()
        plain_sweeps(data.numpy(), count, 0.7, prior_scale)
        return time.perf_counter() - began

    return run


def best_rate(name: str, num_points: int, run: Callable[[int], float], seconds: float) -> Row:
    """Return sweeps a second: the best of five runs after one that compiles and one that calibrates."""
    run(2)
    count = max(20, int(20 * seconds / run(20)))
    return {
        "sampler": name,
        "num_points": num_points,
        "sweeps_per_second": max(count / run(count) for _ in range(5)),
    }


def costs(*, quick: bool) -> Iterator[Row]:
    """Measure nanoseconds a point and cluster of a sweep and a split-merge proposal by N and K."""
    for num_clusters in (5, 20):
        for num_points in (1000, 10_000) if quick else (1000, 10_000, 100_000):
            data = ring(num_points, num_clusters=num_clusters, radius=12.0 * num_clusters / 5).double()
            model = Mixture(
                gaussian2d().prior, gaussian2d().component.given({"prior_scale": 12.0 * num_clusters / 5})
            )
            start = torch.arange(num_points) % num_clusters
            for name, kernel in {
                "CollapsedGibbs": CollapsedGibbs(model, init=start),
                "SplitMerge": SplitMerge(model, init=start),
            }.items():
                count = max(3, 300_000 // num_points)
                found = [
                    kernel.run(data, num_draws=count, num_chains=1, seed=0).seconds / count for _ in range(3)
                ]
                yield {
                    "kernel": name,
                    "num_points": num_points,
                    "num_clusters": num_clusters,
                    "milliseconds": 1e3 * min(found),
                    "nanoseconds_per_point": 1e9 * min(found) / num_points,
                }


def show(title: str, rows: list[Row]) -> None:
    """Print rows as a table."""
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(f"{one:,.4g}" if isinstance(one, float) else str(one) for one in row.values()))
    Console(width=150).print(table)


def machine() -> Row:
    """Describe the machine that the numbers come from."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "numba": numba.__version__,
        "torch": torch.__version__,
        "load": os.getloadavg()[0],
    }


def main(*, quick: bool = False) -> None:
    """Run all measurements."""
    torch.set_num_threads(1)
    tables = {}
    for name, measure in {"effective draws of K": effective_draws, "sweeps": sweeps, "cost": costs}.items():
        tables[name] = list(measure(quick=quick))
        show(name, tables[name])
    RESULT.write_text(json.dumps({"machine": machine(), **tables}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
