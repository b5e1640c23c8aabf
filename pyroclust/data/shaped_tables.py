"""Images and waveforms as tables of points, and how they are told apart."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.image_files import image_sizes, read_image_folder
from pyroclust.core.text import visible
from pyroclust.data.shapes import Images, PointShape, Waveforms
from pyroclust.data.tables import Table

__all__ = ["BUILT_IN_IMAGES", "images_table", "shaped_table"]

_LARGE, _SMALL = 28, 8
# Whites of whole pixels: one bit, the digits of scikit-learn, one byte. Larger numbers are often voltages.
_WHITES = (1, 16, 255)


def images_table(folder: Path, *, size: int | None = None) -> Table:
    """Read a folder of images as points to cluster; its sub-folders are their known labels."""
    if size is None and image_sizes(folder) not in ({(_LARGE, _LARGE)}, {(_SMALL, _SMALL)}):
        size = _LARGE
    found = read_image_folder(folder, size=size)
    labels = None if found.classes is None else np.array(found.classes, dtype=object)
    _, height, width = found.images.shape
    return _table(
        visible(folder.resolve().name),
        found.images.astype(float),
        Images(height, width),
        labels=labels,
        names=found.names,
        notes=found.notes,
    )


def shaped_table(array: NDArray[Any], name: str) -> Table:
    """Take an array of three dimensions as images or waveforms."""
    if array.ndim != 3 or 0 in array.shape:
        colours = ": make images in colours grey first" if array.ndim > 3 else ""
        raise ValueError(
            f"{name} has shape {array.shape}, expected (N, D), images (N, H, W) or waveforms "
            f"(N, channels, samples){colours}"
        )
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds entries of type {array.dtype}, expected real numbers")
    values = array.astype(float)
    lost = int((~np.isfinite(values)).sum())
    if lost:
        raise ValueError(f"{name} holds {lost:,} missing or infinite values; drop or fill those points first")
    high = values.max()
    is_of_pixels = values.min() >= 0 and (high <= 1 or not (values % 1).any())
    white = next((white for white in _WHITES if is_of_pixels and high <= white), None)
    if white is None:
        kind: PointShape = Waveforms(*array.shape[1:])
        note = f"The numbers are not those of pixels, so these are taken as {kind}."
    else:
        values, kind = values / white, Images(*array.shape[1:])
        divided = f", divided by {white}" if white > 1 else ""
        note = f"The numbers are those of pixels, so these are taken as {kind}{divided}."
    return _table(name, values, kind, notes=(note,))


def _table(
    name: str,
    values: NDArray[np.float64],
    shape: PointShape,
    *,
    labels: NDArray[np.object_] | None = None,
    names: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> Table:
    if len(values) < 2:
        raise ValueError(f"{name} has {len(values)} point(s), expected at least 2 to cluster")
    first, second = shape.event_shape
    columns = tuple(f"{row}, {column}" for row in range(1, first + 1) for column in range(1, second + 1))
    rows = names or tuple(str(row) for row in range(1, len(values) + 1))
    return Table(name, values.reshape(len(values), -1), columns, labels, rows, notes, shape)


def _digits() -> Table:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    labels = np.array([str(one) for one in bunch.target], dtype=object)
    return replace(shaped_table(bunch.images, "digits"), labels=labels)


BUILT_IN_IMAGES: dict[str, Callable[[], Table]] = {"digits": _digits}
"""Collections of images by name: 1,797 handwritten digits of 8 x 8 pixels from scikit-learn."""
