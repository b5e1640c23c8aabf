"""Folders of images: read, in grey, all of one size, light writing on a dark ground."""

import math
import re
import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from pyroclust.core.machine import check_memory
from pyroclust.core.messages import listed, read_safely, visible
from pyroclust.core.numbers import check_count

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".pgm", ".ppm", ".webp")
"""Of files that are read as images; all others are passed over."""

# Pillow would open what it is by its content, and call other programs for some of it.
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "PPM", "WEBP")
_MOST_PIXELS = 100_000_000
_LARGEST_SIDE = 1024
# Of a pixel while its image is read: in colours, in grey, and as a number.
_BYTES_A_PIXEL = 12
# Of a pixel of all images: one by one, in one array, and turned round.
_BYTES_KEPT = 12
# White of numbers without a fixed depth, as TIFF files hold them: the least of these that none exceeds.
_WHITES = (1.0, 255.0, 65535.0)
_SEVERAL_PICTURES = ("GIF", "PNG", "TIFF", "WEBP")


@dataclass(frozen=True)
class ImageFolder:
    """Images of a folder."""

    images: NDArray[np.float32]  # pixels in 0..1, light writing on a dark ground, (n, H, W)
    classes: tuple[str, ...] | None  # sub-folders, None where the images lie in the folder itself
    names: tuple[str, ...]  # paths of the files, relative to the folder
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        number, height, width = self.images.shape
        known = "" if self.classes is None else f", {len(set(self.classes))} classes"
        return f"ImageFolder({number} images of {height} x {width} pixels{known})"


def image_sizes(folder: str | PathLike[str]) -> set[tuple[int, int]]:
    """Return the sizes of the images of a folder, heights first; only the beginnings of files are read."""
    return {_size(path)[::-1] for path in _listed(_checked_folder(folder))[0]}


def read_image_folder(
    folder: str | PathLike[str], *, size: int | None = None, dark_ink: bool | None = None
) -> ImageFolder:
    """Read the images of a folder, or of its sub-folders, which then are their classes."""
    folder = _checked_folder(folder)
    if size is not None:
        size = check_count("size", size, at_least=4, at_most=_LARGEST_SIDE)
    files, classes = _listed(folder)
    images, sizes, several = _read_all(folder, files, size)
    places = [folder, *_subfolders(folder)]
    beside = {one for place in places for one in place.iterdir() if not one.is_dir() and one.name[0] != "."}
    others = sorted(visible(one.relative_to(folder).as_posix()) for one in beside - {*files})
    notes = [f"{len(others):,} other file(s) were not read: {listed(others, 3)}."] if others else []
    if several:
        notes.append(f"{several} file(s) hold several pictures; the first of each was read.")
    if size is not None and sizes != {(size, size)}:
        notes.append(f"Images were scaled to {size} x {size} pixels.")
    images, said = _light_on_dark(images, dark_ink=dark_ink)
    notes += said
    names = tuple(visible(path.relative_to(folder).as_posix()) for path in files)
    return ImageFolder(images, classes, names, tuple(notes))


def _light_on_dark(
    images: NDArray[np.float32], *, dark_ink: bool | None
) -> tuple[NDArray[np.float32], list[str]]:
    """Turn images round if their writing is dark, by what was told or by their borders, and say so."""
    edges = np.concatenate([images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]], 1)
    notes = []
    if dark_ink is None:
        dark_ink = bool(np.median(edges) > 0.5)
        if dark_ink:
            notes.append("The images are dark on a light ground and were turned round, light on dark.")
        others = int(((np.median(edges, 1) > 0.5) != dark_ink).sum())
        if others:
            ground = "dark" if dark_ink else "light"
            notes.append(f"{others:,} of {len(images):,} images have a {ground} ground, unlike most.")
    return (1 - images if dark_ink else images), notes


def _checked_folder(folder: str | PathLike[str]) -> Path:
    if not Path(folder).is_dir():
        raise ValueError(f"'{folder}' is no folder, expected a folder of images")
    return Path(folder)


def _subfolders(folder: Path) -> list[Path]:
    return sorted((one for one in folder.iterdir() if one.is_dir() and one.name[0] != "."), key=_natural)


def _files_of(folder: Path) -> list[Path]:
    found = (one for one in folder.iterdir() if one.suffix.lower() in SUFFIXES and one.name[0] != ".")
    return sorted((one for one in found if one.is_file()), key=_natural)


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """Return a key by which numbers in names are ordered as numbers."""
    parts = re.split(r"([0-9]+)", path.name)
    return [(1, int(one), one) if one.isdecimal() else (0, 0, one) for one in parts]


