"""Folders of images: order, classes, sizes, ink, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pyroclust.image_files import image_sizes, read_image_folder


def save(path: Path, pixels: np.ndarray, mode: str = "L") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint16 if mode == "I;16" else np.uint8)).save(path)


def stroke(height: int = 12, width: int = 12, *, ink: int = 255, ground: int = 0) -> np.ndarray:
    pixels = np.full((height, width), ground)
    pixels[height // 4 : -height // 4, width // 2] = ink
    return pixels


def test_files_come_in_natural_order_and_others_are_passed_over(tmp_path: Path) -> None:
    for name in ("10.png", "2.png", "1.jpg", ".hidden.png"):
        save(tmp_path / name, stroke())
    (tmp_path / "notes.txt").write_text("no image")
    found = read_image_folder(tmp_path)
    assert found.names == ("1.jpg", "2.png", "10.png")
    assert found.classes is None
    assert found.images.shape == (3, 12, 12)
    assert found.images.dtype == np.float32


def test_sub_folders_are_classes(tmp_path: Path) -> None:
    for name in ("b/1.png", "a/1.png", "a/2.png"):
        save(tmp_path / name, stroke())
    found = read_image_folder(tmp_path)
    assert found.classes == ("a", "a", "b")
    assert found.names == ("a/1.png", "a/2.png", "b/1.png")
    assert repr(found) == "ImageFolder(3 images of 12 x 12 pixels, 2 classes)"


@pytest.mark.parametrize("ink", [0, 255])
def test_writing_is_light_on_dark_in_the_end(tmp_path: Path, ink: int) -> None:
    save(tmp_path / "1.png", stroke(ink=ink, ground=255 - ink))
    found = read_image_folder(tmp_path)
    assert found.images[0, 6, 6] == 1
    assert found.images[0, 0, 0] == 0
    assert bool(found.notes) == (ink == 0)
    assert read_image_folder(tmp_path, dark_ink=ink == 255).images[0, 0, 0] == 1


def test_scaled_images_keep_their_proportions_and_their_ground(tmp_path: Path) -> None:
    save(tmp_path / "wide.png", np.full((10, 40), 200))
    pixels = np.full((40, 20), 30)
    pixels[10:30, 5:15] = 250
    save(tmp_path / "high.png", pixels)
    found = read_image_folder(tmp_path, size=8, dark_ink=False)
    assert found.images.shape == (2, 8, 8)
    high, wide = found.images
    assert np.allclose(wide, 200 / 255)
    assert np.allclose(high[:, :2], 30 / 255)
    assert np.allclose(high[3:5, 3:5], 250 / 255)
    assert found.notes == ("Images were scaled to 8 x 8 pixels.",)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "RGB", "1", "I;16"])
def test_colours_transparency_and_depth(tmp_path: Path, mode: str) -> None:
    grey = stroke(ink=255, ground=0)
    if mode == "I;16":
        save(tmp_path / "1.png", grey * 257, mode)
    else:
        Image.fromarray(grey.astype(np.uint8)).convert(mode).save(tmp_path / "1.png")
    found = read_image_folder(tmp_path, dark_ink=False)
    assert np.allclose(found.images[0], grey / 255, atol=0.01)


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    pixels = np.zeros((8, 8, 4), dtype=np.uint8)
    pixels[3:5, 3:5, 3] = 255
    Image.fromarray(pixels).save(tmp_path / "1.png")
    found = read_image_folder(tmp_path)
    assert found.images[0, 0, 0] == 0
    assert found.images[0, 3, 3] == 1


def test_sizes_are_found_without_reading_pixels(tmp_path: Path) -> None:
    save(tmp_path / "1.png", np.zeros((10, 20)))
    save(tmp_path / "2.png", np.zeros((30, 20)))
    assert image_sizes(tmp_path) == {(10, 20), (30, 20)}


def broken(folder: Path) -> Path:
    (folder / "1.png").write_bytes(b"no image")
    return folder


def cut_off(folder: Path) -> Path:
    save(folder / "1.png", np.random.default_rng(0).integers(256, size=(60, 60)))
    content = (folder / "1.png").read_bytes()
    (folder / "1.png").write_bytes(content[: len(content) // 2])
    return folder


def mixed(folder: Path) -> Path:
    save(folder / "1.png", stroke())
    save(folder / "a" / "1.png", stroke())
    return folder


def unequal(folder: Path) -> Path:
    save(folder / "1.png", np.zeros((10, 20)))
    save(folder / "2.png", np.zeros((30, 20)))
    return folder


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda folder: folder, "has no images, expected files"),
        (lambda folder: folder / "none", "is no folder"),
        (broken, "cannot be read as an image"),
        (cut_off, "cannot be read as an image"),
        (mixed, "images both in itself and in 'a'"),
        (unequal, "different sizes .10 x 20, 30 x 20., expected one"),
    ],
)
def test_bad_folders_are_refused_in_one_sentence(tmp_path: Path, make, expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as caught:
        read_image_folder(make(tmp_path))
    assert "\n" not in str(caught.value)
