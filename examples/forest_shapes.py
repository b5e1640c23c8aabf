"""Circles, moons and blobs by spanning forests under noise, before and after a few answers of a user.

Each row is one data set of scikit-learn. The heaviest forest without noise is single linkage; with noise it
is a law over partitions, whose draws say which points it is sure of (large in the figure). The last column
has the forests that keep a few pairs that a user has told: must-links as lines, cannot-links dashed.

python examples/forest_shapes.py --out shapes.png
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from torch import nn

from pyroclust.diagnostics import point_estimate, point_uncertainty
from pyroclust.guides import SpanningForestGuide
from pyroclust.models import PartiallyLabelled
from pyroclust.plots import CYCLE, INK, new_figure, style


def shapes(number: int, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """Return points, classes and the number of these."""
    return {
        "circles": (*make_circles(number, factor=0.4, noise=0.07, random_state=seed), 2),
        "moons": (*make_moons(number, noise=0.1, random_state=seed), 2),
        "blobs": (*make_blobs(number, centers=3, cluster_std=1.3, random_state=seed), 3),
    }


def told_pairs(classes: np.ndarray, number: int, seed: int) -> tuple[list, list]:
    """Ask for the classes of random pairs of points."""
    pairs = np.random.default_rng(seed).choice(len(classes), (number, 2), replace=False)
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return pairs[same].tolist(), pairs[~same].tolist()


def draw(ax: Axes, points: np.ndarray, draws: np.ndarray, classes: np.ndarray) -> float:
    """Draw the point estimate, sure points large, and return its adjusted Rand index."""
    estimate = point_estimate(draws, seed=0)
    unsure = point_uncertainty(draws, estimate)
    colours = [CYCLE[label % len(CYCLE)] for label in estimate]
    ax.scatter(*points.T, c=colours, s=28 * (1.1 - unsure), linewidths=0)
    ax.set_xticks([])
    ax.set_yticks([])
    return float(adjusted_rand_score(classes, estimate))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("shapes.png"))
    parser.add_argument("--points", type=int, default=120)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0.03)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    with style():
        figure = new_figure(10, 10)
        axes = figure.subplots(3, 3)
        for row, (name, (points, classes, k)) in zip(
            axes, shapes(options.points, options.seed).items(), strict=True
        ):
            data = torch.from_numpy(points).float()
            # The points are their own embedding: distances in the plane.
            model = PartiallyLabelled(data, classes)
            guide = SpanningForestGuide(model, embedding=nn.Identity(), num_clusters=k, noise_scale=0.0)
            must, cannot = told_pairs(classes, options.pairs, options.seed)
            linkage = guide.posterior(data).sample((1,))
            guide.noise_scale = options.noise
            free = guide.posterior(data).sample((options.draws,))
            known = guide.constrained(must_link=must, cannot_link=cannot).posterior(data)
            kept = known.sample((options.draws,))
            scores = {}
            columns = {"single linkage": linkage, "with noise": free, f"{options.pairs} pairs told": kept}
            for ax, (title, found) in zip(row, columns.items(), strict=True):
                scores[title] = draw(ax, points, found.numpy(), classes)
                ax.set_title(f"{name}, {title}: {scores[title]:.2f}")
            for pairs, line in ((must, "-"), (cannot, "--")):
                for pair in pairs:
                    row[-1].plot(*points[pair].T, line, color=INK, lw=0.7, alpha=0.6)
            more = known.excess_rate(num_draws=options.draws).item()
            told = ", ".join(f"{title} {score:.2f}" for title, score in scores.items())
            print(f"{name}: adjusted Rand index {told}; more than {k} clusters in {more:.0%} of these draws")
        figure.savefig(options.out)
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
