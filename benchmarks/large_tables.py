"""``pyroclust compare`` on tables of many rows, from the command to the written report.

    python benchmarks/large_tables.py [N ...] [--guide ncp-niw2d] [--seed 0]

Tables are simulated from the prior of a guide on the shelf, and written to files. Each comparison refines
the guide's draws, and has a process of its own, whose wall and processor time and peak memory are taken when
it ends. The result is kept in benchmarks/results/large_tables.json; sizes that are not run again keep their
rows.
"""

import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console
from timing import cost_of

from pyroclust import load_guide
from pyroclust.infer import simulate

RESULTS = Path(__file__).parent / "results" / "large_tables.json"
SIZES = [2000, 5000, 20_000]
MOST_SECONDS = {2000: 60.0, 5000: 180.0, 20_000: 900.0}
"""Wall time that is asked for, on two cores."""


def write_table(guide: str, num_points: int, seed: int, path: Path) -> int:
    """Simulate a table, write it, and return in how many clusters it is."""
    torch.manual_seed(seed)
    model = load_guide(guide).model
    data, labels = simulate(model, torch.empty(1, num_points, model.component.dim))
    head = ",".join(f"x{place + 1}" for place in range(data.shape[-1]))
    np.savetxt(path, data[0].numpy(), delimiter=",", header=head, comments="")
    return int(labels.max()) + 1


def compared(guide: str, num_points: int, seed: int) -> dict[str, Any]:
    """Simulate a table, compare it, and read what came out."""
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / f"table{num_points}.csv", Path(folder) / "out"
        clusters = write_table(guide, num_points, seed, table)
        cost = cost_of(["-m", "pyroclust", "compare", str(table), "--refine", "--out", str(out)])
        found = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    refined = found["refining"] or {}
    return {
        "N": num_points,
        "clusters": clusters,
        "seconds": cost.seconds,
        "processor_seconds": cost.processor_seconds,
        "GiB": cost.mib / 1024,
        "lines": len(cost.said),
        "verdict": found["verdict"]["level"],
        "answer": found.get("answer"),
        "refined_draws": refined.get("draws"),
        "sweeps": refined.get("sweeps"),
        "settled": refined.get("settled"),
        "largest_difference": ((found["agreement"] or {}).get("refined") or {}).get("largest_difference"),
    }


def main(
    sizes: Annotated[list[int] | None, typer.Argument()] = None, guide: str = "ncp-niw2d", seed: int = 0
) -> None:
    """Time whole comparisons by number of rows."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.exists() else []
    console, rows = Console(), {row["N"]: row for row in kept}
    for num_points in sizes or SIZES:
        row = rows[num_points] = compared(guide, num_points, seed)
        most = MOST_SECONDS.get(num_points)
        wanted = "" if most is None else f", at most {most:.0f} s are asked for"
        console.print(
            f"N = {num_points:,}: {row['seconds']:.0f} s{wanted}, {row['GiB']:.2f} GiB, {row['verdict']}"
        )
        found = {
            "guide": guide,
            "seed": seed,
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "rows": [rows[one] for one in sorted(rows)],
        }
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
