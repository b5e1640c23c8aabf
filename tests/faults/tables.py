"""Tables of every dialect, labels as they are written, columns that are no measurements."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from faults.cases import Case, of_family

from pyroclust import diagnose, read_table
from pyroclust.data.datasets import read_new_rows

refuses, gives, _ = of_family("tables")


def table(text: str | bytes, *, name: str = "t.csv", **told: Any) -> Any:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_table(name, **told)


def numbers(
    name: str, text: str | bytes, value: list[list[float]], *, file: str = "t.csv", **told: Any
) -> Case:
    return gives(name, lambda: table(text, name=file, **told).data.tolist(), value)


def no(name: str, text: str | bytes, words: str, *, file: str = "t.csv", **told: Any) -> Case:
    return refuses(name, lambda: table(text, name=file, **told), words)


def labels(name: str, text: str, value: list[str | None]) -> Case:
    return gives(name, lambda: table(text, label="k").labels.tolist(), value)


def noted(name: str, text: str | bytes, words: str, **told: Any) -> Case:
    """A table that is read, with a note that holds some words."""

    def run(folder: Path) -> str:
        notes = " ".join(table(text, **told).notes)
        assert words in notes, f"'{words}' is not in the notes: {notes}"
        return notes

    return Case("tables", name, f"read, and noted: “{words}”", run)


MANY = ",".join(f"column_{i}" for i in range(20_000)) + ("\n" + ",".join(["1"] * 20_000)) * 2

TWO = [[1.5, 2.0], [2.5, 3.0]]

LABELS = [
    labels(
        "classes that begin alike, one label missing",
        "x,k\n1,versicolor\n2,virginica\n4,\n",
        ["versicolor", "virginica", None],
    ),
    labels("labels 01 and 1", "x,k\n1,01\n2,1\n4,1\n", ["01", "1", "1"]),
    labels("labels NA, None and null", "x,k\n1,NA\n2,None\n4,null\n", ["NA", "None", "null"]),
    labels("labels nan and NaN", "x,k\n1,nan\n2,NaN\n4,nan\n", ["nan", "NaN", "nan"]),
    labels("a label of a thousand letters", f"x,k\n1,{'a' * 1000}\n2,b\n4,b\n", ["a" * 1000, "b", "b"]),
    no("a label that ends in NUL", "x,k\n1,a\0\n2,a\n4,a\n", "bytes that are no text", label="k"),
    labels(
        "labels with line ends and commas in quotes",
        'x,k\n1,"a\rb"\n2,"a\nb"\n4,"a, ""b"""\n',
        ["a\rb", "a\nb", 'a, "b"'],
    ),
    labels(
        "long numbers as labels",
        "x,k\n1,12345678901234567890\n2,12345678901234567891\n4,1e3\n",
        ["12345678901234567890", "12345678901234567891", "1e3"],
    ),
    noted("a missing label", "x,k\n1.5,a\n2,b\n4,\n", "1 of 3 rows have no label in 'k'", label="k"),
    noted("a class called NA", "x,k\n1.5,NA\n2,b\n4,b\n", "“NA” is the name of a class", label="k"),
    noted(
        "labels that differ in capitals", "x,k\n1.5,A\n2,a\n4,a\n", "“A” and “a” are two classes", label="k"
    ),
    no("a column of labels without any", "x,k\n1,\n2,\n", "column 'k' holds no label", label="k"),
]

