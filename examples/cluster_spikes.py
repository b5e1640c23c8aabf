"""Find the neurons of a simulated recording, how many there are, and the spikes whose neuron is least sure.

Draws partitions of spikes from a guide that was trained on simulated recordings of other neurons. The figure
shows the mean waveform of every cluster on all channels, the number of neurons, the probability that two
spikes are of one neuron, and the least sure spikes on the mean waveform of their cluster.

python examples/cluster_spikes.py --out spikes.png
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from sklearn.metrics import adjusted_mutual_info_score

from pyroclust import load_guide
from pyroclust.diagnostics import (
    cluster_count_posterior,
    co_assignment,
    dendrogram_order,
    point_estimate,
    point_uncertainty,
)
from pyroclust.infer import simulate
from pyroclust.plots import (
    CYCLE,
    INK,
    new_figure,
    plot_co_assignment,
    plot_num_clusters,
    plot_waveforms,
    style,
)


def draw_spikes(
    ax: Axes, spikes: np.ndarray, means: np.ndarray, *, colours: list[str], unsure: np.ndarray
) -> None:
    """Draw spikes side by side, each on the mean waveform of its cluster, channels above one another."""
    channels, samples = spikes.shape[1:]
    apart = -6.0 * np.arange(channels)
    for place, (spike, mean, colour) in enumerate(zip(spikes, means, colours, strict=True)):
        times = np.arange(samples) + 1.25 * samples * place
        ax.plot(times, mean.T + apart, color=colour, lw=2.5, alpha=0.5)
        ax.plot(times, spike.T + apart, color=INK, lw=0.8)
    middles = (np.arange(len(spikes)) * 1.25 + 0.5) * samples
    ax.set_xticks(middles, [f"{one:.2f}" for one in unsure])
    ax.set_yticks([])
    ax.set_title("Least sure spikes on the mean of their cluster, and their uncertainty")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("spikes.png"))
    parser.add_argument("--spikes", type=int, default=200)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=6)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    guide = load_guide("ncp-spikes")
    # Of one's own recording: waveforms (N, 7, 32), band-passed, in units of the noise.
    recording, neurons = simulate(guide.model, torch.empty(options.spikes, 7, 32))
    spikes, truth = recording.numpy(), neurons.numpy()

    # The guide encodes each spike once and draws all partitions from that.
    draws = guide.posterior(recording).sample((options.draws,)).numpy()
    estimate = point_estimate(draws, seed=0)
    unsure = point_uncertainty(draws, estimate)
    shared = adjusted_mutual_info_score(truth, estimate)
    print(
        f"{truth.max() + 1} neurons, {estimate.max() + 1} clusters; adjusted mutual information {shared:.2f}"
    )
    print(f"{(unsure > 0.3).mean():.0%} of the spikes have an uncertainty above 0.3")

    worst = np.argsort(-unsure, kind="stable")[:10]
    with style():
        figure = new_figure(11, 10)
        grid = figure.add_gridspec(3, 2, height_ratios=(2.2, 1.6, 2))
        waves = figure.add_subplot(grid[0, :])
        plot_waveforms(spikes, estimate, ax=waves).set_title("Mean waveforms of the point estimate")
        means = np.stack([spikes[estimate == estimate[one]].mean(0) for one in worst])
        colours = [CYCLE[estimate[one] % len(CYCLE)] for one in worst]
        least = figure.add_subplot(grid[1, :])
        draw_spikes(least, spikes[worst], means, colours=colours, unsure=unsure[worst])
        values, probabilities = cluster_count_posterior(draws)
        counts = figure.add_subplot(grid[2, 0])
        plot_num_clusters(values, {"ncp-spikes": probabilities}, ax=counts)
        together = co_assignment(draws)
        plot_co_assignment(together, dendrogram_order(together), ax=figure.add_subplot(grid[2, 1]))
        figure.savefig(options.out)
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
