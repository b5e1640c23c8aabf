"""What a sweep costs by columns and clusters: the rule that limits refined draws beside the time.

    taskset -c 0 python benchmarks/sweep_costs.py [--rows 400] [--seconds 2]

Rows of a few clusters are simulated, and 16 chains of the default kernel begin at the truth: microseconds of
the processor a row and sweep, in all and in units of those of four columns with a full covariance, and the
number that `refine` divides its sweeps by. Results in benchmarks/results/sweep_costs.json.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch
import typer
from kept import write_report
from rich.console import Console

from pyroclust.core.large_tables import sweep_cost
from pyroclust.distributions import ConjugateComponent
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.models import Mixture, nig_mixture, niw_mixture, table_mixture

RESULTS = Path(__file__).parent / "results" / "sweep_costs.json"
CHAINS, APART = 16, 5.0


def cases() -> Iterator[tuple[str, Mixture, int]]:
    """Return names, models and numbers of clusters."""
    for dim in (2, 4, 6, 9, 13, 20, 30):
        yield f"full covariance, {dim} columns", niw_mixture(dim), 4
    for dim in (4, 8, 20):
        yield f"independent, {dim} columns", nig_mixture(dim), 4
        yield f"independent with gaps, {dim} columns", table_mixture(numbers=dim, missing=True), 4
    for each in (2, 5):
        mixed = table_mixture(
            numbers=each, count_means=[3.0] * each, yes_no=each, levels=[4] * each, missing=True
        )
        yield f"four kinds with gaps, {4 * each} columns", mixed, 4
    for clusters in (10, 20, 40, 80):
        yield f"full covariance, 10 columns, {clusters} clusters", niw_mixture(10), clusters


def rows_of(model: Mixture, labels: torch.Tensor) -> torch.Tensor:
    """Simulate rows; of numbers the clusters are drawn apart, and of tables a cell in twenty is missing."""
    component = model.component
    points = component.sample(labels).double()
    if not component.support.is_discrete:
        points = points + APART * torch.randn(int(labels.max()) + 1, component.dim).double()[labels]
    if component.support.check(torch.full((component.dim,), torch.nan)):
        points[torch.rand(points.shape) < 0.05] = torch.nan
    return points


def microseconds(model: Mixture, clusters: int, rows: int, seconds: float) -> tuple[float, float]:
    """Return the processor's microseconds a row and sweep, and the mean number of clusters."""
    torch.manual_seed(0)
    labels = torch.arange(rows) % clusters
    chains = Chains(default_kernel(model), rows_of(model, labels), labels.expand(CHAINS, -1).clone(), seed=0)
    chains.advance(5)
    began, sweeps = time.process_time(), 0
    while time.process_time() - began < seconds:
        chains.advance(5)
        sweeps += 5
    spent = time.process_time() - began
    found = float(chains.states.assignments.amax(-1).double().mean()) + 1
    return 1e6 * spent / (sweeps * CHAINS * rows), found


def main(rows: int = 400, seconds: float = 2.0) -> None:
    """Time all cases, and print a line each."""
    torch.set_num_threads(1)
    found = []
    for name, model, clusters in cases():
        assert isinstance(model.component, ConjugateComponent)
        spent, number = microseconds(model, clusters, rows, seconds)
        found.append(
            {
                "case": name,
                "numbers a cluster": model.component.num_moments,
                "clusters": number,
                "microseconds": spent,
                "rule": sweep_cost(model.component.num_moments, num_clusters=number),
            }
        )
    unit = next(one["microseconds"] for one in found if one["case"] == "full covariance, 4 columns")
    for one in found:
        one["cost"] = one["microseconds"] / unit
    Console(width=140).print(pd.DataFrame(found).round(2).to_string(index=False))
    write_report(RESULTS, {"rows": found})


if __name__ == "__main__":
    typer.run(main)