MARKS = [
    numbers("semicolons and decimal commas", "a;b\n1,5;2\n2,5;3\n", TWO),
    numbers("semicolons and decimal commas, no names", "1,5;2,5\n2,5;3,5\n", [[1.5, 2.5], [2.5, 3.5]]),
    numbers("tabs in a .csv", "a\tb\n1.5\t2\n2.5\t3\n", TWO),
    numbers("bars", "a|b\n1.5|2\n2.5|3\n", TWO),
    numbers("any number of spaces", "a  b\n1.5 2\n 2.5   3 \n", TWO),
    numbers("commas in a .tsv", "a,b\n1.5,2\n2.5,3\n", TWO, file="t.tsv"),
    numbers("Excel's first line sep=;", "sep=;\na;b\n1,5;2\n2,5;3\n", TWO),
    numbers("one column with decimal commas", "a\n0,038\n0,041\n", [[0.038], [0.041]]),
    numbers("points between thousands", "a;b\n1.234,5;2\n2.000,25;3\n", [[1234.5, 2.0], [2000.25, 3.0]]),
    numbers(
        "commas between thousands, in quotes", 'a,b\n"1,234.5",2\n"2,000",3\n', [[1234.5, 2.0], [2000.0, 3.0]]
    ),
    numbers("apostrophes between thousands", "a,b\n1'234.5,2\n2'000,3\n", [[1234.5, 2.0], [2000.0, 3.0]]),
    numbers("decimal commas in quotes between commas", 'a,b\n"1,5",2\n"2,5",3\n', TWO),
    numbers("told: one number a line", "0,038\n0,041\n", [[0.038], [0.041]], decimal=","),
    numbers("told: two cells a line", "0,038\n0,041\n", [[0.0, 38.0], [0.0, 41.0]], delimiter=","),
    numbers("told: colons", "a:b\n1.5:2\n2.5:3\n", TWO, delimiter=":"),
    no("0,038 without names", "0,038\n0,041\n", "is one number with a comma, or two cells"),
    no(
        "a comma between thousands that divides a cell",
        "a,b\n11,019,-0.04\n12,5,3\n",
        "line 2 has 3 cells, expected 2",
    ),
    no("11,019 without names", "11,019,-0.04\n12,019,0.5\n", "is one number with a comma"),
    no("1,234 without names", "1,234\n2,345\n", "is one number with a comma"),
    no("a space between thousands, without names", "1 234,5\n2 345,6\n", "is one number with a comma"),
    no("a space between thousands", "x\n1 234,5\n2 345,6\n", "is one number with a space"),
    numbers("told: a space between thousands", "x\n1 234,5\n2 345,6\n", [[1234.5], [2345.6]], delimiter=";"),
    no("1,234.50 below one name", "x\n1,234.50\n2,345.60\n", "is one number with a comma", decimal="."),
    no("1,5 below one name", "x\n1,5\n2,6\n3,7\n", "is one number with a comma, or two cells"),
    no("'1,234' and nothing that tells", 'x\n"1,234"\n"2,345"\n', "could be 1234 or 1.234"),
    no(
        "points that could be either, between semicolons", "x;y\n1.234;2\n2.345;3\n", "could be 1234 or 1.234"
    ),
    no("decimal commas and points in one file", "x;y\n1,5;2.5\n2,5;3.5\n", "are written in two ways"),
    no("a delimiter that is a letter", "a,b\n1,2\n", "expected one character", delimiter="x"),
    refuses(
        "an option for text with a data frame",
        lambda: read_table(pd.DataFrame({"x": [1.0, 2.0]}), decimal=","),
        "source is no file",
    ),
    noted("semicolons are said", "a;b\n1,5;2\n2,5;3\n", "Semicolons were read as what divides cells"),
]

ROWS = [
    no("a row with a cell too few", "a,b\n1,2\n3\n", "line 3 has 1 cell, expected 2"),
    no("a row with a cell too many", "a,b\n1,2\n3,4,5\n", "line 3 has 3 cells, expected 2"),
    no("surplus cells in every row", "a,b\n1.5,2,3\n2.5,3,4\n", "has 3 cells, expected 2"),
    no("a quote that is never closed", 'a,b\n1,2\n"3,4\n', "line 3 cannot be divided into cells"),
    no(
        "a row of empty cells between others",
        "a,b\n1,2\n,\n3,4\n",
        "holds missing values (1 in 'a', 1 in 'b')",
    ),
    numbers("blank lines, and empty rows at the end", "\n\na,b\n1.5,2\n\n2.5,3\n,\n,\n\n", TWO),
    numbers("a delimiter at the end of every line", "a,b\n1.5,2,\n2.5,3,\n", TWO),
    numbers("delimiters at the ends of lines, as spreadsheets write", "a,b,,\n1.5,2,,\n2.5,3,,\n", TWO),
    numbers("line ends of three kinds", "a,b\r1.5,2\r\n2.5,3\n", TWO),
    numbers("comments before the names", "# made by hand\na,b\n1.5,2\n2.5,3\n", TWO),
    gives(
        "names in a comment, as numpy writes them, are no names",
        lambda: table("# width height\n1.5 2\n2.5 3\n").columns,
        ("x1", "x2"),
    ),
    gives(
        "names of rows, as R writes them",
        lambda: table('"a","b"\n"r1",1,2\n"r2",2,3\n').row_names,
        ("r1", "r2"),
    ),
    gives(
        "names of rows before one column, as R writes them",
        lambda: table('"a"\n"3" 1.5\n"7" 2.5\n').row_names,
        ("3", "7"),
    ),
    no("a title above names and numbers in quotes", 'Us\n"a","b"\n"1","2"\n', "if it is a title or a note"),
    no("a first line that is one number short", "1,2\n1,2,3\n2,3,4\n", "if the first column names the rows"),
    no("one number more than names", "a,b\n1.5,2,3\n2.5,3,4\n", "if the first column names the rows"),
    noted(
        "a first column of measurements without a name",
        ",b\n1.5,2\n1.7,3\n",
        "1 column(s) without a name are called x and their number",
    ),
    numbers("UTF-8 with a mark", b"\xef\xbb\xbfa,b\n1.5,2\n2.5,3\n", TWO),
    numbers("UTF-16", "a,b\n1.5,2\n2.5,3\n".encode("utf-16"), TWO),
    noted("Latin-1", "gr\xf6\xdfe\n1.5\n2\n".encode("latin-1"), "was read as Windows-1252"),
    no("bytes that are no text", bytes(range(256)), "bytes that are no text"),
    no("an empty file", "", "is empty"),
]

