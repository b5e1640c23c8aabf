"""Delimiters beside decimal marks and text, files of other software under the name of a table."""

import codecs
import gzip
import io
import zipfile
from pathlib import Path

from faults.cases import Case, of_family
from faults.tables import no, noted, numbers, table

from pyroclust import read_draws, read_table

refuses, gives, _ = of_family("tables")


TEXT = "a,b\n1.5,2\n2.5,3\n"
VALUES = [[1.5], [2.5], [3.75]]


def beside(name: str, text: str, *, file: str = "t.csv") -> Case:
    """A table of a column of text, and v with decimal commas."""
    return gives(name, lambda: table(text, name=file, columns=["v"]).data.tolist(), VALUES)


def foreign(name: str, content: bytes, words: str, *, file: str = "t.csv") -> Case:
    return no(name, content, words, file=file)


def packed() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("t.csv", TEXT)
    return stream.getvalue()


def folder() -> None:
    Path("t.csv").mkdir()
    read_table("t.csv")


def draws_in_brackets() -> None:
    Path("z.csv").write_text("[0, 0, 1]\n[0, 1, 1]\n")
    read_draws("z.csv")


DELIMITERS = [
    beside("text, then decimal commas, between semicolons", "name;v\nA;1,5\nB;2,5\nC;3,75\n"),
    beside("decimal commas, then text, between semicolons", "v;name\n1,5;A\n2,5;B\n3,75;C\n"),
    beside("two columns of text beside decimal commas", "n;k;v\nA;x;1,5\nB;y;2,5\nC;x;3,75\n"),
    beside("text beside decimal commas, between tabs", "name\tv\nA\t1,5\nB\t2,5\nC\t3,75\n"),
    beside("text beside decimal commas, between bars", "name|v\nA|1,5\nB|2,5\nC|3,75\n"),
    beside("text beside decimal commas, between spaces", "name v\nA 1,5\nB 2,5\nC 3,75\n"),
    beside("dates beside decimal commas", "day;v\n2020-01-01;1,5\n2020-01-02;2,5\n2020-01-03;3,75\n"),
    beside("a comma in a name above decimal commas", "n, first;v\nA;1,5\nB;2,5\nC;3,75\n"),
    no(
        "text and decimal commas between spaces, no names",
        "Rome 1,5\nOslo 2,5\n",
        "spaces or commas could divide",
    ),
    no(
        "text beside decimal commas, between semicolons, no names",
        "A;1,5\nB;2,5\nA;3,75\n",
        "could be names of columns or a row",
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
    gives(
        "semicolons in labels between commas",
        lambda: table('a,k\n1.5,"x;y"\n2.5,"z;w"\n', label="k").labels.tolist(),
        ["x;y", "z;w"],
    ),
    numbers(
        "thin spaces between thousands", "a;b\n1\u2009234;2,5\n2\u2009000;3,5\n", [[1234, 2.5], [2000, 3.5]]
    ),
    no("told a decimal comma, and commas between names", "a,b\n1,5\n2,5\n", "or two cells", decimal=","),
    noted("a mark of UTF-8 twice", codecs.BOM_UTF8 * 2 + b"a;b\n1.5;2\n2.5;3\n", "Semicolons were read"),
]

FOREIGN = [
    foreign(
        "a table packed by gzip", gzip.compress(TEXT.encode()), "bytes that are no text, as packed files"
    ),
    foreign("a zip archive or a workbook of Excel", packed(), "unpack it, or save it as CSV"),
    foreign(
        "a workbook of an old Excel", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "unpack it, or save it as CSV"
    ),
    foreign("a Parquet file called .csv", b"PAR1\x15\x04\x15", "bytes that are no text"),
    foreign("an array of NumPy called .csv", b"\x93NUMPY\x01\x00", "bytes that are no text"),
    foreign("a PDF document", b"%PDF-1.4\n%\xe2\xe3\nstream\n\x01", "bytes that are no text"),
    foreign("a web page", b"<!DOCTYPE html>\n<table><tr><td>1</td></tr></table>", "as in JSON or web pages"),
    foreign("JSON", b'[{"a": 1.5}, {"a": 2.5}]', "as in JSON or web pages"),
    foreign("a file of Weka", b"@RELATION x\n@ATTRIBUTE a NUMERIC\n@DATA\n1.5\n", "not only real numbers"),
    foreign(
        "control characters that are white space", b"a b\n\x1c\x1d 5\n\x1e 7\n", "bytes that are no text"
    ),
    foreign("rows in brackets", b"[1.5, 2.5]\n[2.5, 3.5]\n", "brackets stand around its rows"),
    foreign("a suffix of Libre Office", b"", ": save the sheet as CSV", file="t.ods"),
    foreign("a suffix of an archive", b"", ": unpack it first", file="t.csv.gz"),
    foreign("a suffix of SPSS", b"", "write it as CSV", file="t.sav"),
    foreign("text called .txt", b"", "name it .csv", file="t.txt"),
    refuses("a folder as a table", folder, "has no images"),
    refuses("standard input as draws", lambda: read_draws("-"), "standard input is not read"),
    refuses("draws in brackets", draws_in_brackets, "brackets stand around its rows"),
]

CASES = [*DELIMITERS, *FOREIGN]
