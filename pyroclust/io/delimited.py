"""Draws of partitions in delimited text: one row a draw, one column a point."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from pyroclust.delimited import DelimitedText, Marks, ReadingOptions, Row, find_marks, read_delimited
from pyroclust.io.columns import draws_in_frame, is_beside, refuse_twice
from pyroclust.partitions import Draws
from pyroclust.partitions.renumbering import check_room
from pyroclust.text import visible

__all__ = ["read_table_draws"]

# Lines that are looked at to tell names of columns from a draw.
_LOOKED_AT = 100
_ZERO_FIRST = re.compile(r'(?:\A|[,;:\t| "\n\r])0\d')


def read_table_draws(
    path: Path, *, variable: str | None = None, options: ReadingOptions | None = None
) -> Draws:
    """Read draws from a table; see :func:`pyroclust.io.draws.read_draws` for what it may hold.

    Args:
        path: an existing file.
        variable: name of the indexed columns that are the points.
        options: what is told of the file.

    Raises:
        ValueError: if the table is damaged or ragged, has chains of unequal lengths, or it is not plain
            which columns are the points.
    """
    check_room(f"'{path}'", path.stat().st_size // 2)
    frame, written, has_zeros, header = _read_frame(path, options or ReadingOptions())
    return draws_in_frame(
        frame,
        written=written,
        has_zeros=has_zeros,
        where=f"'{path}'",
        variable=variable,
        is_header=header.is_header,
        names_points=header.names_points,
        notes=header.notes,
    )


@dataclass(frozen=True)
class _DrawsHeader:
    """Whether the first line names the columns, and whether these names say anything of the points.

    Cells below are labels: whole numbers or words, of which a draw repeats some. What tells names of columns
    from measurements, such as decimals and years, says nothing of them.
    """

    is_header: bool
    names_points: bool
    notes: tuple[str, ...] = ()


_NO_HEADER = _DrawsHeader(is_header=False, names_points=False)
_HEADER = _DrawsHeader(is_header=True, names_points=True)


def _read_frame(
    path: Path, options: ReadingOptions
) -> tuple[pd.DataFrame, Callable[[], pd.DataFrame], bool, _DrawsHeader]:
    """Return cells, how to have them as text, whether zeros stand before digits, and what the names are."""
    found = read_delimited(path, options=options)
    top = list(islice(found.rows(), _LOOKED_AT))
    if not top:
        raise ValueError(f"'{path}' is empty; expected one row a draw and one column a point")
    cells = [[cell.strip() for cell in row.cells] for row in top]
    if options.header is not None:
        header = _HEADER if options.header else _NO_HEADER
    else:
        header = _HEADER if found.form.names_rows else _header_of_draws(cells)
    if header.is_header:
        # Of points equal names are numbered.
        refuse_twice([name for name in cells[0] if is_beside(name)], f"'{path}'")
    columns = zip(*(cells[1:] if header.is_header else cells), strict=True)
    try:
        marks = find_marks(columns, delimiter=found.delimiter, decimal=options.decimal)
        body = _body(found, top, header)
        frame = _cells(found, body, marks)
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame(columns=list(range(found.form.width)))
    except ValueError as error:
        reason = (str(error).strip().splitlines() or ["unknown reason"])[0].rstrip(".")
        raise ValueError(f"'{path}' is not a readable {path.suffix} table: {visible(reason)}") from None
    width = found.form.width
    columns = pd.Index(_names(cells[0], width) if header.is_header else range(width))

    def written() -> pd.DataFrame:
        text = _cells(found, body, None)
        return text.apply(lambda column: column.str.strip()).set_axis(columns, axis=1)

    frame.columns = columns
    if header.is_header and any(not pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes):
        _refuse_names_again(written(), cells[0], f"'{path}'")
    notes = (*found.notes, *marks.notes, *header.notes)
    return frame, written, _ZERO_FIRST.search(body) is not None, replace(header, notes=notes)


def _cells(found: DelimitedText, body: str, marks: Marks | None) -> pd.DataFrame:
    """Return cells with numbers where whole columns are, or as text where no marks are given."""
    return pd.read_csv(
        io.StringIO(body),
        sep=r"\s+" if found.delimiter == " " else found.delimiter,
        decimal="." if marks is None else marks.decimal,
        thousands=None if marks is None else marks.thousands[:1] or None,
        dtype=str if marks is None else None,
        keep_default_na=marks is not None,
        header=None,
        names=list(range(found.form.width)),
        # A line that ends in a delimiter has a cell more than there are columns.
        index_col=False,
        skipinitialspace=True,
        low_memory=False,
    )


def _refuse_names_again(written: pd.DataFrame, first: list[str], where: str) -> None:
    """Refuse files that were put one after the other with their names of columns."""
    names = [""] * (written.shape[1] - len(first)) + first[: written.shape[1]]
    again = (written == np.array(names, dtype=object)).all(axis=1).to_numpy()
    if again.any():
        raise ValueError(
            f"{where} has the names of its columns again in place of draw {int(np.argmax(again)) + 1}, "
            "expected them once: remove such lines, or give --no-header if the first line is a draw too"
        )


def _body(found: DelimitedText, top: list[Row], header: _DrawsHeader) -> str:
    """Return the text of the draws, without names and comments."""
    stream = io.StringIO(found.text, newline="")
    if header.is_header and len(top) < 2:
        return ""
    for _ in range(top[int(header.is_header)].line - 1):
        stream.readline()
    if found.comment is None:
        return stream.read()
    return "".join(line for line in stream if not line.startswith(found.comment))


def _names(first: list[str], width: int) -> list[str]:
    """Return names of columns as pandas makes them: a number follows a name that was there before."""
    names, seen = [], dict[str, int]()
    for place, cell in enumerate([""] * (width - len(first)) + first[:width]):
        name = visible(cell) or f"Unnamed: {place}"
        names.append(f"{name}.{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return names


def _header_of_draws(top: list[list[str]]) -> _DrawsHeader:
    """Guess whether the first line names the columns of draws."""
    if not top:
        return _NO_HEADER
    first, below = top[0], top[1:]
    numbers = _numbers(first)
    if not np.isnan(numbers).any():
        return _numbered_line(numbers, below)
    empty = [place for place, cell in enumerate(first) if not cell]
    if empty:
        # Only an index has a column without a name, and it is the first.
        return _HEADER if empty == [0] else _NO_HEADER
    # Labels may be names: then a draw repeats one, and the second line holds no numbers either.
    repeats = len(set(first)) < len(first)
    names_below = bool(below) and bool(np.isnan(_numbers(below[0])).any())
    return _NO_HEADER if repeats and names_below else _HEADER


def _numbered_line(numbers: np.ndarray, below: list[list[str]]) -> _DrawsHeader:
    """Tell the columns 0, 1, 2, ... that pandas writes from a draw in which every point is alone."""
    if len(numbers) < 3 or numbers[0] not in (0, 1) or (np.diff(numbers) != 1).any():
        return _NO_HEADER
    is_header = bool(below) and all(len(set(row)) < len(row) for row in below)
    what = "names of the columns" if is_header else "a draw"
    note = f"The first line, {numbers[0]:.0f} to {numbers[-1]:.0f}, was read as {what}."
    return _DrawsHeader(is_header=is_header, names_points=False, notes=(note,))


def _numbers(cells: list[str]) -> np.ndarray:
    return pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
