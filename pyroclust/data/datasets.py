"""Data sets by name: built-in tables, files and arrays, all read into a :class:`Table`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.data.tables import SUFFIXES, Table, numbered_columns, read_frame, table_from_frame
from pyroclust.errors import unknown_name

__all__ = ["BUILT_IN", "BuiltIn", "Source", "read_table"]

Source: TypeAlias = str | PathLike[str] | pd.DataFrame | NDArray[np.generic] | Table
"""A name, a path, or numbers: tensors and whatever else numpy can read are arrays."""


@dataclass(frozen=True)
class BuiltIn:
    """A table that comes with the package.

    Attributes:
        read: reads all of it.
        columns: columns that are clustered unless others are named.
        label: column of reference labels, if any.
        about: what it is, in one line.
    """

    read: Callable[[], pd.DataFrame]
    columns: tuple[str, ...]
    label: str | None
    about: str


def _galaxies() -> pd.DataFrame:
    with files("pyroclust").joinpath("data/galaxies.csv").open() as lines:
        return pd.read_csv(lines)


def _iris() -> pd.DataFrame:
    from sklearn.datasets import load_iris

    bunch = load_iris()
    columns = [name.removesuffix(" (cm)").replace(" ", "_") + "_cm" for name in bunch.feature_names]
    frame = pd.DataFrame(bunch.data, columns=columns)
    return frame.assign(species=bunch.target_names[bunch.target])


BUILT_IN = {
    "galaxies": BuiltIn(
        _galaxies,
        ("velocity_km_s",),
        None,
        "82 galaxy velocities of the Corona Borealis region (Roeder 1990, point 78 corrected), km/s",
    ),
    "iris": BuiltIn(
        _iris,
        ("petal_length_cm", "petal_width_cm"),
        "species",
        "petals of 150 irises (Anderson 1935), cm; sepal_length_cm and sepal_width_cm by --columns",
    ),
}


def read_table(source: Source, *, columns: Sequence[str] | None = None, label: str | None = None) -> Table:
    """Read a built-in data set, a CSV / TSV / Parquet / .npy file, a data frame or an array.

    Args:
        source: ``"galaxies"``, ``"iris"``, the path of a file, a data frame, an array or a tensor ``(N,)`` or
            ``(N, D)``; or a table, which comes back as it is.
        columns: columns to cluster; by default all but the label, and the petals of iris.
        label: column of reference labels, kept and never used for clustering.

    Raises:
        ValueError: if the source cannot be read or its columns cannot be clustered; the sentence says what
            to do.

    Example:
        >>> table = read_table("galaxies")
        >>> table.data.shape, table.columns
        ((82, 1), ('velocity_km_s',))
        >>> sorted(set(read_table("iris").labels.tolist()))
        ['setosa', 'versicolor', 'virginica']
    """
    if isinstance(source, Table):
        return _chosen_before(source, columns, label)
    if isinstance(source, pd.DataFrame):
        return table_from_frame(source, "table", columns=columns, label=label)
    if not isinstance(source, str | PathLike):
        source = _array(source)
        if source.ndim not in (1, 2):
            raise ValueError(f"source has shape {source.shape}, expected (N,) or (N, D)")
        frame = numbered_columns(pd.DataFrame(source))
        return table_from_frame(frame, "array", columns=columns, label=label)
    name = str(source)
    if name in BUILT_IN:
        chosen = BUILT_IN[name]
        return table_from_frame(
            chosen.read(),
            name,
            columns=columns or [column for column in chosen.columns if column != label],
            label=chosen.label if label is None else label,
        )
    path = Path(name)
    if not path.suffix and not path.exists():
        raise ValueError(
            f"{unknown_name('data set', name, BUILT_IN)}; or give a file ({', '.join(SUFFIXES)})"
        )
    return table_from_frame(read_frame(path), path.stem, columns=columns, label=label)


def _chosen_before(table: Table, columns: Sequence[str] | None, label: str | None) -> Table:
    for name, value in (("columns", columns), ("label", label)):
        if value is not None:
            raise ValueError(
                f"{name} is {value!r}, but source is the table {table.name}, read with its columns: "
                f"give {name} to read_table"
            )
    return table


def _array(source: Any) -> NDArray[np.generic]:
    """Take numbers out of an array, a tensor of any device, or lists."""
    try:
        return np.asarray(source.detach().cpu() if hasattr(source, "detach") else source)
    except (TypeError, ValueError):
        raise ValueError(
            f"source is of type {type(source).__name__} with rows of unequal lengths, expected (N,) or (N, D)"
        ) from None
