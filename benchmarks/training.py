"""Training steps of the published scorer, as published and as made here, and of the light scorer.

    python benchmarks/training.py [--steps 12] [--seed 2026]

Batches of 64 data sets of gaussian2d with N ~ U{5..100} points on one core. The published formulation and
ours take turns at the same N, six visiting orders a data set; the light scorer takes one. The published one
needs one label vector a batch: it gets the one of the batch with the most average number of candidates. The
last result is kept in benchmarks/results/training.json.
"""

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import typer
from pyro import poutine
from rich.console import Console
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from sequential_ncp_training import SequentialNeuralClusteringProcess, sequential_step

from pyroclust.distributions import ClusteredData
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer import InclusiveKL, VisitingOrders
from pyroclust.infer.losses import backward_in_chunks
from pyroclust.models import Mixture, gaussian2d
from pyroclust.nn import RandomOrder, SummedScorer

RESULTS = Path(__file__).parent / "results" / "training.json"
DATASETS, ORDERS = 64, 6
SEQUENTIAL, PUBLISHED, LIGHT, SIMULATION = (
    "published scorer, as published",
    "published scorer, ours",
    "light scorer, one order",
    "simulation alone",
)


def timed(action: Callable[[], Any]) -> dict[str, float]:
    """Measure wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    action()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - processor}


def simulate(model: Mixture, num_points: int) -> tuple[Tensor, Tensor]:
    trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(DATASETS, num_points, 2))
    return trace.nodes["data"]["value"], trace.nodes["assignments"]["value"]


def typical(assignments: Tensor) -> Tensor:
    """Return the partition whose number of candidates is nearest to the average."""
    candidates = (assignments.cummax(-1).values + 2).sum(-1).double()
    return assignments[(candidates - candidates.mean()).abs().argmin()]


class Contest:
    """Three guides of one model with their optimisers."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.model = gaussian2d()
        scorer = SummedScorer(2)
        self.network = SequentialNeuralClusteringProcess(scorer)
        self.published = NeuralClusteringProcess(self.model, scorer=scorer, order=RandomOrder()).train()
        self.light = NeuralClusteringProcess(self.model).train()
        self.loss = InclusiveKL()
        self.optimizers = [torch.optim.Adam(one.parameters(), 1e-4) for one in (self.network, self.published)]
        self.light_optimizer = torch.optim.AdamW(self.light.parameters(), 2e-3, fused=True)

    def step(self, num_points: int) -> dict[str, dict[str, float]]:
        """Time one step of everybody."""
        data, assignments = simulate(self.model, num_points)
        shared = typical(assignments)
        alike = ClusteredData(self.model.component, shared.expand(DATASETS, -1)).sample()
        return {
            SEQUENTIAL: timed(lambda: self.sequential(alike, shared)),
            PUBLISHED: timed(lambda: self.ours(data, assignments)),
            LIGHT: timed(lambda: self.light_step(num_points)),
            SIMULATION: timed(lambda: simulate(self.model, num_points)),
        }

    def sequential(self, data: Tensor, assignments: Tensor) -> None:
        """Make a step of the published formulation."""
        orders = torch.rand(ORDERS, data.shape[1]).argsort(-1)
        sequential_step(self.network, self.optimizers[0], data=data, assignments=assignments, orders=orders)

    def ours(self, data: Tensor, assignments: Tensor) -> None:
        """Make the same step here, each data set with labels of its own."""
        self.optimizers[1].zero_grad()
        backward_in_chunks(self.published, data, assignments=assignments, orders=VisitingOrders(ORDERS))
        self.optimizers[1].step()

    def light_step(self, num_points: int) -> None:
        """Simulate and make a step of the light scorer."""
        self.light_optimizer.zero_grad()
        template = torch.empty(DATASETS, num_points, 2)
        self.loss.per_dataset(self.model, self.light, template).mean().backward()
        self.light_optimizer.step()

    def curves(self, steps: int) -> list[tuple[float, float]]:
        """Train both on the same data, labels and orders, and return their losses in nats per data set."""
        losses = []
        for _ in range(steps):
            num_points = int(torch.randint(5, 21, ()))
            shared = typical(simulate(self.model, num_points)[1])
            data = ClusteredData(self.model.component, shared.expand(DATASETS, -1)).sample()
            orders = torch.rand(ORDERS, num_points).argsort(-1)
            reference = sequential_step(
                self.network, self.optimizers[0], data=data, assignments=shared, orders=orders
            )
            self.optimizers[1].zero_grad()
            posterior = self.published.posterior(
                data.expand(ORDERS, *data.shape), order=orders.unsqueeze(1).expand(-1, DATASETS, -1)
            )
            loss = -posterior.log_prob(shared).mean()
            (ORDERS * loss).backward()
            self.optimizers[1].step()
            losses.append((reference, loss.item()))
        return losses


def rows(times: pd.DataFrame) -> list[dict[str, Any]]:
    """Average over steps; speeds are ratios of data sets a second to the published formulation."""
    reference = times[times.name == SEQUENTIAL].set_index("step")
    found = []
    for name, own in times.groupby("name", sort=False):
        own = own.set_index("step")
        ratio = reference.cpu / own.cpu
        found.append(
            {
                "step of": name,
                "seconds": own.wall.mean(),
                "cpu seconds": own.cpu.mean(),
                "data sets/s": DATASETS / own.cpu.mean(),
                "speed": reference.cpu.mean() / own.cpu.mean(),
                "wall speed": reference.wall.mean() / own.wall.mean(),
                "speed, 10 %": ratio.quantile(0.1),
                "speed, 90 %": ratio.quantile(0.9),
            }
        )
    return found


def main(steps: int = 12, curve: int = 30, seed: int = 2026) -> None:
    """Measure and print one table."""
    torch.set_num_threads(1)
    losses = Contest(seed).curves(curve)
    apart = max((abs(a - b) / a for a, b in losses), default=0.0)
    contest = Contest(seed)
    contest.step(10)
    sizes = [5 + int(96 * (step + torch.rand(()).item()) / steps) for step in range(steps)]
    times = [
        {"step": step, "points": points, "name": name, **seconds}
        for step, points in enumerate(sizes)
        for name, seconds in contest.step(points).items()
    ]
    table = rows(pd.DataFrame(times))
    Console(width=200).print(pd.DataFrame(table).round(4).to_string(index=False))
    print(f"losses of {len(losses)} steps on the same data, {losses[0][0]:.2f} to {losses[-1][0]:.2f} nats")
    print(f"per data set, differ by at most {apart:.1e} of the loss")
    cpu = {row["step of"]: row["cpu seconds"] for row in table}
    print(f"simulation takes {cpu[SIMULATION] / cpu[LIGHT]:.1%} of a step of the light scorer")
    RESULTS.parent.mkdir(exist_ok=True)
    machine = {
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "threads": 1,
    }
    content = {"seed": seed, "machine": machine, "rows": table, "times": times, "losses": losses}
    RESULTS.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
