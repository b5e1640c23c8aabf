"""Tables of text: dialects, labels, rows, names, what has to be said, and files of other software."""

import codecs
import csv
import gzip
import io
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from faults.cases import Case, of_family

from pyroclust import cluster, diagnose, read_draws, read_table
from pyroclust.data import standardise
from pyroclust.data.datasets import read_new_rows
from pyroclust.partitions import Draws
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.files import csv_parts

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


def column(cells: list[Any], *, name: str = "q") -> str:
    """A table of two columns, the second of numbers that are all different."""
    return f"{name},x\n" + "".join(f"{cell},{place * 0.37:.2f}\n" for place, cell in enumerate(cells))


LABELS = [
    labels(
        "classes that begin alike, one of a thousand letters, one missing",
        f"x,k\n1,versicolor\n2,virginica\n4,{'a' * 1000}\n5,\n",
        ["versicolor", "virginica", "a" * 1000, None],
    ),
    labels("labels NA, None and nan", "x,k\n1,NA\n2,None\n4,nan\n", ["NA", "None", "nan"]),
    labels(
        "labels 01, 1, 1e3 and long numbers",
        "x,k\n1,01\n2,1\n4,1e3\n5,12345678901234567890\n6,12345678901234567891\n",
        ["01", "1", "1e3", "12345678901234567890", "12345678901234567891"],
    ),
    labels("semicolons in labels between commas", 'a,k\n1.5,"x;y"\n2.5,"z;w"\n', ["x;y", "z;w"]),
    *(
        noted(f"labels: {name}", "x,k\n1.5,{}\n2,{}\n4,{}\n".format(*cells), words, label="k")
        for name, cells, words in (
            ("a missing one", ("a", "b", ""), "1 of 3 rows have no label in 'k'"),
            ("a class called NA", ("NA", "b", "b"), "“NA” is the name of a class"),
            ("one class only", ("a", "a", "a"), "all labels are the same one, “a”"),
            ("two cases of letters", ("A", "a", "a"), "“A” and “a” are two classes"),
            ("two forms of letters", ("\u00e9", "e\u0301", "a"), "are two classes"),
            ("invisible characters", ("a\u200b", "a", "b"), "are two classes"),
            ("two spaces", ("a  b", "a b", "b"), "are two classes"),
            ("a last row of means", ("x", "y", "mean"), "“mean”"),
        )
    ),
    no("a column of labels without any", "x,k\n1,\n2,\n", "column 'k' holds no label", label="k"),
]

