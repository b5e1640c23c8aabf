"""Workbooks of Excel: the cells of the first sheet as text, as a delimited file has them."""

import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path

from pyroclust.data.columns import as_text
from pyroclust.errors import readable
from pyroclust.text import short, visible

__all__ = ["read_workbook"]

# Bytes, unpacked; of a sheet of more than about a million cells minutes pass before anything is known.
_LARGEST = 32 << 20
# Cells of a sheet for each that holds something; and of a sheet that is small whatever it holds.
_EMPTY, _FEW = 100, 10_000


def read_workbook(path: Path) -> tuple[list[list[str]], tuple[str, ...]]:
    """Return the rows of the first sheet of a .xlsx file, and notes; formulas count as their values."""
    if find_spec("openpyxl") is None:
        raise ValueError(
            f"'{path}' is a workbook, which needs the package openpyxl: pip install 'pyroclust[excel]', or "
            "save the sheet as CSV"
        )
    with readable(path, lambda: zipfile.ZipFile(path)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > _LARGEST:
        raise ValueError(
            f"'{path}' unpacks to {unpacked >> 20:,} MiB, expected at most {_LARGEST >> 20}: save the sheet "
            "as CSV"
        )
    names, rows = readable(path, lambda: _filled_rows(path))
    name = short(visible(names[0]), 60)
    if len(rows) < 2:
        raise ValueError(f"'{path}' has no rows in its first sheet '{name}'")
    every = range(min(rows), max(rows) + 1)
    width, filled = max(map(len, rows.values())), sum(len(row) - row.count("") for row in rows.values())
    if len(every) * width > max(_FEW, _EMPTY * filled):
        raise ValueError(
            f"'{path}' holds something in {filled:,} of {len(every):,} x {width:,} cells of its first sheet "
            f"'{name}', the last in row {every[-1]:,}: empty the cells that stand apart, or save the table "
            "as CSV"
        )
    cells = [row + [""] * (width - len(row)) for row in (rows.get(place, []) for place in every)]
    note = f"The first of {len(names)} sheets was read, '{name}': to read another one, save it as CSV."
    return cells, (note,) * (len(names) > 1)


def _filled_rows(path: Path) -> tuple[list[str], dict[int, list[str]]]:
    """Return names of sheets, and by their numbers the rows of the first that hold something."""
    import openpyxl
    from openpyxl.cell.cell import ERROR_CODES

    found = {}
    with warnings.catch_warnings(action="ignore"):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            sheet = book.worksheets[0]
            # What a file says of its size may be wrong.
            sheet.reset_dimensions()
            for place, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                cells = ["" if one is None or one in ERROR_CODES else as_text(one) or "" for one in row]
                while cells and not cells[-1].strip():
                    cells.pop()
                if cells:
                    found[place] = cells
        finally:
            book.close()
    return [one.title for one in book.worksheets], found
