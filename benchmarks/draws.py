"""What a thousand effective draws of a new data set cost: a guide, the exact filter, and chains of MCMC.

    python benchmarks/draws.py [--points 100] [--draws 1000] [--datasets 10] [--only NAME]
                               [--sets 1000 | --unweighted]

Data sets are drawn from the model of each guide: 100 points, of tables 200 rows and 8 mixed columns with
gaps. Everything runs on one core, time is that of its processor, without compilation. Of a guide and of the
filter the effective draws are those of their weights; of chains the fewest of any functional, by the run that
`pyroclust cluster` makes: four chains from overdispersed starts, burn-in and its checks included. Seconds to
1,000 effective draws are in proportion. With `--sets` so many data sets at once, 100 draws each, on all
cores, by wall-clock time. With `--unweighted` models whose partitions have no probability to weigh draws by:
Student-t clusters, and skewed clusters written here as two Pyro programs (a guide of each is trained first,
four minutes, kept in runs/) beside chains that keep the parameters of clusters; curved clusters of a Pyro
program, and spikes, which can only be simulated. There the distance of the co-assignment probabilities of
guide and chains stands in place of effective draws. The last results are kept in
benchmarks/results/draws.json.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean, median
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyro
import torch
import typer
from kept import add_to_report
from pyro.distributions import AsymmetricLaplace, LogNormal, Normal, TorchDistribution
from rich.console import Console
from torch import Tensor

from pyroclust import load_guide, register, save_guide
from pyroclust.analysis.chains import draw_mcmc
from pyroclust.analysis.steps import Settings
from pyroclust.core.machine import num_threads
from pyroclust.diagnostics import co_assignment, convergence, functionals
from pyroclust.diagnostics.chains import convergence_with_log_joint, min_ess
from pyroclust.distributions import ChineseRestaurantPrior, Component, PyroComponent
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.guides.base import retarget
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import Mixture, standardised_mixture, table_mixture
from pyroclust.nn import ColumnScorer

RESULTS = Path(__file__).parent / "results" / "draws.json"
RUNS = Path(__file__).parents[1] / "runs"
SHELF = (
    "ncp-gaussian2d",
    "ncp-overlap2d",
    "ncp-nig1d",
    "ncp-niw2d",
    "ncp-normal2d",
    "ncp-tables",
    "ncp-published-gaussian2d",
)
SETS = ("ncp-gaussian2d", "ncp-niw2d")


def skewed_parameters() -> dict[str, Tensor]:
    """Draw the place, width and skewness of a cluster in both columns."""
    laws = {"loc": Normal(0.0, 1.6), "scale": LogNormal(-1.6, 0.5), "asymmetry": LogNormal(0.0, 0.5)}
    return {name: pyro.sample(name, law.expand([2]).to_event(1)) for name, law in laws.items()}


def skewed_law(parameters: Mapping[str, Tensor]) -> TorchDistribution:
    """Return the law of a point: a sharp peak, and tails of different lengths."""
    return AsymmetricLaplace(*(parameters[name] for name in ("loc", "scale", "asymmetry"))).to_event(1)


@register(Component)
def skewed_clusters() -> PyroComponent:
    """Return clusters of one's own, as a user would write them; no family of the library has them."""
    return PyroComponent(skewed_parameters, skewed_law, dim=2, typical_scale=0.3)


TRAINED_HERE: dict[str, Callable[[], Mixture]] = {
    "student-t": lambda: standardised_mixture(2, family="student-t", prior="crp", concentration=0.5),
    "skewed": lambda: Mixture(ChineseRestaurantPrior(0.5), skewed_clusters(), name="skewed-crp"),
}
UNWEIGHTED = (*TRAINED_HERE, "ncp-warped2d", "ncp-spikes")


def guide_of(name: str) -> Any:
    """Return a guide of the shelf; that of tables for three numbers, two counts, two answers, a category."""
    guide = load_guide(name)
    if name != "ncp-tables":
        return guide
    return retarget(
        guide, table_mixture(numbers=3, count_means=(2.0, 5.0), yes_no=2, levels=(4,), missing=True)
    )


def data_sets(guide: Any, number: int, points: int) -> Tensor:
    """Simulate data sets, of tables with a cell in twenty missing."""
    torch.manual_seed(1)
    found, _ = simulate(guide.model, torch.empty(number, points, *guide.model.event_shape))
    if isinstance(guide.scorer, ColumnScorer):
        found = torch.where(torch.rand(found.shape) < 0.05, torch.nan, found)
    return found.double()


