"""Cells of text, of a delimited file or a sheet, as a table: names of columns and of rows."""

from collections.abc import Sequence

from pyroclust.data.columns import RawTable, TextColumn
from pyroclust.delimited import Cells, is_numeral
from pyroclust.text import visible

__all__ = ["columns_of", "numbered", "raw_text"]


def columns_of(rows: Sequence[list[str]], width: int) -> list[Cells]:
    """Return the cells of each column."""
    return [Cells([row[place] for row in rows]) for place in range(width)]


def numbered(width: int) -> list[str]:
    """Return names for columns without any."""
    return [f"x{place}" for place in range(1, width + 1)]


def raw_text(
    names: Sequence[str],
    columns: Sequence[TextColumn],
    *,
    is_header: bool,
    names_rows: bool = False,
    notes: Sequence[str] = (),
) -> RawTable:
    """Make a table of cells; a first column without a name, as pandas and R write it, names the rows."""
    names, columns, said = [name.strip() for name in names], list(columns), list(notes)
    row_names = None
    if is_header:
        cells = [column.written or column.cells for column in columns]
        _refuse_names_again(names, cells)
        empty = [not name and not any(map(str.strip, some)) for name, some in zip(names, cells, strict=True)]
        if any(empty) and not all(empty):
            names = [name for name, no in zip(names, empty, strict=True) if not no]
            columns = [column for column, no in zip(columns, empty, strict=True) if not no]
            said.append(f"{sum(empty)} empty column(s) without a name were left out.")
        if len(names) > 1 and not names[0] and not empty[0]:
            row_names = tuple(visible(cell) for cell in _as_names(cells[0]))
            names, columns = names[1:], columns[1:]
            if not names_rows:
                said.append("The first column has no name and was read as names of the rows.")
    if unnamed := names.count(""):
        said.append(f"{unnamed} column(s) without a name are called x and their number.")
    return RawTable(
        names=tuple(visible(name or f"x{place}") for place, name in enumerate(names, start=1)),
        columns=tuple(columns),
        num_rows=len(columns[0].cells),
        row_names=row_names,
        notes=tuple(said),
    )


def _refuse_names_again(names: list[str], columns: Sequence[Sequence[str]]) -> None:
    """Refuse files that were put one after the other with their names of columns."""
    for place, cell in enumerate(columns[0]):
        if cell.strip() == names[0] and [column[place].strip() for column in columns] == names and any(names):
            raise ValueError(
                f"the names of its columns come again in row {place + 1}, two tables or a row: remove "
                "that line, or give --no-header if the first line is a row too"
            )


def _as_names(cells: Sequence[str]) -> Sequence[str]:
    """Return a first column without a name, unless it holds measurements."""
    broken = (cell.strip() for cell in cells if is_numeral(cell) and not cell.strip().lstrip("+-").isdigit())
    if (one := next(broken, None)) is not None:
        raise ValueError(
            f"its first column has no name and holds '{visible(one)}', a name of the row or a number: "
            "give the column a name"
        )
    return cells
