"""Files of draws: words for labels, columns that are no points, arrays that ask for too much, other files."""

import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from faults.cases import Case, of_family

from pyroclust import read_draws

refuses, gives, command = of_family("draws files")

LABELS = np.array([[0, 0, 1], [0, 1, 1]])
CHAIN = [LABELS.tolist()]
TWELVE = [f"{k % 2},{k % 3},{k % 2}" for k in range(12)]


def of_text(text: str, suffix: str = "csv") -> Any:
    """Write a table into the working folder and read it."""
    Path(f"z.{suffix}").write_text(text, "utf-8")
    return read_draws(f"z.{suffix}")


def labels_of(text: str) -> list[Any]:
    """Return the labels in a table."""
    return of_text(text).assignments.tolist()


def left_out(text: str) -> tuple[int, tuple[str, ...]]:
    """Return how many points a table has, and what was said of it."""
    found = of_text(text)
    return found.assignments.shape[-1], found.notes


def array(values: Any) -> bytes:
    """Return an array as a .npy file."""
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def header(shape: object, *, kind: str = "<i8", entries: bytes = b"") -> bytes:
    """Return a .npy file that says what it likes of itself."""
    text = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + entries


def of_npy(content: bytes) -> list[Any]:
    """Write a .npy file and read it."""
    Path("z.npy").write_bytes(content)
    return read_draws("z.npy").assignments.tolist()


