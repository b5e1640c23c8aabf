"""Split-merge moves beside plain Gibbs sampling: the posterior of K from every start, the cost of a proposal.

    python benchmarks/split_merge.py [--seconds 6]

Two overlapping clusters, N = 1000. (1) Under a prior that expects the cluster means nearby, Gibbs sampling
opens and closes clusters easily. (2) Under a vague one a new cluster hardly survives its first point: Gibbs
sampling stays where it started, and split-merge moves do not. Every kernel runs for the same time a chain,
four chains a start; the first half of a chain is warm-up. (3) Time of a proposal for N up to 100,000. All on
one core, in one run; the result is kept in ``benchmarks/results/split_merge.json``, the traces in
``docs/split_merge.png``.
"""

import json
import math
import os
import platform
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter
from rich.console import Console
from rich.table import Table
from torch import Tensor

from pyroclust.diagnostics import ess, rhat, total_variation
from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.infer.mcmc import (
    CollapsedGibbs,
    Compose,
    MergeSplit,
    OneCluster,
    Overdispersed,
    PartitionKernel,
    Singletons,
    SplitMerge,
    Starts,
)
from pyroclust.models import Mixture, gaussian2d, overlap2d
from pyroclust.plots import CYCLE, new_figure, style

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "split_merge.json"
PICTURE = ROOT / "docs" / "split_merge.png"
NUM_POINTS, NUM_CHAINS, BATCHES = 1000, 4, 10
SECONDS_A_BLOCK = 0.25
# Clusters in the small pictures of the posterior.
MOST_SHOWN = 9
PERMUTATIONS = 2000

VAGUE = Mixture(ChineseRestaurantPrior(1.0), NormalKnownVariance(2, 1000.0), name="vague means")
# Model, distance of the two clusters in standard deviations, title.
SETTINGS: dict[str, tuple[Mixture, float, str]] = {
    "nearby": (overlap2d(), 2.5, "means within 3 sd of 0, clusters 2.5 sd apart"),
    "vague": (VAGUE, 0.95, "means within 1000 sd of 0, clusters 0.95 sd apart"),
}
STARTS: tuple[Starts, ...] = (OneCluster(), Singletons(), Overdispersed())
KERNELS: dict[str, Callable[[Mixture], list[PartitionKernel]]] = {
    "Gibbs": lambda model: [CollapsedGibbs(model)],
    "SplitMerge + Gibbs": lambda model: [SplitMerge(model), CollapsedGibbs(model)],
    "MergeSplit + Gibbs": lambda model: [MergeSplit(model), CollapsedGibbs(model)],
}
Row = dict[str, Any]


def two_clusters(distance: float) -> Tensor:
    """Return N points of two round clusters of unit variance."""
    torch.manual_seed(0)
    data = torch.randn(NUM_POINTS, 2)
    data[:, 0] += distance * ((torch.arange(NUM_POINTS) % 2) - 0.5)
    return data


def run_for(kernels: list[PartitionKernel], data: Tensor, start: Tensor, seconds: float, seed: int) -> Row:
    """Run one chain in short blocks until the time is used up; compilation does not count."""
    model = kernels[0].model
    Compose(kernels, init=start).run(data, num_draws=1, num_chains=1, seed=seed)
    clusters, log_joint, times, spent, size = [], [], [], 0.0, 1
    while spent < seconds:
        block = Compose(kernels, init=start).run(data, num_draws=size, num_chains=1, seed=seed)
        clusters.append(block.num_clusters[0])
        log_joint.append(block.log_joint[0])
        times.append(spent + block.seconds * np.arange(1, size + 1) / size)
        start, seed, spent = torch.from_numpy(block.assignments[0, -1]), seed + 1, spent + block.seconds
        size = max(1, min(2 * size, int(size * SECONDS_A_BLOCK / block.seconds)))
    joined = {"clusters": clusters, "log_joint": log_joint, "times": times}
    return {"model": model.name, **{name: np.concatenate(parts) for name, parts in joined.items()}}


def chains(name: str, setting: str, start: Starts, seconds: float) -> list[Row]:
    """Run four chains of a kernel from one kind of start."""
    model, distance, _ = SETTINGS[setting]
    data = two_clusters(distance)
    labels = start(NUM_POINTS, NUM_CHAINS, generator=np.random.default_rng(1))
    return [
        run_for(KERNELS[name](model), data, torch.from_numpy(labels[chain]), seconds, 1000 * chain)
        for chain in range(NUM_CHAINS)
    ]


