"""The part of the page of benchmarks on what says beforehand that a guide is wrong."""

from collections.abc import Callable

from benchmark_tables import Row, number, result, table

from pyroclust.diagnostics.limits import MIN_FAMILIARITY
from pyroclust.diagnostics.limits import MIN_WEIGHT_QUALITY as _LEAST

_GROUPS = {"pairs": "40 pairs of columns", "tables": "12 tables", "own sets": "40 sets of their own model"}
_WITNESSED = f"p of both together at most {_LEAST:g}"
_WARNS: dict[str, Callable[[Row], bool]] = {
    f"p of the rows' summary statistics at most {MIN_FAMILIARITY:g}": lambda row: (
        row["summaries p"] <= MIN_FAMILIARITY
    ),
    f"the same at most {_LEAST:g}": lambda row: row["summaries p"] <= _LEAST,
    f"p of the efficiency at most {_LEAST:g}": lambda row: row["efficiency p"] <= _LEAST,
    f"p of the spread over orders at most {_LEAST:g}": lambda row: row.get("orders p", 1.0) <= _LEAST,
    f"p of the drift in 10 sweeps at most {_LEAST:g}": lambda row: row["drift p"] <= _LEAST,
    f"**{_WITNESSED}**": lambda row: row["together p"] <= _LEAST,
    "efficiency of 5,000 draws below 0.1, without simulations": lambda row: row["efficiency"] < 0.1,
    "the same below 0.02": lambda row: row["efficiency"] < 0.02,
}


def familiarity() -> str:
    """Say how often each figure warns where a guide is wrong, and where it is right."""
    found = result("familiarity")
    limit, rows = found["wrong above"], found["rows"]
    parts = [_table(rows, error, limit) for error in ("drawn", "weighted")]
    own = [row for row in rows if row["group"] == "own sets"]
    wrong = sum(row["drawn"] > limit for row in own)
    return f"""## Which figures say beforehand that a guide is wrong

`python benchmarks/familiarity.py`: a p-value ranks a figure of the guide on the data among the same figure on
data sets that its model simulates. A guide counts as wrong where a co-assignment probability is off by more
than {number(limit)} from long chains. Each cell has how often a figure warns where the guide is wrong, then
where it is right. The figures were chosen on the pairs of columns. Five of the tables (galaxies, iris,
penguins, cars, ruspini) were seen before the number of rows that are looked at was set; the others, and the
data sets of the guides' own models, were not. Only guides that visit the rows by chance have different orders
(galaxies and `ncp-nig1d` here).

As drawn:

{parts[0]}

Weighted:

{parts[1]}

A p-value among simulations cannot see more than that the guide does worse than usual. By construction it
warns on a twentieth of the sets of the guide's own model, and as drawn the guide is wrong on {wrong} of
{len(own)} of these. The drift costs chains of MCMC on every simulation and adds nothing to the
efficiency on the pairs, so `compare` shows the efficiency and, where there are several orders, their spread.
What sees most needs no simulations: the efficiency of all draws, on which the verdict of `compare` already
rests as the effective draws of the weights."""


def _table(rows: list[Row], error: str, limit: float) -> str:
    groups = {name: [row for row in rows if row["group"] == name] for name in _GROUPS}
    wrong = {name: [row[error] > limit for row in own] for name, own in groups.items()}
    head = [
        f"{title}: {sum(wrong[name])} wrong, {len(wrong[name]) - sum(wrong[name])} right"
        for name, title in _GROUPS.items()
    ]
    return table(
        ("warns if", *head),
        [
            [what, *(_cell(own, wrong[name], warns) for name, own in groups.items())]
            for what, warns in _WARNS.items()
        ],
    )


def _cell(rows: list[Row], wrong: list[bool], warns: Callable[[Row], bool]) -> str:
    counts = [
        sum(warns(row) for row, is_wrong in zip(rows, wrong, strict=True) if is_wrong is side)
        for side in (True, False)
    ]
    return " / ".join(map(str, counts))
