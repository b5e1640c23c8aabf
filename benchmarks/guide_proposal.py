"""Does a guide inside MCMC help? Effective draws of K a second with and without its proposals.

    python benchmarks/guide_proposal.py [--quick]

Two kinds of posteriors, several data sets each, four chains from overdispersed starts. *Two modes*: 40
points in eight dimensions, two groups 2.8 standard deviations apart under a diffuse prior of the means;
kept are the data sets to which split-merge gives one cluster with probability .1 to .9. A single point
almost never opens a cluster there, so Gibbs that moves one point at a time hardly ever crosses. The guide
is the sequential predictive of a model with a tighter prior: a poor guide of this model, yet it proposes
both modes. *One mode*: the reference worlds of the trained guides, where Gibbs moves freely and a network's
draw costs more than it saves. Split-merge is shown beside both. The result is kept in
``benchmarks/results/guide_proposal.json``.
"""

import json
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from pyroclust import load_guide, read_table
from pyroclust.diagnostics import ess, rhat
from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import simulate
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, GuideProposal, SplitMerge
from pyroclust.models import Mixture, gaussian2d, nig_mixture, overlap2d

RESULT = Path(__file__).parent / "results" / "guide_proposal.json"
DIM, POINTS, DISTANCE = 8, 40, 2.8


def two_groups(seed: int) -> Tensor:
    """Return two groups of points, so close that the prior cost of a second cluster balances the gain."""
    generator = torch.Generator().manual_seed(seed)
    data = torch.randn(POINTS, DIM, generator=generator, dtype=torch.float64)
    data[::2, 0] += DISTANCE
    return data - data.mean(0)


def two_modes(model: Mixture) -> Iterator[Tensor]:
    """Yield data sets for which both one cluster and two are plausible."""
    kernel = Compose([SplitMerge(model, thin=5), CollapsedGibbs(model)])
    for data in map(two_groups, count()):
        draws = kernel.run(data, num_draws=2000, warmup=100, num_chains=2, seed=1)
        if 0.1 < (draws.num_clusters == 1).mean() < 0.9:
            yield data


def cases(num_datasets: int) -> Iterator[tuple[str, Mixture, Any, Tensor]]:
    """Yield a name, the model, a guide and a data set."""
    tighter = Mixture(ChineseRestaurantPrior(0.3), NormalKnownVariance(DIM, 0.5))
    for one in islice(two_modes(gaussian2d(DIM)), num_datasets):
        yield "two modes, D = 8, N = 40", gaussian2d(DIM), PredictiveFilter(tighter), one
    model, guide = overlap2d(), load_guide("ncp-overlap2d")
    torch.manual_seed(0)
    data, _ = simulate(model, torch.empty(num_datasets, 50, 2))
    for one in data.double():
        yield "one mode, overlap2d, N = 50", model, guide, one
    values = torch.from_numpy(read_table("galaxies").data)
    standardised = (values - values.mean(0)) / values.std(0, correction=0)
    yield "galaxies, N = 82", nig_mixture(1), load_guide("ncp-nig1d"), standardised


def kernels(model: Mixture, guide: Any) -> dict[str, tuple[Any, int]]:
    """Return the kernels of one model and how many draws each makes, by name."""
    proposal = GuideProposal(model, guide, num_proposals=50, blocks=[])
    return {
        "CollapsedGibbs": (CollapsedGibbs(model, thin=20), 5000),
        "GuideProposal + CollapsedGibbs": (Compose([proposal, CollapsedGibbs(model, thin=20)]), 150),
        "SplitMerge + CollapsedGibbs": (Compose([SplitMerge(model, thin=5), CollapsedGibbs(model)]), 10_000),
    }


def measure(num_datasets: int, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Run every kernel on every data set."""
    for case, model, guide, data in cases(num_datasets):
        for name, (kernel, draws) in kernels(model, guide).items():
            wanted = max(draws // (10 if quick else 1), 20)
            found = kernel.run(data, num_draws=wanted, warmup=wanted // 5, num_chains=4, seed=0)
<<<<<<< HEAD
            clusters = found.num_clusters.astype(np.float64)
=======
            clusters = found.num_clusters.astype(float)
>>>>>>> draws
            stuck = bool((clusters == clusters[:, :1]).all())
            effective = 0.0 if stuck else ess(clusters)
            yield {
                "case": case,
                "kernel": name,
                "mean_clusters": clusters.mean(),
                "rhat": float("inf") if stuck else rhat(clusters),
                "ess": effective,
                "seconds": found.seconds,
                "ess_per_second": effective / found.seconds,
            }


def main(*, num_datasets: int = 5, quick: bool = False) -> None:
    """Run, print medians over data sets and keep all rows."""
    torch.set_num_threads(1)
    rows = list(measure(num_datasets, quick=quick))
    frame = pd.DataFrame(rows).groupby(["case", "kernel"], sort=False)
    summary = frame[["mean_clusters", "rhat", "ess_per_second"]].median().reset_index()
    table = Table(*summary.columns, title=f"medians over data sets (up to {num_datasets})")
    for row in summary.itertuples(index=False):
        table.add_row(*(f"{one:,.3g}" if isinstance(one, float) else str(one) for one in row))
    Console(width=130).print(table)
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