NAMES = [
    numbers("names 0 and 1 above decimals", "0,1\n5.1,3.5\n4.9,3.0\n", [[5.1, 3.5], [4.9, 3.0]]),
    numbers("years above counts", "2019,2020\n5,7\n3,4\n", [[5.0, 7.0], [3.0, 4.0]]),
    no("0 and 1 above whole numbers", "0,1\n5,3\n4,3\n", "could be names of columns or a row"),
    numbers("told: names 0 and 1", "0,1\n5,3\n4,3\n", [[5.0, 3.0], [4.0, 3.0]], header=True),
    numbers("told: no names", "0,1\n5,3\n4,3\n", [[0.0, 1.0], [5.0, 3.0], [4.0, 3.0]], header=False),
    no("NA in a first row without names", "NA,2.5\n1.5,3\n2,4\n", "could be names of columns or a row"),
    no("text in a first row without names", "setosa,5.1\nsetosa,4.9\n", "could be names of columns or a row"),
    no("NA above one column", "NA\n1.5\n2\n", "could be names of columns or a row"),
    no("? above one column", "?\n1.5\n2\n", "could be names of columns or a row"),
    no("a first row of a text and a whole number", "bad,5\n2,3\n4,4\n", "could be names of columns or a row"),
    no("one name twice", "a,a\n1,2\n3,4\n", "a column name appears twice, 'a'"),
    no("a name among 20,000 with a letter wrong", MANY, "did you mean 'column_17'?", columns=["colum_17"]),
    gives(
        "a name with an escape sequence",
        lambda: read_table(pd.DataFrame({"a\x1b[31m\n": [1.0, 2.0]})).columns,
        (r"a\x1b[31m",),
    ),
    no(
        "half of a name with a comma",
        '"w, cm",k\n1,2\n3,4\n',
        "put quotes around a name with a comma",
        columns=["w"],
    ),
    no("names in one text", "a,b\n1,2\n3,4\n", "expected a list of names", columns="ab"),
    no("no names at all", "a,b\n1,2\n3,4\n", "has no column to cluster", columns=[]),
    no(
        "the label among the columns",
        "a,b\n1,2\n3,4\n",
        "'b' is the label and cannot be clustered",
        columns=["a", "b"],
        label="b",
    ),
]


def column(cells: list[Any], *, name: str = "q") -> str:
    """A table of two columns, the second of numbers that are all different."""
    return f"{name},x\n" + "".join(f"{cell},{place * 0.37:.2f}\n" for place, cell in enumerate(cells))


ANSWERS = [place % 5 + 1 for place in range(40)]
INCOMES = [20_000 + 1_234 * place for place in range(40)]
PATIENTS = [f"P{place // 3:02d}" for place in range(36)]
TEXTS = ["0.5", "?", "1.5", "-2", "3e0", "NA"]

CODES = [
    *(
        noted(f"{', '.join(codes)} beside {what}", column([*codes, *values]), f"give {ways}", kinds={})
        for codes, what, values, ways in (
            (
                ["97", "98", "99"],
                "answers of 1 to 5",
                ANSWERS,
                "--missing q=97 --missing q=98 --missing q=99.",
            ),
            (["8", "9"], "answers of 1 to 5", ANSWERS, "--missing q=8 --missing q=9."),
            (["999999"], "incomes", INCOMES, "--missing q=999999."),
            (["-9"], "incomes", INCOMES, "--missing q=-9."),
        )
    ),
    noted(
        "99 in a column whose name has a space",
        column([99, *ANSWERS], name="q 1"),
        "give --missing 'q 1=99'.",
        kinds={},
    ),
    no(
        "a word of one's own among numbers",
        column(["N.M.", *INCOMES]),
        "read it as missing with --missing q=N.M.",
        kinds={},
    ),
    no(
        "rows of patients, named by texts",
        column(PATIENTS, name="patient"),
        "36 rows of 12 'patient'",
        kinds={},
    ),
    noted(
        "the same, as they are",
        column(PATIENTS, name="patient"),
        "'patient': its texts name 12 things",
        kinds={},
        aggregate="none",
    ),
]