TWO = [[1.5, 2.0], [2.5, 3.0]]
VALUES = [[1.5], [2.5], [3.75]]
COMMA = "is one number with a comma"
MARKS = [
    numbers("semicolons and decimal commas", "a;b\n1,5;2\n2,5;3\n", TWO),
    numbers("semicolons and decimal commas, no names", "1,5;2,5\n2,5;3,5\n", [[1.5, 2.5], [2.5, 3.5]]),
    numbers("any number of spaces", "a  b\n1.5 2\n 2.5   3 \n", TWO),
    numbers("a bar at both ends of lines", "|a|b|\n|1.5|2|\n|2.5|3|\n", TWO),
    numbers("commas in a .tsv", "a,b\n1.5,2\n2.5,3\n", TWO, file="t.tsv"),
    numbers("Excel's first line sep=;", "sep=;\na;b\n1,5;2\n2,5;3\n", TWO),
    numbers("one column with decimal commas", "a\n0,038\n0,041\n", [[0.038], [0.041]]),
    numbers("decimal commas in quotes between commas", 'a,b\n"1,5",2\n"2,5",3\n', TWO),
    *(
        numbers(f"between thousands: {mark}", text, [[1234.5, 2.0], [2000.25, 3.0]])
        for mark, text in (
            ("points", "a;b\n1.234,5;2\n2.000,25;3\n"),
            ("commas, in quotes", 'a,b\n"1,234.5",2\n"2,000.25",3\n'),
            ("apostrophes", "a,b\n1'234.5,2\n2'000.25,3\n"),
            ("thin spaces", "a;b\n1\u2009234,5;2\n2\u2009000,25;3\n"),
        )
    ),
    numbers("told: one number a line", "0,038\n0,041\n", [[0.038], [0.041]], decimal=","),
    numbers("told: two cells a line", "0,038\n0,041\n", [[0.0, 38.0], [0.0, 41.0]], delimiter=","),
    numbers("told: colons", "a:b\n1.5:2\n2.5:3\n", TWO, delimiter=":"),
    numbers("told: a space between thousands", "x\n1 234,5\n2 345,6\n", [[1234.5], [2345.6]], delimiter=";"),
    *(
        gives(
            f"decimal commas and text: {text.splitlines()[1]!r}",
            lambda text=text: table(text, columns=["v"]).data.tolist(),
            VALUES,
        )
        for text in (
            "name;v\nA;1,5\nB;2,5\nC;3,75\n",
            "v;name\n1,5;A\n2,5;B\n3,75;C\n",
            "name\tv\nA\t1,5\nB\t2,5\nC\t3,75\n",
            "name v\nA 1,5\nB 2,5\nC 3,75\n",
            "day;v\n2020-01-01;1,5\n2020-01-02;2,5\n2020-01-03;3,75\n",
            "n, first;v\nAnn;1,5\nB;2,5\nC;3,75\n",
        )
    ),
    *(
        no(f"{text.splitlines()[0]!r}, then {text.splitlines()[1]!r}", text, words, **told)
        for text, words, told in (
            ("0,038\n0,041\n", f"{COMMA}, or two cells", {}),
            ("11,019,-0.04\n12,019,0.5\n", COMMA, {}),
            ("1 234,5\n2 345,6\n", COMMA, {}),
            ("x\n1 234,5\n2 345,6\n", "is one number with a space", {}),
            ("x\n1,234.50\n2,345.60\n", COMMA, {"decimal": "."}),
            ("x\n1,5\n2,6\n3,7\n", f"{COMMA}, or two cells", {}),
            ("a,b\n1,5\n2,5\n", "or two cells", {"decimal": ","}),
            ("a,b\n11,019,-0.04\n12,5,3\n", "line 2 has 3 cells, expected 2", {}),
            ('x\n"1,234"\n"2,345"\n', "could be 1234 or 1.234", {}),
            ("x;y\n1,5;2.5\n2,5;3.5\n", "are written in two ways", {}),
            ("Rome 1,5\nOslo 2,5\n", "spaces or commas could divide", {}),
            ("A;1,5\nB;2,5\nA;3,75\n", "could be names of columns or a row", {}),
            ("a,b\n1,2\n", "expected one character", {"delimiter": "x"}),
        )
    ),
    gives(
        "spaces between thousands beside text",
        lambda: table("name,v\nA,1 234\nB,2 345\n", columns=["v"]).data.tolist(),
        [[1234.0], [2345.0]],
    ),
    gives(
        "words and numbers in one cell, between commas",
        lambda: table("room name,v\nRoom 1,5\nRoom 2,7\n", columns=["v"]).data.tolist(),
        [[5.0], [7.0]],
    ),
    refuses(
        "an option for text with a data frame",
        lambda: read_table(pd.DataFrame({"x": [1.0, 2.0]}), decimal=","),
        "source is no file",
    ),
    noted("a mark of UTF-8 twice", codecs.BOM_UTF8 * 2 + b"a;b\n1.5;2\n2.5;3\n", "Semicolons were read"),
]

TITLE = "if it is a title or a note"
ROWS = [
    no("a row with a cell too few", "a,b\n1,2\n3\n", "line 3 has 1 cell, expected 2"),
    no("surplus cells in every row", "a,b\n1.5,2,3\n2.5,3,4\n", "has 3 cells, expected 2"),
    no("a quote that is never closed", 'a,b\n1,2\n"3,4\n', "line 3 cannot be divided into cells"),
    no("a row of empty cells", "a,b\n1,2\n,\n3,4\n", "holds missing values (1 in 'a', 1 in 'b')"),
    numbers("blank lines, and empty rows at the end", "\n\na,b\n1.5,2\n\n2.5,3\n,\n,\n\n", TWO),
    numbers("delimiters at the ends of lines, as spreadsheets write", "a,b,,\n1.5,2,,\n2.5,3,,\n", TWO),
    numbers("line ends of three kinds", "a,b\r1.5,2\r\n2.5,3\n", TWO),
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
    no("a title above names and numbers in quotes", 'Us\n"a","b"\n"1","2"\n', TITLE),
    no("a note below the rows", "a,b\n1.5,2\n2.5,3\n\nSource: us\n", f"{TITLE}, remove it"),
    no("a first line that is one number short", "1,2\n1,2,3\n2,3,4\n", "if the first column names the rows"),
    no("names in the middle", "a,b\n1.5,2\na,b\n2.5,3\n", "names of its columns come again in row 2"),
    noted(
        "a first column of measurements without a name",
        ",b\n1.5,2\n1.7,3\n",
        "1 column(s) without a name are called x and their number",
    ),
    noted("a last row of totals, named", ",a\nx,1.5\ny,2.5\nTotal,4.0\n", "“Total”, was read as a point"),
    noted("a last row of totals, in a column", "n,a\nx,1.5\ny,2.5\nSum:,4\n", "“Sum:”", columns=["a"]),
    no("bytes that are no text", bytes(range(256)), "bytes that are no text"),
    no("an empty file", "", "is empty"),
]

