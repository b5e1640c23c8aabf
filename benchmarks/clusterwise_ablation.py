"""What limits clusterwise guides: variants of CCP and ACP trained alike on gaussian2d, one change a row.

    python benchmarks/clusterwise_ablation.py [--steps 1200] [--seed 0] [--only NAME ...]

The first row is CCP as on the shelf: a Gaussian latent a cluster, gated pools, kernels, differences, the
densest point that is left as the anchor. Measured on the same fresh data sets: mean and median divergence
at N = 8, and median share of effective draws at N = 20 and 50; log q is estimated from 32 latents a cluster
(and 16 orders where anchors are uniform). Rows that are done are kept in
benchmarks/results/clusterwise_ablation.json.
"""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
import typer
from rich.console import Console

from pyroclust.core.random_state import pyro_seeded
from pyroclust.infer import FitSettings, divergences, efficiencies, fit
from pyroclust.infer.simulation import simulate
from pyroclust.models import gaussian2d
from pyroclust.recipes.tables import new_guide

RESULTS = Path(__file__).parent / "results" / "clusterwise_ablation.json"
DENSEST = {"class": "DensestFirst", "bandwidth": 1.4}
CCP, ACP = "clusterwise", "attentive"
PLAIN = {"num_bandwidths": 0, "differences": False}
VARIANTS: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None]] = {
    "ccp": (CCP, {}, DENSEST),
    "ccp, mixture of 16 instead of z": (CCP, {"num_values": 16}, DENSEST),
    "ccp, one value instead of z": (CCP, {"num_values": 1}, DENSEST),
    "ccp, no kernels": (CCP, {"num_bandwidths": 0}, DENSEST),
    "ccp, no differences": (CCP, {"differences": False}, DENSEST),
    "ccp, uniform anchors": (CCP, {}, None),
    "ccp, published": (CCP, {**PLAIN, "gates": False}, None),
    "acp-s": (ACP, {"anchored": False}, DENSEST),
    "acp": (ACP, {}, DENSEST),
    "acp, no kernels, no differences": (ACP, PLAIN, DENSEST),
}


def run(variant: str, *, steps: int, seed: int) -> dict[str, Any]:
    """Train one variant and measure it."""
    table, options, order = VARIANTS[variant]
    model = gaussian2d()
    torch.manual_seed(seed)
    guide = new_guide(model, {}, (table, {"num_particles": 8, **options}), order)
    start = time.process_time()
    fit(model, guide, settings=FitSettings(steps=steps, seed=seed), progress=False)
    row = {"variant": variant, "steps": steps, "seed": seed, "cpu seconds": time.process_time() - start}
    return row | measure(model, guide.eval().estimated_with(num_particles=32, num_orders=16))


@torch.no_grad()
def measure(model: Any, guide: Any) -> dict[str, float]:
    """Return the figures of a guide on data sets that are the same for all."""
    with pyro_seeded(31_337):
        kl = divergences(model, guide, simulate(model, torch.empty(60, 8, 2))[0])
        figures = {"mean KL": kl.mean().item(), "median KL": kl.median().item()}
        for points, datasets in ((20, 40), (50, 20)):
            share = efficiencies(
                model, guide, simulate(model, torch.empty(datasets, points, 2))[0], num_draws=200
            )
            figures[f"efficiency {points}"] = share.median().item()
    return figures


def main(
    steps: int = 1200,
    seed: int = 0,
    only: Annotated[list[str] | None, typer.Option()] = None,
    out: Path = RESULTS,
) -> None:
    """Train and measure what is missing, then print the table."""
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = json.loads(out.read_text()) if out.is_file() else []
    done = {(row["variant"], row["steps"], row["seed"]) for row in rows}
    for variant in only or VARIANTS:
        if (variant, steps, seed) not in done:
            rows.append(run(variant, steps=steps, seed=seed))
            out.write_text(json.dumps(rows, indent=1) + "\n")
    table = pd.DataFrame(rows).query("steps == @steps and seed == @seed").drop(columns=["steps", "seed"])
    Console(width=140).print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