CONTINENTS = ["EU", "NA", "AF", "AS"] * 6
WRITTEN = [
    *(
        gives(
            f"numbers such as {cells[0]}",
            lambda cells=cells: table(column(cells), kinds={}, columns=["q"]).data[:, 0].tolist(),
            values,
        )
        for cells, values in (
            (["１２", "１．５", "－３", "7"], [12.0, 1.5, -3.0, 7.0]),
            (["8:15 AM", "12:30 am", "12 PM", "1:45 p.m."], [8.25, 0.5, 12.0, 13.75]),
            (["1.5M", "2M", "12M"], [1.5, 2.0, 12.0]),
        )
    ),
    *(
        no(f"numbers such as {cells[0]!r} and {cells[1]!r}", column(cells), "write all digits out", kinds={})
        for cells in (["1.3B", "2.5M", "3k", "800"], ["$1.3B", "$2.5M"], ["4k", "5k"])
    ),
    noted(
        "NA among codes of two letters",
        column(CONTINENTS),
        "In 'q' 6 cell(s) written NA were read as missing, beside codes such as AF: if NA is a code too, "
        "give --missing q=.",
        kinds={},
    ),
    gives(
        "NA among codes of two letters, told to be one, in new rows too",
        lambda: (
            (old := table(column(CONTINENTS), kinds={}, missing=["q="])).levels[1],
            read_new_rows(pd.DataFrame({"x": [1.0, 2.0], "q": ["NA", ""]}), old).written()[1][1].tolist(),
        ),
        (("AF", "AS", "EU", "NA"), ["NA", None]),
    ),
]


def same_as_text(frame: pd.DataFrame, **told: Any) -> list[Any]:
    """Read a frame, as it is and as the CSV that pandas makes of it."""
    frame.to_csv("t.csv", index=False)
    found = [read_table(source, **told) for source in (frame, "t.csv")]
    return [
        np.nan_to_num(one.data, nan=-1e9).tolist() == np.nan_to_num(found[0].data, nan=-1e9).tolist()
        and one.levels == found[0].levels
        for one in found
    ]


def big_endian() -> list[Any]:
    np.save("t.npy", np.array([[1.5, 2.0], [2.5, 3.0]], dtype=">f8"))
    return read_table("t.npy", kinds={}).data.tolist()


FRAMES = [
    *(
        gives(
            f"a data frame of {what}",
            partial(same_as_text, pd.DataFrame({"a": cells, "x": range(len(cells))}), kinds={"x": "number"}),
            [True, True],
        )
        for what, cells in (
            ("numbers as texts", [*TEXTS, *map(str, range(20, 30))]),
            ("codes as texts", [f"{place % 4:03d}" for place in range(16)]),
            ("0 and 1 as texts", ["0", "1"] * 8),
            ("whole numbers as categories", pd.Categorical([1, 2, 3, 1] * 4)),
        )
    ),
    gives("a .npy file of another byte order, of any kind", big_endian, TWO),
]

FLAT = torch.tensor(TWO)
TYPES = [
    *(
        refuses(
            f"kinds: {kind!r}",
            partial(read_table, pd.DataFrame({"a": [1.0, 2.0]}), kinds={"a": kind}),
            "unknown kind",
        )
        for kind in (5, None, ["number"], b"number")
    ),
    *(
        refuses(f"a table from a tensor {what}", partial(read_table, tensor), words)
        for what, tensor, words in (
            ("on the device meta", FLAT.to("meta"), "that holds its values"),
            ("of complex numbers, conjugated", FLAT.to(torch.complex64).conj(), "no real numbers"),
            ("that is sparse", FLAT.to_sparse(), "expected a dense array"),
        )
    ),
    *(
        gives(f"a table from a tensor {what}", lambda tensor=tensor: read_table(tensor).data.tolist(), TWO)
        for what, tensor in (
            ("of bfloat16", FLAT.bfloat16()),
            ("whose signs are not taken yet", torch._neg_view(-FLAT)),
        )
    ),
    *(
        refuses(
            f"out: {out!r}", partial(diagnose, np.eye(4, dtype=int), out=out), "expected the name of a folder"
        )
        for out in (5, True, ["results"])
    ),
]

CASES = [*LABELS, *MARKS, *ROWS, *NAMES, *CODES, *WRITTEN, *FRAMES, *TYPES]
