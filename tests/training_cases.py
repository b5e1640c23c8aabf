"""A small training that runs in a second, the same every time."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import FitResult, FitSettings, fit
from pyroclust.models import overlap2d

RECIPE = """
about = "tiny"
[model]
name = "overlap2d"
[light]
width = {width}
num_bandwidths = 2
[order]
class = "RandomOrder"
[training]
steps = {steps}
max_points = 10
points_per_step = 50
learning_rate = {rate}
seed = {seed}
[validation]
every = {every}
num_datasets = 2
exact_points = 3
sampled_points = 5
num_draws = 5
"""
TINY = FitSettings(steps=12, max_points=15, points_per_step=60, warmup_steps=3, seed=4)


def new_guide() -> NeuralClusteringProcess:
    torch.manual_seed(0)
    model = overlap2d()
    return NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=16, num_bandwidths=2))


def run(
    folder: Path | None = None, *, guide: NeuralClusteringProcess | None = None, **arguments: Any
) -> tuple[dict[str, Tensor], FitResult]:
    guide = new_guide() if guide is None else guide
    settings = arguments.pop("settings", TINY)
    result = fit(guide.model, guide, settings=settings, folder=folder, progress=False, **arguments)
    return {name: value.clone() for name, value in guide.state_dict().items()}, result


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


def with_steps(steps: int) -> FitSettings:
    return replace(TINY, steps=steps)


def recipe(steps: int, *, width: int = 8, rate: float = 0.002, seed: int = 0, every: int = 50) -> str:
    """Return the text of a recipe that trains in a second."""
    return RECIPE.format(steps=steps, width=width, rate=rate, seed=seed, every=every)
