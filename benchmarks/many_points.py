"""Draws a second from N = 100 to N = 10,000 and one draw of 100,000 points, on one core.

    python benchmarks/many_points.py [NAME ...] [--budget 3.0]

Data sets come from the guides' own models; encoding is part of the first figure of each size and shared by
its draws. ``ns/point`` divides the time of a draw by N and by the mean number of clusters, which grows with
N. The single draw of 100,000 points runs in a process of its own, whose peak memory is reported. The last
result is kept in benchmarks/results/many_points.json.
"""

import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
import typer
from rich.console import Console

from pyroclust import load_guide
from pyroclust.infer import simulate
from pyroclust.partitions import num_clusters

RESULTS = Path(__file__).parent / "results" / "many_points.json"
SHELF = ["ncp-gaussian2d", "ccp-gaussian2d", "ccx-gaussian2d", "acp-gaussian2d", "acps-gaussian2d"]
PUBLIC = {"ncp": 5.0, "ccp": 12.0, "acp": 5.0}
"""Draws a second of the public code at N = 1000 on one core, as the issue states them."""


def timed(guide: Any, num_points: int, budget: float) -> dict[str, Any]:
    """Draw from one data set for about as many seconds as the budget says."""
    torch.manual_seed(num_points)
    data = simulate(guide.model, torch.empty(num_points, guide.model.component.dim))[0]
    start = time.perf_counter()
    posterior = guide.posterior(data)
    encoding = time.perf_counter() - start
    start = time.perf_counter()
    posterior.sample((4,))
    draws = max(4, int(4 * budget / (time.perf_counter() - start)))
    draws = min(draws, 100_000 // num_points * 10)
    start = time.perf_counter()
    clusters = num_clusters(posterior.sample((draws,))).double().mean().item()
    seconds = (time.perf_counter() - start) / draws
    return {
        "N": num_points,
        "draws": draws,
        "encoding s": encoding,
        "draws/s": 1 / seconds,
        "clusters": clusters,
        "ns/point": 1e9 * seconds / num_points / clusters,
    }


def single(name: str) -> None:
    """Draw one partition of 100,000 points and print seconds and peak memory as JSON."""
    guide = load_guide(name)
    data = simulate(guide.model, torch.empty(100_000, guide.model.component.dim))[0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    draw = guide.posterior(data).sample()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"seconds": seconds, "GiB": peak / 2**20, "GiB more": (peak - before) / 2**20}
    typer.echo(json.dumps(found | {"clusters": int(draw.max()) + 1}))


def main(
    names: Annotated[list[str] | None, typer.Argument()] = None, budget: float = 3.0, only: str = ""
) -> None:
    """Time the draws of the guides side by side."""
    torch.set_num_threads(1)
    if only:
        single(only)
        return
    rows, large = [], []
    for name in names or SHELF:
        guide = load_guide(name)
        with torch.no_grad():
            for num_points in (100, 1000, 10_000):
                figures = timed(guide, num_points, budget)
                if num_points == 1000 and name.endswith("gaussian2d"):
                    figures["times public"] = figures["draws/s"] / PUBLIC.get(name[:3], float("nan"))
                rows.append({"guide": name} | figures)
        if not name.startswith("ncp"):
            command = [sys.executable, __file__, "--only", name]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            large.append({"guide": name, "N": 100_000} | json.loads(printed))
    console = Console(width=140)
    console.print(pd.DataFrame(rows).round(2).to_string(index=False, na_rep="-"))
    console.print(pd.DataFrame(large).round(2).to_string(index=False))
    machine = {
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "threads": 1,
    }
    RESULTS.write_text(json.dumps({"machine": machine, "rows": rows, "large": large}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
