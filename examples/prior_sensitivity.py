"""How far the number of clusters depends on the concentration: one guide, beside a Markov chain for each.

The guide takes concentration and spread of the means as inputs: it is trained once for all of them, while
MCMC runs once for each.

python examples/prior_sensitivity.py --out prior_sensitivity.png
python examples/prior_sensitivity.py --guide FOLDER   # a trained guide with the same conditions
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from pyroclust import load_guide
from pyroclust.diagnostics import importance_efficiency, normalised_weights
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer import FitSettings, fit, importance_sample, simulate
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.models import Mixture, overlap2d, sensitivity2d
from pyroclust.partitions import Draws
from pyroclust.plots import CYCLE, INK, new_figure, style

PRIOR_SCALE = 3.0


def trained_guide(steps: int) -> NeuralClusteringProcess:
    """Train a guide for all concentrations and spreads at once."""
    model = sensitivity2d()
    guide = NeuralClusteringProcess(model, conditions=["concentration", "prior_scale"])
    fit(model, guide, settings=FitSettings(steps=steps, max_points=60))
    return guide


def shares(draws: Draws, most: int) -> np.ndarray:
    """Return the probabilities of 1, ..., most or more clusters, by the weights of the draws."""
    clusters = np.minimum(draws.num_clusters.ravel(), most)
    return np.bincount(clusters, weights=normalised_weights(draws), minlength=most + 1)[1:]


def by_guide(
    guide: NeuralClusteringProcess, data: Tensor, concentrations: Tensor, draws: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the posterior of K for every concentration as drawn and weighted, and the draws' efficiency."""
    plain, weighted, efficiency = [], [], []
    for concentration in concentrations.tolist():
        known = guide.condition(concentration=concentration, prior_scale=PRIOR_SCALE)
        found = importance_sample(known.model, known, data, num_draws=draws)
        plain.append(shares(replace(found, log_weights=None), most))
        weighted.append(shares(found, most))
        efficiency.append(importance_efficiency(found.log_weights))
    return np.array(plain), np.array(weighted), np.array(efficiency)


def by_mcmc(model: Mixture, data: Tensor, concentrations: Tensor, draws: int, most: int) -> np.ndarray:
    """Return the posterior of K for every concentration from chains of their own."""
    found = []
    for concentration in concentrations.tolist():
        known = model.given({"concentration": concentration, "prior_scale": PRIOR_SCALE})
        chains = CollapsedGibbs(known, thin=10).run(data, num_draws=draws, warmup=100, num_chains=2, seed=0)
<<<<<<< HEAD
        clusters = torch.from_numpy(chains.num_clusters).reshape(-1, 1)
        found.append(shares(clusters, torch.full(clusters.shape, 1 / clusters.numel()), most)[0])
    return torch.stack(found)
=======
        found.append(shares(chains, most))
    return np.array(found)
>>>>>>> draws


def draw_posteriors(
    axes: Axes, concentrations: Tensor, guide: np.ndarray, weighted: np.ndarray, mcmc: np.ndarray
) -> None:
    """Draw the probability of each number of clusters against the concentration."""
    most = guide.shape[-1]
    for k in range(most):
        colour = CYCLE[k % len(CYCLE)]
        axes.plot(
            concentrations, guide[:, k], color=colour, label=f"K = {k + 1}{' or more' * (k + 1 == most)}"
        )
        axes.plot(concentrations, weighted[:, k], "--", color=colour, linewidth=1.0)
        axes.plot(concentrations, mcmc[:, k], "o", color=colour, markersize=4)
    for marks, label in (("-", "guide"), ("--", "guide, weighted"), ("o", "MCMC")):
        axes.plot([], [], marks, color=INK, markersize=4, label=label)
    axes.set(xscale="log", xlabel="concentration", ylabel="posterior probability", ylim=(0, 1))
    axes.set_title("Number of clusters, by prior")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def draw(
    data: Tensor,
    concentrations: Tensor,
    guide: np.ndarray,
    weighted: np.ndarray,
    mcmc: np.ndarray,
    efficiency: np.ndarray,
) -> Figure:
    """Draw the data, the posteriors, and how good the guide's draws are."""
    figure = new_figure(10, 4.4)
    grid = figure.add_gridspec(2, 2, height_ratios=(3, 1), width_ratios=(1, 1.6))
    points = figure.add_subplot(grid[:, 0])
    points.scatter(data[:, 0], data[:, 1], s=14, color=INK)
    points.set(title=f"{len(data)} points", aspect="equal")
    posteriors = figure.add_subplot(grid[0, 1])
    draw_posteriors(posteriors, concentrations, guide, weighted, mcmc)
    below = figure.add_subplot(grid[1, 1], sharex=posteriors)
    below.plot(concentrations, efficiency, color=CYCLE[3])
    below.set(xlabel="concentration", ylabel="efficiency", ylim=(0, 1))
    posteriors.set_xlabel("")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("prior_sensitivity.png"))
    parser.add_argument(
        "--guide", type=Path, help="folder of a guide with these conditions; trained otherwise"
    )
    parser.add_argument("--steps", type=int, default=2000, help="of the training")
    parser.add_argument("--draws", type=int, default=1000, help="for every concentration")
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    guide = trained_guide(arguments.steps) if arguments.guide is None else load_guide(arguments.guide)
    torch.manual_seed(arguments.seed)
    data, _ = simulate(overlap2d(), torch.empty(arguments.points, 2))
    concentrations, most = torch.logspace(-1, 0.8, 10), 6
    plain, weighted, efficiency = by_guide(guide, data, concentrations, arguments.draws, most)
    mcmc = by_mcmc(guide.model, data, concentrations, arguments.draws, most)
    with style():
        draw(data, concentrations, plain, weighted, mcmc, efficiency).savefig(arguments.out, dpi=110)
    for label, found in (("as drawn", plain), ("weighted", weighted)):
        distance = 0.5 * np.abs(found - mcmc).sum(-1)
        print(f"total variation to MCMC, {label}: mean {distance.mean():.3f}, largest {distance.max():.3f}")
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
