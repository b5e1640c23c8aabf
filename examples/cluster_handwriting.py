"""Cluster handwritten digits by a guide that has seen glyphs of fonts and no handwriting.

Draws partitions of images from the guide, then shows the point estimate as a contact sheet, the least sure
images, the number of clusters and the probability of every pair of images. Nothing is told of the digits.

python examples/cluster_handwriting.py --out handwriting.png
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from pyroclust import load_guide
from pyroclust.diagnostics import (
    cluster_count_posterior,
    co_assignment,
    dendrogram_order,
    point_estimate,
    point_uncertainty,
)
from pyroclust.plots import (
    new_figure,
    plot_co_assignment,
    plot_contact_sheet,
    plot_num_clusters,
    plot_uncertain_images,
    style,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("handwriting.png"))
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--draws", type=int, default=500)
    options = parser.parse_args()

    torch.manual_seed(0)
    digits = load_digits()
    some = np.flatnonzero(np.isin(digits.target, [0, 1, 2, 3, 6, 7]))[: options.images]
    images, truth = digits.images[some] / 16, digits.target[some]

    # The guide encodes each image once and draws all partitions from that.
    posterior = load_guide("ncp-glyphs8").posterior(torch.tensor(images))
    draws = posterior.sample((options.draws,)).numpy()

    estimate = point_estimate(draws, seed=0)
    unsure = point_uncertainty(draws, estimate)
    print(f"{estimate.max() + 1} clusters; adjusted Rand index to the digits {rand(truth, estimate):.2f}")
    print(
        f"most probable partition: adjusted Rand index {rand(truth, posterior.map_partition().numpy()):.2f}"
    )

    with style():
        figure = new_figure(11, 9)
        grid = figure.add_gridspec(3, 2, height_ratios=(2.4, 1, 2.2))
        sheet = figure.add_subplot(grid[0, :])
        plot_contact_sheet(images, estimate, unsure, ax=sheet, most_images=24).set_title("Point estimate")
        doubtful = figure.add_subplot(grid[1, :])
        plot_uncertain_images(images, unsure, ax=doubtful, columns=24).set_title("Least sure")
        values, probabilities = cluster_count_posterior(draws)
        counts = figure.add_subplot(grid[2, 0])
        plot_num_clusters(values, {"ncp-glyphs8": probabilities}, ax=counts)
        together = co_assignment(draws)
        pairs = figure.add_subplot(grid[2, 1])
        plot_co_assignment(together, dendrogram_order(together), ax=pairs)
        figure.savefig(options.out)
    print(f"Written: {options.out}")


def rand(truth: np.ndarray, estimate: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions."""
    return float(adjusted_rand_score(truth, estimate))


if __name__ == "__main__":
    main()
