"""One reading of levels, names, headers and missing cells of any file, and files that ask for too much."""

import json
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import openpyxl
import pandas as pd
import pyarrow
import pyarrow.parquet
from faults.cases import Case, of_family
from faults.tables import noted, table
from PIL import Image
from scipy.sparse import csr_array, save_npz

from pyroclust import load_guide, predict, read_table, update
from pyroclust.data.datasets import read_new_rows
from pyroclust.recipes.tables import labelled_tables

refuses, gives, _ = of_family("readers")

OLD = Path(__file__).parents[1] / "analysis" / "folder_of_0_1" / "mcmc.zip"


def sheet(*rows: Sequence[Any], far: str | None = None, **told: Any) -> Any:
    """Write a workbook and read it."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    if far is not None:
        book.active[far] = 1
    book.save("t.xlsx")
    return read_table("t.xlsx", **told)


def packed_sheet() -> Any:
    """Write a workbook of some kB whose sheet unpacks to many MB."""
    sheet(["a"], [1.5], [2.5])
    with zipfile.ZipFile("t.xlsx") as old, zipfile.ZipFile("u.xlsx", "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            content = old.read(member)
            new.writestr(member.filename, content + b" " * (50 << 20) * ("sheet1" in member.filename))
    return read_table("u.xlsx")


def many_rows() -> Any:
    """Write a Parquet file that says of itself to have 10^13 numbers."""
    sink = pyarrow.BufferOutputStream()
    rows = pyarrow.table({"a": pyarrow.array(np.zeros(1 << 20), pyarrow.float64())})
    with pyarrow.parquet.ParquetWriter(sink, rows.schema, compression="zstd") as writer:
        writer.write_table(rows)
    Path("t.parquet").write_bytes(sink.getvalue().to_pybytes())
    import pyroclust.core.machine

    kept, pyroclust.core.machine.free_memory = pyroclust.core.machine.free_memory, lambda: 10 << 20
    try:
        return read_table("t.parquet")
    finally:
        pyroclust.core.machine.free_memory = kept


def parquet(labels: Any) -> list[str | None]:
    """Return the labels in a Parquet file."""
    pd.DataFrame({"x": np.arange(len(labels)) + 0.5, "k": labels}).to_parquet("t.parquet")
    return read_table("t.parquet", label="k").labels.tolist()


def graph(pointers: list[int], indices: list[int]) -> Any:
    """Write a matrix whose pointers are these, and read it."""
    good = csr_array(np.ones((3, 3)) - np.eye(3))
    save_npz("g.npz", good)
    with np.load("g.npz") as held:
        parts = dict(held)
    parts |= {"indptr": np.array(pointers, np.int32), "indices": np.array(indices, np.int32)}
    np.savez("g.npz", **parts)
    return read_table("g.npz")


def edges(text: str) -> tuple[str, ...]:
    return table(text, edges=True).row_names


def levels(text: str) -> list[tuple[str, ...]]:
    found = table(text, kinds={})
    return [own for own in found.levels if own]


def new_rows(old: Sequence[str], new: Sequence[str | None]) -> list[float]:
    """Return the places of new categories among the old ones."""
    clustered = read_table(
        pd.DataFrame({"x": np.arange(len(old)) / 7, "k": list(old)}), kinds={"k": "category"}
    )
    rows = pd.DataFrame({"x": np.zeros(len(new)), "k": list(new)})
    read = read_new_rows(rows, clustered, refuses_unseen=True)
    return read.data[:, 1].tolist()


def updated() -> list[str]:
    """Add the same rows to a comparison again and again, and return the names of all rows."""
    shutil.unpack_archive(OLD, ".")
    rows = pd.DataFrame({"a": [0.0], "b": [0.0]})
    found = update(".", rows, num_draws=10)
    return list(update(update(found, rows, num_draws=10), rows, num_draws=10).row_names[-3:])


def many(*rows: str) -> str:
    return "a,b\n" + "\n".join(f"{row},{place / 7:.3f}" for place, row in enumerate(rows)) + "\n"


def no(name: str, call: Callable[[], Any], words: str) -> Case:
    return refuses(name, call, words)


def is_(name: str, call: Callable[[], Any], value: Any) -> Case:
    return gives(name, call, value)


WORKBOOKS = [
    is_(
        "labels 01, 1 as text and 1 as a number, NA and none, in a workbook",
        lambda: sheet(
            ["x", "k"], [1.5, "01"], [2.5, "1"], [3.5, 1], [4, "NA"], [5, None], label="k"
        ).labels.tolist(),
        ["01", "1", "1", "NA", None],
    ),
    is_(
        "a workbook without names", lambda: sheet([1.5, 2], [2.5, 3]).data.tolist(), [[1.5, 2.0], [2.5, 3.0]]
    ),
    is_(
        "a workbook, told: no names",
        lambda: sheet([1, 2], [2, 3], header=False).data.tolist(),
        [[1.0, 2.0], [2.0, 3.0]],
    ),
    no(
        "whole numbers above whole numbers in a workbook",
        lambda: sheet([0, 1], [5, 3], [4, 3]),
        "--no-header",
    ),
    no(
        "an empty row in a workbook",
        lambda: sheet(["a", "b"], [1.5, 2], [None, None], [2.5, 3]),
        "holds missing values (1 in 'a', 1 in 'b')",
    ),
    is_(
        "names of rows in a workbook",
        lambda: sheet([None, "a"], ["r1", 1.5], ["r2", 2.5]).row_names,
        ("r1", "r2"),
    ),
    no(
        "a cell in the far corner",
        lambda: sheet(["a"], [1.5], [2.5], far="XFD1048576"),
        "cells that stand apart",
    ),
    no("a cell far below", lambda: sheet(["a"], [1.5], [2.5], far="B1048576"), "cells that stand apart"),
    no("a cell far to the right", lambda: sheet(["a"], [1.5], [2.5], far="XFD3"), "cells that stand apart"),
    refuses("a sheet that unpacks to 50 MB", packed_sheet, "expected at most 32", slow=True),
]


def image(content: bytes) -> Any:
    """Write a folder of two images, of which one has this content, and read it."""
    Path("images").mkdir()
    Image.new("L", (8, 8)).save("images/1.png")
    Path("images/2.png").write_bytes(content)
    return read_table("images")


def white(width: int, height: int) -> bytes:
    """Return a PNG file that says of itself to have so many pixels."""
    parts = (
        b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0),
        b"IDAT" + zlib.compress(b""),
        b"IEND",
    )
    chunks = [struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def folder_of_results(change: Callable[[], None]) -> Any:
    """Unpack a folder of results that somebody has changed, and predict with it."""
    shutil.unpack_archive(OLD, ".")
    change()
    return predict(".", pd.DataFrame({"a": [0.0], "b": [0.0]}))


def values_elsewhere() -> None:
    Path("secret").write_bytes(bytes(320))
    with h5py.File("draws.nc", "a") as file:
        group = file["observed_data"]
        shape = group["data"].shape
        del group["data"]
        group.create_dataset("data", shape=shape, dtype="f8", external=[("secret", 0, 320)])


def scales_below_0() -> None:
    with h5py.File("draws.nc", "a") as file:
        file["observed_data"]["scale"][...] = -1.0


def guide_of(change: Callable[[], None]) -> Any:
    """Copy a guide of the shelf here, change it and load it."""
    shutil.copytree(files("pyroclust").joinpath("pretrained_guides/ncp-nig1d"), ".", dirs_exist_ok=True)
    change()
    return load_guide(".")


def pipe(name: str) -> None:
    Path(name).unlink()
    os.mkfifo(name)


def endless(name: str) -> None:
    Path(name).unlink()
    Path(name).symlink_to("/dev/zero")


def summary(change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what a summary says."""
    content = json.loads(Path("summary.json").read_text("utf-8"))
    change(content)
    Path("summary.json").write_text(json.dumps(content))


