"""Images and waveforms as points: what an array or a folder is taken for."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from pyroclust.data import read_table
from pyroclust.data.shapes import Images, Waveforms

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("array", "shape"),
    [
        (RANDOM.random((5, 8, 9)), Images(8, 9)),
        (RANDOM.integers(256, size=(5, 8, 8)), Images(8, 8)),
        (RANDOM.random((5, 8, 8)) > 0.5, Images(8, 8)),
        (RANDOM.normal(size=(5, 7, 32)), Waveforms(7, 32)),
        (2 * RANDOM.random((5, 7, 32)), Waveforms(7, 32)),
        (torch.rand(5, 8, 8), Images(8, 8)),
        (256 * RANDOM.random((5, 8, 8)), Waveforms(8, 8)),
        (RANDOM.integers(1000, size=(5, 8, 8)), Waveforms(8, 8)),
    ],
)
def test_arrays_of_three_dimensions(array, shape) -> None:
    table = read_table(array)
    assert table.shape == shape
    assert table.data.shape == (5, np.prod(shape.event_shape))
    assert str(shape) in table.notes[0]
    assert str(shape) in repr(table)
    if isinstance(shape, Images):
        assert table.data.max() <= 1


@pytest.mark.parametrize(("largest", "white"), [(1, 1), (2, 16), (16, 16), (17, 255), (255, 255)])
@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32])
def test_whole_pixels_are_divided_by_their_white(largest: int, white: int, kind: type) -> None:
    pixels = RANDOM.integers(largest + 1, size=(5, 8, 8)).astype(kind)
    pixels[0, 0, 0] = largest
    table = read_table(pixels)
    assert table.shape == Images(8, 8)
    np.testing.assert_allclose(table.data, pixels.reshape(5, 64) / white)
    assert (f"divided by {white}" in table.notes[0]) == (white > 1)


def test_files_are_arrays(tmp_path: Path) -> None:
    waves = RANDOM.normal(size=(6, 2, 10))
    np.save(tmp_path / "waves.npy", waves)
    table = read_table(tmp_path / "waves.npy")
    assert table.name == "waves"
    assert table.shape == Waveforms(2, 10)
    np.testing.assert_array_equal(table.data.reshape(6, 2, 10), waves)


@pytest.mark.parametrize(
    ("size", "asked", "expected"), [(8, None, 8), (28, None, 28), (20, None, 28), (20, 8, 8), (8, 12, 12)]
)
def test_folders_have_the_size_of_a_guide(
    tmp_path: Path, size: int, asked: int | None, expected: int
) -> None:
    for place in range(3):
        (tmp_path / "ab"[place % 2]).mkdir(exist_ok=True)
        pixels = RANDOM.integers(256, size=(size, size)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "ab"[place % 2] / f"{place}.png")
    table = read_table(tmp_path, image_size=asked)
    assert table.shape == Images(expected, expected)
    assert table.labels is not None
    assert table.labels.tolist() == ["a", "a", "b"]
    assert table.row_names == ("a/0.png", "a/2.png", "b/1.png")


@pytest.mark.parametrize(
    ("source", "options", "expected"),
    [
        (np.full((3, 4, 4), np.nan), {}, "holds 48 missing or infinite values"),
        (np.zeros((1, 4, 4)), {}, "has 1 point"),
        (np.zeros((0, 4, 4)), {}, "shape .0, 4, 4."),
        (np.zeros((3, 4, 4, 3)), {}, "shape .3, 4, 4, 3., expected .* make images in colours grey first"),
        (np.zeros((3, 4, 4), dtype=complex), {}, "expected real numbers"),
        (np.zeros((3, 4, 4)), {"columns": ["x1"]}, "columns is given, but source has images of 4 x 4 pixels"),
        (np.zeros((3, 4, 4)), {"label": "x1"}, "label is given"),
        (np.zeros((3, 4)), {"image_size": 8}, "image_size is 8, but source is no folder of images"),
    ],
)
def test_bad_points_are_refused_in_one_sentence(source, options, expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as caught:
        read_table(source, **options)
    assert "\n" not in str(caught.value)
