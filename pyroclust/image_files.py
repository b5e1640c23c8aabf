"""Folders of images: read, in grey, all of one size, light writing on a dark ground."""

import math
import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from pyroclust.counts import check_count
from pyroclust.errors import first_line
from pyroclust.memory import check_memory
from pyroclust.text import listed, short, visible

__all__ = ["SUFFIXES", "ImageFolder", "image_sizes", "read_image_folder"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".pgm", ".webp")
"""Of files that are read as images; all others are passed over."""

_LARGEST_SIDE = 1024
# Of a pixel while all images are read: as text of the file, in grey, and as a number.
_BYTES_A_PIXEL = 12


@dataclass(frozen=True)
class ImageFolder:
    """Images of a folder.

    Attributes:
        images: pixels in 0..1, light writing on a dark ground, ``(n, H, W)`` float32.
        classes: names of their sub-folders, ``None`` where the images lie in the folder itself.
        names: paths of the files, relative to the folder.
        notes: sentences on what was scaled or turned dark.
    """

    images: NDArray[np.float32]
    classes: tuple[str, ...] | None
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return number and size of the images, and the number of classes."""
        number, height, width = self.images.shape
        known = "" if self.classes is None else f", {len(set(self.classes))} classes"
        return f"ImageFolder({number} images of {height} x {width} pixels{known})"


def image_sizes(folder: str | PathLike[str]) -> set[tuple[int, int]]:
    """Return the sizes of the images of a folder, heights first; only the beginnings of files are read.

    Raises:
        ValueError: as :func:`read_image_folder`.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("L", (20, 30)).save(folder / "1.png")
        >>> image_sizes(folder)
        {(30, 20)}
    """
    return {_opened(path, only_look=True).size[::-1] for path in _listed(_checked_folder(folder))[0]}


def read_image_folder(
    folder: str | PathLike[str], *, size: int | None = None, dark_ink: bool | None = None
) -> ImageFolder:
    """Read the images of a folder, or of its sub-folders, which then are their classes.

    Colours become grey, and what is transparent white. Files come in natural order, ``2.png`` before
    ``10.png``. Cost O(pixels).

    Args:
        folder: holds images, or one folder of images a class.
        size: scale to so many pixels, the longer side filling them, on the ground of the image; None for
            images that have one size already.
        dark_ink: whether the writing is dark on a light ground, and has to be turned round; found from the
            borders of the images by default.

    Raises:
        ValueError: if there are no images, one cannot be read, their sizes differ without ``size``, or images
            lie both in the folder and in its sub-folders.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("a", "b"):
        ...     (folder / name).mkdir()
        ...     Image.new("L", (20, 30), 255).save(folder / name / "1.png")
        >>> read_image_folder(folder, size=8)
        ImageFolder(2 images of 8 x 8 pixels, 2 classes)
    """
    folder = _checked_folder(folder)
    if size is not None:
        size = check_count("size", size, at_least=4, at_most=_LARGEST_SIDE)
    files, classes = _listed(folder)
    pictures = [_opened(path) for path in files]
    sizes = sorted({one.size for one in pictures})
    if size is None and len(sizes) > 1:
        shown = listed(f"{height} x {width}" for width, height in sizes[:4])
        raise ValueError(
            f"the images of '{folder}' have different sizes ({shown}), expected one: say to which they are "
            "to be scaled (size=28, --image-size 28)"
        )
    notes = []
    if size is not None and sizes != [(size, size)]:
        notes.append(f"Images were scaled to {size} x {size} pixels.")
    grey = [_grey(one, size) for one in pictures]
    images = np.stack(grey)
    edges = np.concatenate([images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]], 1)
    if dark_ink is None and bool(dark_ink := bool(np.median(edges) > 0.5)):
        notes.append("The images are dark on a light ground and were turned round, light on dark.")
    if dark_ink:
        images = 1 - images
    names = tuple(visible(path.relative_to(folder).as_posix()) for path in files)
    return ImageFolder(images, classes, names, tuple(notes))


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
    own = _files_of(folder)
    below = [(one, path) for one in _subfolders(folder) for path in _files_of(one)]
    if own and below:
        raise ValueError(
            f"'{folder}' has images both in itself and in '{below[0][0].name}', expected one or the other: "
            "move those without a class away"
        )
    if not own and not below:
        raise ValueError(
            f"'{folder}' has no images, expected files {listed(SUFFIXES)} in it, or in one folder a class"
        )
    if own:
        return own, None
    return [path for _, path in below], tuple(visible(one.name) for one, _ in below)


def _opened(path: Path, *, only_look: bool = False) -> Image.Image:
    """Open an image and read it, or close it again after a look at its size."""
    try:
        with Image.open(path) as picture:
            if not only_look:
                needed = math.prod(picture.size) * _BYTES_A_PIXEL
                check_memory(needed, f"the pixels of '{path}'", remedy="scale it down")
                picture.load()
    except UnidentifiedImageError:
        raise ValueError(f"'{path}' cannot be read as an image; remove it, or save it anew") from None
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        reason = short(first_line(error), 100)
        raise ValueError(
            f"'{path}' cannot be read as an image ({reason}); remove it or save it anew"
        ) from None
    return picture


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
        values = np.asarray(picture, dtype=np.float64)
        top = 65535.0 if picture.mode.startswith("I;16") or values.max() > 255 else 255.0
        return Image.fromarray((255 * (values / top).clip(0, 1)).round().astype(np.uint8))
    return picture.convert("L")


def _border(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
