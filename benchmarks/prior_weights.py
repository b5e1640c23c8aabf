"""Which parts of a prior matter for "how many clusters": draws of one model, weighted to other laws.

    python benchmarks/prior_weights.py [--half choose] [--report]

Data sets are the Gaussian ones of `priors.py`. Chains draw from normal clusters with a log-normal scale
around 0.2 and a finite mixture with M - 1 ~ BNB(1, 4, 3). A draw of the partition c and the scale s has,
under another law of either or another kappa, the weight p'(c, x, s) / p(c, x, s): all of these are
densities in closed form, so that no law needs chains of its own. What the weights are worth stands beside
the figures: the share of the draws that is effective. One result a data set is kept in runs/prior_weights.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, write_report
from priors import KAPPA, World, normal_family, simulate, worlds
from pyro.distributions import Categorical, Geometric, LogNormal
from rich.console import Console
from torch import Tensor

from pyroclust.analysis.chains import draw_mcmc
from pyroclust.analysis.steps import Settings
from pyroclust.distributions import (
    ClusteredData,
    DynamicMixturesPrior,
    FiniteMixturesPrior,
    GammaConcentration,
)
from pyroclust.models import Mixture

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "prior_weights"
RESULTS = Path(__file__).parent / "results" / "prior_weights.json"

BASE_KAPPA, MEDIAN, SPREAD = 0.02, 0.2, 1.0


def beta_negative_binomial(terms: int = 4096) -> Categorical:
    """Return the law BNB(1, 4, 3) of M - 1, without what lies beyond a chance of 1e-14."""
    k = torch.arange(terms, dtype=torch.float64)
    log_p = torch.lgamma(k + 3) - torch.lgamma(k + 8)
    return Categorical(log_p.softmax(0))


PARTITIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "BNB, weights 1": FiniteMixturesPrior(1.0, beta_negative_binomial()).log_prob,
    "BNB, weights 1/2": FiniteMixturesPrior(0.5, beta_negative_binomial()).log_prob,
    "geometric .4, weights 1/2": FiniteMixturesPrior(0.5, Geometric(0.4)).log_prob,
    "geometric .4, weights 1": FiniteMixturesPrior(1.0, Geometric(0.4)).log_prob,
    "geometric .4, weights 2": FiniteMixturesPrior(2.0, Geometric(0.4)).log_prob,
    "geometric .3, weights 1/2": FiniteMixturesPrior(0.5, Geometric(0.3)).log_prob,
    "dynamic, total 1": DynamicMixturesPrior(1.0, beta_negative_binomial()).log_prob,
    "Dirichlet process": GammaConcentration(2.0, 4.0).log_prob,
}
SCALES = {"0.2, 1": (0.2, 1.0), "0.2, 0.7": (0.2, 0.7), "0.1, 1": (0.1, 1.0), "0.5, 1": (0.5, 1.0)}
KAPPAS = (0.02, 0.03, 0.05, 0.08, 0.15)


def measure(world: World) -> list[dict[str, Any]]:
    """Return the figures of every law on a data set."""
    points, truth = simulate(world)
    data = torch.tensor((points - points.mean(0)) / points.std(0))
    family = normal_family(world.dim, BASE_KAPPA, LogNormal(float(np.log(MEDIAN)), SPREAD))
    model = Mixture(FiniteMixturesPrior(1.0, beta_negative_binomial()), family)
    draws = draw_mcmc(model, data, Settings(mcmc_draws=250), seed=world.seed % 2**31).draws
    labels = torch.from_numpy(draws.flat)
    ((name, drawn),) = draws.parameters.items()
    scale = torch.from_numpy(drawn.reshape(-1))

    def likelihood(kappa: float) -> Tensor:
        known = family.given({name: scale, "kappa": torch.full_like(scale, kappa)})
        return ClusteredData(known, labels).log_prob(data)

    def law_of_scale(median: float, spread: float) -> Tensor:
        return LogNormal(float(np.log(median)), spread).log_prob(scale).double()

    base = PARTITIONS["BNB, weights 1"](labels), law_of_scale(MEDIAN, SPREAD), likelihood(BASE_KAPPA)
    rows = []
    for partition, log_prior in PARTITIONS.items():
        more = log_prior(labels) - base[0]
        rows += [
            _figures(labels, more + likelihood(kappa) - base[2], truth, (partition, "0.2, 1", kappa))
            for kappa in KAPPAS
        ]
    more = PARTITIONS["geometric .4, weights 1/2"](labels) - base[0] + likelihood(0.05) - base[2]
    for said, law in SCALES.items():
        weights = more + law_of_scale(*law) - base[1]
        rows.append(_figures(labels, weights, truth, ("geometric .4, weights 1/2", said, 0.05)))
    return [row | {"kind": world.kind} for row in rows]


def _figures(
    labels: Tensor, log_weights: Tensor, truth: np.ndarray, law: tuple[str, str, float]
) -> dict[str, Any]:
    weights = log_weights.softmax(0).numpy()
    true = int(truth.max()) + 1
    chances = np.bincount(labels.amax(-1).numpy() + 1, weights=weights, minlength=true + 1)
    low, high = np.searchsorted(chances.cumsum(), (0.05, 0.95))
    return {
        "partition": law[0],
        "scale": law[1],
        "kappa": law[2],
        "probability": float(chances[true]),
        "error": abs(int(chances.argmax()) - true),
        "log score": float(np.log(chances[true] + 5e-4)),
        "cover": bool(low <= true <= high),
        "width": int(high - low),
        "effective": float(1 / (weights**2).sum() / len(weights)),
    }


def main(
    *,
    half: Annotated[str, typer.Option(help="choose or report.")] = "choose",
    report: Annotated[bool, typer.Option(help="Only print what was measured.")] = False,
) -> None:
    """Measure what has no result yet, and print and keep the table."""
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for world in worlds():
        path = RUNS / f"{world.name}.json"
        if world.half == half and world.kind in KAPPA and (path.exists() or not report):
            rows += kept(path, lambda world=world: measure(world))
    groups = pd.DataFrame(rows).groupby(["kind", "partition", "scale", "kappa"], sort=False)
    found = groups.mean().assign(sets=groups.size())
    Console(width=200).print(found.round(3).to_string())
    write_report(RESULTS, {"rows": found.round(4).reset_index().to_dict("records")})


if __name__ == "__main__":
    typer.run(main)
