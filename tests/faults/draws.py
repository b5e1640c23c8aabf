"""Draws in memory and in files: labels, weights, columns that are no points, arrays that ask for too much."""

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
import pandas as pd
import torch
import xarray as xr
from faults.cases import Case, of_family

from pyroclust import Draws, diagnose, diagnostics, read_draws
from pyroclust.baselines import KMeans, partition_scores
from pyroclust.data.draws import draws_from
from pyroclust.distributions.points import as_points

refuses, gives, command = of_family("draws")

LABELS = np.array([[0, 0, 1], [0, 1, 1]])
CANONICAL = LABELS.tolist()
TOGETHER = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
ZEROS = np.zeros((2, 5, 3), int)
MANY = np.random.default_rng(11).integers(0, 3, (200, 12))
EQUALLY = "expected equally weighted draws"


def masked(values: Any, *places: int) -> np.ma.MaskedArray:
    found = np.ma.masked_array(values, mask=np.zeros(np.shape(values), bool))
    found.mask.flat[list(places)] = True
    return found


def read(draws: Any) -> list[Any]:
    """Return canonical labels of whatever holds draws."""
    return draws_from(draws).assignments.tolist()


def together(draws: Any, weights: Any = None) -> list[Any]:
    """Return the co-assignment matrix."""
    return diagnostics.co_assignment(draws, weights=weights).tolist()


IN_MEMORY = [
    *(
        refuses(f"co-assignment: {name}", partial(together, draws), words)
        for name, draws, words in (
            ("a masked label", masked(LABELS, 2), "1 masked entries"),
            ("labels of -1", [[-1, -1, 0]], "labels from -1 to 0"),
            ("floats", LABELS / 1, "expected integers"),
            ("no draws", LABELS[:0], "at least one draw and one point"),
            ("four dimensions", LABELS[None, None], "expected (chains, draws"),
            ("labels beyond 2^63", np.array([[2**63 + 1, 0]], np.uint64), "from 0 to 9223372036854775809"),
        )
    ),
    *(
        gives(f"co-assignment: {name}", partial(together, draws), TOGETHER)
        for name, draws in (
            ("columns in memory order of Fortran", np.asfortranarray(LABELS)),
            ("points before draws", xr.DataArray(LABELS.T, dims=("point", "draw"))),
        )
    ),
    gives(
        "co-assignment: 120 clusters in int8",
        lambda: diagnostics.co_assignment(np.arange(120, dtype=np.int8)[None]).sum().item(),
        120.0,
    ),
    *(
        gives(f"draws: {name}", partial(read, draws), [CANONICAL])
        for name, draws in (
            ("labels beyond 2^63", LABELS.astype(np.uint64) + np.uint64(2**63 + 1)),
            ("whole numbers beyond 2^64", [[2**64 + one for one in row] for row in CANONICAL]),
            ("categories", pd.DataFrame(np.array(["b", "a"])[LABELS]).astype("category")),
            ("numbers of pandas that may be missing", pd.DataFrame(LABELS).astype("Int64")),
            ("a tensor that wants gradients", torch.tensor(LABELS / 1, requires_grad=True)),
            ("a list of tensors", list(torch.from_numpy(LABELS))),
            ("samples by site", {"assignments": LABELS, "weights": np.ones((2, 4))}),
        )
    ),
    *(
        refuses(f"draws: {name}", partial(read, draws), words)
        for name, draws, words in (
            ("a missing number", [[0.0, np.nan]], "1 missing or infinite label"),
            ("a missing name in a list", [["a", np.nan, "b"]], "1 missing or infinite label"),
            ("a missing name made text", np.array([["a", "nan"]]), "1 missing or infinite"),
            ("1 and '1'", [["a", 1, "1"]], "both as a number and as text"),
            ("float16 beyond 2^11", np.array([[2049, 2048]], np.float16), "which are not exact"),
            ("bfloat16 beyond 2^8", torch.tensor([[257, 256]]).bfloat16(), "missing or infinite"),
            ("whole numbers mixed up to floats", [[2**63, -1]], "which are not exact"),
            ("a generator", (one for one in LABELS), "expected draws of partitions"),
            ("a sparse tensor", torch.from_numpy(LABELS).to_sparse(), "that is no array"),
            ("sets", [[{0, 1}, {2}], [{0}, {1, 2}]], "or sets"),
            ("weights by site", {"assignments": LABELS, "log_weights": [-1.0, -2.0]}, EQUALLY),
            (
                "log_joint of draws and chains, not of chains and draws",
                {"assignments": ZEROS, "log_joint": np.zeros((5, 2))},
                "log_joint of shape (5, 2), expected (2, 5)",
            ),
        )
    ),
    refuses("draws as indicators", lambda: Draws.of(np.eye(3, dtype=int)[MANY]), "indicators"),
    refuses(
        "draws as tables of pairs",
        lambda: Draws.of(MANY[:, :, None] == MANY[:, None, :]),
        "a table of pairs of points for each draw",
    ),
    gives(
        "draws before chains",
        lambda: "exchange the two axes" in Draws.of(MANY.reshape(50, 4, 12)).notes[0],
        True,
    ),
    *(
        refuses(f"weights: {name}", partial(together, LABELS, weights), words)
        for name, weights, words in (
            ("one below zero", [1, -1], "weights must be finite, not negative"),
            ("one missing", [1, np.nan], "weights must be finite"),
            ("all zero", [0, 0], "not all zero"),
            ("too few", [1], "weights has 1 entries, expected 2"),
            ("text", ["a", "b"], "not an array of real numbers"),
            ("masked", masked([1.0, 1.0], 1), "1 masked entries"),
        )
    ),
    refuses(
        "weights: of draws and chains, not of chains and draws",
        lambda: together(ZEROS, np.ones((5, 2))),
        "weights has shape (5, 2), expected (2, 5)",
    ),
    *(
        gives(f"weights: as {how} as numbers are", partial(together, LABELS, [one, one]), TOGETHER)
        for how, one in (("large", 1e308), ("small", 5e-324))
    ),
    *(
        refuses(f"{name} refused", call, words)
        for name, call, words in (
            ("diagnose: masked rows", lambda: diagnose(list(masked(LABELS, 2))), "1 masked entries"),
            ("weights that sum to 2", lambda: diagnostics.effective_draws([1.0, 1.0]), "sum to 1"),
            ("no effective draws", lambda: diagnostics.effective_draws([]), "expected finite ones"),
            ("log weights -inf", lambda: diagnostics.pareto_k([-np.inf] * 3), "at least one finite"),
            ("an order of no matrix", lambda: diagnostics.dendrogram_order(LABELS), "expected (N, N)"),
            ("scores of a gap", lambda: partition_scores(["a", np.nan], [0, 1]), "1 missing label"),
            (
                "k-means of a masked cell",
                lambda: KMeans().partition(masked([[0.0], [1.0]], 0), seed=0),
                "1 mask",
            ),
            ("points with a masked cell", lambda: as_points(masked([[0.0], [1.0]], 0)), "1 masked entries"),
        )
    ),
    gives(
        "a log weight of minus infinity",
        lambda: diagnostics.importance_weights([-np.inf, 0.0, 0.0]).round(12).tolist(),
        [0.0, 0.5, 0.5],
    ),
]