def attribute(name: str, text: str) -> None:
    with h5py.File("draws.nc", "a") as file:
        file["observed_data"].attrs[name] = text


def beside_recipe(folder: str) -> Any:
    return labelled_tables(Path("r.toml"), folder=folder, label="k")


def results(name: str, change: Callable[[], None], words: str = "holds no analysis") -> Case:
    return no(name, lambda: folder_of_results(change), words)


FILES = [
    no(
        "a PostScript file called .png",
        lambda: image(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n"),
        "no image of the formats",
    ),
    no(
        "an image of 120 million pixels", lambda: image(white(12_000, 10_000)), "expected at most 100,000,000"
    ),
    no("a Parquet file beyond memory", many_rows, "take fewer rows"),
    is_("whole labels beside a missing one in Parquet", lambda: parquet([1.0, None, 2.0]), ["1", None, "2"]),
    is_("labels as text in Parquet", lambda: parquet(["01", "1", None]), ["01", "1", None]),
    no(
        "a .npz graph whose pointers are beyond its entries",
        lambda: graph([0, 10**6, 4, 6], [1, 2, 0, 2, 0, 1]),
        "no sparse matrix",
    ),
    no(
        "a .npz graph whose pointers fall",
        lambda: graph([0, 5, 2, 6], [1, 2, 0, 2, 0, 1]),
        "no sparse matrix",
    ),
    no(
        "a .npz graph whose columns are beyond it",
        lambda: graph([0, 2, 4, 6], [1, 2, 0, 10**6, 0, 1]),
        "no sparse matrix",
    ),
    is_(
        "names of nodes that begin alike for 60 letters",
        lambda: len(edges(f"{'n' * 60}1,{'n' * 60}2\n{'n' * 60}2,{'n' * 60}3\n")),
        3,
    ),
]

NAMES = [
    is_(
        "a first edge whose nodes come again",
        lambda: edges("Ann,Bob\nAnn,Cid\nBob,Cid\nCid,Dan\n"),
        ("Ann", "Bob", "Cid", "Dan"),
    ),
    is_("numbers of nodes without names", lambda: edges("3,1\n1,2\n"), ("1", "2", "3")),
    is_("names above edges", lambda: edges("from,to\nAnn,Bob\nBob,Cid\n"), ("Ann", "Bob", "Cid")),
    no("0 and 1 above numbers of nodes", lambda: edges("0,1\n1,2\n"), "could be names of columns or a row"),
]

LEVELS = [
    is_("Yes, yes and no", lambda: levels(many("Yes", "yes", "no", "no", "yes", "no")), [("no", "yes")]),
    is_("yes, No, YES, no", lambda: levels(many("yes", "No", "YES", "no", "yes", "No")), [("No", "yes")]),
    is_("T, t and F", lambda: levels(many(*"TtFtTF" * 2)), [("F", "T", "t")]),
    noted(
        "categories that differ in capitals",
        many(*["A", "a", "b"] * 4),
        "“A” and “a” are two classes",
        kinds={},
    ),
    is_(
        "whole numbers of seven digits as categories",
        lambda: levels(many(*["1234567", "1234568"] * 6)),
        [("1234567", "1234568")],
    ),
    no(
        "an empty column that is named",
        lambda: table("a,b\n1,\n2,\n4,\n", columns=["a", "b"], kinds={}),
        "column 'b' holds no value",
    ),
    noted("-999 beside an empty cell", "a,b\n.5,1\n-999,2\n,3.5\n.75,4\n.1,5\n", "-999 (1 in 'a')", kinds={}),
    is_("new rows of A and a", partial(new_rows, ["A"] * 20 + ["a"] * 20, ["A", "a"]), [0.0, 1.0]),
    is_("new rows of 01 and 1", partial(new_rows, ["01"] * 20 + ["1"] * 20, ["01", "1"]), [0.0, 1.0]),
    no(
        "a new row of a where there was A",
        partial(new_rows, ["A", "B"] * 9, ["a"]),
        "holds 'a', which no row had",
    ),
    no(
        "a new row of 01 where there was 1",
        partial(new_rows, ["1", "2"] * 9, ["01"]),
        "holds '01', which no row had",
    ),
    is_("a new row of 1.0 where there was 1", partial(new_rows, ["1", "2"] * 9, ["1.0"]), [0.0]),
]

RESULTS = [
    results("values of draws.nc in any other file", values_elsewhere, "lie in other files"),
    results("scales of columns below 0", scales_below_0, "not positive"),
    results("draws.nc is a pipe", lambda: pipe("draws.nc"), "expected a regular file"),
    results("draws.nc is a device", lambda: endless("draws.nc"), "expected a regular file"),
    results("summary.json is a pipe", lambda: pipe("summary.json"), "expected a regular file"),
    results("summary.json is a device", lambda: endless("summary.json"), "expected a regular file"),
    results(
        "a summary of brackets", lambda: Path("summary.json").write_text("[" * 10**5), "nested too deeply"
    ),
    results("a summary that is a list", lambda: Path("summary.json").write_text("[]")),
    results("a summary that is a number", lambda: Path("summary.json").write_text("5")),
    results("a summary without a verdict", lambda: summary(lambda one: one.pop("verdict"))),
    results("a verdict that is text", lambda: summary(lambda one: one.update(verdict="yes"))),
    results("sources that are numbers", lambda: summary(lambda one: one.update(sources={"mcmc": 5}))),
    results("a seed that is text", lambda: summary(lambda one: one.update(seed="x"))),
    results("kinds of columns that are unknown", lambda: attribute("kinds", '["colour"]')),
    results("categories of brackets", lambda: attribute("levels", "[" * 10**5), "nested too deeply"),
    results("a model of brackets", lambda: attribute("model", "[" * 10**5), "nested too deeply"),
    results("a model that is unknown", lambda: attribute("model", '{"class": "os.system"}'), ""),
]

RECIPES = [
    no(
        f"a recipe whose {what} lead out of its folder{name}",
        lambda path=path: beside_recipe(path),
        "relative to it",
    )
    for what, name, path in (("tables", ", absolute", "/etc"), ("tables", " by ..", "tables/../../x"))
]

WEIGHTS = [
    no("a pipe as a table", lambda: (os.mkfifo("t.csv"), read_table("t.csv")), "is a device or a pipe"),
    no(
        "weights that are a pipe",
        lambda: guide_of(lambda: pipe("weights.safetensors")),
        "expected a regular file",
    ),
    no(
        "weights without end",
        lambda: guide_of(lambda: endless("weights.safetensors")),
        "expected a regular file",
    ),
]

UPDATES = [
    gives("an update of an update of an update", updated, ["new 1", "new new 1", "new new new 1"], slow=True)
]

CASES = [*WEIGHTS, *UPDATES, *WORKBOOKS, *FILES, *NAMES, *LEVELS, *RESULTS, *RECIPES]
