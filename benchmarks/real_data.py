"""The guides on galaxies and iris against long MCMC on the same model.

    python benchmarks/real_data.py [--mcmc-draws 10000]

The last result is kept in benchmarks/results/real_data.json.
"""

import json
import platform
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import typer
from rich.console import Console

from pyroclust import compare

RESULTS = Path(__file__).parent / "results" / "real_data.json"
PAIRS = [
    ("galaxies", "ncp-nig1d"),
    ("galaxies", "filter-nig1d"),
    ("iris", "ncp-niw2d"),
    ("iris", "filter-niw2d"),
]


def row(source: str, guide: str, draws: int, mcmc_draws: int) -> dict[str, Any]:
    """Compare one guide on one data set."""
    found = compare(source, guide=guide, num_draws=draws, mcmc_draws=mcmc_draws)
    agreement, weights = found.results["agreement"], found.results["weights"]
    raw, weighted = agreement["guide"], agreement["weighted"]
    return {
        "data": source,
        "guide": guide,
        "TV of K": raw.total_variation,
        "largest co-assignment": raw.largest_difference,
        "TV weighted": weighted.total_variation,
        "co weighted": weighted.largest_difference,
        "TV noise": raw.noise_total_variation,
        "co noise": raw.noise_largest_difference,
        "efficiency": weights.efficiency,
        "Pareto k": weights.pareto_k,
        "s/effective draw": found.seconds_each("guide"),
        "s/effective MCMC": found.seconds_each("mcmc"),
    }


def main(draws: int = 4000, mcmc_draws: int = 10000) -> None:
    """Compare all pairs and print one table."""
    torch.set_num_threads(1)
    rows = [row(source, guide, draws, mcmc_draws) for source, guide in PAIRS]
    Console(width=200).print(pd.DataFrame(rows).round(4).to_string(index=False))
    machine = {"processor": platform.processor() or platform.machine(), "torch": torch.__version__}
    RESULTS.write_text(json.dumps({"draws": draws, "machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
