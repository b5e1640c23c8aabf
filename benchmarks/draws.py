"""Draws a second of the scorers on one core, and the published scorer against its quadratic formulation.

    python benchmarks/draws.py [--points 100] [--draws 1000]

The quadratic formulation recomputes g for all clusters for each candidate, as the formula in the paper
reads; it is batched over draws here, so that only the formulation differs. The last result is kept in
benchmarks/results/draws.json.
"""

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import typer
from rich.console import Console
from torch import Tensor

from pyroclust import load_guide
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import gaussian2d
from pyroclust.nn import RandomOrder, SummedScorer

RESULTS = Path(__file__).parent / "results" / "draws.json"
SHELF = ["ncp-gaussian2d", "ncp-overlap2d", "ncp-nig1d", "ncp-niw2d"]


def quadratic_draws(scorer: SummedScorer, data: Tensor, num_draws: int) -> Tensor:
    """Sample with K + 1 candidates of up to K + 1 clusters each, every g recomputed."""
    h, u = scorer.h(data), scorer.u(data)
    after = u.sum(0) - u.cumsum(0)
    sums = h[0].expand(num_draws, 1, -1)
    clusters = torch.ones(num_draws, dtype=torch.int64)
    for step in range(1, len(data)):
        slots = int(clusters.max()) + 1
        sums = torch.nn.functional.pad(sums[:, : slots - 1], (0, 0, 0, slots - sums[:, : slots - 1].shape[1]))
        joined = sums.unsqueeze(1) + torch.eye(slots).unsqueeze(-1).to(sums.dtype) * h[step]
        exists = torch.arange(slots) < clusters.unsqueeze(-1)
        occupied = exists.unsqueeze(1) | torch.eye(slots, dtype=torch.bool)
        pooled = (scorer.g(joined) * occupied.unsqueeze(-1)).sum(2)
        logits = scorer.f(torch.cat([pooled, after[step].expand(num_draws, slots, -1)], -1)).squeeze(-1)
        candidate = torch.arange(slots) <= clusters.unsqueeze(-1)
        label = torch.distributions.Categorical(logits=logits.masked_fill(~candidate, -torch.inf)).sample()
        sums = sums.clone()
        sums[torch.arange(num_draws), label] += h[step]
        clusters = torch.maximum(clusters, label + 1)
    return clusters


def seconds(run: Callable[[], Any], *, repeats: int) -> float:
    """Return the best of several wall times, after one run to warm up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def published(steps: int) -> NeuralClusteringProcess:
    """Train the published scorer briefly, so that its partitions are not those of random weights."""
    torch.manual_seed(0)
    model = gaussian2d()
    guide = NeuralClusteringProcess(model, scorer=SummedScorer(2), order=RandomOrder())
    settings = FitSettings(steps=steps, learning_rate=5e-4, max_points=60, points_per_step=300)
    fit(model, guide, settings=settings)
    return guide


def main(points: int = 100, draws: int = 1000, datasets: int = 5, published_steps: int = 600) -> None:
    """Time the draws of all scorers side by side on the same data sets."""
    torch.set_num_threads(1)
    rows = []
    for name in SHELF:
        guide = load_guide(name)
        torch.manual_seed(1)
        worlds = simulate(guide.model, torch.empty(datasets, points, guide.model.component.dim))[0]
        for label, candidate in ((name, guide), ("exact filter", PredictiveFilter(guide.model))):
            used = [
                seconds(lambda d=d, c=candidate: c.posterior(d).sample((draws,)), repeats=2) for d in worlds
            ]
            rows.append({"guide": f"{label} ({guide.model.name})", "draws/s": draws * len(used) / sum(used)})
    guide = published(published_steps)
    few = max(1, draws // 5)
    with torch.no_grad():
        for data in simulate(guide.model, torch.empty(3, points, 2))[0]:
            fast = few / seconds(lambda d=data: guide.posterior(d).sample((few,)), repeats=1)
            slow = few / seconds(lambda d=data: quadratic_draws(guide.scorer, d, few), repeats=1)
            rows.append({"guide": "published, ours", "draws/s": fast, "times quadratic": fast / slow})
            rows.append({"guide": "published, quadratic", "draws/s": slow})
    Console(width=120).print(pd.DataFrame(rows).round(1).to_string(index=False))
    machine = {
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "threads": 1,
    }
    RESULTS.write_text(
        json.dumps({"points": points, "draws": draws, "machine": machine, "rows": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    typer.run(main)
