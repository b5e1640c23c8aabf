"""What makes a guide right on real tables: visiting order, foresight, and what it is trained on.

    python benchmarks/foresight.py [--steps 2000] [--number 24] [--only NAME ...]

Every variant of ncp-niw2d is trained anew for the same number of steps, and measured as held_out.py does with
--explore, on tables on which choices were made: long chains beside draws of the guide as they come. Real
tables to train on are written by `held_out.py --write`. Results are kept in runs/foresight; the last report
is in benchmarks/results/foresight.json.
"""

import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pyro
import torch
import typer
from held_out import SOURCES, TABLES, measure, points_of
from kept import add_to_report, kept
from rich.console import Console

from pyroclust.guides import NeuralClusteringProcess, light_scorer_for
from pyroclust.infer import FitSettings, PosteriorPool, fit
from pyroclust.models import DistortedClusters, UnlabelledTables, niw_mixture
from pyroclust.nn import DensestFirst, FarthestLast

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "foresight"
RESULT = Path(__file__).parent / "results" / "foresight.json"
# Points to come that are looked at, whether farthest points come last, shares of distorted data and tables.
VARIANTS: dict[str, tuple[int, bool, float, float]] = {
    "simulations alone, densest first": (0, False, 0.0, 0.0),
    "densest first": (0, False, 0.5, 0.0),
    "farthest last": (0, True, 0.5, 0.0),
    "foresight 32, densest first": (32, False, 0.5, 0.0),
    "foresight 32, farthest last": (32, True, 0.5, 0.0),
    "the same, simulations alone": (32, True, 0.0, 0.0),
    "the same, real tables": (32, True, 0.125, 0.375),
    "foresight 16, farthest last": (16, True, 0.5, 0.0),
    "foresight 64, farthest last": (64, True, 0.5, 0.0),
}


def trained(variant: str, *, steps: int) -> NeuralClusteringProcess:
    """Train one variant."""
    foresight, farthest, distorted, real = VARIANTS[variant]
    model = niw_mixture(2)
    pyro.set_rng_seed(0)
    guide = NeuralClusteringProcess(
        model,
        scorer=light_scorer_for(model, width=64, num_bandwidths=5, second_moments=True, foresight=foresight),
        order=FarthestLast() if farthest else DensestFirst(0.31),
    )
    laws: dict[Any, float] = {}
    if distorted:
        laws[DistortedClusters(model)] = distorted
    if real:
        tables = [pd.read_csv(path).to_numpy(float) for path in sorted(TABLES.glob("*.csv"))]
        laws[UnlabelledTables(tables, dim=2)] = real
    pool = PosteriorPool(model, laws, prior=0.5) if laws else None
    settings = FitSettings(steps=steps, max_points=250, points_per_step=1800)
    fit(model, guide, data=pool, settings=settings, progress=False)
    return guide.eval()


def row_of(variant: str, tables: list[tuple[str, Any]], *, steps: int) -> dict[str, Any]:
    """Train one variant and measure it."""
    return measure(trained(variant, steps=steps), tables, source=SOURCES[True])


def main(
    only: Annotated[list[str] | None, typer.Option()] = None, *, steps: int = 2000, number: int = 24
) -> None:
    """Train and measure variants, and print and keep the figures."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)
    console = Console(width=200)
    tables = points_of(2, explore=True, number=number)
    for name in only or VARIANTS:
        row = kept(RUNS / f"{name}-{steps}-{number}.json", partial(row_of, name, tables, steps=steps))
        console.print(name, row)
        add_to_report(RESULT, {"steps": steps, name: row})


if __name__ == "__main__":
    typer.run(main)
