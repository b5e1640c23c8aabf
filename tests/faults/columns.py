"""Columns that are no measurements, kinds of columns, scales, draws in text, and what commands write."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from faults.cases import Case, of_family
from faults.tables import no, noted

from pyroclust import read_draws, read_table
from pyroclust.data.tables import principal_components, standardise, unscaled

refuses, gives, command = of_family("columns")


def no_frame(name: str, values: Any, words: str) -> Case:
    return refuses(name, lambda: read_table(pd.DataFrame({"x": values})), words)


def frame(name: str, values: Any, value: list[float]) -> Case:
    return gives(name, lambda: read_table(pd.DataFrame({"x": values})).data[:, 0].tolist(), value)


def huge_npy() -> Any:
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)}
    with Path("t.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    return read_table("t.npy")


def draws(text: str, **told: Any) -> Any:
    Path("z.csv").write_text(text)
    return read_draws("z.csv", **told).assignments.tolist()


COLUMNS = [
    noted(
        "a column that counts the rows",
        "id,x\n1,.5\n2,.7\n3,.9\n4,.2\n",
        "'id': it names or counts the rows. To leave one out, name it in --except",
    ),
    noted(
        "three numbers that follow one another, beside gaps",
        "y,x\n3,.5\n4,.7\n,.9\n5,.2\n,.6\n",
        "'y': it has 3 numbers in 5 rows, all different",
        kinds={},
    ),
    noted(
        "three texts beside gaps",
        "y,x\na,.5\nb,.7\n,.9\nc,.2\n,.6\n",
        "'y': it has 3 texts in 3 rows",
        kinds={},
    ),
    noted(
        "a column of 0 and 1",
        "x,smoker\n.5,0\n.7,1\n.9,0\n.2,1\n.3,0\n.8,1\n",
        "'smoker': it has 2 values only",
    ),
    noted(
        "a column of codes",
        "x,kind\n" + "".join(f"{i / 7:.3f},{i % 3 + 1}\n" for i in range(12)),
        "'kind': it has 3 values only",
    ),
    noted(
        "codes with zeros before them",
        "x,zip\n.5,01234\n.7,04321\n.9,00012\n",
        "'zip': its numbers begin with zeros",
    ),
    noted("true and false", "x,ok\n.5,True\n.7,False\n.9,True\n", "'ok': it has 2 values only"),
    no("yes and no", "x,ok\n.5,yes\n.7,no\n", "column 'ok' holds 'yes', not only real numbers"),
    no("integers too long to be exact", "x\n12345678901234567890\n12345678901234567891\n", "beyond 2^53"),
    no("a number too large", "x\n1e400\n2\n", "holds 1 infinite values"),
    no("digits with underscores, as Python reads them", "x\n1_000\n2_000\n", "holds '1_000'"),
    frame("true and false in a data frame", [True, False, True], [1.0, 0.0, 1.0]),
    frame("float32", pd.Series([0.5, 1.5, 2.5], dtype="float32"), [0.5, 1.5, 2.5]),
    frame("decimals of Python", [Decimal("1.5"), Decimal(2), 3], [1.5, 2.0, 3.0]),
    frame("integers of arrow", pd.Series([1, 2, 4], dtype="int64[pyarrow]"), [1.0, 2.0, 4.0]),
    no_frame("a missing nullable integer", pd.Series([1, None, 3], dtype="Int64"), "1 in 'x'"),
    no_frame("categories", pd.Categorical([1, 2, 1]), "holds categories"),
    frame("spans of time", pd.to_timedelta([1, 2], unit="D"), [24.0, 48.0]),
    no_frame("complex numbers", [1j, 2.0], "holds complex numbers"),
    no_frame("lists in cells", [[1], [2]], "not only real numbers"),
    no_frame("neighbouring integers beyond 2^53", [2**60, 2**60 + 1], "beyond 2^53"),
    no_frame("infinite values", [1.0, np.inf], "holds 1 infinite values"),
    refuses(
        "a masked value", lambda: read_table(np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])), "1 in 'x1'"
    ),
    gives(
        "names of columns with two levels",
        lambda: (
            read_table(
                pd.DataFrame(
                    [[1.0, 2.0], [3.0, 5.0]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
                )
            ).columns
        ),
        ("a_x", "a_y"),
    ),
    gives(
        "records",
        lambda: read_table(np.array([(1, 2.0), (3, 5.0)], dtype=[("a", int), ("b", float)])).columns,
        ("a", "b"),
    ),
    refuses("an array without columns", lambda: read_table(np.zeros((3, 0))), "no column to cluster"),
    refuses("a .npy whose header asks for 24 TB", huge_npy, "t.npy"),
]

SCALES = [
    refuses(
        "values whose squares overflow",
        lambda: standardise(read_table(np.array([1e300, -1e300, 0.5]))),
        "too large for its variance",
    ),
    refuses(
        "values whose squares underflow",
        lambda: standardise(read_table(np.array([1e-200, -1e-200, 5e-200]))),
        "too small for its variance",
    ),
    refuses(
        "more components than columns",
        lambda: principal_components(standardise(read_table("iris")), 3),
        "pca is 3, expected 1 to 2",
    ),
    refuses(
        "components of a column given twice",
        lambda: principal_components(
            standardise(read_table(np.repeat(np.array([[1.0], [2.0], [4.0]]), 2, axis=1))), 2
        ),
        "the columns vary in 1 direction(s) only",
    ),
    gives(
        "raw components keep distances",
        lambda: round(
            float(
                np.ptp(
                    principal_components(
                        unscaled(read_table(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]))), 1
                    ).data
                )
            ),
            9,
        ),
        10.0,
    ),
    gives(
        "raw components are not called standardised",
        lambda: "standardised" in principal_components(unscaled(read_table("iris")), 1).notes[0],
        False,
    ),
]

DRAWS = [
    gives("draws between semicolons", lambda: draws("a;b;c\n1;1;2\n2;1;2\n"), [[[0, 0, 1], [0, 1, 0]]]),
    gives(
        "draws with decimal commas beside them",
        lambda: draws("a;b;log_joint\n1;1;-2,5\n2;1;-3,5\n"),
        [[[0, 0], [0, 1]]],
    ),
    gives(
        "draws, told that there are no names",
        lambda: draws("0,1,2\n1,1,2\n", header=False),
        [[[0, 1, 2], [0, 0, 1]]],
    ),
    refuses("a draw with a label too few", lambda: draws("1,2,2\n1,2\n"), "line 2 has 2 cells, expected 3"),
]

POINTS = "a,b,kind\n1.5,2.5,x\n2.5,3.5,y\n9.5,8.5,x\n9.0,8.0,y\n"
ODD = (
    'a$\\frac,b_x,"k\x9b31m"\n1.5,2,=1+1\n1.75,3,"x\ry"\n8.5,9.25,@x\n9.5,9.5,\n1.0,2.5,"q,z"\n9.25,9.75,-3\n'
)
TWO_POINTS = "a,b\n" + "0,0\n" * 5 + "1,2\n" * 6


def safe_cells(folder: Path) -> None:
    rows = (folder / "out" / "assignments.csv").read_bytes().decode().split("\n")
    assert [row.split(",")[6] for row in rows[1:3]] == ["'=1+1", '"x\ry"'], rows
    page = (folder / "out" / "report.html").read_bytes().decode()
    assert not {"\x9b", "\r"} & set(page), "control characters in the page"


def words(text: str) -> list[str]:
    return [
        *["compare", "t.csv", "--quiet", "--draws", "20", "--mcmc-draws", "20", "--out", "out"],
        *text.split(),
    ]


COMMANDS = [
    command(
        "formulas, line ends and odd names in what is written",
        [*words("--label"), "k\x9b31m"],
        files={"t.csv": ODD},
        says=r"no label in 'k\x9b31m'",
        check=safe_cells,
        slow=True,
    ),
    command(
        "two points repeated",
        words("--raw --also baselines --verbose"),
        files={"t.csv": TWO_POINTS},
        says="variational mixture 2",
        slow=True,
    ),
    command(
        "raw components",
        words("--columns a,b --raw --pca 1 --guide filter-nig1d --verbose"),
        files={"t.csv": POINTS},
        says="2 columns as they are (a, b)",
        slow=True,
    ),
    command(
        "a table that is told",
        words("--delimiter tab --decimal , --no-header --verbose"),
        files={"t.csv": "1,5\t2\n2,5\t3,25\n9,5\t8\n9,25\t7\n"},
        says="4 rows of x1, x2",
        slow=True,
    ),
]

CASES = [*COLUMNS, *SCALES, *DRAWS, *COMMANDS]
