"""Workbooks of Excel as tables."""

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from pyroclust.data.columns import RawTable
from pyroclust.data.frames import raw_frame
from pyroclust.errors import readable
from pyroclust.memory import check_memory
from pyroclust.text import short, visible

__all__ = ["read_workbook"]

# Of the cells of a packed sheet, for each byte.
_BYTES_A_BYTE = 300


def read_workbook(path: Path) -> RawTable:
    """Read the first sheet of a .xlsx file: its first row names the columns, formulas count as their values.

    Args:
        path: the file.

    Raises:
        ValueError: if the file is damaged, its first sheet has no rows, or openpyxl is not installed.
    """
    if find_spec("openpyxl") is None:
        raise ValueError(
            f"'{path}' is a workbook, which needs the package openpyxl: pip install 'pyroclust[excel]', or "
            "save the sheet as CSV"
        )
    check_memory(path.stat().st_size * _BYTES_A_BYTE, f"the cells of '{path}'", remedy="take fewer rows")
    with readable(path, lambda: pd.ExcelFile(path, engine="openpyxl")) as book:
        sheets = [str(name) for name in book.sheet_names]
        frame = readable(path, lambda: pd.read_excel(book, sheet_name=sheets[0]))
    frame = frame.dropna(how="all").reset_index(drop=True)
    if frame.empty:
        raise ValueError(f"'{path}' has no rows in its first sheet '{short(visible(sheets[0]), 60)}'")
    found = raw_frame(frame)
    if len(sheets) == 1:
        return found
    note = (
        f"The first of {len(sheets)} sheets was read, '{short(visible(sheets[0]), 60)}': to read another "
        "one, save it as CSV."
    )
    return RawTable(found.names, found.columns, found.num_rows, found.row_names, (*found.notes, note))
