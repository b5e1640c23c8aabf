"""What each ingredient of a recipe is worth: variants trained alike, several seeds a row.

    python benchmarks/ablation.py [--model overlap2d] [--steps 2000] [--seeds 3] [--only NAME ...]

The first row is the light scorer with the densest points first; each other row changes one thing. Every
variant is trained by the same engine with the same number of steps, and measured on the same fresh data sets:
KL to exact posteriors at N = 8, importance-sampling efficiency, and log q of the simulated partition less
that of the exact filter in random order, paired. Trainings that are done are not repeated; the results are
kept in benchmarks/results/ablation-MODEL.json.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pyro
import torch
import typer
from rich.console import Console
from torch import Tensor, nn

from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter, light_scorer_for
from pyroclust.infer import FitSettings, divergences, efficiencies, fit, simulate
from pyroclust.infer.simulation import HardSimulations
from pyroclust.models import Mixture, gaussian2d, overlap2d
from pyroclust.nn import DensestFirst, RandomOrder, SummedScorer

RESULTS = Path(__file__).parent / "results"
MODELS: dict[str, Callable[[], Mixture]] = {"gaussian2d": gaussian2d, "overlap2d": overlap2d}
SIZES = {20: 800, 50: 400, 100: 200}
DATA_SEED = 31_337


class Blind(nn.Module):
    """A look-ahead that sees nothing, with features of the same number."""

    def __init__(self, look: nn.Module) -> None:
        super().__init__()
        self.num_features, self.second_moments = look.num_features, look.second_moments

    def forward(self, positions: Tensor, places: Tensor, whiten: Tensor, steps: Tensor) -> Tensor:
        """Return zeros."""
        return places.new_zeros(*places.shape[:-1], self.num_features)


def build(model: Mixture, **light: Any) -> NeuralClusteringProcess:
    return NeuralClusteringProcess(model, scorer=light_scorer_for(model, **light), order=DensestFirst(1.4))


def random_order(model: Mixture, **light: Any) -> NeuralClusteringProcess:
    return NeuralClusteringProcess(model, scorer=light_scorer_for(model, **light), order=RandomOrder())


def published(model: Mixture) -> NeuralClusteringProcess:
    return NeuralClusteringProcess(
        model, scorer=SummedScorer(2, width=128, sizes=(256, 512)), order=RandomOrder()
    )


def blind(model: Mixture, *, point: bool, mean: bool) -> NeuralClusteringProcess:
    guide = build(model)
    if point:
        guide.scorer.look_at_point = Blind(guide.scorer.look_at_point)
    if mean:
        guide.scorer.look_at_mean = Blind(guide.scorer.look_at_mean)
    return guide


BUILD: dict[str, Callable[[Mixture], NeuralClusteringProcess]] = {
    "densest first": build,
    "random order": random_order,
    "hard examples": build,
    "no averaged weights": build,
    "no look-ahead at the point": partial(blind, point=True, mean=False),
    "no look-ahead at the mean": partial(blind, point=False, mean=True),
    "no filter weights": partial(build, use_filter=False),
}
MORE: dict[str, Callable[[Mixture], NeuralClusteringProcess]] = {
    "random order, hard examples": random_order,
    "random order, second moments": partial(random_order, second_moments=True),
    "random order, width 80": partial(random_order, width=80),
    "random order, twice the batch": random_order,
    "random order, one attention block": partial(random_order, num_attention=1),
    # From the published network to ours, one change a row.
    "published network": published,
    "random order, no filter, no look-ahead": partial(random_order, use_filter=False, num_bandwidths=0),
    "random order, no filter": partial(random_order, use_filter=False),
    "random order, foresight": partial(random_order, foresight=128),
}
CHANGES: dict[str, dict[str, Any]] = {
    "no averaged weights": {"averaging": 0.0},
    "random order, twice the batch": {"points_per_step": 1800},
    "published network": {"learning_rate": 1e-3},
}


def trained(variant: str, model: Mixture, *, steps: int, seed: int) -> tuple[NeuralClusteringProcess, float]:
    torch.manual_seed(seed)
    guide = (BUILD | MORE)[variant](model)
    settings = FitSettings(**{"steps": steps, "max_points": 300, "seed": seed} | CHANGES.get(variant, {}))
    choice = HardSimulations(model.component.typical_scale) if "hard examples" in variant else None
    start = time.process_time()
    fit(model, guide, settings=settings, choice=choice, progress=False)
    return guide, time.process_time() - start


@torch.no_grad()
def measure(model: Mixture, guide: Any) -> dict[str, float]:
    pyro.set_rng_seed(DATA_SEED)
    baseline = PredictiveFilter(model)
    figures = {"KL 8": divergences(model, guide, simulate(model, torch.empty(100, 8, 2))[0]).mean().item()}
    for points, number in SIZES.items():
        data, truth = simulate(model, torch.empty(number, points, 2))
        gain = [
            guide.posterior(d).log_prob(c) - baseline.posterior(d).log_prob(c)
            for d, c in zip(data.split(50), truth.split(50), strict=True)
        ]
        figures[f"gain {points}"] = torch.cat(gain).mean().item()
        if isinstance(guide, NeuralClusteringProcess):
            share = efficiencies(model, guide, data[:40], num_draws=300)
            figures[f"efficiency {points}"] = share.median().item()
    return figures


def run(model_name: str, variant: str, steps: int, seed: int) -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    model = MODELS[model_name]()
    guide, seconds = trained(variant, model, steps=steps, seed=seed)
    row = {"variant": variant, "seed": seed, "steps": steps, "cpu seconds": seconds}
    rows = [row | measure(model, guide)]
    if variant == "random order":
        mixed = {"variant": "random order, four mixed"}
        rows.append(row | mixed | measure(model, guide.mixed(4)))
    return rows


def main(
    model: str = "overlap2d",
    steps: int = 2000,
    seeds: int = 3,
    first_seed: int = 0,
    workers: int = 2,
    only: Annotated[list[str] | None, typer.Option()] = None,
) -> None:
    """Train and measure what is missing, then print means and standard deviations over seeds."""
    path = RESULTS / f"ablation-{model}.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text()) if path.is_file() else []
    done = {(row["variant"], row["seed"], row["steps"]) for row in rows}
    jobs = [(v, steps, s) for s in range(first_seed, first_seed + seeds) for v in (only or BUILD)]
    missing = [job for job in jobs if job not in {(v, n, s) for v, s, n in done}]
    with ProcessPoolExecutor(workers) as pool:
        jobs_left = [pool.submit(run, model, *job) for job in missing]
        for finished in as_completed(jobs_left):
            rows += finished.result()
            path.write_text(json.dumps(rows, indent=1) + "\n")
    table = pd.DataFrame(rows).query("steps == @steps").drop(columns=["steps", "seed"])
    summary = table.groupby("variant", sort=False).agg(["mean", "std"]).round(3)
    Console(width=260).print(summary.to_string())


if __name__ == "__main__":
    typer.run(main)
