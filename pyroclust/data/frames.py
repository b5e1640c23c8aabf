"""Data frames and arrays as tables."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.data.columns import RawTable, SeriesColumn
from pyroclust.memory import check_memory
from pyroclust.text import visible

__all__ = ["raw_array", "raw_frame"]

_BYTES_A_NUMBER = 16


def raw_frame(frame: pd.DataFrame) -> RawTable:
    """Take a data frame apart; names of several levels are joined, an index that only counts is dropped."""
    notes: tuple[str, ...] = ()
    if frame.columns.nlevels > 1:
        notes = ("Names of columns with several levels were joined by an underscore.",)
    names = tuple(visible(_joined(name, "_").strip()) for name in frame.columns)
    columns = tuple(SeriesColumn(series) for _, series in frame.items())
    counts = isinstance(frame.index, pd.RangeIndex) and frame.index.start == 0 and frame.index.step == 1
    rows = None if counts else tuple(visible(_joined(row, ", ")) for row in frame.index)
    return RawTable(names, columns, len(frame), rows, notes)


def raw_array(array: NDArray[Any]) -> RawTable:
    """Take an array apart: columns ``x1, x2, ...``, or fields of records; what a mask hides is missing."""
    # Arrays that repeat one number take no memory before they are copied.
    check_memory(
        _BYTES_A_NUMBER * array.size, f"the array has {array.size:,} values, which", remedy="take fewer rows"
    )
    if array.dtype.names is not None:
        if array.ndim != 1:
            raise ValueError(f"the array has records of shape {array.shape}, expected (N,)")
        parts = {name: pd.Series(list(array[name])) for name in array.dtype.names}
        return raw_frame(pd.DataFrame(parts))
    if array.ndim not in (1, 2):
        raise ValueError(f"the array has shape {array.shape}, expected (N,) or (N, D)")
    if isinstance(array, np.ma.MaskedArray):
        hidden, array = np.ma.getmaskarray(array), array.data
        if hidden.any():
            array = array.astype(object)
            array[hidden] = None
    frame = pd.DataFrame(array)
    return raw_frame(frame.set_axis([f"x{i}" for i in range(1, frame.shape[1] + 1)], axis=1))


def _joined(name: Any, mark: str) -> str:
    return mark.join(map(str, name)) if isinstance(name, tuple) else str(name)
