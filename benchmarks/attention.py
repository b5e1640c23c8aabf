"""What attention to the points still to come is worth: on images, and on vectors beside kernels.

    python benchmarks/attention.py [--part digits] [--part vectors] [--steps N] [--seeds 1] [--only NAME ...]

Digits: the 8 x 8 images of scikit-learn, partitions from CRP(0.7), every cluster a class. Guides are trained
on half of the images of the classes 0 to 6, turned, mirrored, shifted and with noise, and judged on the other
half ("new images") and on the classes 7 to 9, which they have never seen ("new classes"): log q of the true
partition in nats per point, and the adjusted Rand index of the point estimate from 100 draws, at N = 40. For
comparison: the prior's log-probability, and k-means on the pixels with the true number of clusters.

Vectors: overlap2d in random order, measured as in benchmarks/ablation.py: kernels, attention, both, neither.

Trainings that are done are not repeated; the results are kept in benchmarks/results/attention.json.
"""

import itertools
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyro
import torch
import typer
from ablation import measure as measure_vectors
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from torch import Tensor

from pyroclust.diagnostics import point_estimate
from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.guides import NeuralClusteringProcess, light_scorer_for
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import LabelledImages, Mixture, overlap2d
from pyroclust.nn import (
    FixedShape,
    Future,
    FutureAttention,
    ImageEncoder,
    InducedFuture,
    LightScorer,
    RandomOrder,
    SummedScorer,
)

RESULTS = Path(__file__).parent / "results" / "attention.json"
DATA_SEED, POINTS, DATASETS, DRAWS = 31_337, 40, 100, 100
SEEN, COPIES = 7, 6
KERNELS = (0.7, 1.4, 2.8, 5.6)
WIDTH, EMBEDDING = 64, 8


def published(future: Callable[[int], Future] | None = None) -> SummedScorer:
    """Build the published scorer behind a convolutional encoder."""
    encoder = ImageEncoder(8, 8, dim=WIDTH)
    attention = None if future is None else future(WIDTH)
    return SummedScorer(WIDTH, width=WIDTH, sizes=(WIDTH, 2 * WIDTH), future=attention, encoder=encoder)


def light(bandwidths: tuple[float, ...], future: Callable[[int], Future] | None = None) -> LightScorer:
    """Build the light scorer on learned embeddings."""
    attention = None if future is None else future(WIDTH)
    encoder = ImageEncoder(8, 8, dim=EMBEDDING)
    shape = FixedShape(EMBEDDING, 1.0)
    return LightScorer(shape, encoder=encoder, width=WIDTH, bandwidths=bandwidths, future=attention)


def on_vectors(model: Mixture, *, kernels: int, attention: bool) -> LightScorer:
    """Build the light scorer of the recipe of overlap2d."""
    future = FutureAttention(48) if attention else None
    return light_scorer_for(model, width=48, num_bandwidths=kernels, future=future)


DIGITS: dict[str, Callable[[], SummedScorer | LightScorer]] = {
    "published, sum": published,
    "published, attention": partial(published, FutureAttention),
    "published, induced attention": partial(published, InducedFuture),
    "light, kernels": partial(light, KERNELS),
    "light, attention": partial(light, (), FutureAttention),
    "light, kernels and attention": partial(light, KERNELS, FutureAttention),
    "light, neither": partial(light, ()),
}
VECTORS: dict[str, dict[str, Any]] = {
    "kernels": {"kernels": 4, "attention": False},
    "attention": {"kernels": 0, "attention": True},
    "kernels and attention": {"kernels": 4, "attention": True},
    "neither": {"kernels": 0, "attention": False},
}


VARIANTS: dict[str, list[str]] = {"digits": ["prior, k-means", *DIGITS], "vectors": list(VECTORS)}
STEPS = {"digits": 1000, "vectors": 2000}


def digits() -> dict[str, LabelledImages]:
    """Split the images into those to train on, others of the same classes, and other classes."""
    images, labels = load_digits().images / 16, load_digits().target
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = images[order], labels[order]
    seen, half = labels < SEEN, np.arange(len(labels)) % 2 == 0
    parts = {
        "training": varied(images[seen & half], labels[seen & half]),
        "new images": [(images[seen & ~half], labels[seen & ~half])],
        "new classes": [(images[~seen], labels[~seen])],
    }
    prior = ChineseRestaurantPrior(0.7)
    return {name: LabelledImages(own, prior=prior) for name, own in parts.items()}


