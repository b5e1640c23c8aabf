"""How long an answer takes, table by table: `pyroclust compare` and `cluster`, and scikit-learn's estimator.

    python benchmarks/answer.py [--only "wine, compare"] [--repeats 3] [--expected] [--report]

Every row is a process of its own, from the command to the report on disk, and its figures are medians: the
processor seconds of all its threads, the start of Python and the loading of machine code included, wall time
beside them, and peak memory. One run that is not counted comes first, so that the machine code is there, but
where a single one is asked for; in the row that says so it never is. Of the estimator it is the first `fit`
of a process alone, without imports. What is allowed is what the defaults allow the draws: the seconds of the
chains, and three of a guide.

A run that may take more than a minute says so beforehand. With `--expected` runs that do so come last, once
each, and what they said stands beside what they took.

Simulated tables come from fixed seeds; penguins are those of the package palmerpenguins, and left out without
it. Results are kept in benchmarks/results/answer.json; rows that are not run again stay as they were.
"""

import json
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from kept import write_report
from mixed_table import table as mixed_table
from rich.console import Console
from sklearn.datasets import load_iris, load_wine, make_blobs
from timing import Cost, cost_of

from pyroclust import read_table
from pyroclust.core.large_tables import chain_seconds

RESULTS = Path(__file__).parent / "results" / "answer.json"
GUIDE_SECONDS = 3.0
_SAID = re.compile(r"chains take (?:about |(\d+) (s|min) to )(\d+) (s|min) of processor time")


def blobs(rows: int, columns: int, clusters: int) -> pd.DataFrame:
    """Return round clusters, some of which touch."""
    centres = np.random.default_rng(0).normal(0, 4, (clusters, columns))
    points, _ = make_blobs(rows, centers=centres, random_state=0)
    return pd.DataFrame(points).add_prefix("x")


def long_clusters() -> pd.DataFrame:
    """Return two long clusters side by side, of 200 rows each."""
    rng = np.random.default_rng(0)
    along, across = rng.normal(0, 3, 400), rng.normal(0, 0.4, 400) + np.repeat([-1.2, 1.2], 200)
    return pd.DataFrame({"x": along - across, "y": along + across})


def few_rows() -> pd.DataFrame:
    """Return ten patients with columns of every kind and three missing cells."""
    return pd.DataFrame(
        {
            "age": [31.0, 29.0, 64.0, 58.0, 33.0, 61.0, 30.0, 66.0, 28.0, 63.0],
            "visits": [0, 1, 7, 9, 0, None, 1, 12, 0, 8],
            "smoker": ["no", "no", "yes", "yes", "no", "yes", "yes", None, "no", "yes"],
            "stage": ["early", "early", "late", "late", "mid", "late", "early", "late", None, "mid"],
        }
    )


def eight_columns() -> pd.DataFrame:
    """Return 300 rows of every kind of column, a cell in twenty missing."""
    return mixed_table(300, 4)[0][["x0", "x1", "x2", "c0", "c1", "y0", "y1", "k0"]]


def penguins() -> pd.DataFrame:
    """Return four measures of the penguins; a ModuleNotFoundError where the package is missing."""
    from palmerpenguins import load_penguins

    return load_penguins()[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]].dropna()


TABLES: dict[str, str | Callable[[], pd.DataFrame]] = {
    "galaxies": "galaxies",
    "petals, 150 x 2": "iris",
    "iris, 150 x 4": lambda: load_iris(as_frame=True).data,
    "penguins, 342 x 4": penguins,
    "10 rows of every kind": few_rows,
    "two long clusters, 400 x 2": long_clusters,
    "three clusters, 600 x 2": lambda: blobs(600, 2, 3),
    "blobs, 500 x 5": lambda: blobs(500, 5, 4),
    "wine, 178 x 13": lambda: load_wine(as_frame=True).data,
    "every kind, with gaps, 300 x 8": eight_columns,
    "blobs, 5,000 x 2": lambda: blobs(5000, 2, 5),
    "every kind, with gaps, 5,000 x 20": lambda: mixed_table(5000, 5)[0],
    "blobs, 150 x 2": lambda: blobs(150, 2, 3),
    "blobs, 300 x 3": lambda: blobs(300, 3, 3),
    "blobs, 20,000 x 2": lambda: blobs(20_000, 2, 5),
}
COMPARED = list(TABLES)[:12]
CLUSTERED = ["galaxies", "petals, 150 x 2", "iris, 150 x 4", "blobs, 500 x 5", "wine, 178 x 13"]
FITTED = ["blobs, 150 x 2", "blobs, 300 x 3", "blobs, 500 x 5"]


@dataclass(frozen=True)
class Case:
    """Something that is timed.

    Attributes:
        table: one of `TABLES`.
        what: `compare`, `cluster` or `fit`.
        options: of the command.
        is_first: whether there is no machine code yet.
    """

    table: str
    what: str
    options: tuple[str, ...] = ()
    is_first: bool = False

    @property
    def name(self) -> str:
        """What the row is called."""
        return " ".join([f"{self.table}, {self.what}", *self.options]) + ", first" * self.is_first

    def allowed(self, rows: int, columns: int) -> float:
        """Return the seconds that the defaults allow the draws."""
        return chain_seconds(rows, columns) + (GUIDE_SECONDS if self.what == "compare" else 0.0)


