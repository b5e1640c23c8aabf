"""Anchored guides: which points the guide labels and how many, beside the guide alone and the exact filter.

    python benchmarks/anchored.py [--sets 20] [--explore]

Data sets of 300 and 1,000 points of the guides' own models. For each way of drawing stand the median
efficiency of importance weights over the sets, 300 draws each, the mean log q of the true partition a point,
and seconds a set. With --explore sets have other seeds, on which the rule and the number were chosen. One
result a set is kept in runs/anchored. The last report is in benchmarks/results/anchored.json.

    python benchmarks/anchored.py --many

draws 100 partitions of 100,000 points and one of a million, with exact log q, and says how long it took and
how much memory the process had at most.
"""

import resource
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kept import kept, write_report
from rich.console import Console
from torch import Tensor

from pyroclust import load_guide
from pyroclust.diagnostics import importance_efficiency
from pyroclust.guides import AnchoredGuide, PredictiveFilter
from pyroclust.infer import simulate
from pyroclust.nn import RandomAnchors, StratifiedAnchors

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "anchored"
RESULT = Path(__file__).parent / "results" / "anchored.json"
MANY = RESULT.with_name("anchored_many.json")
GUIDES, SIZES, DRAWS = ("ncp-overlap2d", "ncp-niw2d"), (300, 1000), 300


class SpreadAnchors:
    r"""Points far from one another, as k-means++ begins: the next one with probability :math:`\propto d^2`.

    d is the distance to the nearest point that is chosen already; a point that lies on one comes last. One
    batched step an anchor: cost O(N A D).

    References:
        Arthur and Vassilvitskii (2007), k-means++: the advantages of careful seeding.
        https://dl.acm.org/doi/10.5555/1283383.1283494
    """

    def __call__(self, positions: Tensor, number: int) -> Tensor:
        """Choose points."""
        points = positions.detach().double()
        rows = torch.arange(len(points), device=points.device)
        free = torch.ones(points.shape[:2], dtype=torch.float64, device=points.device)
        near, chosen = torch.full_like(free, torch.inf), [free.multinomial(1).squeeze(-1)]
        for _ in range(number - 1):
            last = points[rows, chosen[-1]]
            free[rows, chosen[-1]] = 0.0
            near = torch.minimum(near, (points - last.unsqueeze(1)).square().sum(-1))
            weight = near * free
            # Where all that are left lie on anchors any will do.
            weight = torch.where(weight.sum(-1, keepdim=True) > 0, weight, free)
            chosen.append(weight.multinomial(1).squeeze(-1))
        return torch.stack(chosen, -1)


def ways(guide: Any) -> dict[str, Any]:
    """Return what is compared, by name."""
    found: dict[str, Any] = {"guide alone": guide, "exact filter": PredictiveFilter(guide.model)}
    rules = {"random": RandomAnchors(), "spread": SpreadAnchors(), "stratified": StratifiedAnchors()}
    for number in (50, 100, 200):
        for rule, anchors in rules.items():
            found[f"{number} {rule} anchors"] = AnchoredGuide(guide, num_anchors=number, anchors=anchors)
    return found


def measure(name: str, *, size: int, seed: int) -> dict[str, dict[str, float]]:
    """Draw partitions of one simulated set in every way, and weigh them."""
    guide = load_guide(name)
    torch.manual_seed(seed)
    data, truth = (one[0] for one in simulate(guide.model, torch.empty(1, size, guide.model.component.dim)))
    found = {}
    for way, one in ways(guide).items():
        torch.manual_seed(seed)
        start = time.perf_counter()
        with torch.no_grad():
            law: Any = one.posterior(data)
            draws, log_q = law.sample_and_log_prob((DRAWS,))
        seconds = time.perf_counter() - start
        weights = guide.model.log_joint(data, draws) - log_q
        with torch.no_grad():
            of_truth = law.merged_log_prob(truth.unsqueeze(0))[0].item() / size
        found[way] = {
            "efficiency": float(importance_efficiency(weights.numpy())),
            "log q of the truth": of_truth,
            "seconds": seconds,
        }
    return found


def many(console: Console) -> dict[str, Any]:
    """Draw from large sets."""
    guide, found = load_guide(GUIDES[0]), {}
    for size, number in ((100_000, 100), (1_000_000, 1)):
        torch.manual_seed(0)
        data = simulate(guide.model, torch.empty(1, size, guide.model.component.dim))[0][0]
        start = time.perf_counter()
        with torch.no_grad():
            law: Any = AnchoredGuide(guide).posterior(data)
            law.sample_and_log_prob((number,))
        seconds = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        found[f"{number} draws of {size} points"] = {"seconds": round(seconds, 1), "GiB": round(memory, 2)}
        console.print(f"{number} draws of {size} points", found)
    return found


def main(
    sets: int = 20,
    *,
    explore: bool = False,
    guide: str = "",
    size: int = 0,
    many_points: Annotated[bool, typer.Option("--many")] = False,
) -> None:
    """Measure all sets, and print and write the report."""
    console, first = Console(), 1000 if explore else 0
    if many_points:
        write_report(MANY, many(console))
        return
    report: dict[str, Any] = {"sets": sets, "draws": DRAWS}
    for name in GUIDES:
        for points in SIZES:
            if (guide and guide != name) or (size and size != points):
                continue
            runs = [
                kept(RUNS / f"{name}-{points}-{seed}.json", partial(measure, name, size=points, seed=seed))
                for seed in range(first, first + sets)
            ]
            rows = {way: {key: [run[way][key] for run in runs] for key in runs[0][way]} for way in runs[0]}
            report[f"{name}, N = {points}"] = {
                way: {
                    "median efficiency": round(float(np.median(row["efficiency"])), 4),
                    "log q of the truth a point": round(float(np.mean(row["log q of the truth"])), 5),
                    "seconds": round(float(np.median(row["seconds"])), 4),
                }
                for way, row in rows.items()
            }
            console.print(f"{name}, N = {points}", report[f"{name}, N = {points}"])
    if not explore and not guide and not size:
        write_report(RESULT, report)


if __name__ == "__main__":
    typer.run(main)
