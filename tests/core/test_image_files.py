"""Folders of images: order, classes, sizes, ink, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pyroclust.core.image_files import image_sizes, read_image_folder


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
    assert found.notes[0] == "1 other file(s) were not read: notes.txt."
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


@pytest.mark.parametrize(
    ("white", "kind"), [(1.0, "F"), (255.0, "F"), (65535.0, "F"), (1, "I"), (60000, "I")]
)
def test_numbers_of_any_depth_have_one_white(tmp_path: Path, white: float, kind: str) -> None:
    grey = stroke(ink=1, ground=0) * white
    Image.fromarray(grey.astype(np.float32 if kind == "F" else np.int32)).save(tmp_path / "1.tif")
    found = read_image_folder(tmp_path)
    assert found.images[0].min() == 0
    assert found.images[0].max() > 0.9


def test_photographs_are_turned_upright(tmp_path: Path) -> None:
    pixels = np.zeros((20, 10), dtype=np.uint8)
    pixels[:5] = 255
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(pixels).save(tmp_path / "1.png", exif=turned)
    found = read_image_folder(tmp_path, dark_ink=False)
    assert found.images.shape == (1, 10, 20)
    assert found.images[0, :, -5:].min() == 1
    assert found.images[0, :, :-5].max() == 0


def test_of_several_pictures_in_a_file_the_first_is_read_and_a_note_says_so(tmp_path: Path) -> None:
    first, second = (Image.fromarray(stroke(ink=ink).astype(np.uint8)) for ink in (255, 100))
    first.save(tmp_path / "1.tif", save_all=True, append_images=[second])
    first.save(tmp_path / "2.tif")
    found = read_image_folder(tmp_path)
    assert found.notes == ("1 file(s) hold several pictures; the first of each was read.",)
    assert found.images[0].max() == 1


def test_images_whose_ground_is_unlike_the_others_are_counted(tmp_path: Path) -> None:
    for place in range(4):
        light = place == 2
        save(tmp_path / f"{place}.png", stroke(ink=0 if light else 255, ground=255 if light else 0))
    assert read_image_folder(tmp_path).notes == ("1 of 4 images have a light ground, unlike most.",)
    assert read_image_folder(tmp_path, dark_ink=False).notes == ()


def test_what_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in range(5):
        save(tmp_path / f"{place}.png", np.zeros((50, 50)))
    # Room for one file and for all that is scaled, and not for two files.
    monkeypatch.setattr("pyroclust.core.machine.free_memory", lambda: 45_000)
    assert read_image_folder(tmp_path, size=8).images.shape == (5, 8, 8)
    with pytest.raises(ValueError, match=f"the pixels of '{tmp_path}' take .* scale them down"):
        read_image_folder(tmp_path)
    monkeypatch.setattr("pyroclust.core.machine.free_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"0\.png' take .* scale it down"):
        read_image_folder(tmp_path, size=8)


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


def no_header(folder: Path) -> Path:
    # Pillow speaks of a literal for int() here, and names no file.
    (folder / "1.pgm").write_bytes(b"P5\n2x 20\n255\n")
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
        (broken, "1.png' is not a readable .png file .it is no image."),
        (cut_off, "1.png' is not a readable .png file .image file is truncated."),
        (no_header, "1.pgm' is not a readable .pgm file"),
        (mixed, "images both in itself and in 'a'"),
        (unequal, "different sizes .10 x 20, 30 x 20., expected one"),
    ],
)
def test_bad_folders_are_refused_in_one_sentence(tmp_path: Path, make, expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as caught:
        read_image_folder(make(tmp_path))
    assert "\n" not in str(caught.value)
