"""What is not seen in a table: copies, sums, codes, units of an index, edges, and what a view hides."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
from faults.cases import Case, of_family

from pyroclust import Draws, read_table
from pyroclust.data.draws import draws_from

refuses, _, command = of_family("hidden")

ROWS = 90
RNG = np.random.default_rng(11)
GROUP = RNG.integers(0, 3, ROWS)
AGE = (30 + 20 * GROUP + RNG.normal(0, 2.5, ROWS)).round(1)
SHARE = (np.array([70, 20, 45])[GROUP] + RNG.normal(0, 3, ROWS)).round(1)
X = RNG.normal(size=ROWS)
LABELS = RNG.integers(0, 3, (200, 12))


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": X, **columns})


def said(name: str, source: Any, words: str, *, silent: bool = False, **told: Any) -> Case:
    """A table, or what writes a file, that is read with a note that holds some words; or without."""

    def run(folder: Path) -> str:
        notes = " ".join(read_table(source() if callable(source) else source, **({"kinds": {}} | told)).notes)
        assert (words in notes) is not silent, notes
        return notes

    return Case("hidden", name, f"read, and {'not ' * silent}noted: “{words}”", run)


def some(code: Any, values: Sequence[Any], every: int = 20) -> list[Any]:
    return [code if place % every == 0 else one for place, one in enumerate(values)]


def in_file(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


def workbook() -> Path:
    """Merged cells, hidden rows, and a hidden sheet before the others."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "seen"
    for row in [("group", "x"), *((None, one) for one in X)]:
        sheet.append(row)
    sheet["A2"] = "A"
    sheet.merge_cells("A2:A31")
    sheet.row_dimensions[40].hidden = True
    book.create_sheet("unseen", 0).sheet_state = "hidden"
    book.active = 1
    book.save("t.xlsx")
    return Path("t.xlsx")


def before_chains(folder: Path) -> str:
    (note,) = Draws.of(LABELS.reshape(50, 4, 12)).notes
    assert "exchange the two axes" in note
    return note


