"""Properties of every reader of draws: what was written is read back, or refused in one sentence."""

import tempfile
from pathlib import Path

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclust.data.draws import draws_from, read_draws
from pyroclust.diagnostics import Binder, VariationOfInformation, co_assignment
from pyroclust.partitions import canonical, is_canonical

SHAPES = arrays.array_shapes(min_dims=3, max_dims=3, min_side=2, max_side=5)
LABELS = SHAPES.flatmap(lambda shape: arrays.arrays(np.int64, shape, elements=st.integers(-2, 3)))
EXAMPLES = settings(max_examples=25)


def expected(labels: np.ndarray) -> np.ndarray:
    """Return canonical labels by torch, which no reader uses."""
    return canonical(torch.from_numpy(labels)).numpy()


def write(labels: np.ndarray, path: Path) -> None:
    chains, draws, points = labels.shape
    if path.suffix == ".npy":
        np.save(path, labels)
    elif path.suffix == ".npz":
        np.savez_compressed(path, assignments=labels)
    elif path.suffix == ".nc":
        xr.Dataset({"assignments": (("chain", "draw", "point"), labels)}).to_netcdf(
            path, group="posterior", engine="h5netcdf"
        )
    else:
        frame = pd.DataFrame(
            labels.reshape(-1, points), columns=[f"p{point + 1}x" for point in range(points)]
        )
        frame.insert(0, "chain", np.repeat(np.arange(chains), draws))
        frame.insert(1, "draw", np.tile(np.arange(draws), chains))
        frame.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".npy", ".npz", ".nc"])
@EXAMPLES
@given(labels=LABELS)
def test_what_was_written_is_read_back(suffix: str, labels: np.ndarray) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"z{suffix}"
        write(labels, path)
        np.testing.assert_array_equal(read_draws(path).assignments, expected(labels))


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz", ".nc"])
@EXAMPLES
@given(labels=LABELS, place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(suffix: str, labels: np.ndarray, place: float, byte: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"z{suffix}"
        write(labels, path)
        content = bytearray(path.read_bytes())
        content[int(place * len(content))] = byte
        path.write_bytes(bytes(content))
        try:
            found = read_draws(path).assignments
        except ValueError as error:
            said = str(error)
        else:
            said = ""
            assert bool(is_canonical(torch.from_numpy(found)).all())
        assert said.isprintable()


@EXAMPLES
@given(
    values=arrays.arrays(
        st.sampled_from(
            [np.float64, np.float32, np.int8, np.uint64, np.bool_, np.dtype("U3"), np.dtype(">i4")]
        ),
        arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    )
)
def test_any_array_is_drawn_from_or_refused(values: np.ndarray) -> None:
    found, said = None, ""
    try:
        found = draws_from(values).assignments
    except ValueError as error:
        said = str(error)
    assert "\n" not in said
    if found is None:
        return
    same = values.reshape(found.shape)
    pairs = [one[..., :, None] == one[..., None, :] for one in (found, same)]
    np.testing.assert_array_equal(*pairs)


@EXAMPLES
@given(
    labels=LABELS, kind=st.sampled_from([torch.int8, torch.int32, torch.uint8, torch.float32, torch.bfloat16])
)
def test_a_tensor_of_any_type_says_the_same(labels: np.ndarray, kind: torch.dtype) -> None:
    tensor = torch.from_numpy(labels + 2).to(kind)
    np.testing.assert_array_equal(draws_from(tensor).assignments, expected(labels))


@EXAMPLES
@given(labels=LABELS, data=st.data())
def test_co_assignment_is_that_of_repeated_draws(labels: np.ndarray, data: st.DataObject) -> None:
    flat = expected(labels).reshape(-1, labels.shape[-1])
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(flat), max_size=len(flat))))
    weighted = co_assignment(flat, weights=times)
    np.testing.assert_allclose(weighted, co_assignment(np.repeat(flat, times, axis=0)), atol=1e-6)
    np.testing.assert_array_equal(weighted, weighted.T)


@pytest.mark.parametrize("loss", [VariationOfInformation(), Binder()], ids=["vi", "binder"])
@EXAMPLES
@given(points=st.integers(2, 6), data=st.data())
def test_losses_are_metrics(loss: VariationOfInformation | Binder, points: int, data: st.DataObject) -> None:
    rows = data.draw(arrays.arrays(np.int64, (3, points), elements=st.integers(0, points - 1)))
    table = np.array([[loss.expected(a[None], b[None])[0] for b in rows] for a in rows])
    np.testing.assert_allclose(table, table.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(table), 0, atol=1e-12)
    assert table[0, 2] <= table[0, 1] + table[1, 2] + 1e-12