MANY = ",".join(f"column_{i}" for i in range(20_000)) + ("\n" + ",".join(["1"] * 20_000)) * 2
NAMES = [
    numbers("names 0 and 1 above decimals", "0,1\n5.1,3.5\n4.9,3.0\n", [[5.1, 3.5], [4.9, 3.0]]),
    numbers("years above counts", "2019,2020\n5,7\n3,4\n", [[5.0, 7.0], [3.0, 4.0]]),
    numbers("told: names 0 and 1", "0,1\n5,3\n4,3\n", [[5.0, 3.0], [4.0, 3.0]], header=True),
    numbers("told: no names", "0,1\n5,3\n4,3\n", [[0.0, 1.0], [5.0, 3.0], [4.0, 3.0]], header=False),
    *(
        no(f"a first row of {first!r}", f"{first}\n{rest}", "could be names of columns or a row")
        for first, rest in (
            ("0,1", "5,3\n4,3\n"),
            ("NA,2.5", "1.5,3\n2,4\n"),
            ("setosa,5.1", "setosa,4.9\n"),
            ("?", "1.5\n2\n"),
            ("bad,5", "2,3\n4,4\n"),
        )
    ),
    no("one name twice", "a,a\n1,2\n3,4\n", "a column name appears twice, 'a'"),
    no("a name among 20,000 with a letter wrong", MANY, "did you mean 'column_17'?", columns=["colum_17"]),
    gives(
        "a name with an escape sequence",
        lambda: read_table(pd.DataFrame({"a\x1b[31m\n": [1.0, 2.0]})).columns,
        (r"a\x1b[31m",),
    ),
    gives(
        "a column whose letters have another form",
        lambda: table("e\u0301t\u00e9,b\n1.5,2\n2.5,3\n", columns=["\u00e9t\u00e9"]).data.tolist(),
        [[1.5], [2.5]],
    ),
    no("half of a name with a comma", '"w, cm",k\n1,2\n3,4\n', "put quotes around a name", columns=["w"]),
    no("names in one text", "a,b\n1,2\n3,4\n", "expected a list of names", columns="ab"),
    no("no names at all", "a,b\n1,2\n3,4\n", "has no column to cluster", columns=[]),
]

