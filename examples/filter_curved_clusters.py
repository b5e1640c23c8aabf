"""Curved clusters, found and removed one after the other, with the density of each as a flow.

The guide dac-warped was trained on up to four clusters; the set here has seven. The upper row has the set,
what filtering found with outlines that hold half and nine tenths of each cluster's density, and the best of
eight orders of anchors; below are the rounds of the first one by one.

python examples/filter_curved_clusters.py --out curved.png
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from pyro.distributions import Binomial
from sklearn.metrics import adjusted_rand_score

from pyroclust import load_guide
from pyroclust.distributions import Filtering, FiniteMixturesPrior
from pyroclust.guides import DeepAmortizedClustering
from pyroclust.infer import simulate
from pyroclust.models import warped_clusters
from pyroclust.plots import new_figure, plot_cluster_densities, plot_filtering, style

CLUSTERS = 7


def densities(guide: DeepAmortizedClustering, found: Filtering, points: np.ndarray) -> np.ndarray:
    """Return the log-density of points under each cluster that was found, ``(K, M)``."""
    contexts = found.contexts[0, : int(found.num_rounds[0])]
    grid = torch.from_numpy(points).float().expand(len(contexts), -1, -1)
    with torch.no_grad():
        return guide.network.density(contexts, grid).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("curved.png"))
    parser.add_argument("--points", type=int, default=900)
    parser.add_argument("--seed", type=int, default=4)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    model = warped_clusters(FiniteMixturesPrior(5.0, Binomial(11, 0.5)))
    labels = torch.zeros(1, options.points, dtype=torch.int64)
    while len(labels.unique()) != CLUSTERS:
        data, labels = simulate(model, torch.empty(1, options.points, 2))
    guide = load_guide("dac-warped")
    one = guide.filtering(data)
    best = guide.reassigned(data, guide.filtering(data, num_orders=8))
    with style():
        rounds = int(one.num_rounds[0])
        across = max(3, -(-rounds // 2))
        figure = new_figure(3.2 * across, 9)
        axes = figure.subplots(3, across)
        points, truth = data[0].double().numpy(), labels[0].numpy()
        axes[0, 0].scatter(*points.T, s=4, color="0.5")
        axes[0, 0].set_title(f"{CLUSTERS} clusters")
        for ax, found, name in (
            (axes[0, 1], one, "one order"),
            (axes[0, 2], best, "best of eight, reassigned"),
        ):
            # Rounds, so that points and outlines have one colour.
            assignments = found.rounds[0].numpy()
            plot_cluster_densities(
                points,
                lambda grid, found=found: densities(guide, found, grid),
                ax=ax,
                assignments=assignments,
            )
            ax.set(xlabel="", ylabel="")
            score = adjusted_rand_score(truth, assignments)
            ax.set_title(f"{name}: {score:.2f}")
            print(f"{name}: {assignments.max() + 1} clusters, adjusted Rand index {score:.3f}")
        below = axes[1:].ravel()
        plot_filtering(points, one.rounds[0].numpy(), axes=below[:rounds])
        for ax in (*axes[0, 3:], *below[rounds:]):
            ax.set_axis_off()
        figure.savefig(options.out)


if __name__ == "__main__":
    main()