CODES = [
    ("the smallest integer", some(-2147483648, AGE), "-2147483648 (5 in 'v')"),
    ("a far number, several times", some(-9.99e8, AGE, 30), "-9.99e+08 (3 in 'v')"),
    ("0 among ages", some(0, AGE), "0 (5 in 'v')"),
    ("-1 among ages", some(-1, AGE), "-1 (5 in 'v')"),
    ("-1 beside answers", some(-1, [1 + place % 4 for place in range(ROWS)], 9), "-1 (10 in 'v')"),
    ("8 beside answers", some(8, [1 + place % 4 for place in range(ROWS)], 9), "8 (10 in 'v')"),
    (
        "the end of time",
        some("9999-12-31", [f"2020-0{1 + place % 9}-{10 + place % 18}" for place in range(ROWS)]),
        "--missing v=9999-12-31",
    ),
]
CELLS = pd.DataFrame(product("abcd", "mf", "xyzw"), columns=["A", "B", "C"])
DISTANCES = pd.DataFrame(np.abs(AGE[:36, None] - AGE[:36]))
COPIES = "rows come again in all columns"
COLOURS = {name: (at == GROUP).astype(int) for at, name in enumerate(["red", "blue", "white"])}
ALIKE = "divide the rows alike: together they count twice"
TOTAL = "follow from one another, as a total from its parts"
CASES = [
    *(said(f"codes: {name}", frame(v=v), words) for name, v, words in CODES),
    *(
        refuses(
            f"numbers such as {make(45)}",
            lambda make=make: read_table(frame(v=[make(int(one)) for one in AGE]), kinds={}),
            "write all digits out",
        )
        for make in (
            lambda one: f"{one // 10},{one % 100:02},000",
            hex,
            "PT{}M".format,
            "{}/52".format,
            "{}°10'".format,
            "1h {}m".format,
        )
    ),
    said(
        "bands of ages are categories",
        frame(v=[f"{5 * int(one // 5)}-{5 * int(one // 5) + 4}" for one in AGE]),
        "categories: 'v'",
    ),
    said(
        "a category and its code",
        frame(city=np.array(["Rome", "Oslo", "Kyiv"])[GROUP], code=np.array([3, 1, 2])[GROUP]),
        f"'city' and 'code' {ALIKE}",
    ),
    said("two answers", frame(a=GROUP > 0, b=GROUP > 1), ALIKE, silent=True),
    said(
        "a total",
        frame(age=AGE, share=SHARE, total=(AGE + SHARE).round(1)),
        f"'age', 'share', 'total' {TOTAL}",
    ),
    said("a table pasted twice", pd.concat([frame(age=AGE)] * 2), f"90 of 180 {COPIES}"),
    said("a table pasted in part", pd.concat([frame(age=AGE), frame(age=AGE)[:30]]), f"30 of 120 {COPIES}"),
    said("whole numbers that come again", pd.DataFrame({"a": GROUP, "b": AGE.round()}), COPIES, silent=True),
    said(
        "a last row of sums without a word",
        pd.concat([frame(age=AGE), pd.DataFrame({"x": [X.sum()], "age": [AGE.sum()]})]),
        "The last row holds the totals",
    ),
    said("one category in columns of 0 and 1", frame(**COLOURS), f"'red', 'blue', 'white' {TOTAL}"),
    said("no total", frame(age=AGE, share=SHARE), TOTAL, silent=True),
    said(
        "the cells of a table of counts", CELLS.assign(n=RNG.integers(1, 400, len(CELLS))), "give --weight n"
    ),
    said(
        "counts beside a category that repeats",
        pd.DataFrame({"spray": list("abc") * 30, "count": RNG.integers(0, 30, ROWS)}),
        "--weight",
        silent=True,
    ),
    refuses(
        "a row for each value",
        lambda: read_table(pd.melt(frame(age=AGE)), kinds={}),
        "pivot(columns='variable', values='value')",
    ),
    said(
        "names and values of cars are no such rows",
        pd.DataFrame({"name": ["Fiat", "Audi", "Opel"] * 30, "value": AGE, "size": SHARE}),
        "categories: 'name'",
    ),
    *(
        refuses(
            f"rows of one unit, named by an index of {what}",
            lambda index=index: read_table(frame().set_index(index), kinds={}),
            "90 rows of 30 'patient'",
        )
        for what, index in (
            ("numbers", pd.Index(np.arange(ROWS) // 3, name="patient")),
            ("texts", pd.Index([f"P{place // 3:02}" for place in range(ROWS)], name="patient")),
            ("two levels", [pd.Index(np.arange(ROWS) // 3, name="patient"), pd.Index(np.arange(ROWS) % 3)]),
        )
    ),
    said(
        "rows of one unit, named by an index, as they are",
        frame().set_index(pd.Index(np.arange(ROWS) // 3, name="patient")),
        "'patient': its numbers name 30 things",
        aggregate="none",
    ),
    said(
        "rows of one unit, named by an index, as one",
        frame().set_index(pd.Index(np.arange(ROWS) // 3, name="patient")),
        "The 90 rows are those of 30 'patient'",
        aggregate="patient",
    ),
    said(
        "rows of one place, named by the index",
        frame().set_index(pd.Index(list("abc") * 30, name="place")),
        "several of which have the same place",
    ),
    said(
        "how many rows each unit had",
        frame(patient=np.repeat(np.arange(30), 3)[[*range(89), 0]]),
        "a column too, 'rows': see --except",
        aggregate="patient",
    ),
    said("partial labels that measure", frame(age=AGE), "as of a measurement", partial_labels="age"),
    said(
        "a table that was exchanged already",
        pd.DataFrame(X.reshape(3, 30), index=list("abc")).T,
        "give --transpose",
        silent=True,
        transpose=True,
    ),
    said("rows without any value", pd.DataFrame({"x": some(np.nan, X)}), "5 row(s) hold no value"),
    said("cells that are merged", workbook, "Cells are merged in 1 places"),
    said("a row that is hidden", workbook, "1 hidden row(s)"),
    said("a sheet that is hidden", workbook, "The first of 2 sheets was read, 'seen'"),
    said(
        "nodes in two spellings",
        lambda: in_file("e.csv", "a,b\n1.0,2\n2.0,3\n3,1\n"),
        "are two nodes, as written",
        edges=True,
        kinds=None,
    ),
    said(
        "edges that are taken for points",
        lambda: in_file("e.csv", "source,target\n1,2\n2,3\n3,1\n"),
        "give --edges",
        kinds=None,
    ),
    said("distances", DISTANCES, "a matrix of pairs of rows", kinds=None),
    said("correlations", frame(age=AGE, share=SHARE).corr(), "a matrix of pairs of rows"),
    refuses(
        "two graphs in one file",
        lambda: read_table(in_file("g.graphml", "<graphml><graph id='a'/><graph id='b'/></graphml>")),
        "holds 2 graphs, expected one",
    ),
    command(
        "a file whose name is no UTF-8",
        ["diagnose", "gr\udcfc.csv", "--out", "out"],
        files={"gr\udcfc.csv": "a,b,c\n" + "0,0,1\n0,1,1\n" * 20},
        says="gr\\udcfc",
        slow=True,
    ),
    refuses("draws as sets", lambda: draws_from([[{0, 1}, {2}], [{0}, {1, 2}]]), "or sets"),
    refuses("draws as indicators", lambda: Draws.of(np.eye(3, dtype=int)[LABELS]), "indicators"),
    refuses(
        "draws as tables of pairs",
        lambda: Draws.of(LABELS[:, :, None] == LABELS[:, None, :]),
        "a table of pairs of points for each draw",
    ),
    Case("hidden", "draws before chains", "noted: “exchange the two axes”", before_chains),
]