ANSWERS = [place % 5 + 1 for place in range(40)]
INCOMES = [20_000 + 1_234 * place for place in range(40)]
CONTINENTS = ["EU", "NA", "AF", "AS"] * 6
CELLS = [
    *(
        noted(f"{', '.join(codes)} beside {what}", column([*codes, *values]), f"give {ways}", kinds={})
        for codes, what, values, ways in (
            (["97", "98"], "answers of 1 to 5", ANSWERS, "--missing q=97 --missing q=98."),
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
        for cells in (["1.3B", "2.5M", "3k", "800"], ["4k", "5k"])
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


FLAT = torch.tensor(TWO)
IN_MEMORY = [
    *(
        gives(
            f"a data frame of {what}",
            partial(same_as_text, pd.DataFrame({"a": cells, "x": range(len(cells))}), kinds={"x": "number"}),
            [True, True],
        )
        for what, cells in (
            ("numbers as texts", ["0.5", "?", "1.5", "-2", "3e0", "NA", *map(str, range(20, 30))]),
            ("codes as texts", [f"{place % 4:03d}" for place in range(16)]),
            ("whole numbers as categories", pd.Categorical([1, 2, 3, 1] * 4)),
        )
    ),
    *(
        refuses(
            f"kinds: {kind!r}",
            partial(read_table, pd.DataFrame({"a": [1.0, 2.0]}), kinds={"a": kind}),
            "unknown kind",
        )
        for kind in (5, ["number"])
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
    refuses("out: 5", partial(diagnose, np.eye(4, dtype=int), out=5), "expected the name of a folder"),
]


def notes_first(folder: Path) -> str:
    """See that each note is told before chains run."""
    (folder / "t.csv").write_text(
        "id;survey weight;p;q;r\n" + "".join(f"{9 * k};0,{8 + k % 2};1.{k:03d},5;{k}%;a\n" for k in range(30))
    )
    told: list[str] = []
    found = cluster("t.csv", mcmc_draws=10, num_chains=1, warmup=10, progress=told.append, decimal=",")
    assert found.data is not None
    notes = found.data.table.notes
    assert len(notes) > 4, notes
    assert told[: len(notes)] == list(notes)
    assert told[len(notes)].startswith("running"), told
    return f"{len(notes)} notes"


ODD_NAMES = ["row", "label", "guide_cluster", "row (given)", "=a", "-b", "@c", " d ", 'e"f', "g;h"]


def written_names(folder: Path) -> str:
    """Read back what is written of columns that are called as ours."""
    frame = pd.DataFrame(np.arange(20.0).reshape(2, 10), columns=ODD_NAMES).assign(kind=["=x", " y"])
    points = read_table(frame, label="kind")
    draws = {name: Draws(assignments=np.array([[[0, 1], [0, 1], [0, 0]]])) for name in ("mcmc", "guide")}
    found = Analysis(command="compare", data=AnalysedData(points, standardise(points)), draws=draws)
    text = "".join(csv_parts(found.frame()))
    by_csv = list(csv.reader(io.StringIO(text, newline="")))
    by_pandas = pd.read_csv(io.StringIO(text, newline=""))
    assert by_csv[0] == list(by_pandas.columns), "read differently"
    assert len({*by_csv[0]}) == len(by_csv[0]) == len(by_csv[1]), f"names come twice: {by_csv[0]}"
    assert not any(cell.lstrip().startswith(("=", "@", "-b")) for row in by_csv for cell in row), text
    (folder / "a.csv").write_text(text)
    ours = read_table(folder / "a.csv", label="label")
    assert ours.labels is not None
    assert ours.labels.tolist() == ["'=x", " y"]
    np.testing.assert_array_equal(ours.data[:, 4:14], frame[ODD_NAMES])
    return ", ".join(by_csv[0])


WRITTEN = [
    Case("tables", "a table of which much is to be said", "all of it, before the chains run", notes_first),
    Case(
        "tables",
        "columns called row, label and guide_cluster, written",
        "every name once, read back alike by three readers",
        written_names,
    ),
]


def packed() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("t.csv", "a,b\n1.5,2\n2.5,3\n")
    return stream.getvalue()


def folder_of_nothing() -> None:
    Path("t.csv").mkdir()
    read_table("t.csv")


NO_TEXT, WEB, SAVE = "bytes that are no text", "as in JSON or web pages", "unpack it, or save it as CSV"
OTHERS = [
    *(
        no(name, content, words, file=file)
        for name, content, words, file in (
            ("a table packed by gzip", gzip.compress(b"a,b\n1.5,2\n"), f"{NO_TEXT}, as packed", "t.csv"),
            ("a zip archive or a workbook of Excel", packed(), SAVE, "t.csv"),
            ("a workbook of an old Excel", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", SAVE, "t.csv"),
            ("a Parquet file called .csv", b"PAR1\x15\x04\x15", NO_TEXT, "t.csv"),
            ("a web page", b"<!DOCTYPE html>\n<table><tr><td>1</td></tr></table>", WEB, "t.csv"),
            ("JSON", b'[{"a": 1.5}, {"a": 2.5}]', WEB, "t.csv"),
            ("a file of Weka", b"@RELATION x\n@ATTRIBUTE a\n@DATA\n1.5\n", "not only real numbers", "t.csv"),
            ("control characters that are white space", b"a b\n\x1c\x1d 5\n\x1e 7\n", NO_TEXT, "t.csv"),
            ("rows in brackets", b"[1.5, 2.5]\n[2.5, 3.5]\n", "brackets stand around its rows", "t.csv"),
            ("a suffix of Libre Office", b"", ": save the sheet as CSV", "t.ods"),
            ("a suffix of an archive", b"", ": unpack it first", "t.csv.gz"),
            ("a suffix of SPSS", b"", "write it as CSV", "t.sav"),
            ("text called .txt", b"", "name it .csv", "t.txt"),
        )
    ),
    refuses("a folder as a table", folder_of_nothing, "has no images"),
    refuses("standard input as draws", lambda: read_draws("-"), "standard input is not read"),
]

CASES = [*LABELS, *MARKS, *ROWS, *NAMES, *CELLS, *IN_MEMORY, *WRITTEN, *OTHERS]