CASES = [
    *(Case(name, "compare") for name in COMPARED),
    *(Case(name, "cluster") for name in CLUSTERED),
    *(Case(name, "fit") for name in FITTED),
    Case("galaxies", "compare", is_first=True),
]
LONG = [Case("blobs, 20,000 x 2", "compare"), Case("wine, 178 x 13", "compare", ("--thorough",))]


def source_of(table: str, folder: Path) -> str:
    """Return what the command is given: a name, or a file."""
    made = TABLES[table]
    if isinstance(made, str):
        return made
    path = folder / "table.csv"
    made().to_csv(path, index=False)
    return str(path)


def once(case: Case) -> tuple[Cost, dict[str, Any]]:
    """Run a case; return what it took, and what it found."""
    with tempfile.TemporaryDirectory() as made:
        folder, empty = Path(made), {}
        source = source_of(case.table, folder)
        if case.is_first:
            empty = {"NUMBA_CACHE_DIR": str(folder / "no machine code")}
        if case.what == "fit":
            cost = cost_of([__file__, "--fit", source])
            found = json.loads(cost.printed.splitlines()[-1])
            spent = {name: found.pop(name) for name in ("seconds", "processor_seconds")}
            return Cost(mib=cost.mib, printed="", said=cost.said, **spent), found
        out = folder / "out"
        cost = cost_of(["-m", "pyroclust", case.what, source, *case.options, "--out", str(out)], empty)
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    answer = summary["answer_in_words"]
    return cost, {
        "rows": summary["num_points"],
        "columns": len(summary["columns"]),
        "verdict": summary["verdict"]["level"],
        "clusters": answer["num_clusters"],
        "rely": answer["rely"],
    }


def fit(source: str) -> None:
    """Fit the estimator once in this process, and print what that took and what it found."""
    from pyroclust.sklearn import PartitionPosterior

    rows = read_table(source).data
    began, spent = time.perf_counter(), time.process_time()
    found = PartitionPosterior(random_state=0).fit(rows)
    cost = {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - spent}
    answer = found.result_.in_words
    typer.echo(
        json.dumps(
            cost
            | {
                "rows": len(rows),
                "columns": rows.shape[1],
                "verdict": found.verdict_.level.value,
                "clusters": answer.num_clusters,
                "rely": answer.rely,
            }
        )
    )


def seconds_said(said: Sequence[str]) -> list[float] | None:
    """Return the fewest and the most seconds that a command expected of its chains, where it said so."""
    for line in said:
        if match := _SAID.search(line):
            unit, most = {"s": 1, "min": 60}, (match[3], match[4])
            least = (match[1], match[2]) if match[1] else most
            return [float(number) * unit[name] for number, name in (least, most)]
    return None


def row_of(case: Case, repeats: int) -> dict[str, Any]:
    """Time a case, and say what its last run found."""
    if not case.is_first and repeats > 1:
        once(case)
    runs = [once(case) for _ in range(repeats)]
    found, expected = runs[-1][1], seconds_said(runs[-1][0].said)
    figures = ("processor_seconds", "seconds", "mib")
    return {
        "case": asdict(case),
        "allowed": case.allowed(found["rows"], found.pop("columns")),
        **{name: median(getattr(cost, name) for cost, _ in runs) for name in figures},
        "expected": expected,
        "repeats": repeats,
        **found,
    }


def main(
    only: Annotated[list[str] | None, typer.Option(help="Rows by their name; all by default.")] = None,
    repeats: Annotated[int, typer.Option(help="Runs that are counted.")] = 3,
    fit_: Annotated[str, typer.Option("--fit", hidden=True)] = "",
    *,
    expected: Annotated[bool, typer.Option(help="Run what takes more than a minute, too, once.")] = False,
    report: Annotated[bool, typer.Option(help="Only print what was found.")] = False,
) -> None:
    """Time every case, and print and keep the table."""
    if fit_:
        fit(fit_)
        return
    last = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.exists() else {}
    names = {case.name for case in (*CASES, *LONG)}
    if unknown := set(only or ()) - names:
        raise typer.BadParameter(f"no row is called {', '.join(unknown)}; there are {'; '.join(names)}")
    for case in () if report else (*CASES, *(LONG if expected or only else ())):
        if only and case.name not in only:
            continue
        try:
            last[case.name] = row_of(case, 1 if case in LONG else repeats)
        except ModuleNotFoundError as error:
            typer.echo(f"{case.name}: left out, {error.name} is missing")
            continue
        typer.echo(f"{case.name}: {last[case.name]['processor_seconds']:.1f} s")
        machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
        rows = {one.name: last[one.name] for one in (*CASES, *LONG) if one.name in last}
        write_report(RESULTS, {"machine": machine, "rows": rows})
    shown = pd.DataFrame.from_dict(last, orient="index").drop(columns=["case", "rows", "repeats"])
    if not expected:
        shown = shown.drop(columns="expected")
    Console(width=220).print(shown.round(1).to_string())


if __name__ == "__main__":
    typer.run(main)