def processor_seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the better of two times, and what was computed."""
    times = []
    for _ in range(2):
        began = time.process_time()
        found = run()
        times.append(time.process_time() - began)
    return min(times), found


def of_draws(guide: Any, data: Tensor, draws: int) -> dict[str, float]:
    """Time draws of a guide, and their log-probabilities once they are known."""
    # The encoding of a new data set is part of its price.
    seconds, (labels, log_q) = processor_seconds(lambda: guide.posterior(data).sample_and_log_prob((draws,)))
    again, _ = processor_seconds(lambda: guide.posterior(data).log_prob(labels))
    log_weights = (guide.model.log_joint(data, labels).double() - log_q.double()).numpy()
    weights = np.exp(log_weights - log_weights.max())
    share = float(weights.sum() ** 2 / (weights**2).sum() / draws)
    return {"seconds": seconds, "known seconds": again, "share": share}


def of_chains(model: Any, data: Tensor, draws: int) -> dict[str, float]:
    """Time the chains of MCMC, and count their effective draws."""
    began = time.process_time()
    drawn = draw_mcmc(model, data, Settings(mcmc_draws=draws), seed=1).draws
    seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "effective": min_ess(convergence_with_log_joint(drawn.assignments, drawn.log_joint)),
    }


def measure(name: str, points: int, draws: int, datasets: int) -> dict[str, Any]:
    """Measure a guide, the filter and MCMC on the same data sets."""
    guide = guide_of(name)
    worlds = data_sets(guide, datasets, 2 * points if name == "ncp-tables" else points)
    row: dict[str, Any] = {"guide": name, "points": worlds.shape[1]}
    with torch.no_grad():
        for kind, one in (("guide", guide), ("filter", PredictiveFilter(guide.model))):
            one.posterior(worlds[0]).sample((2,))
            found = [of_draws(one, data, draws) for data in worlds]
            row[f"{kind}: draws/s"] = draws * len(found) / sum(each["seconds"] for each in found)
            row[f"{kind}: known/s"] = draws * len(found) / sum(each["known seconds"] for each in found)
            row[f"{kind}: share"] = mean(each["share"] for each in found)
            row[f"{kind}: s to 1,000"] = median(
                1000 * each["seconds"] / (draws * each["share"]) for each in found
            )
    of_chains(guide.model, worlds[0], 20)
    chains = [of_chains(guide.model, data, draws // 4) for data in worlds]
    row["chains: s to 1,000"] = median(1000 * each["seconds"] / each["effective"] for each in chains)
    return row


def trained_guide(name: str) -> Any:
    """Return a guide of a mixture in the plane whose clusters are not conjugate, trained once."""
    folder = RUNS / f"{name.partition('-')[0]}2d" / "guide"
    if not folder.exists():
        torch.manual_seed(0)
        guide = NeuralClusteringProcess(TRAINED_HERE[name]())
        fit(guide.model, guide, settings=FitSettings(steps=4000, max_points=200, points_per_step=1800))
        save_guide(guide, folder)
    return load_guide(folder)


def unweighted(name: str, points: int, draws: int, datasets: int) -> dict[str, Any]:
    """Time a guide whose draws cannot be weighted, and chains that keep parameters where there are some."""
    guide = trained_guide(name) if name in TRAINED_HERE else load_guide(name)
    worlds = data_sets(guide, datasets, points)
    times, chains, gaps = [], [], []
    for data in worlds:
        with torch.no_grad():
            guide.posterior(data).sample((2,))
            seconds, labels = processor_seconds(lambda data=data: guide.posterior(data).sample((draws,)))
        times.append(seconds)
        if name in TRAINED_HERE:
            began = time.process_time()
            drawn = draw_mcmc(guide.model, data, Settings(mcmc_draws=draws // 4), seed=1).draws
            effective = min_ess(convergence(functionals(drawn.assignments)))
            chains.append(1000 * (time.process_time() - began) / effective)
            gap = np.abs(co_assignment(drawn.assignments) - co_assignment(labels.numpy()))
            gaps.append(float(gap.mean()))
    row = {"guide": name, "model": guide.model.name, "guide: s for 1,000": 1000 * median(times) / draws}
    if chains:
        row["chains: s to 1,000"] = median(chains)
        row |= {"pairs: mean difference": median(gaps), "pairs: worst set": max(gaps)}
    return row


def many_sets(name: str, points: int, sets: int) -> dict[str, Any]:
    """Time a hundred draws of each of many data sets in one call."""
    guide = guide_of(name)
    worlds = data_sets(guide, sets, points)
    with torch.no_grad():
        guide.posterior(worlds[:2]).sample((2,))
        began, spent = time.perf_counter(), time.process_time()
        guide.posterior(worlds).sample_and_log_prob((100,))
    return {
        "guide": name,
        "sets": sets,
        "seconds": time.perf_counter() - began,
        "processor seconds": time.process_time() - spent,
        "threads": num_threads(),
    }


def main(
    *,
    points: int = 100,
    draws: int = 1000,
    datasets: int = 10,
    only: Annotated[str | None, typer.Option(help="One guide.")] = None,
    sets: Annotated[int, typer.Option(help="Data sets at once; nothing else is measured then.")] = 0,
    no_weights: Annotated[bool, typer.Option("--unweighted", help="Models without a likelihood.")] = False,
) -> None:
    """Measure, and print and keep the table."""
    console = Console(width=200)
    shelf = SETS if sets else UNWEIGHTED if no_weights else SHELF
    names = [name for name in shelf if only in (None, name)]
    kind = "sets" if sets else "unweighted" if no_weights else "rows"
    if sets:
        rows = [many_sets(name, points, sets) for name in names]
    elif no_weights:
        torch.set_num_threads(1)
        rows = [unweighted(name, points, draws, datasets) for name in names]
    else:
        torch.set_num_threads(1)
        rows = [measure(name, points, draws, datasets) for name in names]
    console.print(pd.DataFrame(rows).round(3).to_string(index=False))
    if only is None:
        add_to_report(RESULTS, {"draws": draws, "torch": torch.__version__, kind: rows})


if __name__ == "__main__":
    typer.run(main)
