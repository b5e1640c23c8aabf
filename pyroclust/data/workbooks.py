"""Workbooks of Excel: the cells of the first sheet as text, as a delimited file has them."""

import re
import warnings
import zipfile
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from pyroclust.core.errors import readable
from pyroclust.core.text import listed, short, visible
from pyroclust.data.columns import as_text
from pyroclust.data.delimited.reading import Rows

__all__ = ["read_workbook"]

# Bytes, unpacked; of a sheet of more than about a million cells minutes pass before anything is known.
_LARGEST = 32 << 20
# Cells of a sheet for each that holds something; and of a sheet that is small whatever it holds.
_EMPTY, _FEW = 100, 10_000
# In the XML of a sheet; a formula whose value is an empty text has a type of its own.
_UNCOMPUTED = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)><(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)(?:<(?:\w+:)?v\s*/>|<v></v>)?</(?:\w+:)?c>"
)
_HIDDEN = re.compile(rb"<(?:\w+:)?(?:row|col)\s[^>]*\bhidden=\"(?:1|true)\"")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s")


def read_workbook(path: Path) -> Rows:
    """Return the rows of the first sheet of a .xlsx file; formulas count as their values."""
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
    names, rows, formulas, notes = readable(path, lambda: _filled_rows(path))
    name = short(visible(names[0]), 60)
    if formulas:
        raise ValueError(
            f"'{path}' holds {len(formulas):,} formula(s) without a value in its first sheet '{name}' "
            f"({listed(formulas, 3)}): open it in a spreadsheet program, which computes them, and save it"
        )
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
    if len(names) > 1:
        said = f"The first of {len(names)} sheets was read, '{name}', hidden ones passed over"
        notes = [f"{said}: to read another one, save it as CSV.", *notes]
    return Rows(cells, tuple(notes))


def _filled_rows(path: Path) -> tuple[list[str], dict[int, list[str]], list[str], list[str]]:
    """Return names of sheets, and of the first its rows by numbers, formulas without a value, and notes."""
    import openpyxl
    from openpyxl.cell.cell import ERROR_CODES

    found = dict[int, list[str]]()
    with warnings.catch_warnings(action="ignore"):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        with closing(book), zipfile.ZipFile(path) as archive:
            shown = [one for one in book.worksheets if one.sheet_state == "visible"]
            sheet = (shown or book.worksheets)[0]
            names = [sheet.title, *(one.title for one in book.worksheets if one is not sheet)]
            content = archive.read(sheet._worksheet_path)
            # What a file says of its size may be wrong.
            sheet.reset_dimensions()
            for place, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                cells = ["" if one is None or one in ERROR_CODES else as_text(one) or "" for one in row]
                while cells and not cells[-1].strip():
                    cells.pop()
                if cells:
                    found[place] = cells
    formulas = [one.decode() for one in _UNCOMPUTED.findall(content) if b't="str"' not in one]
    return names, found, [one.partition('r="')[2].partition('"')[0] for one in formulas], _view_notes(content)


def _view_notes(sheet: bytes) -> list[str]:
    """Say what of a sheet somebody sees otherwise than it is read; openpyxl reads no more than cells here."""
    hidden, merged = (len(one.findall(sheet)) for one in (_HIDDEN, _MERGED))
    notes = [f"{hidden:,} hidden row(s) or groups of columns were read too."] * bool(hidden)
    if merged:
        notes.append(
            f"Cells are merged in {merged:,} places: the first of them holds the value, and the others were "
            "read as missing. Undo that, and fill them, if they mean the same."
        )
    return notes
