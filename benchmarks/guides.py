"""Quality of guides on fresh data of their models, the exact filter in the next row, on the same data sets.

    python benchmarks/guides.py [NAME ...] [--seed 2026]

The last result is kept in benchmarks/results/guides.json.
"""

import json
import platform
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
import typer
from rich.console import Console

from pyroclust import load_guide
from pyroclust.guides import PredictiveFilter
from pyroclust.infer.certificate import Certificate, certify

RESULTS = Path(__file__).parent / "results" / "guides.json"
SHELF = ["ncp-gaussian2d", "ncp-overlap2d", "ncp-nig1d", "ncp-niw2d"]


def row(model: str, guide: str, certificate: Certificate) -> dict[str, Any]:
    exact = certificate.exact[0]
    figures: dict[str, Any] = {
        "model": model,
        "guide": guide,
        "mean KL": exact.mean_kl,
        "median KL": exact.median_kl,
    }
    for sampled in certificate.sampled:
        figures[f"eff {sampled.num_points}"] = sampled.median_efficiency
        figures[f"mean eff {sampled.num_points}"] = sampled.mean_efficiency
        figures[f"log q {sampled.num_points}"] = sampled.log_prob_truth
        figures[f"log Z {sampled.num_points}"] = sampled.log_evidence
        figures[f"k > .7 {sampled.num_points}"] = sampled.share_high_k
    return figures


def main(names: Annotated[list[str] | None, typer.Argument()] = None, seed: int = 2026) -> None:
    """Measure guides and filters and print one table."""
    torch.set_num_threads(1)
    rows = []
    for name in names or SHELF:
        guide = load_guide(name)
        model = guide.model
        for label, candidate in ((name, guide), ("exact filter", PredictiveFilter(model))):
            rows.append(row(model.name, label, certify(model, candidate, seed=seed)))
    table = pd.DataFrame(rows)
    Console(width=240).print(table.round(4).to_string(index=False))
    RESULTS.parent.mkdir(exist_ok=True)
    machine = {
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "threads": 1,
    }
    RESULTS.write_text(json.dumps({"seed": seed, "machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
