"""Recipes trained again with several seeds, and measured on fresh data sets beside the exact filter.

    python benchmarks/recipes.py [NAME ...] [--seeds 3] [--folder runs/recipes] [--scale 1.0]

Each training goes on where it was if the folder knows it already. Figures: mean KL to exact posteriors at
N = 8, also as a share of the filter's on the same data sets; importance-sampling efficiency by N; mean log q
of the simulated partition above that of the exact filter in random order, paired, with standard errors; and
how much higher the exact posterior itself stands, estimated by importance sampling on a part of the data
sets. A guide that visits points in random order is measured as a mixture over four orders as well. The last
result is kept in benchmarks/results/recipes.json.
"""

import json
import math
import platform
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pyro
import torch
import typer
from rich.console import Console
from torch import Tensor

from pyroclust import load_guide
from pyroclust.calibration import CertificateSettings
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import simulate
from pyroclust.infer.quality import divergences, effective_shares, log_importance_weights
from pyroclust.nn import RandomOrder
from pyroclust.recipes.training_runs import train_recipe

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "recipes.json"
NAMES = ["ncp-gaussian2d", "ncp-overlap2d"]
DATA_SEED = 4_711
SIZES = {20: 2000, 50: 1000, 100: 600, 300: 60}
SAMPLED = {20: 200, 50: 400, 100: 200, 300: 40}
DRAWS = 500


def retrained(name: str, seed: int, folder: Path) -> Path:
    """Train a recipe with another seed, or find it trained."""
    out = folder / f"{name}-{seed}" / name
    recipe = folder / f"{name}-{seed}" / "recipe.toml"
    recipe.parent.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "recipes" / f"{name}.toml").read_text()
    text = text.replace("seed = 0", f"seed = {seed}", 1).replace("[training]", f"[training]\nseed = {seed}")
    recipe.write_text(text)
    train_recipe(recipe, out, resume=True, certificate=CertificateSettings.quick())
    return out


def log_probs(guide: Any, data: Tensor, truth: Tensor) -> Tensor:
    blocks = zip(data.split(50), truth.split(50), strict=True)
    return torch.cat([guide.posterior(d).log_prob(c) for d, c in blocks])


@torch.no_grad()
def measure(guide: Any, *, scale: float, draw_scale: float = 1.0) -> dict[str, Any]:
    model, figures = guide.model, {}
    baseline = PredictiveFilter(model)
    pyro.set_rng_seed(DATA_SEED)
    small, _ = simulate(model, torch.empty(int(400 * scale), 8, 2))
    kl = divergences(model, guide, small)
    figures |= {"KL": kl.mean().item(), "KL se": (kl.std() / len(kl) ** 0.5).item()}
    figures["share of the filter's KL"] = figures["KL"] / divergences(model, baseline, small).mean().item()
    mixed = guide.mixed(4) if isinstance(guide.order, RandomOrder) else None
    if mixed is not None:
        figures["KL, 4 orders, first eighth"] = (
            divergences(model, mixed, small[: len(small) // 8]).mean().item()
        )
    for points, number in SIZES.items():
        pyro.set_rng_seed(DATA_SEED + points)
        data, truth = simulate(model, torch.empty(int(number * scale), points, 2))
        own = log_probs(guide, data, truth)
        gain = own - log_probs(baseline, data, truth)
        if mixed is not None:
            figures[f"log q {points}, 4 orders"] = (gain - own + log_probs(mixed, data, truth)).mean().item()
        few = int(SAMPLED[points] * scale * draw_scale)
        log_weights = log_importance_weights(model, guide, data[:few], num_draws=DRAWS)
        share, evidence = effective_shares(log_weights), log_weights.logsumexp(0) - math.log(DRAWS)
        left = model.log_joint(data[:few], truth[:few]) - evidence - own[:few]
        figures |= {
            f"efficiency {points}": share.median().item(),
            f"5 % {points}": share.quantile(0.05).item(),
            f"log q {points}": gain.mean().item(),
            f"log q se {points}": (gain.std() / len(gain) ** 0.5).item(),
            f"left {points}": left.mean().item(),
            f"left se {points}": (left.std() / few**0.5).item(),
        }
    return figures


def main(
    names: Annotated[list[str] | None, typer.Argument()] = None,
    seeds: int = 3,
    folder: Path = Path("runs/recipes"),
    scale: float = 1.0,
    draw_scale: float = 1.0,
    results: Path = RESULTS,
) -> None:
    """Train what is not trained yet, measure, and print one table."""
    torch.set_num_threads(1)
    rows = []
    for name in names or NAMES:
        for seed in range(seeds):
            guide = load_guide(retrained(name, seed, folder))
            card = json.loads((folder / f"{name}-{seed}" / name / "card.json").read_text())
            seconds = card["recipe"]["trained"]["seconds"]
            rows.append(
                {"recipe": name, "seed": seed, "seconds": seconds}
                | measure(guide, scale=scale, draw_scale=draw_scale)
            )
    table = pd.DataFrame(rows).set_index(["recipe", "seed"]).T
    Console(width=140).print(table.round(4).to_string())
    machine = {"processor": platform.processor() or platform.machine(), "torch": torch.__version__}
    results.write_text(
        json.dumps({"scale": scale, "draw_scale": draw_scale, "machine": machine, "rows": rows}, indent=1)
        + "\n"
    )


if __name__ == "__main__":
    typer.run(main)
