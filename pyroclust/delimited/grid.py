"""Rows of text without quotes, all of one width, divided at once."""

import csv
from dataclasses import dataclass

from pyroclust.delimited.rows import BLANK, Form

__all__ = ["Grid", "grid_of"]


@dataclass(frozen=True)
class Grid:
    """All cells of a text, row after row.

    Attributes:
        cells: in the order of the file.
        width: cells of a row, with one behind the last delimiter of every row if that is there.
        form: the shape of the rows.
    """

    cells: list[str]
    width: int
    form: Form

    def __repr__(self) -> str:
        """Return the size."""
        return f"Grid({self.form.num_rows} rows of {self.width} cells)"

    def row(self, place: int) -> list[str]:
        """Return the cells of a row."""
        return self.cells[place * self.width :][: self.form.width]

    def column(self, place: int) -> list[str]:
        """Return the cells of a column, without the first row's."""
        return self.cells[self.width + place :: self.width]


def grid_of(text: str, delimiter: str, *, comment: str | None = None) -> Grid | None:
    r"""Divide a text as :func:`~pyroclust.delimited.rows.rows_of` does, where lines are rows of one width.

    Args:
        text: of the file.
        delimiter: one character.
        comment: how lines begin that are no rows.

    Returns:
        ``None`` where rows have to be read one by one: with quotes, spaces as delimiters, other widths, or
        empty rows at an end.

    Example:
        >>> grid_of("a, b\n1,2\n\n3,4\n", ",").column(1)
        ['2', '4']
        >>> grid_of('a,b\n"1",2\n', ",")
    """
    if '"' in text or delimiter == " ":
        return None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    places = [
        place
        for place, line in enumerate(lines)
        if line.strip(BLANK) and (comment is None or not line.startswith(comment))
    ]
    rows = [lines[place] for place in places]
    if (
        not rows
        or len({row.count(delimiter) for row in rows}) > 1
        or max(map(len, rows)) > csv.field_size_limit()
    ):
        return None
    if any(not "".join(row.split(delimiter)).strip() for row in (rows[0], rows[-1])):
        return None
    width = rows[0].count(delimiter) + 1
    joined = delimiter.join(rows)
    cells = joined.split(delimiter)
    if " " in joined:
        cells = [cell.lstrip(" ") for cell in cells]
    is_cut = width > 1 and not any(cells[width - 1 :: width])
    between = lines[places[0] : places[-1]]
    num_blank = sum(1 for line in between if not line.strip(BLANK)) if len(between) >= len(rows) else 0
    return Grid(cells, width, Form(width - is_cut, is_cut=is_cut, num_rows=len(rows), num_blank=num_blank))
