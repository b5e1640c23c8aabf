"""Whole tables as people have them, of three simulated groups: what is read, said, and found."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from faults.cases import Case, refused
from sklearn.metrics import adjusted_rand_score

from pyroclust import cluster, read_table

ROWS, GROUPS = 90, np.repeat(np.arange(3), 30)
RNG = np.random.default_rng(7)
ORDER = RNG.permutation(ROWS)
TRUTH, PLACE = GROUPS[ORDER], np.arange(ROWS)
AGE = (np.array([30.0, 50, 70])[TRUTH] + RNG.normal(0, 2.5, ROWS)).round(1)
SHARE = (np.array([70.0, 20, 45])[TRUTH] + RNG.normal(0, 3, ROWS)).round(1)
INCOME = (np.array([21_000.0, 63_000, 40_000])[TRUTH] + RNG.normal(0, 2500, ROWS)).round(0)
CLEAN = {"age": AGE, "share": SHARE, "income": INCOME}
CITY = np.array(["Rome", "Oslo", "Kyiv"])[(TRUTH + (RNG.random(ROWS) < 0.1)) % 3]
ANSWERS = np.clip(np.array([2, 4, 3])[TRUTH][:, None] + RNG.integers(-1, 2, (ROWS, 4)), 1, 5)
UNEQUAL = np.array([1.5, 2.5, 4.0, 5.0])[PLACE % 4]


def csv(table: pd.DataFrame, **how: Any) -> str:
    return table.to_csv(index=False, **how)


def german(table: pd.DataFrame) -> str:
    return csv(table, sep=";", decimal=",")


def written(make: Callable[[float], str], column: str) -> dict[str, list[str]]:
    return {column: [make(one) for one in CLEAN[column]]}


def one(
    name: str,
    made: Mapping[str, Any] | str | bytes | pd.DataFrame,
    says: str = "",
    *,
    no: str = "",
    more: str = "",
    without: str = "",
    same: str = "",
    finds: float = 0.9,
    file: str = "t.csv",
    **told: Any,
) -> Case:
    """A table that says some words, and has its groups found; or is refused with the words ``no``.

    It is the clean one with some columns, or is written out. It is read with ``more`` columns than the clean
    one, or without one of these; the column ``same`` has the numbers of the clean one where it has any.
    """
    columns = {*CLEAN, *more.split()} - {without}
    if isinstance(made, Mapping):
        made = csv(pd.DataFrame(CLEAN | dict(made)))

    def run(folder: Path) -> str:
        if isinstance(made, pd.DataFrame):
            made.to_excel(folder / file, index=False)
        else:
            (folder / file).write_bytes(made.encode() if isinstance(made, str) else made)
        if no:
            return refused(lambda: read_table(folder / file, **{"kinds": {}} | told), no)
        read = read_table(folder / file, **{"kinds": {}} | told)
        notes = " ".join(read.notes)
        assert says in notes, f"“{says}” is not in {notes}"
        assert columns == set(read.columns), read.columns
        if same:
            values = np.abs(read.data[:, read.columns.index(same)])
            found = np.isfinite(values)
            assert found.mean() > 0.8
            np.testing.assert_allclose(values[found], CLEAN[same][found], rtol=1e-4)
        if not finds:
            return notes
        clusters = cluster(read, mcmc_draws=100, num_chains=2, warmup=200).frame()["cluster"]
        near = adjusted_rand_score(TRUTH, clusters) if len(read.data) == ROWS else 1.0
        assert near >= finds, f"adjusted Rand {near:.2f}"
        return f"adjusted Rand {near:.2f}; {notes}"[:400]

    expected = f"refused: “{no}”" if no else f"read, “{says}”" + (f", ARI ≥ {finds}" if finds else "")
    return Case("whole tables", name, expected, run, slow=bool(finds) and not no)


PLAIN = pd.DataFrame(CLEAN)
VISITS = csv(pd.concat([PLAIN.assign(person_id=PLACE + 501)] * 3).sort_index(kind="stable"))
CUSTOMERS = {"Kunde": 17_000 + RNG.permutation(ROWS) % 20}
HOT = pd.get_dummies(pd.Series(CITY), dtype=int)
SAMPLES = [f"s{i}" for i in range(ROWS)]
GENES = pd.DataFrame(np.array([AGE, SHARE, INCOME / 1000]), [*CLEAN], SAMPLES).rename_axis("gene")
# The first of each kind is clustered, of the others it is seen that their numbers are the same.
UNITS = [
    ("amounts in EUR behind", written("{:,.2f} EUR".format, "income"), "'income' in EUR"),
    ("pounds before and a minus", written("-£{:,.2f}".format, "income"), "'income' in £"),
    ("temperatures in °C", written("{:.1f} °C".format, "age"), "'age' in °C"),
    ("speeds in km/h", written("{:.1f} km/h".format, "age"), "'age' in km/h"),
    ("thousands with apostrophes", written(lambda one: f"{one:,.0f}".replace(",", "'"), "income"), ""),
    ("scientific numbers", written("{:.4e}".format, "income"), ""),
    ("quoted numbers", written(lambda one: f" {one} ", "age"), ""),
]
MARKS = [
    (f"“{mark}” for missing", {"age": [mark if i % 10 == 0 else f"{a}" for i, a in enumerate(AGE)]})
    for mark in ("k.A.", "#NULL!", "-", "")
]
CASES = [
    *(
        one(name, columns, says, same=next(iter(columns)), finds=0 if place else 0.9)
        for place, (name, columns, says) in enumerate(UNITS)
    ),
    *(
        one(name, columns, "cells are missing", same="age", finds=0 if place else 0.9)
        for place, (name, columns) in enumerate(MARKS)
    ),
    one(
        "shares of which some have no sign",
        {"share": ["12", *[f"{s}%" for s in SHARE[1:]]]},
        no="'share' holds",
    ),
    one(
        "two currencies",
        {"income": ["$5", *[f"€{s}" for s in INCOME[1:]]]},
        "'income'",
        without="income",
        finds=0,
    ),
    one(
        "times of day",
        {"start": [f"{int(a // 4):02}:{int(a * 7 % 60):02}" for a in AGE]},
        "'start' in hours",
        more="start",
    ),
    one(
        "Windows-1252 with umlauts",
        german(PLAIN.assign(Straße=CITY)).encode("cp1252"),
        "Windows-1252",
        more="Straße",
    ),
    one("a title above the names", "Survey 2024,,\n" + csv(PLAIN), "“Survey 2024” was left out"),
    one("a title in a line of its own", "Survey 2024\n" + csv(PLAIN), no="if it is a title"),
    one("comments above the names", "# by a program\n# on a day\n" + csv(PLAIN), "begin with #", finds=0),
    one("a total below", csv(PLAIN.assign(who="p")) + "50,45,41000,Total\n", "Total", more="who", finds=0),
    one("an empty column without a name", {"": np.nan}, "no column was read", finds=0),
    one("a workbook", PLAIN, file="t.xlsx"),
    one("ids that are all different", {"patient_id": PLACE * 7 + 3}, "'patient_id'"),
    one("numbers of customers, rows as they are", CUSTOMERS, "'Kunde': its numbers name", aggregate="none"),
    one("three rows a person, aggregated", VISITS, "each of which is one row", aggregate="person_id"),
    one(
        "one-hot cities", {f"city_{name}": HOT[name] for name in HOT}, "are one category, 'city'", more="city"
    ),
    one(
        "99 said to be missing",
        {"q1": np.where(PLACE % 9 == 0, 99, ANSWERS[:, 0])},
        "Read as missing, as was said",
        more="q1",
        missing=["q1=99"],
    ),
    one(
        "weights of a survey",
        {"weight": RNG.uniform(0.5, 1.6, ROWS).round(4)},
        "it says how much a row counts",
    ),
    one("the same column twice, one left out", {"age_months": (AGE * 12).round(6)}, leave_out=["age_months"]),
    one("few values as a category", {"rooms": UNEQUAL}, more="rooms", kinds={"rooms": "category"}),
    one(
        "few values at unequal distances",
        {"rooms": UNEQUAL},
        "'rooms' has 4 different values in",
        more="rooms",
        finds=0,
    ),
    one("features in rows", csv(GENES.reset_index()), "exchanged", transpose=True),
]
