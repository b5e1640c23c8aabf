"""Check a mixture of the galaxy velocities against its own predictions.

Draws partitions by collapsed Gibbs, then shows the density of a new galaxy, the probability that it would
open a cluster, and what replicates of the data look like beside the data themselves.

python examples/posterior_predictive.py --out posterior_predictive.png
"""

import argparse
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pyro.infer import Predictive
from torch import Tensor

from pyroclust import read_table, standardise
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.models import PosteriorPredictive, Replicated, nig_mixture
from pyroclust.plots import CYCLE, INK, new_figure, style


def largest_gap(data: Tensor) -> Tensor:
    """Return the largest distance between neighbours, the outer tenth of the points left out."""
    cut = data.shape[-1] // 20
    return data.sort(-1).values[..., cut : data.shape[-1] - cut].diff(dim=-1).amax(-1)


def share_of_the_middle(data: Tensor) -> Tensor:
    """Return the range of the central half of the points over the range of the central nine tenths."""
    levels = torch.tensor([0.05, 0.25, 0.75, 0.95], dtype=data.dtype)
    lowest, low, high, highest = data.quantile(levels, dim=-1)
    return (high - low) / (highest - lowest)


STATISTICS = {"largest gap": largest_gap, "central half / central nine tenths": share_of_the_middle}


def draw_density(top: Axes, bottom: Axes, data: Tensor, law: PosteriorPredictive) -> None:
    """Draw the data, the predictive density, and the probability of a new cluster."""
    grid = torch.linspace(-4, 4, 400).unsqueeze(-1)
    top.hist(data[:, 0].numpy(), bins=40, range=(-4, 4), density=True, color="0.85", label="82 galaxies")
    top.plot(grid[:, 0], law.log_prob(grid).exp(), color=CYCLE[0], label="density of a new one")
    top.plot(data[:, 0], torch.zeros(len(data)), "|", color=INK, markersize=6)
    top.margins(y=0.15)
    top.legend(loc="upper right")
    top.set(title="A new galaxy", ylabel="density", xlim=(-4, 4))
    probability = law.log_new_cluster_prob(grid).exp()
    bottom.plot(grid[:, 0], probability, color=CYCLE[3])
    bottom.set(xlabel="velocity, standardised", ylabel="P(new cluster)", xlim=(-4, 4), ylim=(0, 1))


def draw_statistic(axes: Axes, name: str, data: Tensor, replicates: Tensor) -> None:
    """Draw where the data lie among their replicates."""
    observed = STATISTICS[name](data[:, 0])
    found = STATISTICS[name](replicates[..., 0])
    above = (found >= observed).double().mean()
    axes.hist(found.numpy(), bins=40, color=CYCLE[5])
    axes.axvline(observed.item(), color=CYCLE[3], label=f"data, P(replicate above) = {above:.2f}")
    axes.margins(y=0.25)
    axes.legend(loc="upper right")
    axes.set(xlabel=name, yticks=())


def draw(data: Tensor, law: PosteriorPredictive, replicates: Tensor) -> Figure:
    """Draw everything."""
    figure = new_figure(10, 4.6)
    grid = figure.add_gridspec(2, 2, height_ratios=(2, 1))
    top = figure.add_subplot(grid[0, 0])
    draw_density(top, figure.add_subplot(grid[1, 0], sharex=top), data, law)
    right = grid[:, 1].subgridspec(2, 1)
    for index, name in enumerate(STATISTICS):
        draw_statistic(figure.add_subplot(right[index]), name, data, replicates)
    figure.axes[2].set_title("Replicates of the data")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("posterior_predictive.png"))
    parser.add_argument("--draws", type=int, default=2000, help="posterior draws of the partition")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    data = torch.tensor(standardise(read_table("galaxies")).data)
    model = nig_mixture(1)
    draws = CollapsedGibbs(model, thin=10).run(data, num_draws=-(-arguments.draws // 4), warmup=100)
    labels = torch.from_numpy(draws.flat)
    law = PosteriorPredictive(model, data, labels)
    check = Predictive(Replicated(model, data), posterior_samples={"assignments": labels}, parallel=True)
    with style():
        draw(data, law, check()["replicated"]).savefig(arguments.out, dpi=110)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
