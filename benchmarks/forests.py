"""Spanning forests a second on one core: free and under constraints, beside public codes.

    python benchmarks/forests.py [--draws 1000] [--repeats 20]

Similarities are negative squared distances of points in the plane, standardised, in single precision; k is
10, the noise 0.5. "labels" are known of half of the points, of seven classes, and "pairs" keep every second
point apart from the next. A figure is the number of draws over the median of the seconds of all repeats,
noise included; where gradients are taken, of both passes together. Public codes take 2 to 37 seconds for
1,000 forests of 64 and 128 points. Results in benchmarks/results/forests.json.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from kept import write_report
from torch import Tensor

from pyroclust.distributions import PerturbedSpanningForest, standardised_similarity
from pyroclust.partitions.constraints import Constraints

RESULTS = Path(__file__).parent / "results" / "forests.json"
CLUSTERS, NOISE, SIZES = 10, 0.5, (64, 128)
# Forests a second of public codes on one core, the least and the most of what was measured.
PUBLISHED = {64: (249, 542), 128: (27, 80)}


def similarity_of(num_points: int) -> Tensor:
    torch.manual_seed(num_points)
    return standardised_similarity(torch.randn(num_points, 2))


def constraints_of(num_points: int) -> dict[str, Constraints | None]:
    labels = torch.randint(7, (num_points,), generator=torch.Generator().manual_seed(0))
    labels[num_points // 2 :] = -1
    pairs = torch.arange(num_points).view(-1, 2)
    return {
        "free": None,
        "labels": Constraints.of(num_points, labels=labels),
        "pairs": Constraints.of(num_points, cannot_link=pairs.numpy()),
    }


def both_passes(value: Tensor, similarity: Tensor) -> None:
    torch.autograd.grad(value.sum(), similarity)


def tasks(forest: PerturbedSpanningForest, draws: int) -> dict[str, Callable[[], Any]]:
    """Return what is timed, each of as many draws."""
    near, told = forest.similarity, {"num_draws": draws, "seed": 0}
    found: dict[str, Callable[[], Any]] = {
        "sample": lambda: forest.sample((draws,)),
        "mean_adjacency": lambda: forest.mean_adjacency(**told),
        "co_assignment": lambda: forest.co_assignment(**told),
        "perturbed_maximum, gradient": lambda: both_passes(forest.perturbed_maximum(**told), near),
        "mean_adjacency, gradient": lambda: both_passes(forest.mean_adjacency(**told), near),
    }
    if forest.constraints is not None:
        found["fenchel_young_loss, gradient"] = lambda: both_passes(forest.fenchel_young_loss(**told), near)
    return found


def seconds(task: Callable[[], Any], repeats: int) -> float:
    """Return the median of repeats, after one to warm up."""
    spent = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        task()
        spent.append(time.perf_counter() - begin)
    return float(np.median(spent[1:]))


def main(draws: int = 1000, repeats: int = 20) -> None:
    """Time all tasks and print forests a second, one line each."""
    torch.set_num_threads(1)
    rows = []
    for size in SIZES:
        similarity = similarity_of(size).requires_grad_()
        least, most = PUBLISHED[size]
        print(f"{size} points; public codes {least} to {most} forests a second")
        for name, known in constraints_of(size).items():
            forest = PerturbedSpanningForest(similarity, CLUSTERS, noise_scale=NOISE, constraints=known)
            for task, run in tasks(forest, draws).items():
                rate = draws / seconds(run, repeats)
                rows.append({"points": size, "constraints": name, "task": task, "forests_per_second": rate})
                print(f"  {name:7} {task:30} {rate:10,.0f}   {rate / most:6.0f} times the faster")
    published = {str(size): list(pair) for size, pair in PUBLISHED.items()}
    write_report(RESULTS, {"draws": draws, "clusters": CLUSTERS, "published": published, "rows": rows})


if __name__ == "__main__":
    typer.run(main)