def _listed(folder: Path) -> tuple[list[Path], tuple[str, ...] | None]:
    """Return the files, and their classes where these are sub-folders."""
    files = _files_of(folder)
    of_classes = [(one, path) for one in _subfolders(folder) for path in _files_of(one)]
    if files and of_classes:
        raise ValueError(
            f"'{folder}' has images both in itself and in '{of_classes[0][0].name}', expected one or the "
            "other: move those without a class away"
        )
    if not files and not of_classes:
        raise ValueError(
            f"'{folder}' has no images, expected files {listed(SUFFIXES)} in it, or in one folder a class"
        )
    if files:
        return files, None
    return [path for _, path in of_classes], tuple(visible(one.name) for one, _ in of_classes)


def _read_all(
    folder: Path, files: list[Path], size: int | None
) -> tuple[NDArray[np.float32], set[tuple[int, int]], int]:
    """Read one file after the other, so that one at a time is in memory before it is scaled."""
    sizes: set[tuple[int, int]] = set()
    grey, several = [], 0
    for path in files:
        picture, number = _opened(path)
        sizes.add(picture.size)
        if size is None and len(sizes) > 1:
            shown = listed(sorted(f"{height} x {width}" for width, height in sizes))
            raise ValueError(
                f"the images of '{folder}' have different sizes ({shown}), expected one: say to which they "
                "are to be scaled (size=28, --image-size 28)"
            )
        grey.append(_grey(picture, size))
        several += number > 1
        if len(grey) == 1:
            needed = _BYTES_KEPT * len(files) * grey[0].size
            check_memory(needed, f"the pixels of '{folder}'", remedy="scale them down")
    return np.stack(grey), sizes, several


def _size(path: Path) -> tuple[int, int]:
    """Return width and height of an image; its pixels are not read."""

    def look() -> tuple[int, int]:
        with warnings.catch_warnings(action="ignore"):
            try:
                with Image.open(path, formats=_FORMATS) as picture:
                    size = picture.size
            except UnidentifiedImageError:
                # Pillow's own sentence names the path again.
                raise ValueError(f"it is no image of the formats {', '.join(_FORMATS)}") from None
        if math.prod(size) > _MOST_PIXELS:
            raise ValueError(f"it has {size[0]:,} x {size[1]:,} pixels, expected at most {_MOST_PIXELS:,}")
        return size

    return read_safely(path, look)


def _opened(path: Path) -> tuple[Image.Image, int]:
    """Read an image, upright, and how many pictures its file holds."""
    needed = math.prod(_size(path)) * _BYTES_A_PIXEL
    check_memory(needed, f"the pixels of '{path}'", remedy="scale it down")

    def read() -> tuple[Image.Image, int]:
        # What Pillow warns of in damaged files are tags that it does without.
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=_FORMATS) as picture:
            number = getattr(picture, "n_frames", 1) if picture.format in _SEVERAL_PICTURES else 1
            picture.load()
            return ImageOps.exif_transpose(picture), number

    return read_safely(path, read)


def _grey(picture: Image.Image, size: int | None) -> NDArray[np.float32]:
    """Return pixels in 0..1; scaled ones lie in the middle of their own ground."""
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        coloured = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", coloured.size, "white"), coloured)
    grey = _in_8_bits(picture)
    if size is not None and grey.size != (size, size):
        scale = size / max(grey.size)
        width, height = (max(1, round(scale * one)) for one in grey.size)
        ground = int(np.median(_border(np.asarray(grey))))
        small = grey.resize((width, height), Image.Resampling.BOX if scale < 1 else Image.Resampling.BICUBIC)
        grey = Image.new("L", (size, size), ground)
        grey.paste(small, ((size - width) // 2, (size - height) // 2))
    return (np.asarray(grey) / 255).astype(np.float32)


def _in_8_bits(picture: Image.Image) -> Image.Image:
    """Return a picture in 256 greys; Pillow would cut those of 16 bits off."""
    if picture.mode.startswith(("I", "F")):
        values = np.nan_to_num(np.asarray(picture, dtype=np.float64))
        fitting = (one for one in _WHITES if values.max() <= one)
        top = _WHITES[-1] if picture.mode.startswith("I;16") else next(fitting, values.max())
        return Image.fromarray((255 * (values / top).clip(0, 1)).round().astype(np.uint8))
    return picture.convert("L")


def _border(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