def of_text(text: str, **told: Any) -> Draws:
    """Write a table into the working folder and read it."""
    Path("z.csv").write_text(text, "utf-8")
    return read_draws("z.csv", **told)


def twice() -> Any:
    """Write one chain into two files."""
    for name in ("one.csv", "two.csv"):
        Path(name).write_text("a,b,c\n0,0,1\n0,1,1\n0,1,2\n")
    return read_draws(["one.csv", "two.csv"])


TWELVE = [f"{k % 2},{k % 3},{k % 2}\n" for k in range(12)]
IN_TEXT = [
    *(
        refuses(f"a table with {name}", partial(of_text, text), words)
        for name, text, words in (
            ("a cluster called NA", "a,b,c\nNA,x,x\nx,NA,y\n", "'NA' for one; rename a cluster of that name"),
            ("an empty cell", "a,b,c\n,1,1\n1,1,2\n", "1 missing or infinite label"),
            ("labels 01 and 1", "a,b,c\n01,1,2\n1,1,2\n", "'01' and '1', one cluster or two"),
            ("labels 01 and 1 beside names", "a,b,c\n01,1,x\n1,x,1\n", "'01' and '1', one cluster or two"),
            ("names of draws", "d,p,q,r\nd1,0,0,1\nd2,0,1,1\n", "'d1' and the like in column 'd'"),
            ("names of points", "point,u,v\np1,0,0\np2,0,1\n", "column 'point' and nowhere else"),
            ("how often a draw came", "count,a,b\n4,0,0\n6,0,1\n", EQUALLY),
            ("weights of draws", "weight,a,b\n0.9,0,1\n0.1,0,0\n", EQUALLY),
            ("log weights of draws", "a,b,.log_weight\n0,1,-1\n0,0,-2\n", EQUALLY),
            (
                "draws of the warm-up",
                "warmup,a,b\nTRUE,0,0\nFALSE,0,1\n",
                "1 draws of 'warmup', expected none",
            ),
            ("one row for each point of a draw", "draw,point,label\n1,1,0\n1,2,0\n", "write it wide"),
            ("one column a draw", "draw1,draw2,draw3\n0,0,1\n0,1,1\n", "transpose the table"),
            ("chains and draws in columns", "chain1_draw1,chain1_draw2\n0,0\n0,1\n", "transpose the table"),
            ("two columns of chains", "chain,chain,a,b\n1,1,0,1\n2,2,0,0\n", "two columns 'chain'"),
            ("names in the middle", "a,b\n0,0\na,b\n0,1\n", "names of its columns again in place of draw 2"),
            ("a last row of means", "a,b\n0,0\n0,1\nmean,0.5\n", "holds '0.5' and the like in column 'b'"),
            ("draws that come twice", "iteration,a,b\n1,0,0\n2,0,1\n1,0,0\n2,0,1\n", "no column chain"),
            ("a draw without its number", "draw,a,b\n1,0,0\nlast,0,1\n", "whose draw is no number"),
            ("a draw with a label too few", "1,2,2\n1,2\n", "line 2 has 2 cells, expected 3"),
            ("rows that may be counted", "1,0,0,1\n2,0,1,1\n3,0,1,0\n", "in each of 3 draws in column 1"),
            (
                "seeds of another name",
                "a,b,c,d\n" + "".join(f"{k * k},{one}" for k, one in enumerate(TWELVE)),
                "another value in each of 12 draws in a",
            ),
        )
    ),
    *(
        gives(f"a table with {name}", lambda text=text: of_text(text).assignments.tolist(), [CANONICAL])
        for name, text in (
            ("labels 01 to 02, all alike", "a,b,c\n01,01,02\n01,02,02\n"),
            ("TRUE in columns of two kinds", "a,b,c\nTRUE,TRUE,x\nFALSE,x,x\n"),
            ("gaps, labels from 1, below zero", "a,b,c\n7,7,100\n-1,1,1\n"),
            ("points named by letters, one of them k", "i,j,k\n0,0,1\n0,1,1\n"),
            ("equal weights", "weight,a,b,c\n1,0,0,1\n1,0,1,1\n"),
            ("draws out of order, ten after nine", "draw,a,b,c\n10,0,1,1\n9,0,0,1\n"),
            ("decimal commas beside them", "a;b;c;log_joint\n1;1;2;-2,5\n2;1;1;-3,5\n"),
        )
    ),
    gives(
        "a table with labels that differ in capitals",
        lambda: of_text("a,b,c\nA,a,A\na,a,A\n").assignments.tolist(),
        [[[0, 1, 0], [0, 0, 1]]],
    ),
    gives(
        "a table of chains by number",
        lambda: of_text("chain.no,a,b\n1,0,0\n1,0,1\n2,0,1\n2,1,1\n").assignments.tolist(),
        [[[0, 0], [0, 1]], [[0, 1], [0, 0]]],
    ),
    gives(
        "a table of draws, told that there are no names",
        lambda: of_text("0,1,2\n1,1,2\n", header=False).assignments.tolist(),
        [[[0, 1, 2], [0, 0, 1]]],
    ),
    *(
        gives(
            f"left out: {names}",
            lambda text=text: of_text(text).notes,
            (f"Left out: {names}; by its name no point.",),
        )
        for names, text in (
            ("id", "id,a,b,c\n7,0,0,1\n9,0,1,1\n"),
            ("seed, Step", "seed,Step,a,b,c\n1,1,0,0,1\n1,2,0,1,1\n"),
            ("date, Elapsed", "date,Elapsed,a,b\n2020-01-01,5,0,0\n2020-01-02,6,0,1\n"),
            ("K", "p1,p2,p3,K\n0,0,1,10\n0,1,2,10\n"),
        )
    ),
    refuses("two files of the very same draws", twice, "'one' and 'two' hold the very same draws"),
    command(
        "a file whose name is no UTF-8",
        ["diagnose", "gr\udcfc.csv", "--out", "out"],
        files={"gr\udcfc.csv": "a,b,c\n" + "0,0,1\n0,1,1\n" * 20},
        says="gr\\udcfc",
        slow=True,
    ),
]


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