def varied(images: Any, labels: Any) -> list[tuple[Any, Any]]:
    """Turn and mirror the images, a collection each time; shift each image by up to a pixel, add noise."""
    generator, collections = np.random.default_rng(1), []
    for turn, mirrored, _ in itertools.product(range(4), (False, True), range(COPIES)):
        turned = np.rot90(images[:, :, ::-1] if mirrored else images, turn, (1, 2))
        padded = np.pad(turned, ((0, 0), (1, 1), (1, 1)))
        down, right = generator.integers(0, 3, (2, len(images), 1, 1))
        rows, columns = down + np.arange(8)[:, None], right + np.arange(8)
        shifted = padded[np.arange(len(images))[:, None, None], rows, columns]
        collections.append((shifted + 0.1 * generator.normal(size=shifted.shape), labels))
    return collections


def train(model: Any, scorer: Any, *, steps: int, max_points: int, seed: int) -> tuple[Any, float]:
    guide = NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())
    start = time.process_time()
    fit(model, guide, settings=FitSettings(steps=steps, max_points=max_points, seed=seed), progress=False)
    return guide.eval(), time.process_time() - start


@torch.no_grad()
def measure_digits(guide: Any, worlds: dict[str, LabelledImages]) -> dict[str, float]:
    figures = {}
    for name in ("new images", "new classes"):
        data, truth = fresh(worlds[name])
        posterior = guide.posterior(data)
        figures[f"log q, {name}"] = posterior.log_prob(truth).mean().item() / POINTS
        start = time.process_time()
        draws = posterior.sample((DRAWS,))
        figures["draws/s"] = DRAWS * DATASETS / (time.process_time() - start)
        guesses = [point_estimate(one.numpy(), seed=0) for one in draws.unbind(1)]
        figures[f"ARI, {name}"] = mean_index(truth, guesses)
    return figures


def baselines(worlds: dict[str, LabelledImages]) -> dict[str, float]:
    """Judge what knows nothing of the training: the prior, and k-means with the true K."""
    figures = {}
    law = ChineseRestaurantPrior(0.7).partition(POINTS)
    for name in ("new images", "new classes"):
        data, truth = fresh(worlds[name])
        figures[f"log q, {name}"] = law.log_prob(truth).mean().item() / POINTS
        guesses = [
            KMeans(int(own.max()) + 1, n_init=10, random_state=0).fit_predict(one.flatten(1).numpy())
            for one, own in zip(data, truth, strict=True)
        ]
        figures[f"ARI, {name}"] = mean_index(truth, guesses)
    return figures


def fresh(world: LabelledImages) -> tuple[Tensor, Tensor]:
    pyro.set_rng_seed(DATA_SEED)
    return simulate(world, torch.empty(DATASETS, POINTS, 8, 8))


def mean_index(truth: Tensor, guesses: list[Any]) -> float:
    pairs = zip(truth.numpy(), guesses, strict=True)
    return float(np.mean([adjusted_rand_score(own, np.asarray(one)) for own, one in pairs]))


def run(part: str, variant: str, *, steps: int, seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    row: dict[str, Any] = {"part": part, "variant": variant, "seed": seed, "steps": steps}
    if variant == "prior, k-means":
        return row | baselines(digits())
    if part == "digits":
        worlds = digits()
        scorer = DIGITS[variant]()
        guide, seconds = train(worlds["training"], scorer, steps=steps, max_points=80, seed=seed)
        return row | {"cpu seconds": seconds} | measure_digits(guide, worlds)
    model = overlap2d()
    scorer = on_vectors(model, **VECTORS[variant])
    guide, seconds = train(model, scorer, steps=steps, max_points=300, seed=seed)
    return row | {"cpu seconds": seconds} | measure_vectors(model, guide)


def main(
    part: Annotated[list[str] | None, typer.Option()] = None,
    only: Annotated[list[str] | None, typer.Option()] = None,
    steps: int | None = None,
    seeds: int = 1,
    first_seed: int = 0,
    out: Path = RESULTS,
) -> None:
    """Train and measure what is missing, then print means over seeds."""
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = json.loads(out.read_text()) if out.is_file() else []
    done = {(row["part"], row["variant"], row["seed"], row["steps"]) for row in rows}
    for name in part or list(VARIANTS):
        number = STEPS[name] if steps is None else steps
        for seed, variant in itertools.product(range(first_seed, first_seed + seeds), VARIANTS[name]):
            if (name, variant, seed, number) in done or variant not in (only or VARIANTS[name]):
                continue
            rows.append(run(name, variant, steps=number, seed=seed))
            out.write_text(json.dumps(rows, indent=1) + "\n")
    for (name, number), own in pd.DataFrame(rows).groupby(["part", "steps"], sort=False):
        numbers = own.drop(columns=["part", "steps", "seed"]).dropna(axis=1, how="all")
        Console(width=200).print(f"{name}, {number} steps")
        Console(width=200).print(numbers.groupby("variant", sort=False).mean().round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
