"""Wine with 13 columns: how long chains of several kernels take from many small clusters to few.

    python benchmarks/wide_tables.py [--kernel gibbs+merge-split] [--few-rows]

Two chains begin with few clusters, and eight with draws of the exact filter, which have 45 to 50. Every chain
has 60 processor seconds, whatever its kernel does in them: blocks of draws are made as long as a fortieth of
that takes at the speed of the block before. A chain from many clusters has arrived when the mean log joint
density of a block of its draws comes within 10 nats of that of the chains from few. The last half of all
chains gives the mean number of clusters and R-hat. Where both sides do not meet, neither is known to be the
posterior: log joints leave out how many partitions there are of either kind.
The result is kept in benchmarks/results/wide_tables.json; kernels that are not run again keep their rows.

With `--few-rows` it asks instead which family to take where rows are few: of tables of 4 to 20 columns, of a
third to four rows for each entry of a covariance, and 1 to 4 clusters, whose columns are independent or go
together weakly or strongly, it counts how often the 90 % interval of short chains misses the right number
under either family, and how often the second look by independent columns speaks.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kept import add_to_report
from real_tables import points_of
from reference import largest_rhat
from rich.console import Console
from torch import Tensor

from pyroclust import cluster
from pyroclust.analysis.chains import overdispersed_starts
from pyroclust.analysis.picking import model_by_name
from pyroclust.infer.mcmc import FromDraws, ParallelTempering, PartitionKernel
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import named_kernel

RESULTS = Path(__file__).parent / "results" / "wide_tables.json"
TABLE, FEW, MANY = "wine, 13 columns", 2, 8
SECONDS, BLOCKS, DRAWS, NEAR = 60.0, 40, 25, 10.0
TABLES, LOADINGS = 160, (0.0, 0.5, 1.5)
TOGETHER = ("independent", "weakly correlated", "strongly correlated")
FIGURES = ("full misses", "independent misses", "speaks where full misses", "speaks where it does not")
FewRows = Annotated[bool, typer.Option("--few-rows", help="Which family where rows are few.")]
KERNELS = ("gibbs", "gibbs+merge-split", "merge-split+gibbs", "split-merge+gibbs", "tempered")


def kernel_of(name: str, model: Any) -> PartitionKernel:
    """Return a kernel; the tempered one with powers between which at least half of all exchanges are made."""
    if name != "tempered":
        return named_kernel(name, model)
    return ParallelTempering(
        named_kernel("merge-split+gibbs", model), powers=tuple(np.linspace(1.0, 0.86, 8))
    )


@dataclass(frozen=True)
class Run:
    """Labels ``(chains, blocks, draws, N)``, log joints of blocks of draws, and the seconds at their ends."""

    labels: np.ndarray
    joints: np.ndarray
    seconds: np.ndarray
    sweeps: int

    def last(self, blocks: int) -> "Run":
        """Return its last blocks."""
        return Run(self.labels[:, -blocks:], self.joints[:, -blocks:], self.seconds[-blocks:], self.sweeps)


def run(name: str, model: Any, data: Tensor, *, starts: Tensor) -> Run:
    """Run chains for :data:`SECONDS` of processor time each."""
    kernel = kernel_of(name, model)
    kernel.init = FromDraws(starts)
    Chains(kernel, data, 1, seed=0).draw(1)
    chains = Chains(kernel, data, len(starts), seed=1)
    blocks, seconds, every = [], [0.0], 1
    while seconds[-1] < SECONDS:
        began = time.process_time()
        blocks.append(chains.draw(DRAWS, every=every))
        took = (time.process_time() - began) / len(starts)
        seconds.append(seconds[-1] + took)
        every = max(1, int(every * SECONDS / BLOCKS / took))
    labels, joints = (
        np.stack([getattr(one, part) for one in blocks], 1) for part in ("assignments", "log_joint")
    )
    return Run(labels, joints, np.array(seconds[1:]), chains.sweeps)


def measured(name: str, model: Any, data: Tensor) -> dict[str, Any]:
    """Run the chains of one kernel."""
    starts, _ = overdispersed_starts(model, data, num_chains=2 * MANY, seed=0)
    few = run(name, model, data, starts=starts.draws[:FEW])
    many = run(name, model, data, starts=starts.draws[MANY:])
    half = min(int((one.seconds > one.seconds[-1] / 2).sum()) for one in (few, many))
    late_few, late_many = few.last(half), many.last(half)
    there = many.joints.mean(-1) >= late_few.joints.mean() - NEAR
    arrived = np.where(there.any(1), many.seconds[there.argmax(1)], np.nan)
    labels, joints = (
        np.concatenate([getattr(one, part) for one in (late_few, late_many)]) for part in ("labels", "joints")
    )
    return {
        "kernel": name,
        "sweeps": many.sweeps,
        "seconds": float(many.seconds[-1]),
        "arrived": [None if np.isnan(one) else float(one) for one in np.sort(arrived)],
        "clusters, from few": _means(late_few.labels.max(-1) + 1),
        "clusters, from many": _means(late_many.labels.max(-1) + 1),
        "log joint, from few": _means(late_few.joints),
        "log joint, from many": _means(late_many.joints),
        "rhat": largest_rhat(labels.reshape(FEW + MANY, -1, len(data)), joints.reshape(FEW + MANY, -1)),
    }


def _means(blocks: np.ndarray) -> list[float]:
    return [float(one) for one in blocks.mean((1, 2)).round(1)]


def kept() -> dict[str, dict[str, Any]]:
    """Return the rows of the last runs."""
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    return {row["kernel"]: row for row in rows}


def simulated(rng: np.random.Generator) -> tuple[str, int, np.ndarray]:
    """Return how columns go together, the number of clusters, and rows."""
    dim, number, loading = int(rng.choice([4, 6, 8, 10, 14, 20])), int(rng.integers(1, 5)), rng.integers(3)
    entries = dim * (dim + 1) / 2
    rows = int(np.clip(np.exp(rng.uniform(np.log(1 / 3), np.log(4))) * entries, 20, 260))
    sizes = rng.multinomial(rows - 5 * number, rng.dirichlet(np.full(number, 4.0))) + 5
    apart = rng.choice([4.0, 6.0, 9.0]) / np.sqrt(2 * dim)
    clusters = []
    for size in sizes:
        factors = LOADINGS[loading] * rng.normal(size=(max(1, dim // 4), dim))
        noise = rng.normal(size=(size, len(factors))) @ factors + rng.normal(size=(size, dim))
        spread = np.exp(rng.normal(0, 0.25, dim)) / np.sqrt((factors**2).sum(0) + 1)
        clusters.append(apart * rng.normal(size=dim) + spread * noise)
    return TOGETHER[loading], number, np.concatenate(clusters)


def few_rows() -> list[dict[str, Any]]:
    """Cluster all simulated tables under both families."""
    counts = {one: dict.fromkeys(("tables", *FIGURES), 0) for one in TOGETHER}
    for seed in range(TABLES):
        together, number, rows = simulated(np.random.default_rng(seed))
        full, independent = (
            cluster(rows, family=family, mcmc_draws=100, warmup=100) for family in ("normal", "diagonal")
        )
        misses, other = (
            not one.in_words.interval[0] <= number <= one.in_words.interval[1] for one in (full, independent)
        )
        speaks = any("columns that are independent" in note for note in full.notes)
        said = (misses, other, speaks and misses, speaks and not misses)
        counts[together]["tables"] += 1
        for figure, one in zip(FIGURES, said, strict=True):
            counts[together][figure] += one
    return [{"columns": one, **found} for one, found in counts.items()]


def main(kernel: Annotated[list[str] | None, typer.Option()] = None, *, few_rows_: FewRows = False) -> None:
    """Run some or all kernels, and print and keep what comes out."""
    torch.set_num_threads(1)
    if few_rows_:
        found = few_rows()
        Console(width=200).print(found)
        add_to_report(RESULTS, {"few rows": found})
        return
    data = points_of(TABLE)
    model = model_by_name(data.shape[1], len(data))
    for name in kernel or KERNELS:
        row = measured(name, model, data)
        Console(width=200).print(row)
        rows = kept() | {name: row}
        found = [rows[one] for one in KERNELS if one in rows]
        add_to_report(RESULTS, {"table": TABLE, "rows": found})


if __name__ == "__main__":
    typer.run(main)
