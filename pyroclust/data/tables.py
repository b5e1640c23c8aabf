"""Tables of numbers: reading them from files, choosing columns, refusing what cannot be clustered."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.errors import first_line, other_separator, unknown_name

__all__ = ["MAX_POINTS", "SUFFIXES", "Table", "numbered_columns", "read_frame", "table_from_frame"]

MAX_POINTS = 5000
"""Above, the matrices of pairs of points do not fit into the memory of a small machine."""

SUFFIXES = (".csv", ".tsv", ".parquet", ".npy")


@dataclass(frozen=True)
class Table:
    """Points to cluster, in the units of their source.

    Attributes:
        name: what reports call it.
        data: ``(N, D)`` float64, finite.
        columns: D names.
        labels: N reference labels, kept for comparison and never used for clustering, or None.
        row_names: N names of the points.
    """

    name: str
    data: NDArray[np.float64]
    columns: tuple[str, ...]
    labels: NDArray[np.str_] | None
    row_names: tuple[str, ...]

    def __repr__(self) -> str:
        """Return the name, the size and the columns."""
        labels = "" if self.labels is None else f", {len(np.unique(self.labels))} reference labels"
        return f"Table({self.name!r}: {len(self.data)} points of {', '.join(self.columns)}{labels})"


def read_frame(path: Path) -> pd.DataFrame:
    r"""Read a CSV, TSV, Parquet or .npy file.

    A delimited file whose first line holds only numbers has no header: its columns become ``x1, x2, ...``.
    A first column without a name, as pandas and R write it, becomes the row names.

    Raises:
        ValueError: if the file is missing, of another kind, empty, or damaged.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
        >>> _ = path.write_text("width,height\n1,2\n3,5\n")
        >>> read_frame(path).shape
        (2, 2)
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"cannot read '{path}': its suffix is '{path.suffix}', expected one of {', '.join(SUFFIXES)}"
        )
    if not path.is_file():
        raise ValueError(f"there is no file '{path}'; check the path")
    _check_separator(path)
    try:
        return _READERS[path.suffix.lower()](path)
    except pd.errors.EmptyDataError:
        raise ValueError(f"'{path}' is empty; expected at least two rows of numbers") from None
    except PermissionError:
        raise ValueError(f"'{path}' cannot be read: permission denied") from None
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(
            f"'{path}' is not a readable {path.suffix} file ({first_line(error)}); write it again"
        ) from None


def table_from_frame(
    frame: pd.DataFrame, name: str, *, columns: Sequence[str] | None = None, label: str | None = None
) -> Table:
    """Choose columns of a data frame and check that they can be clustered.

    Args:
        frame: the table.
        name: what reports call it.
        columns: columns to cluster; all but ``label`` by default.
        label: column of reference labels.

    Raises:
        ValueError: if a column is unknown, not numeric, or holds missing or infinite values, or if there are
            fewer than two rows.

    Example:
        >>> frame = pd.DataFrame({"width": [1.0, 2.0, 4.0], "kind": ["a", "a", "b"]})
        >>> table_from_frame(frame, "boxes", label="kind").columns
        ('width',)
    """
    frame = frame.rename(columns=str)
    for column in [*(columns or ()), *([label] if label is not None else [])]:
        if column not in frame.columns:
            raise ValueError(f"{name}: {unknown_name('column', column, frame.columns)}")
    chosen = list(columns) if columns is not None else [c for c in frame.columns if c != label]
    if label in chosen:
        raise ValueError(
            f"{name}: column '{label}' is the label and cannot be clustered too; leave it out of --columns"
        )
    if not chosen:
        raise ValueError(f"{name} has no column to cluster; name at least one with --columns")
    if len(set(chosen)) < len(chosen) or not frame.columns.is_unique:
        raise ValueError(f"{name}: a column name appears twice in {', '.join(chosen)}; name each column once")
    if len(frame) < 2:
        raise ValueError(f"{name} has {len(frame)} row(s), expected at least 2 points to cluster")
    return Table(
        name=name,
        data=_numbers(frame[chosen], name),
        columns=tuple(chosen),
        labels=None if label is None else frame[label].astype(str).to_numpy(dtype=np.str_),
        row_names=_row_names(frame),
    )


def _numbers(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    for column in frame.columns:
        dtype = frame[column].dtype
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
            raise ValueError(
                f"{name}: column '{column}' holds {_first_text(frame[column])}, not only real numbers; "
                f"choose columns with --columns, or keep it as reference labels with --label {column}"
            )
    data = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = ~np.isfinite(data)
    if bad.any():
        where = ", ".join(
            f"{count} in '{c}'" for c, count in zip(frame.columns, bad.sum(0), strict=True) if count
        )
        raise ValueError(f"{name} holds missing or infinite values ({where}); drop or fill those rows first")
    return data


def _first_text(column: "pd.Series[object]") -> str:
    numeric = pd.to_numeric(column, errors="coerce")
    culprits = column[numeric.isna() & column.notna()]
    return f"'{culprits.iloc[0]}'" if len(culprits) else f"values of type {column.dtype}"


def _row_names(frame: pd.DataFrame) -> tuple[str, ...]:
    if isinstance(frame.index, pd.RangeIndex):
        return tuple(str(row) for row in range(1, len(frame) + 1))
    return tuple(str(row) for row in frame.index)


def _check_separator(path: Path) -> None:
    separator = {".csv": ",", ".tsv": "\t"}.get(path.suffix.lower())
    if separator is None:
        return
    try:
        with path.open(encoding="utf-8") as file:
            reason = other_separator(file.readline(), separator)
    except (OSError, UnicodeDecodeError):
        # Whoever reads the table says what is wrong with it.
        return
    if reason is not None:
        raise ValueError(f"cannot read '{path}': {reason}")


def _read_delimited(path: Path, separator: str) -> pd.DataFrame:
    first = pd.read_csv(path, sep=separator, header=None, nrows=1)
    if all(pd.api.types.is_numeric_dtype(dtype) for dtype in first.dtypes) and first.notna().all(axis=None):
        return numbered_columns(pd.read_csv(path, sep=separator, header=None))
    frame = pd.read_csv(path, sep=separator)
    if str(frame.columns[0]) == "Unnamed: 0":
        return frame.set_index(frame.columns[0])
    return frame


def _read_npy(path: Path) -> pd.DataFrame:
    array = np.load(path, allow_pickle=False)
    if array.ndim not in (1, 2):
        raise ValueError(f"the array has shape {array.shape}, expected (N,) or (N, D)")
    return numbered_columns(pd.DataFrame(array))


def numbered_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Call the columns of a table without names ``x1, x2, ...``."""
    return frame.set_axis([f"x{i}" for i in range(1, frame.shape[1] + 1)], axis=1)


_READERS = {
    ".csv": lambda path: _read_delimited(path, ","),
    ".tsv": lambda path: _read_delimited(path, "\t"),
    ".parquet": pd.read_parquet,
    ".npy": _read_npy,
}