def second_halves(found: list[Row], field: str) -> np.ndarray:
    """Return the second halves of chains, thinned evenly to the length of the shortest."""
    halves = [one[field][len(one[field]) // 2 :] for one in found]
    shortest = min(len(one) for one in halves)
    rows = [one[np.linspace(0, len(one) - 1, shortest).astype(int)] for one in halves]
    return np.stack(rows).astype(np.float64)


def batch_frequencies(clusters: np.ndarray, width: int) -> np.ndarray:
    """Return the distribution of K in each of ten batches a chain, ``(batches, width)``."""
    length = clusters.shape[1] // BATCHES * BATCHES
    batches = clusters[:, :length].reshape(-1, length // BATCHES).astype(int)
    return np.stack([np.bincount(one, minlength=width) / len(one) for one in batches])


def largest_total_variation(batches: np.ndarray) -> float:
    """Return the largest total variation between any two starts, ``(starts, batches, width)``."""
    return max(total_variation(a, b) for a, b in combinations(batches.mean(1), 2))


def chance_if_equal(batches: np.ndarray) -> float:
    """Return how often starts that agree differ as much: a permutation test that shuffles their batches."""
    rng, found, every = np.random.default_rng(0), largest_total_variation(batches), np.concatenate(batches)
    shuffled = (rng.permutation(every).reshape(batches.shape) for _ in range(PERMUTATIONS))
    beyond = sum(largest_total_variation(one) >= found for one in shuffled)
    return (1 + beyond) / (1 + PERMUTATIONS)


def compare_starts(by_start: dict[str, list[Row]]) -> Row:
    """Return the posterior of K by start, their total variation, R-hat over all chains, ESS a second."""
    halves = {start: second_halves(found, "clusters") for start, found in by_start.items()}
    width = int(max(one.max() for one in halves.values())) + 1
    batches = np.stack([batch_frequencies(one, width) for one in halves.values()])
    laws = dict(zip(halves, batches.mean(1), strict=True))
    every = [one for found in by_start.values() for one in found]
    seconds = sum(one["times"][-1] - one["times"][len(one["times"]) // 2] for one in every)
    clusters = second_halves(every, "clusters")
    return {
        "law": {start: {str(k): float(law[k]) for k in np.flatnonzero(law)} for start, law in laws.items()},
        "mean": {start: float(one.mean()) for start, one in halves.items()},
        "rounds": {start: sum(len(one["times"]) for one in found) for start, found in by_start.items()},
        "total_variation": largest_total_variation(batches),
        "chance_if_equal": chance_if_equal(batches),
        "rhat_clusters": rhat(clusters),
        "rhat_log_joint": rhat(second_halves(every, "log_joint")),
        "ess_clusters_per_second": ess(clusters) / seconds,
    }


def clusters_table(rows: list[Row]) -> Table:
    """Show what each kernel finds from each start."""
    names = [type(start).__name__ for start in STARTS]
    table = Table(
        "data", "kernel", *(f"E[K], {name}" for name in names), title="posterior of K from every start"
    )
    for column in ("largest TV", "p if equal", "R-hat K", "R-hat log p", "ESS of K / s"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            row["setting"],
            row["kernel"],
            *(f"{row['mean'][name]:.2f}" for name in names),
            f"{row['total_variation']:.3f}",
            f"{row['chance_if_equal']:.4f}",
            f"{row['rhat_clusters']:.3f}",
            f"{row['rhat_log_joint']:.3f}",
            f"{row['ess_clusters_per_second']:.1f}",
        )
    return table


def draw_trace(axes: Axes, by_start: dict[str, list[Row]], title: str) -> None:
    """Draw K against time in the first chain of every start."""
    for colour, (start, found) in zip(CYCLE, by_start.items(), strict=False):
        axes.plot(found[0]["times"], found[0]["clusters"], color=colour, lw=0.8, alpha=0.8, label=start)
    axes.set(xscale="log", yscale="log", title=title, ylim=(0.9, 1.2 * NUM_POINTS))
    axes.yaxis.set_major_locator(FixedLocator([1, 2, 3, 5, 10, 100, 1000]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(ScalarFormatter())


def draw_law(axes: Axes, row: Row) -> None:
    """Draw the posterior of K that the second halves of all chains of a start find."""
    inset = axes.inset_axes((0.52, 0.5, 0.46, 0.42))
    for shift, colour, law in zip((-0.27, 0.0, 0.27), CYCLE, row["law"].values(), strict=False):
        shown = {int(k): p for k, p in law.items() if int(k) < MOST_SHOWN}
        inset.bar([k + shift for k in shown], shown.values(), width=0.27, color=colour)
    inset.set(xlim=(0.4, MOST_SHOWN - 0.4), xticks=range(1, MOST_SHOWN), ylim=(0, 1), yticks=(0, 0.5, 1))
    inset.tick_params(labelsize=7)
    inset.set_title("p(K | data)", fontsize=8, fontweight="normal", loc="center")


def draw_picture(traces: dict[tuple[str, str], dict[str, list[Row]]], rows: list[Row]) -> None:
    """Write traces and posteriors of all settings, kernels and starts."""
    with style():
        figure = new_figure(12, 3.5 * len(SETTINGS))
        grid = figure.subplots(len(SETTINGS), len(KERNELS), sharex=True, sharey=True)
        for axes, ((_, kernel), by_start), row in zip(grid.flat, traces.items(), rows, strict=True):
            draw_trace(axes, by_start, kernel)
            draw_law(axes, row)
        for axes, (_, _, title) in zip(grid[:, 0], SETTINGS.values(), strict=True):
            axes.set_ylabel(f"clusters\n{title}".replace(", ", "\n"))
        for axes in grid[-1]:
            axes.set_xlabel("seconds of one chain")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
        figure.savefig(PICTURE, dpi=110)


def ring(num_points: int, num_clusters: int) -> Tensor:
    """Return unit-variance clusters on a ring, neighbours 8 apart."""
    torch.manual_seed(0)
    angle = 2 * math.pi * (torch.arange(num_points) % num_clusters) / num_clusters
    radius = 4.0 / math.sin(math.pi / num_clusters)
    return radius * torch.stack([angle.cos(), angle.sin()], -1) + torch.randn(num_points, 2)


def best_seconds(kernel: PartitionKernel, data: Tensor) -> float:
    """Return seconds a step from the true partition, the best of three runs."""
    kernel.run(data, num_draws=1, num_chains=1, seed=0)
    once = kernel.run(data, num_draws=10, num_chains=1, seed=0).seconds / 10
    steps = max(10, min(5000, int(0.5 / once)))
    return min(kernel.run(data, num_draws=steps, num_chains=1, seed=s).seconds / steps for s in range(3))


def cost_rows() -> list[Row]:
    """Time a proposal, and a Gibbs sweep beside it, by the numbers of points and of clusters."""
    rows, model = [], gaussian2d()
    for num_clusters in (5, 20):
        for num_points in (1000, 10_000, 100_000):
            data, truth = ring(num_points, num_clusters), torch.arange(num_points) % num_clusters
            kernels = {
                kind.__name__: kind(model, init=truth) for kind in (SplitMerge, MergeSplit, CollapsedGibbs)
            }
            seconds = {name: best_seconds(kernel, data) for name, kernel in kernels.items()}
            rows.append({"clusters": num_clusters, "points": num_points, "seconds": seconds})
    return rows


def cost_table(rows: list[Row]) -> Table:
    """Show milliseconds, and nanoseconds a point."""
    table = Table("clusters", "points", title="one proposal, or one Gibbs sweep: milliseconds (ns a point)")
    for name in rows[0]["seconds"]:
        table.add_column(name, justify="right")
    for row in rows:
        cells = (f"{1e3 * t:.3f} ({1e9 * t / row['points']:.0f})" for t in row["seconds"].values())
        table.add_row(str(row["clusters"]), f"{row['points']:,}", *cells)
    return table


def main(seconds: float = 6.0) -> None:
    """Run everything, print the tables, write the result and the picture."""
    torch.set_num_threads(1)
    console = Console(width=160)
    began, rows = time.time(), []
    traces: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for setting in SETTINGS:
        for kernel in KERNELS:
            by_start = {type(start).__name__: chains(kernel, setting, start, seconds) for start in STARTS}
            traces[setting, kernel] = by_start
            rows.append({"setting": setting, "kernel": kernel, **compare_starts(by_start)})
    console.print(clusters_table(rows))
    draw_picture(traces, rows)
    costs = cost_rows()
    console.print(cost_table(costs))
    machine = {
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "seconds": time.time() - began,
    }
    settings = {name: title for name, (_, _, title) in SETTINGS.items()}
    kept = {
        "machine": machine,
        "settings": settings,
        "seconds_a_chain": seconds,
        "clusters": rows,
        "cost": costs,
    }
    RESULT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
