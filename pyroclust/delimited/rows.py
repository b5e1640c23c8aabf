"""Bytes of a text file as rows of cells of one width, whatever wrote them."""

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pyroclust.delimited.numerals import is_numeral

__all__ = ["COMMENT", "Rows", "decoded", "rows_of"]

COMMENT = "#"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# In text every second byte of UTF-16 is zero; in UTF-8 hardly any is.
_MOSTLY = 0.4
_LAYOUT = frozenset(b"\t\n\r\x0b\x0c")


def decoded(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text of a file, by its mark, as UTF-16, UTF-8 or Windows-1252, and a note on a guess."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            # Software that adds a mark to what has one already leaves two.
            return _tried(content[len(mark) :], encoding).lstrip("\ufeff"), ()
    zeros = [content[place::2].count(0) > _MOSTLY * (len(content) // 2) for place in (0, 1)]
    if len(content) % 2 == 0 and zeros[0] != zeros[1]:
        note = "The file was read as UTF-16, without the mark for it."
        return _tried(content, "utf-16-le" if zeros[1] else "utf-16-be"), (note,)
    try:
        return content.decode("utf-8"), ()
    except UnicodeDecodeError:
        pass
    if any(byte < 32 and byte not in _LAYOUT for byte in set(content)):
        raise ValueError("it holds bytes that are no text")
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text, ("The file is not UTF-8 and was read as Windows-1252 (Latin-1).",)


def _tried(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise ValueError(f"it begins like {encoding.upper()} text and goes on as something else") from None


@dataclass(frozen=True)
class Rows:
    """Cells of a text file or a sheet in rows of one width, the first line included, and what was found."""

    cells: list[list[str]] = field(repr=False)  # without the spaces before them
    notes: tuple[str, ...] = ()
    delimiter: str = ""  # empty where nothing has to divide them
    names_rows: bool = False  # the first line is one short, so that the first column is names of rows
    is_commented: bool = False  # lines that begin with # were left out
    names: tuple[str, ...] | None = None  # of the columns, in a comment above the first row

    @property
    def width(self) -> int:
        """Cells of a row."""
        return len(self.cells[0]) if self.cells else 0


def rows_of(text: str, delimiter: str, *, comment: str | None = None, most: int | None = None) -> Rows:
    """Divide a text into rows; blank lines, comments and empty rows at the ends are no rows."""
    start, is_new, is_quoted = 0, True, False

    def lines() -> Iterator[str]:
        nonlocal start, is_new, is_quoted
        for number, line in enumerate(io.StringIO(text, newline=""), start=1):
            if is_new and comment is not None and line.startswith(comment):
                continue
            if is_new:
                is_new, start, is_quoted = False, number, line.lstrip(" ").startswith('"')
                line = line if line.strip(" \r\n") else "\n"
            yield line.replace("\t", " ").rstrip() + "\n" if delimiter == " " else line

    every: list[tuple[int, list[str], bool]] = []
    try:
        for cells in csv.reader(lines(), delimiter=delimiter, skipinitialspace=True, strict=True):
            is_new = True
            every.append((start, cells, is_quoted or any(map(str.strip, cells))))
            if len(every) == most:
                break
    except csv.Error as error:
        raise ValueError(f"line {start} cannot be divided into cells ({error})") from None
    full = [place for place, (_, _, is_full) in enumerate(every) if is_full]
    kept = every[full[0] : full[-1] + 1] if full else []
    rows = {line: cells for line, cells, _ in kept if cells}
    found = _of_one_width([*rows.values()], [*rows], len(kept) - len(rows), text)
    return replace(found, delimiter=delimiter)


def _of_one_width(rows: list[list[str]], places: list[int], num_blank: int, text: str) -> Rows:
    if not rows:
        return Rows([])
    notes = []
    if num_blank:
        lines = "1 blank line" if num_blank == 1 else f"{num_blank:,} blank lines"
        notes.append(f"{lines} between the rows held no row.")
    first, rest = rows[0], rows[1:]
    width, widths = len(first), {len(row) for row in rest}
    is_cut = False
    if widths == {width + 1} and not any(row[-1] for row in rest):
        rest, is_cut = [row[:-1] for row in rest], True
    elif widths == {width - 1} and not first[-1] and width > 2:
        first, is_cut = first[:-1], True
    elif widths == {width + 1} and _are_names(first, rest, text):
        notes.append(
            "The first line has one name less than the others have cells: the first column names the rows."
        )
        return Rows([["", *first], *rest], names_rows=True, notes=tuple(notes))
    elif width == 1 and len(widths) == 1 and len(rest) > 1 and widths != {1}:
        raise ValueError(
            f"line {places[0]} has 1 cell, and all others {len(rest[0])}: if it is a title above the names "
            "of the columns, remove it"
        )
    elif widths - {width}:
        place, row = next((place, row) for place, row in enumerate(rest, 1) if len(row) != width)
        cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
        way = ": if it is a note below the rows, remove it" if len(row) == 1 else ""
        raise ValueError(f"line {places[place]} has {cells}, expected {width} as in line {places[0]}{way}")
    rows = [first, *rest]
    while len(rows[0]) > 1 and not any(row[-1] for row in rows):
        rows, is_cut = [row[:-1] for row in rows], True
    if is_cut:
        notes.append("Every line ends with a delimiter, behind which no column was read.")
    return Rows(rows, notes=tuple(notes))


def _are_names(first: list[str], rest: list[list[str]], text: str) -> bool:
    names = [row[0] for row in rest]
    if len(set(names)) < len(names) or not all(names) or all(map(is_numeral, first)):
        return False
    counted = names == [str(place) for place in range(1, len(names) + 1)]
    # R puts quotes around names of rows, numbers too.
    is_quoted = all(f'\n"{name}"' in text for name in names[:10])
    return counted or is_quoted or not any(map(is_numeral, names))
