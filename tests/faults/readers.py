"""Files that are no text: workbooks, images, arrays, graphs, folders of results, guides."""

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
from unittest import mock

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

no, is_, _ = of_family("readers")

OLD = Path(__file__).parents[1] / "analysis" / "folder_of_0_1" / "mcmc.zip"
REGULAR = "expected a regular file"


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
    no("whole numbers above whole numbers", lambda: sheet([0, 1], [5, 3], [4, 3]), "--no-header"),
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
    *(
        no(f"a cell {where}", lambda far=far: sheet(["a"], [1.5], [2.5], far=far), "cells that stand apart")
        for where, far in (("far below", "B1048576"), ("far to the right", "XFD3"))
    ),
    no("a sheet that unpacks to 50 MB", packed_sheet, "expected at most 32", slow=True),
]


def image(content: bytes) -> Any:
    """Write a folder of two images, of which one has this content, and read it."""
    Path("images").mkdir()
    Image.new("L", (8, 8)).save("images/1.png")
    Path("images/2.png").write_bytes(content)
    return read_table("images")


def white(width: int, height: int) -> bytes:
    """Return a PNG file that says of itself to have so many pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (b"IHDR" + header, b"IDAT" + zlib.compress(b""), b"IEND")
    chunks = [struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def many_rows() -> Any:
    """Read a Parquet file of 2^20 numbers where memory for it is short."""
    rows = pyarrow.table({"a": pyarrow.array(np.zeros(1 << 20), pyarrow.float64())})
    pyarrow.parquet.write_table(rows, "t.parquet", compression="zstd")
    with mock.patch("pyroclust.core.machine.free_memory", return_value=10 << 20):
        return read_table("t.parquet")


def parquet(labels: Any) -> list[str | None]:
    """Return the labels in a Parquet file."""
    pd.DataFrame({"x": np.arange(len(labels)) + 0.5, "k": labels}).to_parquet("t.parquet")
    return read_table("t.parquet", label="k").labels.tolist()


def npy(*, huge: bool) -> Any:
    """Read a .npy file of another byte order, or one whose header asks for 24 TB."""
    np.save("t.npy", np.array([[1.5], [2.5]], dtype=">f8"))
    if huge:
        with Path("t.npy").open("wb") as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)}
            np.lib.format.write_array_header_1_0(file, header)
    return read_table("t.npy", kinds={}).data.tolist()


def graph(pointers: list[int], indices: list[int]) -> Any:
    """Write a matrix whose pointers are these, and read it."""
    save_npz("g.npz", csr_array(np.ones((3, 3)) - np.eye(3)))
    with np.load("g.npz") as held:
        parts = dict(held)
    parts |= {"indptr": np.array(pointers, np.int32), "indices": np.array(indices, np.int32)}
    np.savez("g.npz", **parts)
    return read_table("g.npz")


def edges(text: str) -> tuple[str, ...]:
    return table(text, edges=True).row_names


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
    is_("a .npy file of another byte order", partial(npy, huge=False), [[1.5], [2.5]]),
    no("a .npy whose header asks for 24 TB", partial(npy, huge=True), "t.npy"),
    *(
        no(f"a .npz graph whose {what}", partial(graph, pointers, indices), "no sparse matrix")
        for what, pointers, indices in (
            ("pointers are beyond its entries", [0, 10**6, 4, 6], [1, 2, 0, 2, 0, 1]),
            ("pointers fall", [0, 5, 2, 6], [1, 2, 0, 2, 0, 1]),
            ("columns are beyond it", [0, 2, 4, 6], [1, 2, 0, 10**6, 0, 1]),
        )
    ),
    is_(
        "names of nodes that begin alike for 60 letters",
        lambda: len(edges(f"{'n' * 60}1,{'n' * 60}2\n{'n' * 60}2,{'n' * 60}3\n")),
        3,
    ),
    is_(
        "a first edge whose nodes come again",
        lambda: edges("Ann,Bob\nAnn,Cid\nBob,Cid\nCid,Dan\n"),
        ("Ann", "Bob", "Cid", "Dan"),
    ),
    is_("numbers of nodes without names", lambda: edges("3,1\n1,2\n"), ("1", "2", "3")),
    is_("names above edges", lambda: edges("from,to\nAnn,Bob\nBob,Cid\n"), ("Ann", "Bob", "Cid")),
    no("0 and 1 above numbers of nodes", lambda: edges("0,1\n1,2\n"), "could be names of columns or a row"),
]


def levels(*cells: str) -> tuple[str, ...]:
    text = "a,b\n" + "".join(f"{cell},{place / 7:.3f}\n" for place, cell in enumerate(cells))
    return next(own for own in table(text, kinds={}).levels if own)


def new_rows(old: Sequence[str], new: Sequence[str | None]) -> list[float]:
    """Return the places of new categories among the old ones."""
    clustered = read_table(
        pd.DataFrame({"x": np.arange(len(old)) / 7, "k": list(old)}), kinds={"k": "category"}
    )
    rows = pd.DataFrame({"x": np.zeros(len(new)), "k": list(new)})
    return read_new_rows(rows, clustered, refuses_unseen=True).data[:, 1].tolist()


LEVELS = [
    *(
        is_(f"levels of {', '.join(cells)}", partial(levels, *cells, *cells), wanted)
        for cells, wanted in (
            (("Yes", "yes", "no", "no", "yes", "no"), ("no", "yes")),
            (("yes", "No", "YES", "no", "yes", "No"), ("No", "yes")),
            (tuple("TtFtTF"), ("F", "T", "t")),
            (("1234567", "1234568") * 3, ("1234567", "1234568")),
        )
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
        "holds 'a', which no row",
    ),
    no(
        "a new row of 01 where there was 1", partial(new_rows, ["1", "2"] * 9, ["01"]), "holds '01', which no"
    ),
    is_("a new row of 1.0 where there was 1", partial(new_rows, ["1", "2"] * 9, ["1.0"]), [0.0]),
]


def folder_of_results(change: Callable[[], object]) -> Any:
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


def attribute(name: str, text: str) -> None:
    with h5py.File("draws.nc", "a") as file:
        file["observed_data"].attrs[name] = text


def pipe(name: str) -> None:
    Path(name).unlink(missing_ok=True)
    os.mkfifo(name)


def endless(name: str) -> None:
    Path(name).unlink()
    Path(name).symlink_to("/dev/zero")


def summary(**changed: Any) -> None:
    """Change what a summary says."""
    content = json.loads(Path("summary.json").read_text("utf-8")) | changed
    Path("summary.json").write_text(json.dumps(content))


def guide_of(change: Callable[[str], None]) -> Any:
    """Copy a guide of the shelf here, change its weights and load it."""
    shutil.copytree(files("pyroclust").joinpath("pretrained_guides/ncp-nig1d"), ".", dirs_exist_ok=True)
    change("weights.safetensors")
    return load_guide(".")


def updated() -> list[str]:
    """Add the same rows to a comparison again and again, and return the names of all rows."""
    shutil.unpack_archive(OLD, ".")
    rows = pd.DataFrame({"a": [0.0], "b": [0.0]})
    found = update(".", rows, num_draws=10)
    return list(update(update(found, rows, num_draws=10), rows, num_draws=10).row_names[-3:])


DEEP = "nested too deeply"
RESULTS = [
    *(
        no(f"results: {name}", partial(folder_of_results, change), words)
        for name, change, words in (
            ("values of draws.nc in any other file", values_elsewhere, "lie in other files"),
            ("scales of columns below 0", scales_below_0, "not positive"),
            ("draws.nc is a pipe", partial(pipe, "draws.nc"), REGULAR),
            ("summary.json is a device", partial(endless, "summary.json"), REGULAR),
            ("a summary of brackets", lambda: Path("summary.json").write_text("[" * 10**5), DEEP),
            ("a summary that is a list", lambda: Path("summary.json").write_text("[]"), "holds no analysis"),
            ("a verdict that is text", partial(summary, verdict="yes"), "holds no analysis"),
            ("sources that are numbers", partial(summary, sources={"mcmc": 5}), "holds no analysis"),
            ("a seed that is text", partial(summary, seed="x"), "holds no analysis"),
            (
                "kinds of columns that are unknown",
                partial(attribute, "kinds", '["colour"]'),
                "holds no analysis",
            ),
            ("categories of brackets", partial(attribute, "levels", "[" * 10**5), DEEP),
            ("a model that is unknown", partial(attribute, "model", '{"class": "os.system"}'), ""),
        )
    ),
    is_("an update of an update of an update", updated, ["new 1", "new new 1", "new new new 1"], slow=True),
    no("a pipe as a table", lambda: (pipe("t.csv"), read_table("t.csv")), "is a device or a pipe"),
    no("weights that are a pipe", partial(guide_of, pipe), REGULAR),
    no("weights without end", partial(guide_of, endless), REGULAR),
    no(
        "a recipe whose tables lead out of its folder",
        lambda: labelled_tables(Path("r.toml"), folder="tables/../../x", label="k"),
        "relative to it",
    ),
]

CASES: list[Case] = [*WORKBOOKS, *FILES, *LEVELS, *RESULTS]
