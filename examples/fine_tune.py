"""Fit a guide to given data sets without labels, by several objectives, and show each gap before and after.

The guide starts as the exact no-look-ahead filter of overlapping clusters.

python examples/fine_tune.py --out fine_tune.png
"""

import argparse
from pathlib import Path

import torch
from matplotlib.axes import Axes
from pyro.infer import ELBO, Trace_ELBO, TraceGraph_ELBO

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer import BatchedWakeSleep, FineTuning, LeaveOneOut, fine_tune, simulate
from pyroclust.models import overlap2d
from pyroclust.plots import CYCLE, INK, new_figure, style


def objectives(particles: int) -> dict[str, ELBO]:
    """Return the objectives to compare, with the same number of particles."""
    return {
        "Trace_ELBO": Trace_ELBO(num_particles=particles, vectorize_particles=True),
        "TraceGraph_ELBO": TraceGraph_ELBO(num_particles=particles, vectorize_particles=True),
        "LeaveOneOut": LeaveOneOut(particles),
        "BatchedWakeSleep": BatchedWakeSleep(particles),
    }


def draw(axes: Axes, name: str, done: FineTuning) -> None:
    """Draw one line a data set, from its gap before to its gap after."""
    order = done.gap_before.gap.argsort()
    before, after = done.gap_before.gap[order], done.gap_after.gap[order]
    rows = torch.arange(len(order))
    axes.hlines(rows, before, after, color="0.8", linewidth=2, zorder=1)
    axes.plot(before, rows, "o", color=INK, markersize=4, label="before")
    axes.plot(after, rows, "o", color=CYCLE[3], markersize=4, label="after")
    axes.set_title(f"{name}\nmean {before.mean():.3f} to {after.mean():.3f} nats", fontsize=9)
    axes.set(xscale="log", yticks=())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("fine_tune.png"))
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--points", type=int, default=8, help="points a data set; up to 8 are enumerated")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--particles", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = overlap2d()
    torch.manual_seed(arguments.seed)
    data, _ = simulate(model, torch.empty(arguments.datasets, arguments.points, 2))
    found = {}
    for name, objective in objectives(arguments.particles).items():
        torch.manual_seed(arguments.seed)
        guide = NeuralClusteringProcess(model)
        found[name] = fine_tune(
            model, guide, data, objective=objective, steps=arguments.steps, learning_rate=5e-3
        )
    with style():
        figure = new_figure(10, 4.4)
        panels = figure.subplots(1, len(found), sharex=True, sharey=True)
        for axes, (name, done) in zip(panels, found.items(), strict=True):
            draw(axes, name, done)
        panels[0].set_ylabel("data sets, by the gap before")
        panels[-1].legend(loc="lower right")
        figure.supxlabel("KL(guide || posterior) of each data set, nats", fontsize=10)
        figure.savefig(arguments.out, dpi=110)
    for name, done in found.items():
        print(
            f"{name:18} gap {done.gap_before.gap.mean():.3f} -> "
            f"{done.gap_after.gap.mean():.3f} nats in {done.seconds:.0f} s"
        )
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
