"""Many small data sets: rate and memory of ``cluster_many``, one and two workers, and chains beside it.

    python benchmarks/many_datasets.py [--quick]

Data sets of 100 points in two dimensions are simulated from the model of a guide on the shelf, and written to
a folder with 100 draws each. Every run has a process of its own, of one thread, or two workers of one thread
each; the rate is that of a second call, when code is compiled and workers have started. Memory is the most
that any process of the run takes. Beside it stand compiled chains by the kernel that ``pyroclust cluster``
takes, on some of the same data sets, as long as 100 effective draws of their slowest functional take: a chain
that is told beforehand how long it has to be, a fifth of it burn-in. The result is kept in
benchmarks/results/many_datasets.json after each run; what is not run again keeps its row.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import typer
from rich.console import Console
from timing import cost_of

from pyroclust import cluster_many, load_guide
from pyroclust.core.machine import one_torch_thread
from pyroclust.diagnostics import convergence, functionals, min_ess
from pyroclust.infer import simulate
from pyroclust.infer.mcmc.named_kernels import default_kernel_name, named_kernel

RESULT = Path(__file__).parent / "results" / "many_datasets.json"
NUM_POINTS, EFFECTIVE, NUM_CHAINED, FIRST_DRAWS = 100, 100, 60, 125
# Guide, model of the data, whether they are left as they are; the default of two columns comes last.
RAW = {"ncp-gaussian2d": True, "ncp-niw2d": False, "default": False}
# Guide, data sets, workers (0 for none).
RUNS = [
    *((guide, number, 2) for guide in ("ncp-gaussian2d", "ncp-niw2d") for number in (1000, 10_000)),
    *((guide, 1000, workers) for guide in ("ncp-gaussian2d", "ncp-niw2d") for workers in (0, 1)),
    *(("default", 300, workers) for workers in (0, 1, 2)),
]
KEYS = ("guide", "sets", "workers")
QUICK = [("ncp-gaussian2d", 64, workers) for workers in (0, 1, 2)]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def sets_of(guide: str, number: int, *, seed: int) -> Iterator[np.ndarray]:
    """Simulate data sets from the model of a guide, some at a time."""
    model = load_guide("ncp-niw2d" if guide == "default" else guide).model
    torch.manual_seed(seed)
    for first in range(0, number, 500):
        data, _ = simulate(model, torch.empty(min(500, number - first), NUM_POINTS, 2))
        yield from data.double().numpy()


def clustered(guide: str, number: int, workers: int) -> dict[str, Any]:
    """Cluster data sets, and return what it took."""
    options: dict[str, Any] = {"raw": RAW[guide], "budget": 0}
    if guide != "default":
        options["guide"] = guide
    client: Any = nullcontext()
    if workers:
        from distributed import Client, LocalCluster

        client = Client(LocalCluster(workers, threads_per_worker=1, dashboard_address=None, env=ONE_THREAD))
    with client as of_workers, tempfile.TemporaryDirectory() as folder:
        options["client"] = of_workers
        cluster_many(sets_of(guide, 64, seed=0), out=Path(folder) / "first", **options)
        began = time.perf_counter()
        found = cluster_many(sets_of(guide, number, seed=1), out=Path(folder) / "out", **options)
        seconds = time.perf_counter() - began
        size = sum(path.stat().st_size for path in (Path(folder) / "out").rglob("*") if path.is_file())
    verdicts = found.summaries["verdict"].value_counts()
    return {
        "guide": guide,
        "sets": number,
        "workers": workers,
        "seconds": seconds,
        "processor_seconds_of_sets": float(found.summaries["seconds"].sum()),
        "MiB_on_disk": size / 2**20,
        "verdicts": {str(name): int(count) for name, count in verdicts.items()},
        "drawn_by": found.about["guide"],
    }


def chain_seconds(guide: str) -> list[float]:
    """Return for each of some data sets how long a chain takes to 100 effective draws."""
    model, seconds = load_guide(guide).model, []
    kernel = named_kernel(default_kernel_name(model), model)
    with one_torch_thread():
        for points in sets_of(guide, NUM_CHAINED, seed=1):
            scaled = points if RAW[guide] else (points - points.mean(0)) / points.std(0)
            number, effective = FIRST_DRAWS, 0.0
            while effective < EFFECTIVE:
                number *= 2
                drawn = kernel.run(
                    torch.from_numpy(scaled), num_draws=number, warmup=number // 4, num_chains=1, seed=0
                )
                values = functionals(drawn.assignments, seed=0, reference=drawn.assignments[0, -1])
                effective = min_ess(convergence(values | {"log_joint": drawn.log_joint}))
            # Of chains that never move no draw is more than another.
            seconds.append(drawn.seconds * EFFECTIVE / min(effective, number))
    return seconds


def main(*, quick: bool = False, guide: str = "", only: tuple[str, int, int] = ("", 0, 0)) -> None:
    """Run every case, or those of one guide, each in a process of its own, and the chains."""
    if only[0]:
        typer.echo(json.dumps(clustered(*only)))
        return
    rows = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else []

    def keep(row: dict[str, Any]) -> None:
        Console(width=140).print(row)
        if not quick:
            same = [one for one in rows if [one[name] for name in KEYS] != [row[name] for name in KEYS]]
            rows[:] = [*same, row | {"load": os.getloadavg()[0]}]
            RESULT.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")

    for name in ("ncp-gaussian2d", "ncp-niw2d"):
        if not quick and guide in ("", name):
            seconds = chain_seconds(name)
            chains = {"seconds": sum(seconds), "median": median(seconds)}
            keep({"guide": name, "sets": len(seconds), "workers": "chains"} | chains)
    for name, number, workers in QUICK if quick else RUNS:
        if guide in ("", name):
            cost = cost_of([__file__, "--only", name, str(number), str(workers)], ONE_THREAD)
            keep(json.loads(cost.printed.splitlines()[-1]) | {"MiB": cost.mib})


if __name__ == "__main__":
    typer.run(main)