def of_npz(labels: bytes, others: dict[str, bytes]) -> list[Any]:
    """Write an archive, with two arrays of a name if wanted, and read it."""
    with zipfile.ZipFile("z.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("assignments.npy", labels)
        for name, content in others.items():
            # Python warns of a name that is there.
            file.NameToInfo.pop(f"{name}.npy", None)
            file.writestr(f"{name}.npy", content)
    return read_draws("z.npz").assignments.tolist()


OBJECTS = array(np.array([[0, None]], dtype=object))
CODE = "holds Python objects, which could run any code"
ARRAYS = [
    *(
        refuses(f".npz: {name}", partial(of_npz, content, others), words)
        for name, content, others, words in (
            (
                "a shape that asks for more than there is",
                header((40_000, 100_000), kind="|i1", entries=bytes(1000)),
                {},
                "bytes where its header says 4,000,000,000",
            ),
            ("a shape beyond all numbers", header((2**70, 2**70)), {}, "where its header says"),
            ("a shape below zero", header((-1, 3)), {}, "expected whole numbers from 0 up"),
            ("a shape of fractions", header((1.5, 3)), {}, "its header is damaged"),
            ("code as its header", header("open('pwned', 'w')"), {}, "is not a readable .npz file"),
            ("a header without end", header("(" * 3000), {}, "is not a readable .npz file"),
            ("Python objects as labels", OBJECTS, {}, CODE),
            ("Python objects as names", array(LABELS), {"point_names": OBJECTS}, CODE),
            ("two arrays of one name", array(LABELS), {"assignments": array(LABELS)}, "two arrays 'assign"),
            ("weights of draws", array(LABELS), {"log_weights": array(np.array([-1.0, -2.0]))}, EQUALLY),
            ("records", array(np.zeros((2, 3), dtype=[("a", "i8")])), {}, "expected labels"),
        )
    ),
    *(
        gives(f".npz: {name}", partial(of_npz, content, others), [CANONICAL])
        for name, content, others in (
            ("Python objects that nobody asked for", array(LABELS), {"extra": OBJECTS}),
            ("a name that leads out of the folder", array(LABELS), {"../../z": array(LABELS)}),
            ("bytes in the other order", array(np.asfortranarray(LABELS).astype(">i4")), {}),
        )
    ),
    gives(
        ".npy: version 3 of the format",
        partial(of_npy, b"\x93NUMPY\x03\x00" + struct.pack("<I", 118) + array(LABELS)[10:]),
        [CANONICAL],
    ),
    *(
        refuses(f".npy: {name}", partial(of_npy, content), words)
        for name, content, words in (
            ("Python objects", OBJECTS, "holds Python objects"),
            ("a pickle", pickle.dumps([[0, 1]]), "does not begin as an array"),
            ("a second array after the first", array(LABELS) * 2, "where its header says 48"),
            ("a shape without entries", header((40_000, 100_000)), "has 0 bytes where its header says"),
            ("a header beyond the file", b"\x93NUMPY\x02\x00" + b"\xff" * 4, "its header is damaged"),
        )
    ),
    command(
        "diagnose an archive that holds nothing",
        "diagnose z.npz",
        files={"z.npz": b"PK\x05\x06" + bytes(18)},
        words="0 of them can be draws",
    ),
]


def of_nc(build: Callable[[h5py.File], object]) -> list[Any]:
    """Write an HDF5 file and read it."""
    with h5py.File("z.nc", "w") as file:
        build(file)
    return read_draws("z.nc").assignments.tolist()


def posterior(file: h5py.File, **arguments: Any) -> None:
    """Add labels to the group posterior."""
    file.require_group("posterior").create_dataset("assignments", **arguments)


def with_index(file: h5py.File) -> None:
    """Add names of points beyond any memory, which take no place in the file."""
    posterior(file, data=LABELS[None])
    points = file["posterior"].create_dataset("point", shape=(10**13,), dtype="i8", chunks=(10**6,))
    points.make_scale("point")


def with_link(link: Any, file: h5py.File) -> None:
    """Add a group and a link beside it."""
    posterior(file, data=LABELS[None])
    file["guide"] = file["posterior"] if link is None else link


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


ELSEWHERE, LINK = "lie in other files", "a link to another place"
HDF5 = [
    *(
        refuses(f".nc: {name}", partial(of_nc, build), words)
        for name, build, words in (
            (
                "labels in any other file",
                partial(posterior, shape=(1, 2, 3), dtype="<i8", external=[("/etc/passwd", 0, 48)]),
                ELSEWHERE,
            ),
            ("a virtual data set", virtual, ELSEWHERE),
            ("a link to another file", partial(with_link, h5py.ExternalLink("o.nc", "/posterior")), LINK),
            ("a link to another name", partial(with_link, h5py.SoftLink("/posterior")), LINK),
            ("a group of two names", partial(with_link, None), "has several names"),
            (
                "labels beyond memory",
                partial(posterior, shape=(1, 10**6, 10**7), dtype="i1", chunks=(1, 1000, 1000)),
                "thin the draws",
            ),
            ("names of points beyond memory", with_index, "write the labels to a file of their own"),
            ("nothing", lambda file: None, "no variables"),
        )
    ),
    refuses(".nc: weights of draws", with_weights, EQUALLY),
]

CASES: list[Case] = [*IN_MEMORY, *IN_TEXT, *ARRAYS, *HDF5]
