"""A table of 5,000 rows and 20 columns of every kind, a cell in twenty missing: how long `compare` takes.

    python benchmarks/mixed_table.py [--rows 5000] [--clusters 5]

Eight columns of numbers, four of counts, of answers and of categories each, simulated from five clusters:
prints seconds, peak memory, the answer, the verdict, and the adjusted Rand index of the answer to these.
The last result is kept in benchmarks/results/mixed_table.json.
"""

import json
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from sklearn.metrics import adjusted_rand_score

from pyroclust import compare

RESULTS = Path(__file__).parent / "results" / "mixed_table.json"
MISSING = 0.05


def table(rows: int, clusters: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Simulate a table, and the clusters of its rows."""
    rng = np.random.default_rng(0)
    truth, columns = rng.integers(0, clusters, rows), {}
    for d in range(8):
        centres, spreads = rng.normal(0, 2, clusters), rng.uniform(0.4, 1, clusters)
        columns[f"x{d}"] = rng.normal(centres[truth], spreads[truth])
    for d in range(4):
        columns[f"c{d}"] = rng.poisson(rng.gamma(1, 3, clusters)[truth]).astype(float)
    for d in range(4):
        answers = rng.random(rows) < rng.beta(0.5, 0.5, clusters)[truth]
        columns[f"y{d}"] = np.array(["no", "yes"])[answers.astype(int)]
    for d in range(4):
        reached = rng.dirichlet(np.full(4, 0.5), clusters)[truth].cumsum(1)
        columns[f"k{d}"] = np.array(list("abcd"))[(rng.random(rows)[:, None] > reached).sum(1).clip(0, 3)]
    frame = pd.DataFrame(columns)
    for name in frame:
        frame.loc[rng.random(rows) < MISSING, name] = None
    return frame, truth


def main(rows: int = 5000, clusters: int = 5) -> None:
    """Compare the table, and print what it took."""
    frame, truth = table(rows, clusters)
    began = time.perf_counter()
    result = compare(frame)
    found = {
        "rows": rows,
        "columns": frame.shape[1],
        "seconds": time.perf_counter() - began,
        "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "answer": result.answer,
        "verdict": result.verdict.level.value,
        "adjusted Rand": adjusted_rand_score(truth, result.frame()["cluster"]),
    }
    Console().print(found)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
