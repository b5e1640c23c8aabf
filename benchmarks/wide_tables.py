"""Wine with 13 columns: where chains of several kernels end that begin with few clusters, and with many.

    python benchmarks/wide_tables.py [--kernel split-merge+gibbs]

Two chains begin with few clusters and two with draws of the exact filter. The last half of their draws gives
the mean number of clusters and the mean log joint density of each chain, and R-hat of all four together.
Where both sides do not meet, neither is known to be the posterior: their log joints leave out how many
partitions there are of either kind. The result is kept in benchmarks/results/wide_tables.json; kernels that
are not run again keep their rows.
"""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from real_tables import points_of
from reference import largest_rhat
from rich.console import Console

from pyroclust.analysis.picking import pick_guide
from pyroclust.analysis.starts import starts_from_both_sides
from pyroclust.infer.mcmc import FromDraws, ParallelTempering, PartitionKernel
from pyroclust.infer.mcmc.defaults import default_kernel
from pyroclust.infer.mcmc.long_chains import LongChains
from pyroclust.infer.mcmc.named_kernels import named_kernel

RESULTS = Path(__file__).parent / "results" / "wide_tables.json"
TABLE, EACH = "wine, 13 columns", 2
DRAWS = 1000
EVERY = {"gibbs": 400, "merge-split+gibbs": 120, "split-merge+gibbs": 120, "tempered": 10}
"""Sweeps between two draws: five to eleven minutes of a processor for each kernel."""


def kernel_of(name: str, model: Any) -> PartitionKernel:
    """Return a kernel; the tempered one with powers between which at least half of all exchanges are made."""
    if name != "tempered":
        return named_kernel(name, model)
    return ParallelTempering(
        named_kernel("merge-split+gibbs", model), powers=tuple(np.linspace(1.0, 0.86, 8))
    )


def measured(name: str, model: Any, data: torch.Tensor) -> dict[str, Any]:
    """Run the chains of one kernel."""
    starts, _ = starts_from_both_sides(default_kernel, model, data, num_chains=2 * EACH, seed=0)
    row: dict[str, Any] = {"kernel": name, "sweeps": DRAWS * EVERY[name]}
    labels, joints, began = [], [], time.process_time()
    for side, some in (("few", starts.draws[:EACH]), ("many", starts.draws[EACH:])):
        kernel = kernel_of(name, model)
        kernel.init = FromDraws(some)
        found = LongChains(kernel, data, num_chains=EACH, seed=1).draw(DRAWS, every=EVERY[name])
        kept = found.assignments[:, DRAWS // 2 :].numpy()
        labels.append(kept)
        joints.append(found.log_joint[:, DRAWS // 2 :].numpy())
        row[f"clusters, from {side}"] = (kept.max(-1) + 1).mean(1).round(1).tolist()
        row[f"log joint, from {side}"] = joints[-1].mean(1).round(1).tolist()
        if name == "tempered":
            row["fewest exchanges"] = kernel.diagnostics()["fewest exchanges accepted"]
    return row | {
        "rhat": largest_rhat(np.concatenate(labels), np.concatenate(joints)),
        "seconds": time.process_time() - began,
    }


def main(kernel: Annotated[list[str] | None, typer.Option()] = None) -> None:
    """Run some or all kernels, and print and keep what comes out."""
    torch.set_num_threads(1)
    data = points_of(TABLE)
    model = pick_guide(None, dim=data.shape[1], num_points=len(data), conditions={}).module.model
    kept = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    rows = {row["kernel"]: row for row in kept}
    for name in kernel or EVERY:
        rows[name] = measured(name, model, data)
        Console(width=200).print(rows[name])
        found = [rows[one] for one in EVERY if one in rows]
        RESULTS.write_text(json.dumps({"table": TABLE, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
