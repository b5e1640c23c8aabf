"""Quality of the guides of the shelf on fresh data of their models, one table.

    python benchmarks/guides.py [NAME ...] [--seed 2026] [--datasets 100]

Mean and median divergence at N = 8 (nats), median share of effective draws at N = 20, 50 and 100, log q of
the truth above the exact filter's, standard deviation over mean of q over 100 visiting orders at N = 20,
and draws with their log-probabilities a second at N = 100 on one core. Guides of one model see the same
data sets, and so does its exact filter. Where log q is an estimate, shares and divergences are those of the
estimates. The last result is kept in benchmarks/results/guides.json.
"""

import json
import platform
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
import typer
from rich.console import Console

from pyroclust import list_guides, load_guide
from pyroclust.calibration import Certificate, CertificateSettings, certify

RESULTS = Path(__file__).parent / "results" / "guides.json"


def row(name: str, guide: Any, certificate: Certificate) -> dict[str, Any]:
    """Return the figures of a guide by their columns."""
    figures: dict[str, Any] = {"guide": name, "model": guide.model.name}
    for exact in certificate.exact:
        figures |= {"mean KL": exact.mean_kl, "median KL": exact.median_kl}
    for sampled in certificate.sampled:
        figures[f"eff {sampled.num_points}"] = sampled.median_efficiency
        figures[f"log Z {sampled.num_points}"] = sampled.log_evidence
    for truth in certificate.truth:
        figures[f"gain {truth.num_points}"] = truth.mean_difference
        figures[f"log q {truth.num_points}"] = truth.log_prob
    if certificate.order is not None:
        figures["order"] = certificate.order.median
    if certificate.speed is not None:
        figures["draws/s"] = certificate.speed.draws_per_second
    return figures


def main(
    names: Annotated[list[str] | None, typer.Argument()] = None, seed: int = 2026, datasets: int = 100
) -> None:
    """Measure guides and print one table."""
    torch.set_num_threads(1)
    settings = CertificateSettings(
        seed=seed,
        num_exact=datasets,
        num_sampled=datasets // 2,
        sampled_points=(20, 50, 100),
        num_truths=3 * datasets,
        num_calibrated=0,
        num_ordered=datasets,
    )
    rows = []
    for name in names or [card.name for card in list_guides()]:
        guide = load_guide(name)
        rows.append(row(name, guide, certify(guide, settings=settings)))
    shown = [column for column in pd.DataFrame(rows).columns if not column.startswith("log ")]
    Console(width=160).print(pd.DataFrame(rows)[shown].round(4).to_string(index=False, na_rep="-"))
    machine = {
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "threads": 1,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"seed": seed, "machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
