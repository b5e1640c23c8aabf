"""The labelled tables of docs/tables.md under two models: what the default would be, and was.

    python benchmarks/prior_tables.py [--only glass] [--candidate before] [--report]

`pyroclust cluster` with no option but the label and the model. Wine is left out, which is never used to
choose. One result a table and model is kept in runs/prior_tables.
"""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, write_report
from labelled_tables import KINDS, LABEL, NINE, OTHERS
from rich.console import Console
from sklearn.metrics import adjusted_rand_score

from pyroclust import cluster, read_table, standardise
from pyroclust.data.tables import ColumnsOfTable

RUNS = Path(__file__).parents[1] / "runs" / "prior_tables"
RESULTS = Path(__file__).parent / "results" / "prior_tables.json"
TABLES = {name: load for name, load in (NINE | OTHERS).items() if name != "wine"}
CANDIDATES = ("now", "before")


def words(frame: pd.DataFrame, candidate: str, kinds: dict[str, str] | None) -> dict[str, str]:
    """Return what names the model of 0.1: full covariances where all columns are numbers without gaps."""
    if candidate == "now":
        return {}
    table = read_table(frame, label=LABEL, kinds=kinds or {})
    columns = asdict(ColumnsOfTable.of(table, standardise(table)))
    full = columns.pop("numbers") > 1 and not any(columns.values())
    return {"prior": "gamma-crp", "family": "niw" if full else "nig"}


def measure(name: str, candidate: str) -> dict[str, Any]:
    """Return the figures of a model on a table."""
    frame = TABLES[name]().reset_index(drop=True)
    kinds = KINDS.get(name)
    began = time.process_time()
    found = cluster(frame, label=LABEL, kinds=kinds, seed=0, **words(frame, candidate, kinds))
    labels = np.unique(frame[LABEL].astype(str), return_inverse=True)[1]
    drawn = found.reference.draws.assignments
    numbers = drawn.max(-1) + 1
    return {
        "table": name,
        "candidate": candidate,
        "model": found.model.name,
        "classes": int(labels.max()) + 1,
        "clusters": int(np.bincount(numbers.ravel()).argmax()),
        "by chain": [round(float(one.mean()), 1) for one in numbers],
        "probability": float((numbers == labels.max() + 1).mean()),
        "ari": float(adjusted_rand_score(labels, found.reference.estimate.assignments)),
        "seconds": time.process_time() - began,
    }


def main(
    *,
    only: Annotated[str | None, typer.Option(help="One table.")] = None,
    candidate: Annotated[str | None, typer.Option(help="One model.")] = None,
    report: Annotated[bool, typer.Option(help="Only print what was measured.")] = False,
) -> None:
    """Measure what has no result yet, and print and keep the table."""
    torch.set_num_threads(1)
    rows = []
    for name in TABLES if only is None else [only]:
        for one in CANDIDATES if candidate is None else [candidate]:
            path = RUNS / f"{name}-{one}.json"
            if path.exists() or not report:
                rows.append(kept(path, lambda name=name, one=one: measure(name, one)))
                typer.echo(f"{rows[-1]}")
    frame = pd.DataFrame(rows)
    console = Console(width=220)
    console.print(frame.round(3).to_string(index=False))
    console.print(frame.groupby("candidate")[["ari", "probability", "seconds"]].mean().round(3).to_string())
    write_report(RESULTS, {"rows": rows})


if __name__ == "__main__":
    typer.run(main)
