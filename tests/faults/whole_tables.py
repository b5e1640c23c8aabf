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


def read_only(name: str, made: Any, says: str, **told: Any) -> Case:
    """A table of which only what is read and said counts."""
    return one(name, made, says, finds=0, **told)


PLAIN = pd.DataFrame(CLEAN)
VISITS = csv(pd.concat([PLAIN.assign(person_id=PLACE + 501)] * 3).sort_index(kind="stable"))
CUSTOMERS = {"Kunde": 17_000 + RNG.permutation(ROWS) % 20}
DAYS = pd.date_range("2020-01-01", periods=ROWS)
NINTH = PLACE % 9 == 0
HOT = pd.get_dummies(pd.Series(CITY), dtype=int)
SCALE = {f"q{i + 1}": np.where((PLACE % 15 == 0) & (i == 0), 0, ANSWERS[:, i]) for i in range(4)}
SAMPLES = [f"s{i}" for i in range(ROWS)]
UNITS = [
    ("shares in per cent", written("{:.1f}%".format, "share"), "'share' in %"),
    ("shares with a space before the sign", written("{:.1f} %".format, "share"), "'share' in %"),
    ("amounts in dollars with thousands", written("${:,.0f}".format, "income"), "'income' in $"),
    ("amounts in EUR behind", written("{:,.2f} EUR".format, "income"), "'income' in EUR"),
    ("pounds before and a minus", written("-£{:,.2f}".format, "income"), "'income' in £"),
    ("ages in years", written("{:.1f} years".format, "age"), "'age' in years"),
    ("masses in kg without a space", written("{:.1f}kg".format, "age"), "'age' in kg"),
    ("temperatures in °C", written("{:.1f} °C".format, "age"), "'age' in °C"),
    ("areas in m²", written("{:.1f} m²".format, "age"), "'age' in m²"),
    ("speeds in km/h", written("{:.1f} km/h".format, "age"), "'age' in km/h"),
    ("a Unicode minus", written(lambda one: f"−{one:.1f}", "share"), ""),
    ("thousands with apostrophes", written(lambda one: f"{one:,.0f}".replace(",", "'"), "income"), ""),
    ("thousands with thin spaces", written(lambda one: f"{one:,.0f}".replace(",", "\u2009"), "income"), ""),
    ("scientific numbers", written("{:.4e}".format, "income"), ""),
    ("quoted numbers", written(lambda one: f" {one} ", "age"), ""),
]
MISSING = ("#NULL!", ".", "-", "?", "n/a", "NA", "", "k.A.", "missing")
CASES = [
    *(read_only(name, columns, says, same=next(iter(columns))) for name, columns, says in UNITS),
    *(
        read_only(
            f"“{mark}” for missing",
            {"age": [mark if i % 10 == 0 else f"{a}" for i, a in enumerate(AGE)]},
            "cells are missing",
            same="age",
        )
        for mark in MISSING
    ),
    one(
        "shares of which some have no sign",
        {"share": ["12", *[f"{s}%" for s in SHARE[1:]]]},
        no="column 'share' holds",
    ),
    read_only(
        "two currencies", {"income": ["$5", *[f"€{s}" for s in INCOME[1:]]]}, "'income'", without="income"
    ),
    one(
        "times of day",
        {"start": [f"{int(a // 4):02}:{int(a * 7 % 60):02}" for a in AGE]},
        "'start' in hours",
        more="start",
    ),
    read_only("dates of ISO", {"day": DAYS.astype(str)}, "days since 2020-01-01", more="day"),
    read_only("German dates", {"day": DAYS.strftime("%d.%m.%Y")}, "days since 2020-01-01", more="day"),
    one(
        "dates of which the month may be either",
        {"day": [f"{i % 12 + 1:02}/0{i % 9 + 1}/2020" for i in range(ROWS)]},
        no="day and month could be either",
    ),
    one("dates as eight digits", {"day": 20200101 + PLACE % 28}, no="20200101"),
    one("semicolons and decimal commas", german(PLAIN)),
    read_only("decimal commas, with a mark of UTF-8", german(PLAIN).encode("utf-8-sig"), ""),
    one(
        "Windows-1252 with umlauts",
        german(PLAIN.assign(Straße=CITY)).encode("cp1252"),
        "Windows-1252",
        more="Straße",
    ),
    read_only("tabs", csv(PLAIN, sep="\t"), "", file="t.tsv"),
    read_only("a title above the names", "Survey 2024,,\n" + csv(PLAIN), "“Survey 2024” was left out"),
    one("a title in a line of its own", "Survey 2024\n" + csv(PLAIN), no="if it is a title"),
    read_only(
        "comments above the names",
        "# made by a program\n# on a day\n" + csv(PLAIN),
        "Lines that begin with #",
    ),
    read_only("a total below", csv(PLAIN.assign(who="p")) + "50,45,41000,Total\n", "Total", more="who"),
    read_only("an empty column without a name", {"": np.nan}, "no column was read"),
    one("a workbook", PLAIN, file="t.xlsx"),
    one("ids that are all different", {"patient_id": PLACE * 7 + 3}, "'patient_id'"),
    one("numbers of customers that repeat", CUSTOMERS, no="90 rows of 20 'Kunde'"),
    one("numbers of customers, rows as they are", CUSTOMERS, "'Kunde': its numbers name", aggregate="none"),
    read_only("postcodes with zeros before", {"plz": [f"0{1000 + i}" for i in range(ROWS)]}, "'plz'"),
    read_only(
        "phone numbers", {"phone": RNG.choice(10**6, ROWS, replace=False) + 4_915_112_000_003}, "'phone'"
    ),
    read_only(
        "prices of six digits, all different",
        {"price": INCOME.astype(int) * 7 + 100_003 + ORDER},
        "'income', 'price' follow from one another",
        more="price",
    ),
    read_only("names as text", {"name": [f"person {i}" for i in range(ROWS)]}, "'name'"),
    read_only("links", {"url": [f"https://x.test/{i}" for i in range(ROWS)]}, "'url'"),
    read_only("a constant column", {"country": "IT"}, "one value only"),
    one("three rows a person", VISITS, no="270 rows of 90 'person_id'"),
    one("three rows a person, aggregated", VISITS, "each of which is one row", aggregate="person_id"),
    *(
        one(
            f"one-hot cities{what}",
            {f"city{mark}{name}": HOT[name] for name in HOT},
            "are one category, 'city'",
            more="city",
        )
        for what, mark in (("", "_"), (" with dots", "."))
    ),
    read_only("99 among answers", {"q1": np.where(NINTH, 99, ANSWERS[:, 0])}, "99 (10 in 'q1')", more="q1"),
    one(
        "99 said to be missing",
        {"q1": np.where(NINTH, 99, ANSWERS[:, 0])},
        "Read as missing, as was said",
        more="q1",
        missing=["q1=99"],
    ),
    read_only("-999 for no answer", {"age": np.where(NINTH, -999, AGE)}, "-999 (10 in 'age')"),
    read_only("0 in a scale from 1", SCALE, "0 (6 in 'q1')", more="q1 q2 q3 q4"),
    one(
        "weights of a survey",
        {"weight": RNG.uniform(0.5, 1.6, ROWS).round(4)},
        "it says how much a row counts",
    ),
    read_only(
        "a ceiling",
        {"score": np.minimum(RNG.normal(95, 9, ROWS), 100).round(1)},
        "have 100 in 'score', its largest value",
        more="score",
    ),
    read_only(
        "the same column twice",
        {"age_months": (AGE * 12).round(6)},
        "hold the same numbers",
        more="age_months",
    ),
    one("the same column twice, one left out", {"age_months": (AGE * 12).round(6)}, leave_out=["age_months"]),
    read_only("one cell of a million", {"age": np.where(PLACE == 5, 1e6, AGE)}, "row 6 has 1e+06 in 'age'"),
    *(
        read_only(
            case, {name: values}, f"'{name}' has {len(np.unique(values))} different values in", more=name
        )
        for case, name, values in (
            ("answers after z-scoring", "q", (ANSWERS[:, 0] - 3) / 1.237),
            ("few values at unequal distances", "rooms", UNEQUAL),
            ("two values that are not whole", "rooms", 1.5 + PLACE % 2),
        )
    ),
    one("few values as a category", {"rooms": UNEQUAL}, more="rooms", kinds={"rooms": "category"}),
    one(
        "features in rows",
        csv(
            pd.DataFrame(np.array([AGE, SHARE, INCOME / 1000]), [*CLEAN], SAMPLES)
            .rename_axis("gene")
            .reset_index()
        ),
        "exchanged",
        transpose=True,
    ),
]
