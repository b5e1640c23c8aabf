"""What a page is made of: verdicts, tiles, sections, and the parts of a section."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from pyroclust.diagnostics import Trust, Verdict
from pyroclust.report.words import short

__all__ = [
    "FigureTable",
    "Headline",
    "Mark",
    "Paragraph",
    "Part",
    "RowColumn",
    "RowsTable",
    "Section",
    "Tile",
    "VerdictRow",
    "rows_table",
]

MOST_ROWS = 2000
MOST_CELLS = 24_000
LONGEST_CELL = 60


class Mark(Enum):
    """How an answer is marked, by a shape and a word besides the colour."""

    GOOD = "good"
    CAUTION = "with care"
    BAD = "bad"
    UNKNOWN = "cannot tell"
    PLAIN = "for information"


_MARKS = {
    Trust.TRUST: Mark.GOOD,
    Trust.AVERAGE: Mark.GOOD,
    Trust.AGREE: Mark.GOOD,
    Trust.CORRECT: Mark.CAUTION,
    Trust.UNKNOWN: Mark.UNKNOWN,
    Trust.DISTRUST: Mark.BAD,
    Trust.DIFFER: Mark.BAD,
}


@dataclass(frozen=True)
class Headline:
    """The verdict in large letters.

    Attributes:
        mark: good or bad.
        level: two or three words.
        sentence: the reason.
    """

    mark: Mark
    level: str
    sentence: str

    @classmethod
    def of(cls, verdict: Verdict) -> "Headline":
        """Return the headline of a verdict.

        Example:
            >>> Headline.of(Verdict(Trust.DISTRUST, "It never finds the third cluster.")).mark
            <Mark.BAD: 'bad'>
        """
        return cls(_MARKS[verdict.level], verdict.level.value, verdict.sentence)


@dataclass(frozen=True)
class VerdictRow:
    """One line of the table that stands first.

    Attributes:
        question: answered by yes or no, yes being good.
        answer: a word or two.
        mark: good or bad.
        figure: what was measured, with its unit.
        limit: where the answer changes.
    """

    question: str
    answer: str
    mark: Mark
    figure: str
    limit: str


@dataclass(frozen=True)
class Tile:
    """One large number.

    Attributes:
        name: of the number.
        value: as written.
        note: what it is measured in, or against.
    """

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class Part:
    """Something a section holds; each kind names the template that writes it."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Paragraph(Part):
    """A paragraph of plain text."""

    template: ClassVar[str] = "part_paragraph.html.jinja"
    text: str


@dataclass(frozen=True)
class FigureTable(Part):
    """A small table of figures, already written as text.

    Attributes:
        caption: what the table says and how to read it.
        header: titles of the columns, the first one over the names of the rows.
        rows: a name and its cells each.

    Raises:
        ValueError: if a row has more or fewer cells than the header.

    Example:
        >>> FigureTable("Cost.", ("", "guide", "MCMC"), (("seconds", "0.1", "20"),)).header[1]
        'guide'
    """

    template: ClassVar[str] = "part_table.html.jinja"
    name: ClassVar[str] = "figures"
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Check that the table is rectangular."""
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"a row has {len(row)} cells, expected {len(self.header)}: {row}")


@dataclass(frozen=True)
class RowsTable(FigureTable):
    """A table of the data's rows, of which the page shows the first; see :func:`rows_table`.

    Attributes besides those of :class:`FigureTable`:
        num_rows: rows that there are.
        elsewhere: the file that has all of them.
    """

    template: ClassVar[str] = "part_rows.html.jinja"
    name: ClassVar[str] = "rows"
    num_rows: int
    elsewhere: str


@dataclass(frozen=True)
class RowColumn:
    """One column of a :class:`RowsTable`.

    Attributes:
        title: of the column.
        values: one a row.
        write: turns a value into text.
    """

    title: str
    values: Sequence[Any] | np.ndarray
    write: Callable[[Any], str] = str


def rows_table(
    caption: str, columns: Sequence[RowColumn], *, elsewhere: str = "assignments.csv"
) -> RowsTable:
    """Return a table of at most 2000 rows and 24,000 cells: a page stays below 3 MB whatever the data.

    Args:
        caption: what the table says and how to read it.
        columns: the first one names the rows.
        elsewhere: the file that has all rows.

    Raises:
        ValueError: if there are no columns, or they differ in length.

    Example:
        >>> table = rows_table("Rows.", [RowColumn("row", range(5000)), RowColumn("cluster", range(5000))])
        >>> table.num_rows, len(table.rows), table.rows[1]
        (5000, 2000, ('1', '1'))
    """
    lengths = {len(column.values) for column in columns}
    if len(lengths) != 1:
        raise ValueError(f"columns have lengths {sorted(lengths)}, expected one length")
    num_rows = lengths.pop()
    shown = min(num_rows, MOST_ROWS, max(1, MOST_CELLS // len(columns)))
    cells = [
        [short(column.write(column.values[i]), LONGEST_CELL) for i in range(shown)] for column in columns
    ]
    header = tuple(short(column.title, LONGEST_CELL) for column in columns)
    return RowsTable(caption, header, tuple(zip(*cells, strict=True)), num_rows, elsewhere)


@dataclass(frozen=True)
class Section:
    """A section of the page that folds.

    Attributes:
        title: its heading.
        parts: what it holds, from top to bottom.
        is_open: whether the page opens with it unfolded.
        gist: its finding in a few words, seen when it is folded too.
    """

    title: str
    parts: tuple[Part, ...]
    is_open: bool = False
    gist: str = ""
