"""Wine with 13 columns: how long chains of several kernels take from many small clusters to few.

    python benchmarks/wide_tables.py [--kernel gibbs+merge-split]

Two chains begin with few clusters, and eight with draws of the exact filter, which have 45 to 50. Every chain
has 60 processor seconds, whatever its kernel does in them: blocks of draws are made as long as a fortieth of
that takes at the speed of the block before. A chain from many clusters has arrived when the mean log joint
density of a block of its draws comes within 10 nats of that of the chains from few. The last half of all
chains gives the mean number of clusters and R-hat. Where both sides do not meet, neither is known to be the
posterior: log joints leave out how many partitions there are of either kind.
The result is kept in benchmarks/results/wide_tables.json; kernels that are not run again keep their rows.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from real_tables import points_of
from reference import largest_rhat
from rich.console import Console
from torch import Tensor

from pyroclust.analysis.chains import overdispersed_starts
from pyroclust.analysis.picking import model_by_name
from pyroclust.infer.mcmc import FromDraws, ParallelTempering, PartitionKernel
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import named_kernel

RESULTS = Path(__file__).parent / "results" / "wide_tables.json"
TABLE, FEW, MANY = "wine, 13 columns", 2, 8
SECONDS, BLOCKS, DRAWS, NEAR = 60.0, 40, 25, 10.0
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


def main(kernel: Annotated[list[str] | None, typer.Option()] = None) -> None:
    """Run some or all kernels, and print and keep what comes out."""
    torch.set_num_threads(1)
    data = points_of(TABLE)
    model = model_by_name(data.shape[1], len(data))
    for name in kernel or KERNELS:
        row = measured(name, model, data)
        Console(width=200).print(row)
        rows = kept() | {name: row}
        found = [rows[one] for one in KERNELS if one in rows]
        RESULTS.write_text(json.dumps({"table": TABLE, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
