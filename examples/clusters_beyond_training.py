"""More clusters than in training: a recurrent decoder fails where filtering goes on.

Two guides learn from sets of up to four Gaussian clusters. The first emits the parameters of the clusters one
after the other, as a recurrent network does, and can emit as many as it is asked for; their number is that of
lowest Bayesian information criterion. The second finds a cluster, removes its points, and goes on with the
rest. Both are then shown sets of one to ten clusters. The figure has their adjusted Rand index by the number
of clusters, one set of eight as each sees it, and the rounds of filtering on it. Eight minutes on one core.

python examples/clusters_beyond_training.py --out beyond.png
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import adjusted_rand_score

from pyroclust.guides import (
    DeepAmortizedClustering,
    SetTransformerMixture,
    filtering_network_for,
    mixture_network_for,
)
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import GaussianClusters, filtering_clusters
from pyroclust.nn import RecurrentDecoder, SetEncoder
from pyroclust.partitions import canonical
from pyroclust.plots import CYCLE, new_figure, plot_components, plot_filtering, style

TRAINED, LARGEST, POINTS = 4, 12, 300


def emitting(guide: SetTransformerMixture, data: torch.Tensor) -> np.ndarray:
    """Return the partition of the most probable component of each point."""
    with torch.no_grad():
        return canonical(guide.mixture_of(data).log_joint(data).argmax(-1)).numpy()


def score(labels: torch.Tensor, found: np.ndarray) -> float:
    pairs = zip(labels.numpy(), found, strict=True)
    return float(np.mean([adjusted_rand_score(*pair) for pair in pairs]))


def sets_of(clusters: int, number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Simulate sets of so many clusters of about equal sizes."""
    model = GaussianClusters(
        clusters, concentration=5.0, centre_scale=3.0, scale=0.25, scale_spread=0.1, name="sets"
    )
    return simulate(model, torch.empty(number, POINTS, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("beyond.png"))
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--sets", type=int, default=40)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = filtering_clusters(TRAINED)
    encoder = SetEncoder(options.width, num_blocks=2)
    recurrent = SetTransformerMixture(
        model,
        network=mixture_network_for(
            model, width=options.width, encoder=encoder, decoder=RecurrentDecoder(options.width, TRAINED)
        ),
        varied=True,
    )
    filtering = DeepAmortizedClustering(
        model,
        network=filtering_network_for(model, width=options.width, num_blocks=2, differences=True),
    )
    settings = FitSettings(steps=options.steps, min_points=50, max_points=300, points_per_step=2000)
    for guide in (recurrent, filtering):
        fit(model, guide, settings=settings)
        guide.eval()
    # It may emit more than it ever did in training.
    recurrent.network.decoder.num_components = LARGEST

    numbers = range(1, 11)
    scores: dict[str, list[float]] = {"recurrent decoder": [], "filtering": []}
    for number in numbers:
        data, labels = sets_of(number, options.sets)
        scores["recurrent decoder"].append(score(labels, emitting(recurrent, data)))
        scores["filtering"].append(score(labels, filtering.filtering(data).assignments.numpy()))
    for name, row in scores.items():
        print(f"{name:18}", " ".join(f"{one:.2f}" for one in row))

    data, labels = sets_of(8, 1)
    found = filtering.filtering(data)
    with style():
        figure = new_figure(12, 7.5)
        above, below = figure.subfigures(2, 1)
        left, middle, right = above.subplots(1, 3)
        for colour, (name, row) in zip(CYCLE, scores.items(), strict=False):
            left.plot(numbers, row, marker="o", color=colour, label=name)
        left.axvspan(0.5, TRAINED + 0.5, color="0.92", zorder=0)
        left.set(xlabel="clusters (grey: in training)", ylabel="adjusted Rand index", xlim=(0.5, 10.5))
        left.legend(loc="lower left")
        plot_components(data[0].numpy(), *emitted(recurrent, data), ax=middle, assignments=labels[0].numpy())
        middle.set_title("Emitted one after the other")
        means, scales = filtering.network.density.moments(found.contexts[0, : found.num_rounds[0]])
        weights = np.bincount(found.rounds[0][found.filtered[0]].numpy()) / POINTS
        shown = (weights, means.detach().numpy(), scales.detach().numpy())
        plot_components(data[0].numpy(), *shown, ax=right, assignments=labels[0].numpy())
        right.set_title("Found and removed one after the other")
        panels = below.subplots(1, min(6, int(found.num_rounds[0])), squeeze=False)[0]
        plot_filtering(data[0].numpy(), found.rounds[0].numpy(), axes=list(panels))
        figure.savefig(options.out)
    print(f"Written: {options.out}")


def emitted(guide: SetTransformerMixture, data: torch.Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with torch.no_grad():
        weights, means, scales = guide.parameters_of(data[0])
    return weights.numpy(), means.numpy(), scales.numpy()


if __name__ == "__main__":
    main()