def of_npz(*members: tuple[str, bytes]) -> list[Any]:
    """Write an archive member by member, two of one name if wanted, and read it."""
    with zipfile.ZipFile("z.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            # Python warns of a name that is there.
            file.NameToInfo.pop(name, None)
            file.writestr(name, content)
    return read_draws("z.npz").assignments.tolist()


def of_nc(build: Callable[[h5py.File], object]) -> list[Any]:
    """Write an HDF5 file and read it."""
    with h5py.File("z.nc", "w") as file:
        build(file)
    return read_draws("z.nc").assignments.tolist()


def posterior(file: h5py.File, **arguments: Any) -> h5py.Dataset:
    """Add labels to the group posterior."""
    return file.require_group("posterior").create_dataset("assignments", **arguments)


def with_index(file: h5py.File) -> None:
    """Add names of points beyond any memory, which take no place in the file."""
    posterior(file, data=LABELS[None])
    points = file["posterior"].create_dataset("point", shape=(10**13,), dtype="i8", chunks=(10**6,))
    points.make_scale("point")


def with_links(link: Any) -> Callable[[h5py.File], None]:
    """Return what writes a group and a link beside it."""

    def build(file: h5py.File) -> None:
        posterior(file, data=LABELS[None])
        file["guide"] = file["posterior"] if link is None else link

    return build


def virtual(file: h5py.File) -> None:
    """Add labels that lie in another file."""
    layout = h5py.VirtualLayout(shape=(1, 2, 3), dtype="i8")
    layout[:] = h5py.VirtualSource("other.h5", "labels", shape=(1, 2, 3))
    file.create_group("posterior").create_virtual_dataset("assignments", layout)


def with_weights() -> Any:
    """Write what xarray has of a weighted sample."""
    labels = (("point", "draw", "chain"), LABELS.T[..., None])
    weights = (("chain", "draw"), [[0.9, 0.1]])
    file = xr.Dataset({"assignments": labels, "weights": weights})
    file.to_netcdf("z.nc", group="posterior", engine="h5netcdf")
    return read_draws("z.nc")


def _table(name: str, text: str, words: str) -> Case:
    return refuses(f"a table with {name}", partial(of_text, text), words)


def _note(name: str, text: str, note: str) -> Case:
    return gives(f"a table with {name}", partial(left_out, text), (3, (note,)))


def _npz(name: str, words: str, *members: tuple[str, bytes]) -> Case:
    return refuses(f".npz: {name}", partial(of_npz, *members), words)


def _npy(name: str, content: bytes, words: str) -> Case:
    return refuses(f".npy: {name}", partial(of_npy, content), words)


def _nc(name: str, build: Callable[[h5py.File], object], words: str) -> Case:
    return refuses(f".nc: {name}", partial(of_nc, build), words)


def twice() -> Any:
    """Write one chain into two files."""
    for name in ("one.csv", "two.csv"):
        Path(name).write_text("a,b,c\n0,0,1\n0,1,1\n0,1,2\n")
    return read_draws(["one.csv", "two.csv"])


def in_text(text: str, **told: Any) -> Any:
    Path("z.csv").write_text(text)
    return read_draws("z.csv", **told)


def drawn(name: str, text: str, value: list[list[list[int]]]) -> Case:
    return gives(name, lambda: in_text(text).assignments.tolist(), value)


def no(name: str, text: str, words: str) -> Case:
    return refuses(name, lambda: in_text(text), words)


WORDS = [
    no(
        "NA among names of clusters", "a,b,c\nNA,x,x\nx,NA,y\n", "'NA' for one; rename a cluster of that name"
    ),
    no("None among names of clusters", "a,b,c\nNone,x,x\nx,None,y\n", "'None' for one"),
    no("an empty cell", "a,b,c\n,1,1\n1,1,2\n", "1 missing or infinite label"),
    no("labels 01 and 1", "a,b,c\n01,1,2\n1,1,2\n", "'01' and '1', one cluster or two"),
    no("labels 01 and 1 beside names", "a,b,c\n01,1,x\n1,x,1\n", "'01' and '1', one cluster or two"),
    drawn("labels 01 to 02, all alike", "a,b,c\n01,01,02\n01,02,02\n", [[[0, 0, 1], [0, 1, 1]]]),
    drawn("TRUE in columns of two kinds", "a,b,c\nTRUE,TRUE,x\nFALSE,x,x\n", [[[0, 0, 1], [0, 1, 1]]]),
    drawn("numbers beside names", "a,b,c\n1,1,x\n2,x,x\n", [[[0, 0, 1], [0, 1, 1]]]),
    drawn("labels that differ in capitals", "a,b,c\nA,a,A\na,a,A\n", [[[0, 1, 0], [0, 0, 1]]]),
    drawn("gaps, labels from 1, below zero", "a,b,c\n7,7,100\n-1,1,1\n", [[[0, 0, 1], [0, 1, 1]]]),
    drawn("whole labels with decimals", "a,b,c\n1.0,1.0,2.0\n2.0,1,1\n", [[[0, 0, 1], [0, 1, 1]]]),
]

COLUMNS = [
    no("names of draws in a column", "d,p,q,r\nd1,0,0,1\nd2,0,1,1\n", "'d1' and the like in column 'd'"),
    no("one row a point, with its name", "point,u,v\np1,0,0\np2,0,1\n", "column 'point' and nowhere else"),
    no("how often a draw came", "count,a,b\n4,0,0\n6,0,1\n", "expected equally weighted draws"),
    no("the probability of a draw", "prob,a,b\n.4,0,0\n.6,0,1\n", "expected equally weighted draws"),
    no("draws of the warm-up", "warmup,a,b\nTRUE,0,0\nFALSE,0,1\n", "1 draws of 'warmup', expected none"),
    no("one row for each point of a draw", "draw,point,label\n1,1,0\n1,2,0\n", "write it wide"),
    no("columns of chains and draws", "chain1_draw1,chain1_draw2\n0,0\n0,1\n", "transpose the table"),
    drawn(
        "chains by number", "chain.no,a,b\n1,0,0\n1,0,1\n2,0,1\n2,1,1\n", [[[0, 0], [0, 1]], [[0, 1], [0, 0]]]
    ),
    gives(
        "times and dates of draws",
        lambda: in_text("date,Elapsed,a,b\n2020-01-01,5,0,0\n2020-01-02,6,0,1\n").notes,
        ("Left out: date, Elapsed; by its name no point.",),
    ),
]

FILES = [
    no(
        "files put one after the other",
        "a,b\n0,0\na,b\n0,1\n",
        "names of its columns again in place of draw 2",
    ),
    no("a last row of means", "a,b\n0,0\n0,1\nmean,0.5\n", "holds '0.5' and the like in column 'b'"),
]


CASES = [
    *WORDS,
    *COLUMNS,
    *FILES,
    refuses("two files of the very same draws", twice, "'one' and 'two' hold the very same draws"),
    _note("an identifier", "id,a,b,c\n7,0,0,1\n9,0,1,1\n", "Left out: id; by its name no point."),
    _note(
        "a seed and a step",
        "seed,Step,a,b,c\n1,1,0,0,1\n1,2,0,1,1\n",
        "Left out: seed, Step; by its name no point.",
    ),
    _note("the number of clusters", "p1,p2,p3,K\n0,0,1,2\n0,1,2,3\n", "Left out: K; by its name no point."),
    _table(
        "rows that are counted",
        "a,b,c,d\n" + "\n".join(f"{k},{one}" for k, one in enumerate(TWELVE)),
        "another value in each of 12 draws in a",
    ),
    _table(
        "rows that are counted, without a header",
        "\n".join(f"{k + 1},{one}" for k, one in enumerate(TWELVE)),
        "another value in each of 12 draws in column 1",
    ),
    _table(
        "rows that may be counted",
        "1,0,0,1\n2,0,1,1\n3,0,1,0\n",
        "another value in each of 3 draws in column 1",
    ),
    _table(
        "seeds of another name",
        "a,b,c,d\n" + "\n".join(f"{k * k},{one}" for k, one in enumerate(TWELVE)),
        "another value in each of 12 draws in a",
    ),
    _note(
        "a K that counts something else",
        "p1,p2,p3,K\n0,0,1,10\n0,1,2,10\n",
        "Left out: K; by its name no point.",
    ),
    _table("weights of draws", "weight,a,b\n0.9,0,1\n0.1,0,0\n", "expected equally weighted draws"),
    _table("log weights of draws", "a,b,.log_weight\n0,1,-1\n0,0,-2\n", "expected equally weighted draws"),
    _table("one column a draw", "draw1,draw2,draw3\n0,0,1\n0,1,1\n", "transpose the table"),
    _table("two chains named twice", "chain,chain,a,b\n1,1,0,1\n2,2,0,0\n", "two columns 'chain'"),
    _table(
        "numbers of draws that come twice",
        "iteration,a,b\n1,0,0\n2,0,1\n1,0,0\n2,0,1\n",
        "draws of the same iteration and no column chain",
    ),
    _table("a draw without its number", "draw,a,b\n1,0,0\nlast,0,1\n", "whose draw is no number"),
    gives(
        "a table with draws out of order, ten after nine",
        partial(labels_of, "draw,a,b\n10,0,1\n9,0,0\n"),
        [[[0, 0], [0, 1]]],
    ),
    gives(
        "a table with points named by letters, one of them k",
        partial(labels_of, "i,j,k\n0,0,1\n0,1,1\n"),
        CHAIN,
    ),
    gives("a table with equal weights", partial(labels_of, "weight,a,b,c\n1,0,0,1\n1,0,1,1\n"), CHAIN),
    _npz(
        "a shape that asks for more than there is",
        "bytes where its header says 4,000,000,000",
        ("assignments.npy", header((40_000, 100_000), kind="|i1", entries=bytes(1000))),
    ),
    _npz("a shape beyond all numbers", "where its header says", ("assignments.npy", header((2**70, 2**70)))),
    _npz(
        "more entries than its shape says",
        "has 1,000,000 bytes where its header says 48",
        ("assignments.npy", header((2, 3), entries=bytes(1_000_000))),
    ),
    _npz("a shape below zero", "expected whole numbers from 0 up", ("assignments.npy", header((-1, 3)))),
    _npz("a shape of fractions", "its header is damaged", ("assignments.npy", header((1.5, 3)))),
    _npz(
        "code as its header", "is not a readable .npz file", ("assignments.npy", header("open('pwned', 'w')"))
    ),
    _npz("a header without end", "is not a readable .npz file", ("assignments.npy", header("(" * 3000))),
    _npz(
        "Python objects as labels",
        "holds Python objects, which could run any code",
        ("assignments.npy", array(np.array([[0, None]], dtype=object))),
    ),
    _npz(
        "Python objects as names of points",
        "holds Python objects, which could run any code",
        ("assignments.npy", array(LABELS)),
        ("point_names.npy", array(np.array(["a", "b", None], dtype=object))),
    ),
    gives(
        ".npz: Python objects in an array that nobody asked for",
        partial(
            of_npz, ("assignments.npy", array(LABELS)), ("extra.npy", array(np.array([None], dtype=object)))
        ),
        CHAIN,
    ),
    gives(
        ".npz: a name that leads out of the folder", partial(of_npz, ("../../z.npy", array(LABELS))), CHAIN
    ),
    _npz(
        "two arrays",
        "2 of them can be draws: name the labels",
        ("a.npy", array(LABELS)),
        ("b.npy", array(LABELS)),
    ),
    _npz("no array", "0 of them can be draws", ("readme.txt", b"nothing")),
    _npz(
        "two arrays of one name",
        "two arrays 'assignments.npy'",
        ("assignments.npy", array(LABELS)),
        ("assignments.npy", array(LABELS + 1)),
    ),
    _npz(
        "names that a terminal would obey",
        r"a\x1b[31m",
        ("a\x1b[31m.npy", array(LABELS)),
        ("b\n.npy", array(LABELS)),
    ),
    _npz(
        "weights of draws",
        "expected equally weighted draws",
        ("assignments.npy", array(LABELS)),
        ("log_weights.npy", array(np.array([-1.0, -2.0]))),
    ),
    _npz(
        "log_joint of draws and chains",
        "a log_joint of shape (5, 2), expected (2, 5)",
        ("assignments.npy", array(np.zeros((2, 5, 3), int))),
        ("log_joint.npy", array(np.zeros((5, 2)))),
    ),
    _npz("records", "expected labels", ("assignments.npy", array(np.zeros((2, 3), dtype=[("a", "i8")])))),
    _npz("a missing label", "1 missing or infinite", ("assignments.npy", array(np.array([[0.0, np.nan]])))),
    gives(
        ".npz: columns first, bytes in the other order",
        partial(of_npz, ("assignments.npy", array(np.asfortranarray(LABELS).astype(">i4")))),
        CHAIN,
    ),
    gives(
        ".npy: version 3 of the format",
        partial(of_npy, b"\x93NUMPY\x03\x00" + struct.pack("<I", 118) + array(LABELS)[10:]),
        CHAIN,
    ),
    _npy("Python objects", array(np.array([[0, None]], dtype=object)), "holds Python objects"),
    _npy("a pickle", pickle.dumps([[0, 1]]), "does not begin as an array"),
    _npy("cut", array(LABELS)[:-3], "has 45 bytes where its header says 48"),
    _npy("a second array after the first", array(LABELS) * 2, "where its header says 48"),
    _npy("a shape without entries", header((40_000, 100_000)), "has 0 bytes where its header says"),
    _npy("a header beyond the file", b"\x93NUMPY\x02\x00" + b"\xff" * 4, "its header is damaged"),
    _npy("empty", b"", "does not begin as an array"),
    _nc(
        "labels in any other file",
        partial(posterior, shape=(1, 2, 3), dtype="<i8", external=[("/etc/passwd", 0, 48)]),
        "lie in other files",
    ),
    _nc("a virtual data set", virtual, "lie in other files"),
    _nc(
        "a link to another file",
        with_links(h5py.ExternalLink("other.nc", "/posterior")),
        "a link to another place",
    ),
    _nc("a link to another name", with_links(h5py.SoftLink("/posterior")), "a link to another place"),
    _nc("a group of two names", with_links(None), "has several names"),
    _nc(
        "labels beyond memory",
        partial(posterior, shape=(1, 10**6, 10**7), dtype="i1", chunks=(1, 1000, 1000)),
        "thin the draws",
    ),
    _nc("names of points beyond memory", with_index, "write the labels to a file of their own"),
    _nc("nothing", lambda file: None, "no variables"),
    refuses(".nc: weights of draws", with_weights, "expected equally weighted draws"),
    command(
        "diagnose an archive that asks for more than it holds",
        "diagnose z.npz",
        files={"z.npz": b"PK\x05\x06" + bytes(18)},
        words="0 of them can be draws",
    ),
]
