"""Train a small guide for overlapping clusters and compare it with the exact posterior of seven points.

python examples/train_and_compare.py --out comparison.png
"""

import argparse
from pathlib import Path

import torch

from pyroclust import plots
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer import FitSettings, exact_posterior, fit, simulate
from pyroclust.models import overlap2d


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("comparison.png"))
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = overlap2d()
    guide = NeuralClusteringProcess(model)
    fit(model, guide, settings=FitSettings(steps=arguments.steps, max_points=20))
    data, _ = simulate(model, torch.empty(7, 2))
    partitions, log_probs = exact_posterior(model, data)
    with torch.no_grad():
        log_q = guide.posterior(data).log_prob(partitions)
    divergence = (log_probs.exp() * (log_probs - log_q)).sum().item()
    with plots.style():
        figure = plots.new_figure(5.0, 4.2)
        ax = figure.subplots()
        ax.scatter(log_probs.exp(), log_q.exp(), s=12)
        ax.axline((0, 0), slope=1, linewidth=0.8)
        ax.set(
            xlabel="exact probability of a partition", ylabel="the guide's", title=f"KL {divergence:.4f} nats"
        )
        figure.savefig(arguments.out, dpi=110)
    print(f"KL(exact || guide) = {divergence:.4f} nats over {len(partitions)} partitions")
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
