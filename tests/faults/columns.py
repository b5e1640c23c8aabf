"""What columns hold: codes, units, names, copies, sums and scales, and what a view hides."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
from faults.cases import Case, of_family
from faults.tables import no, noted

from pyroclust import read_table
from pyroclust.data.tables import principal_components, standardise, unscaled

refuses, gives, command = of_family("columns")

ROWS = 90
RNG = np.random.default_rng(11)
GROUP = RNG.integers(0, 3, ROWS)
AGE = (30 + 20 * GROUP + RNG.normal(0, 2.5, ROWS)).round(1)
SHARE = (np.array([70, 20, 45])[GROUP] + RNG.normal(0, 3, ROWS)).round(1)
X = RNG.normal(size=ROWS)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": X, **columns})


def said(name: str, source: Any, words: str, *, silent: bool = False, **told: Any) -> Case:
    """A table, or what writes a file, that is read with a note that holds some words; or without."""

    def run(folder: Path) -> str:
        notes = " ".join(read_table(source() if callable(source) else source, **({"kinds": {}} | told)).notes)
        assert (words in notes) is not silent, notes
        return notes

    return Case("columns", name, f"read, and {'not ' * silent}noted: “{words}”", run)


def some(code: Any, values: Sequence[Any], every: int = 20) -> list[Any]:
    return [code if place % every == 0 else one for place, one in enumerate(values)]


FROM_TEXT = [
    noted(
        "a column that counts the rows",
        "id,x\n1,.5\n2,.7\n3,.9\n4,.2\n",
        "'id': it names or counts the rows. To leave one out, name it in --except",
    ),
    *(
        noted(
            f"three {what} beside gaps",
            "y,x\n{},.5\n{},.7\n,.9\n{},.2\n,.6\n".format(*cells),
            f"'y': it has 3 {what} in",
            kinds={},
        )
        for what, cells in (("numbers", "345"), ("texts", "abc"))
    ),
    noted("a column of 0 and 1", "x,y\n.5,0\n.7,1\n.9,0\n.2,1\n.3,0\n.8,1\n", "'y': it has 2 values only"),
    noted("codes with zeros before them", "x,zip\n.5,01234\n.7,04321\n.9,00012\n", "begin with zeros"),
    noted("true and false", "x,ok\n.5,True\n.7,False\n.9,True\n", "'ok': it has 2 values only"),
    noted(
        "six columns that are left out",
        "x,a,b,c,d,e,f\n" + "".join(f"{k * 0.37:.2f},t{k},u{k},v{k},w{k},s{k},r{k}\n" for k in range(9)),
        "'d': every row has a text of its own; and 'e', 'f'.",
        kinds={},
    ),
    no("yes and no", "x,ok\n.5,yes\n.7,no\n", "column 'ok' holds 'yes', not only real numbers"),
    no("integers too long to be exact", "x\n12345678901234567890\n12345678901234567891\n", "beyond 2^53"),
    no("a number too large", "x\n1e400\n2\n", "holds 1 infinite values"),
    no("digits with underscores, as Python reads them", "x\n1_000\n2_000\n", "holds '1_000'"),
]

FROM_FRAMES = [
    *(
        gives(
            f"in a data frame: {name}",
            lambda one=one: read_table(frame(v=one)[:3]).data[:, 1].tolist(),
            [1.0, 2.0, 4.0],
        )
        for name, one in (
            ("decimals of Python", [Decimal(1), Decimal(2), 4] * 30),
            ("integers of arrow", pd.Series([1, 2, 4] * 30, dtype="int64[pyarrow]")),
            ("spans of time", pd.to_timedelta([1, 2, 4] * 30, unit="h")),
        )
    ),
    *(
        refuses(f"in a data frame: {name}", lambda one=one: read_table(pd.DataFrame({"x": one})), words)
        for name, one, words in (
            ("a missing nullable integer", pd.Series([1, None, 3], dtype="Int64"), "1 in 'x'"),
            ("categories", pd.Categorical([1, 2, 1]), "holds categories"),
            ("complex numbers", [1j, 2.0], "holds complex numbers"),
            ("lists in cells", [[1], [2]], "not only real numbers"),
            ("neighbouring integers beyond 2^53", [2**60, 2**60 + 1], "beyond 2^53"),
        )
    ),
    refuses(
        "a masked value", lambda: read_table(np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])), "1 in 'x1'"
    ),
    gives(
        "names of columns with two levels",
        lambda: read_table(pd.DataFrame({("a", "x"): [1.0, 3.0], ("a", "y"): [2.0, 5.0]})).columns,
        ("a_x", "a_y"),
    ),
    gives(
        "records",
        lambda: read_table(np.array([(1, 2.0), (3, 5.0)], dtype=[("a", int), ("b", float)])).columns,
        ("a", "b"),
    ),
    refuses("an array without columns", lambda: read_table(np.zeros((3, 0))), "no column to cluster"),
]

LINE = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
SCALES = [
    refuses(
        "components of a column given twice",
        lambda: principal_components(standardise(read_table(LINE)), 2),
        "the columns vary in 1 direction(s) only",
    ),
    gives(
        "raw components keep distances",
        lambda: round(float(np.ptp(principal_components(unscaled(read_table(LINE)), 1).data)), 9),
        10.0,
    ),
    gives(
        "raw components are not called standardised",
        lambda: "standardised" in principal_components(unscaled(read_table("iris")), 1).notes[0],
        False,
    ),
]

CODES = [
    said(f"codes: {name}", frame(v=v), words)
    for name, v, words in (
        ("the smallest integer", some(-2147483648, AGE), "-2147483648 (5 in 'v')"),
        ("a far number, several times", some(-9.99e8, AGE, 30), "-9.99e+08 (3 in 'v')"),
        ("0 among ages", some(0, AGE), "0 (5 in 'v')"),
        ("-1 beside answers", some(-1, [1 + place % 4 for place in range(ROWS)], 9), "-1 (10 in 'v')"),
        ("8 beside answers", some(8, [1 + place % 4 for place in range(ROWS)], 9), "8 (10 in 'v')"),
        (
            "the end of time",
            some("9999-12-31", [f"2020-0{1 + place % 9}-{10 + place % 18}" for place in range(ROWS)]),
            "--missing v=9999-12-31",
        ),
    )
]

COUNTS = pd.DataFrame(product("abcd", "mf", "xyzw"), columns=["A", "B", "C"])
COPIES = "rows come again in all columns"
COLOURS = {name: (at == GROUP).astype(int) for at, name in enumerate(["red", "blue", "white"])}
ALIKE = "divide the rows alike: together they count twice"
TOTAL = "follow from one another, as a total from its parts"
BETWEEN = [
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
    said("no total", frame(age=AGE, share=SHARE), TOTAL, silent=True),
    said("a table pasted in part", pd.concat([frame(age=AGE), frame(age=AGE)[:30]]), f"30 of 120 {COPIES}"),
    said("whole numbers that come again", pd.DataFrame({"a": GROUP, "b": AGE.round()}), COPIES, silent=True),
    said(
        "a last row of sums without a word",
        pd.concat([frame(age=AGE), pd.DataFrame({"x": [X.sum()], "age": [AGE.sum()]})]),
        "The last row holds the totals",
    ),
    said("one category in columns of 0 and 1", frame(**COLOURS), f"'red', 'blue', 'white' {TOTAL}"),
    said(
        "the cells of a table of counts",
        COUNTS.assign(n=RNG.integers(1, 400, len(COUNTS))),
        "give --weight n",
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
    said("rows without any value", pd.DataFrame({"x": some(np.nan, X)}), "5 row(s) hold no value"),
    said("partial labels that measure", frame(age=AGE), "as of a measurement", partial_labels="age"),
    said(
        "distances", pd.DataFrame(np.abs(AGE[:36, None] - AGE[:36])), "a matrix of pairs of rows", kinds=None
    ),
    said("correlations", frame(age=AGE, share=SHARE).corr(), "a matrix of pairs of rows"),
]

PATIENTS = pd.Index(np.arange(ROWS) // 3, name="patient")
UNITS = [
    *(
        refuses(
            f"rows of one unit, named by an index of {what}",
            lambda index=index: read_table(frame().set_index(index), kinds={}),
            "90 rows of 30 'patient'",
        )
        for what, index in (
            ("texts", PATIENTS.map("P{:02}".format)),
            ("two levels", [PATIENTS, pd.Index(np.arange(ROWS) % 3)]),
        )
    ),
    *(
        said(
            f"rows of one unit, named by an index, {how}", frame().set_index(PATIENTS), words, aggregate=told
        )
        for how, words, told in (
            ("as they are", "'patient': its numbers name 30 things", "none"),
            ("as one", "The 90 rows are those of 30 'patient'", "patient"),
        )
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
    said(
        "a table that was exchanged already",
        pd.DataFrame(X.reshape(3, 30), index=list("abc")).T,
        "give --transpose",
        silent=True,
        transpose=True,
    ),
]


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


def in_file(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


HIDDEN = [
    *(
        said(f"in a workbook: {name}", workbook, words)
        for name, words in (
            ("merged cells", "Cells are merged in 1 places"),
            ("a hidden row", "1 hidden row(s)"),
            ("a hidden sheet", "The first of 2 sheets was read, 'seen'"),
        )
    ),
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
    refuses(
        "two graphs in one file",
        lambda: read_table(in_file("g.graphml", "<graphml><graph id='a'/><graph id='b'/></graphml>")),
        "holds 2 graphs, expected one",
    ),
]

POINTS = "a,b,kind\n1.5,2.5,x\n2.5,3.5,y\n9.5,8.5,x\n9.0,8.0,y\n"
ODD = (
    'a$\\frac,b_x,"k\x9b31m"\n1.5,2,=1+1\n1.75,3,"x\ry"\n8.5,9.25,@x\n9.5,9.5,\n1.0,2.5,"q,z"\n9.25,9.75,-3\n'
)


def safe_cells(folder: Path) -> None:
    rows = (folder / "out" / "assignments.csv").read_bytes().decode().split("\n")
    assert [row.split(",")[6] for row in rows[1:3]] == ["'=1+1", '"x\ry"'], rows
    page = (folder / "out" / "report.html").read_bytes().decode()
    assert not {"\x9b", "\r"} & set(page), "control characters in the page"


QUICK = ["compare", "t.csv", "--quiet", "--draws", "20", "--mcmc-draws", "20", "--out", "out"]
COMMANDS = [
    command(
        "formulas, line ends and odd names in what is written",
        [*QUICK, "--label", "k\x9b31m"],
        files={"t.csv": ODD},
        says=r"no label in 'k\x9b31m'",
        check=safe_cells,
        slow=True,
    ),
    command(
        "raw components",
        [*QUICK, *["--columns", "a,b", "--raw", "--pca", "1", "--guide", "filter-nig1d", "--verbose"]],
        files={"t.csv": POINTS},
        says="2 columns as they are (a, b)",
        slow=True,
    ),
    command(
        "a table that is told",
        [*QUICK, *["--delimiter", "tab", "--decimal", ",", "--no-header", "--verbose"]],
        files={"t.csv": "1,5\t2\n2,5\t3,25\n9,5\t8\n9,25\t7\n"},
        says="4 rows of x1, x2",
        slow=True,
    ),
]

CASES = [
    *(*FROM_TEXT, *FROM_FRAMES, *SCALES, *CODES, *BETWEEN, *UNITS, *HIDDEN, *COMMANDS),
]
