"""Whole tables as people have them, of three simulated groups: what is read, said, and found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from faults.cases import Case
from faults.cases import refused as refused_in
from sklearn.metrics import adjusted_rand_score

from pyroclust import cluster, read_table

FAMILY = "whole tables"
ROWS, GROUPS = 90, np.repeat(np.arange(3), 30)
RNG = np.random.default_rng(7)
ORDER = RNG.permutation(ROWS)
TRUTH = GROUPS[ORDER]
AGE = (np.array([30.0, 50, 70])[TRUTH] + RNG.normal(0, 2.5, ROWS)).round(1)
SHARE = (np.array([70.0, 20, 45])[TRUTH] + RNG.normal(0, 3, ROWS)).round(1)
INCOME = (np.array([21_000.0, 63_000, 40_000])[TRUTH] + RNG.normal(0, 2500, ROWS)).round(0)
CLEAN = {"age": AGE, "share": SHARE, "income": INCOME}
CITY = np.array(["Rome", "Oslo", "Kyiv"])[(TRUTH + (RNG.random(ROWS) < 0.1)) % 3]
ANSWERS = np.clip(np.array([2, 4, 3])[TRUTH][:, None] + RNG.integers(-1, 2, (ROWS, 4)), 1, 5)
UNEQUAL = np.array([1.5, 2.5, 4.0, 5.0])[np.arange(ROWS) % 4]


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(CLEAN | columns)


def csv(table: pd.DataFrame, **how: Any) -> str:
    return table.to_csv(index=False, **how)


def german(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, sep=";", decimal=",")


def written(make: Callable[[float], str], column: str) -> dict[str, list[str]]:
    return {column: [make(one) for one in CLEAN[column]]}


def one(
    name: str,
    table: Callable[[], str | bytes | pd.DataFrame],
    *,
    says: str = "",
    refused: str = "",
    columns: tuple[str, ...] = ("age", "share", "income"),
    finds: float = 0.9,
    file: str = "t.csv",
    **told: Any,
) -> Case:
    """A table that is read with the columns of the clean one, says some words, and has its groups found."""

    def run(folder: Path) -> str:
        made = table()
        if isinstance(made, pd.DataFrame):
            made.to_excel(folder / file, index=False)
        else:
            (folder / file).write_bytes(made.encode() if isinstance(made, str) else made)
        if refused:
            return refused_in(lambda: read_table(folder / file, **{"kinds": {}} | told), refused)
        read = read_table(folder / file, **{"kinds": {}} | told)
        notes = " ".join(read.notes)
        assert says in notes, f"“{says}” is not in {notes}"
        assert set(columns) == set(read.columns), read.columns
        if not finds:
            return notes
        found = cluster(read, mcmc_draws=100, num_chains=2, warmup=200)
        near = adjusted_rand_score(TRUTH, found.frame()["cluster"]) if len(read.data) == ROWS else 1.0
        assert near >= finds, f"adjusted Rand {near:.2f}"
        return f"adjusted Rand {near:.2f}; {notes}"[:400]

    expected = (
        f"refused: “{refused}”" if refused else f"read, “{says}”" + (f", ARI ≥ {finds}" if finds else "")
    )
    return Case(FAMILY, name, expected, run, slow=bool(finds))


def visits(**columns: Any) -> pd.DataFrame:
    """Three rows of each person."""
    return pd.concat([frame(**columns)] * 3).sort_index(kind="stable").reset_index(drop=True)


HOT = pd.get_dummies(pd.Series(CITY), dtype=int)
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
CASES = [
    *[one(name, lambda columns=columns: csv(frame(**columns)), says=says) for name, columns, says in UNITS],
    one(
        "shares of which some have no sign",
        lambda: csv(frame(share=["12", *[f"{s}%" for s in SHARE[1:]]])),
        refused="column 'share' holds",
    ),
    one(
        "two currencies",
        lambda: csv(frame(income=["$5", *[f"€{s}" for s in INCOME[1:]]])),
        finds=0,
        columns=("age", "share"),
        says="'income'",
    ),
    one(
        "times of day",
        lambda: csv(frame(start=[f"{int(a // 4):02}:{int(a * 7 % 60):02}" for a in AGE])),
        columns=("age", "share", "income", "start"),
        says="'start' in hours",
    ),
    one(
        "dates of ISO",
        lambda: csv(frame(day=pd.date_range("2020-01-01", periods=ROWS).astype(str))),
        columns=("age", "share", "income", "day"),
        says="days since 2020-01-01",
        finds=0,
    ),
    one(
        "German dates",
        lambda: csv(frame(day=pd.date_range("2020-01-01", periods=ROWS).strftime("%d.%m.%Y"))),
        columns=("age", "share", "income", "day"),
        says="days since 2020-01-01",
        finds=0,
    ),
    one(
        "dates of which the month may be either",
        lambda: csv(frame(day=[f"{i % 12 + 1:02}/0{i % 9 + 1}/2020" for i in range(ROWS)])),
        refused="day and month could be either",
    ),
    one("dates as eight digits", lambda: csv(frame(day=20200101 + np.arange(ROWS) % 28)), refused="20200101"),
    one("semicolons and decimal commas", lambda: german(frame())),
    one("decimal commas and per cent", lambda: german(frame()).replace(",", ",").encode("utf-8-sig")),
    one(
        "Windows-1252 with umlauts",
        lambda: german(frame(Straße=CITY)).encode("cp1252"),
        columns=("age", "share", "income", "Straße"),
        says="Windows-1252",
    ),
    one("tabs", lambda: csv(frame(), sep="\t"), file="t.tsv"),
    one(
        "a title above the names", lambda: "Survey 2024,,\n" + csv(frame()), says="“Survey 2024” was left out"
    ),
    one("a title in a line of its own", lambda: "Survey 2024\n" + csv(frame()), refused="if it is a title"),
    one(
        "comments above the names",
        lambda: "# made by a program\n# on a day\n" + csv(frame()),
        says="Lines that begin with #",
    ),
    one(
        "a total below",
        lambda: csv(frame(who=["p"] * ROWS)) + "50,45,41000,Total\n",
        says="Total",
        finds=0,
        columns=("age", "share", "income", "who"),
    ),
    one("an empty column without a name", lambda: csv(frame(**{"": np.nan})), says="no column was read"),
    one("a workbook", lambda: frame(), file="t.xlsx"),
    one(
        "ids that are all different",
        lambda: csv(frame(patient_id=np.arange(ROWS) * 7 + 3)),
        says="'patient_id'",
    ),
    one(
        "numbers of customers that repeat",
        lambda: csv(frame(Kunde=17_000 + RNG.permutation(ROWS) % 20)),
        refused="90 rows of 20 'Kunde'",
    ),
    one(
        "numbers of customers, rows as they are",
        lambda: csv(frame(Kunde=17_000 + RNG.permutation(ROWS) % 20)),
        says="'Kunde': its numbers name",
        aggregate="none",
    ),
    one(
        "postcodes with zeros before",
        lambda: csv(frame(plz=[f"0{1000 + i}" for i in range(ROWS)])),
        says="'plz'",
    ),
    one(
        "phone numbers",
        lambda: csv(frame(phone=RNG.choice(10**6, ROWS, replace=False) + 4_915_112_000_003)),
        says="'phone'",
    ),
    one(
        "prices of six digits, all different",
        lambda: csv(frame(price=INCOME.astype(int) * 7 + 100_003 + ORDER)),
        says="'income', 'price' follow from one another",
        columns=("age", "share", "income", "price"),
        finds=0.0,
    ),
    one("names as text", lambda: csv(frame(name=[f"person {i}" for i in range(ROWS)])), says="'name'"),
    one("links", lambda: csv(frame(url=[f"https://x.test/{i}" for i in range(ROWS)])), says="'url'"),
    one("a constant column", lambda: csv(frame(country=["IT"] * ROWS)), says="one value only"),
    one(
        "three rows a person",
        lambda: csv(visits(person_id=np.arange(ROWS) + 501)),
        refused="270 rows of 90 'person_id'",
    ),
    one(
        "three rows a person, aggregated",
        lambda: csv(visits(person_id=np.arange(ROWS) + 501)),
        says="each of which is one row",
        aggregate="person_id",
    ),
    one(
        "one-hot cities",
        lambda: csv(pd.concat([frame(), HOT.add_prefix("city_")], axis=1)),
        columns=("age", "share", "income", "city"),
        says="are one category, 'city'",
    ),
    one(
        "one-hot cities with dots",
        lambda: csv(pd.concat([frame(), HOT.add_prefix("city.")], axis=1)),
        columns=("age", "share", "income", "city"),
        says="are one category, 'city'",
    ),
    one(
        "99 among answers",
        lambda: csv(frame(q1=np.where(np.arange(ROWS) % 9 == 0, 99, ANSWERS[:, 0]))),
        columns=("age", "share", "income", "q1"),
        says="99 (10 in 'q1')",
        finds=0,
    ),
    one(
        "99 said to be missing",
        lambda: csv(frame(q1=np.where(np.arange(ROWS) % 9 == 0, 99, ANSWERS[:, 0]))),
        columns=("age", "share", "income", "q1"),
        says="Read as missing, as was said",
        missing=["q1=99"],
    ),
    one(
        "-9 for no answer",
        lambda: csv(frame(age=np.where(np.arange(ROWS) % 9 == 0, -999, AGE))),
        says="-999 (10 in 'age')",
        finds=0,
    ),
    one(
        "0 in a scale from 1",
        lambda: csv(
            frame(
                **{
                    f"q{i + 1}": np.where((np.arange(ROWS) % 15 == 0) & (i == 0), 0, ANSWERS[:, i])
                    for i in range(4)
                }
            )
        ),
        columns=("age", "share", "income", "q1", "q2", "q3", "q4"),
        says="0 (6 in 'q1')",
        finds=0,
    ),
    *[
        one(
            f"“{mark}” for missing",
            lambda mark=mark: csv(frame(age=[mark if i % 10 == 0 else f"{a}" for i, a in enumerate(AGE)])),
            says="cells are missing",
        )
        for mark in ("#NULL!", ".", "-", "?", "n/a", "NA", "", "k.A.", "missing")
    ],
    one(
        "weights of a survey",
        lambda: csv(frame(weight=RNG.uniform(0.5, 1.6, ROWS).round(4))),
        says="it says how much a row counts",
    ),
    one(
        "a ceiling",
        lambda: csv(frame(score=np.minimum(RNG.normal(95, 9, ROWS), 100).round(1))),
        columns=("age", "share", "income", "score"),
        says="have 100 in 'score', its largest value",
        finds=0,
    ),
    one(
        "the same column twice",
        lambda: csv(frame(age_months=(AGE * 12).round(6))),
        columns=("age", "share", "income", "age_months"),
        says="hold the same numbers",
        finds=0,
    ),
    one(
        "the same column twice, one left out",
        lambda: csv(frame(age_months=(AGE * 12).round(6))),
        leave_out=["age_months"],
    ),
    one(
        "one cell of a million",
        lambda: csv(frame(age=np.where(np.arange(ROWS) == 5, 1e6, AGE))),
        says="row 6 has 1e+06 in 'age'",
        finds=0,
    ),
    *(
        one(
            case,
            lambda name=name, values=values: csv(frame(**{name: values})),
            columns=("age", "share", "income", name),
            says=f"'{name}' has {len(np.unique(values))} different values in",
            finds=0,
        )
        for case, name, values in (
            ("answers after z-scoring", "q", (ANSWERS[:, 0] - 3) / 1.237),
            ("few values at unequal distances", "rooms", UNEQUAL),
            ("two values that are not whole", "rooms", 1.5 + np.arange(ROWS) % 2),
        )
    ),
    one(
        "few values as a category",
        lambda: csv(frame(rooms=UNEQUAL)),
        columns=("age", "share", "income", "rooms"),
        kinds={"rooms": "category"},
    ),
    one(
        "features in rows",
        lambda: csv(
            pd.DataFrame(
                np.array([AGE, SHARE, INCOME / 1000]), columns=[f"s{i}" for i in range(ROWS)]
            ).assign(gene=["age", "share", "income"])[["gene", *[f"s{i}" for i in range(ROWS)]]]
        ),
        transpose=True,
        says="exchanged",
    ),
]
