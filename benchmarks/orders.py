"""How to train a guide that depends little on the order: orders a data set, antithetic pairs, consistency.

    python benchmarks/orders.py [--model overlap2d] [--steps 1500] [--only NAME ...]

Every variant is trained with the same number of steps and of visits, so that twice the orders are half the
data sets, and measured on the same fresh data sets, for one order and for the mixture of four: standard
deviation over mean of q of a drawn partition over orders at N = 20, median over data sets; mean KL at N = 8;
efficiency; and log q of the simulated partition at N = 50 less that of the exact filter, paired. Trainings
that are done are not repeated; the results are kept in benchmarks/results/orders.json.
"""

import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pyro
import torch
import typer
from rich.console import Console

from pyroclust.calibration.accuracy import order_row
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.infer import FitSettings, divergences, efficiencies, fit, simulate
from pyroclust.infer.simulation import SimulatedBatch
from pyroclust.models import Mixture, gaussian2d, overlap2d
from pyroclust.nn import RandomOrder

RESULTS = Path(__file__).parent / "results" / "orders.json"
MODELS = {"gaussian2d": gaussian2d, "overlap2d": overlap2d}
VISITS_PER_STEP = 900
DATA_SEED = 31_337
VARIANTS: dict[str, dict[str, Any]] = {
    "1 order": {"orders": 1},
    "4 random": {"orders": 4},
    "2 antithetic": {"orders": 2, "antithetic": True},
    "2 antithetic, consistency .1": {"orders": 2, "antithetic": True, "consistency": 0.1},
    "2 antithetic, consistency .3": {"orders": 2, "antithetic": True, "consistency": 0.3},
    "2 antithetic, consistency 1": {"orders": 2, "antithetic": True, "consistency": 1.0},
}


def trained(
    variant: str, model: Mixture, *, steps: int, seed: int, max_points: int
) -> tuple[NeuralClusteringProcess, float]:
    torch.manual_seed(seed)
    guide = NeuralClusteringProcess(model, order=RandomOrder())
    changes = VARIANTS[variant]
    visits = VISITS_PER_STEP // changes["orders"]
    settings = FitSettings(steps=steps, max_points=max_points, seed=seed, points_per_step=visits, **changes)
    start = time.process_time()
    fit(model, guide, settings=settings, progress=False)
    return guide, time.process_time() - start


@torch.no_grad()
def measure(model: Mixture, guide: Any) -> dict[str, float]:
    pyro.set_rng_seed(DATA_SEED)
    data, truth = simulate(model, torch.empty(40, 20, 2))
    row = order_row([SimulatedBatch(model, guide, None, data, truth)], num_orders=40)
    figures = {"order 20": row.median if row else 0.0}
    pyro.set_rng_seed(DATA_SEED)
    figures["KL 8"] = divergences(model, guide, simulate(model, torch.empty(100, 8, 2))[0]).mean().item()
    for points, number in {20: 40, 50: 40}.items():
        data, truth = simulate(model, torch.empty(number * 5, points, 2))
        share = efficiencies(model, guide, data[:number], num_draws=200)
        figures[f"efficiency {points}"] = share.median().item()
    baseline = PredictiveFilter(model).posterior(data).log_prob(truth)
    figures["gain 50"] = (guide.posterior(data).log_prob(truth) - baseline).mean().item()
    return figures


def run(model_name: str, variant: str, steps: int, max_points: int, seed: int) -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    model = MODELS[model_name]()
    guide, seconds = trained(variant, model, steps=steps, seed=seed, max_points=max_points)
    row = {
        "model": model_name,
        "variant": variant,
        "steps": steps,
        "max_points": max_points,
        "seed": seed,
        "cpu seconds": seconds,
    }
    return [row | {"mixed": number} | measure(model, guide.mixed(number)) for number in (1, 4)]


def main(
    model: str = "overlap2d",
    steps: int = 1500,
    max_points: int = 100,
    seed: int = 0,
    workers: int = 1,
    only: Annotated[list[str] | None, typer.Option()] = None,
) -> None:
    """Train and measure what is missing, then print the table."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else []
    done = {tuple(row[key] for key in ("model", "variant", "steps", "max_points", "seed")) for row in rows}
    jobs = [(model, variant, steps, max_points, seed) for variant in (only or VARIANTS)]
    with ProcessPoolExecutor(workers) as pool:
        for finished in as_completed([pool.submit(run, *job) for job in jobs if job not in done]):
            rows += finished.result()
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    table = pd.DataFrame(rows).query("model == @model and steps == @steps and max_points == @max_points")
    shown = table.drop(columns=["model", "steps", "max_points", "seed"]).sort_values("mixed", kind="stable")
    Console(width=220).print(shown.round(3).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
