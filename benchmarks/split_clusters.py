"""How often skewed or heavy-tailed clusters are told from normal ones, and whether Student-t ones help.

    python benchmarks/split_clusters.py [--half choose] [--report]

Data sets are those of `priors.py`, and more from other seeds, mostly of the kinds without normal clusters,
both to choose by and to report. The model is `normal_mixture`; four chains of 800 sweeps keep 50 partitions
each, and the check of the page is made of their point estimate. Where it fires the estimate is set beside
itself with the named clusters joined; on data sets of `priors.py` the answers of the model and of its
Student-t counterpart (`--family student-t --prior mfm`) are compared, by the chains of `pyroclust cluster`
with 250 draws each. Results are kept in runs/split_clusters.
"""

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, write_report
from priors import KAPPA, World, figures, simulate, standardised, worlds
from rich.console import Console
from sklearn.metrics import adjusted_rand_score

from pyroclust.analysis.chains import draw_mcmc
from pyroclust.analysis.steps import Settings
from pyroclust.diagnostics import point_estimate
from pyroclust.diagnostics.limits import MAX_SPLIT
from pyroclust.diagnostics.split_clusters import split_clusters
from pyroclust.models import normal_mixture, standardised_mixture
from pyroclust.partitions import canonical

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "split_clusters"
RESULTS = Path(__file__).parent / "results" / "split_clusters.json"

NUMBERS, DIMENSIONS, AGAIN = (1, 3), (1, 2, 4), {"more": 4, "report": 2}
CANDIDATES = {"normal": "normal", "Student-t": "student-t"}


def more_worlds() -> list[World]:
    """Return further data sets: those of "more" are there to choose by, too."""
    normal = [
        replace(one, half="more", number=2)
        for one in worlds()
        if one.half == "choose" and one.kind in KAPPA and one.number == 0 and one.num_points < 2000
    ]
    return normal + [
        World(kind, number, dim, 300, "equal", half, again + (half == "report"))
        for half, times in AGAIN.items()
        for again in range(times)
        for kind in ("heavy tails", "skewed")
        for number in NUMBERS
        for dim in DIMENSIONS
    ]


def gain(world: World) -> dict[str, Any]:
    """Return what another shape gains at most on the clusters of a data set, in nats, and the numbers."""
    points, truth = simulate(world)
    data = torch.tensor(standardised(points))
    model, settings = normal_mixture(world.dim), Settings(mcmc_draws=50, warmup=300)
    flat = draw_mcmc(model, data, settings, seed=world.seed % 2**31).draws.flat
    estimate = point_estimate(flat, seed=0)
    began = time.process_time()
    found = split_clusters(
        estimate,
        draws=flat,
        data=data.numpy(),
        log_joint=lambda rows, labels: model.log_joint(
            torch.from_numpy(rows), canonical(torch.from_numpy(labels))
        ).numpy(),
        is_independent=False,
    )
    seconds = time.process_time() - began
    joined = estimate.copy()
    for clusters, _ in () if found is None else found.joined:
        joined[np.isin(estimate, clusters)] = clusters[0]
    return {
        **asdict(world),
        "gain": None if found is None else found.groups[0].gain,
        "shape": None if found is None else found.groups[0].shape,
        "true": int(truth.max()) + 1,
        "likeliest": int(np.bincount(flat.max(-1) + 1).argmax()),
        "estimate": int(estimate.max()) + 1,
        "joined": len(np.unique(joined)),
        "ari": float(adjusted_rand_score(truth, estimate)),
        "joined ari": float(adjusted_rand_score(truth, joined)),
        "seconds": seconds,
    }


def answer(world: World, family: str) -> dict[str, Any]:
    """Return how well normal or Student-t clusters answer."""
    points, truth = simulate(world)
    model = standardised_mixture(world.dim, family=family, prior="mfm")
    return asdict(world) | figures(world, model, standardised(points), truth)


def main(
    *,
    half: Annotated[str | None, typer.Option(help="choose, more or report; all by default.")] = None,
    report: Annotated[bool, typer.Option(help="Only print what was measured.")] = False,
) -> None:
    """Measure what has no result yet, and print and keep the tables."""
    torch.set_num_threads(1)
    rows, answers = [], []
    for world in (*worlds(), *more_worlds()):
        path = RUNS / f"{world.name}.json"
        if (half is None or world.half == half) and (path.exists() or not report):
            rows.append(kept(path, lambda world=world: gain(world)))
    fired = {World(**{name: row[name] for name in asdict(worlds()[0])}) for row in rows if _fires(row)}
    first = sorted(fired & set(worlds()), key=lambda one: (one.half != "report", one.kind in KAPPA, one.name))
    for world in first:
        for candidate, family in CANDIDATES.items():
            path = RUNS / f"{candidate}-{world.name}.json"
            if path.exists() or not report:
                found = kept(path, lambda world=world, family=family: answer(world, family))
                answers.append(found | {"family": candidate})
    checked = pd.DataFrame(rows)
    checked["fires"] = [_fires(row) for row in rows]
    checked["over"] = checked["likeliest"] > checked["true"]
    checked["half"] = checked["half"].replace("more", "choose")
    checked["clusters"] = np.where(checked["kind"].isin(list(KAPPA)), "normal", checked["kind"])
    for name in ("likeliest", "estimate", "joined"):
        checked[f"{name} error"] = (checked[name] - checked["true"]).abs()
    groups = checked.groupby(["half", "clusters"], sort=False)
    of_over = checked[checked["over"]].groupby(["half", "clusters"], sort=False)
    rates = groups[["fires", "over", "seconds"]].mean().assign(sets=groups.size())
    rates = rates.assign(fires_where_over=of_over["fires"].mean())
    named = ["likeliest error", "estimate error", "joined error", "ari", "joined ari"]
    fired_groups = checked[checked["fires"]].groupby(["half", "clusters"], sort=False)
    joined = fired_groups[named].mean().assign(sets=fired_groups.size())
    console = Console(width=200)
    console.print(rates.round(3).to_string())
    console.print(joined.round(3).to_string())
    better = pd.DataFrame(answers)
    names = ["probability", "error", "ari", "converged", "seconds"]
    better["columns"] = np.where(better["dim"] == 1, "one", "several")
    of_kinds = better.groupby(["kind", "columns", "family"], sort=False)
    compared = of_kinds[names].mean().assign(sets=of_kinds.size())
    console.print(compared.round(3).to_string())
    tables = {"rates": rates, "joined": joined, "answers": compared}
    write_report(
        RESULTS, {name: one.round(4).reset_index().to_dict("records") for name, one in tables.items()}
    )


def _fires(row: dict[str, Any]) -> bool:
    return row["gain"] is not None and row["gain"] > MAX_SPLIT


if __name__ == "__main__":
    typer.run(main)
