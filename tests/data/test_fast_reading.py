"""Rows that are divided at once are the rows that are read one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyroclust.delimited.grid import grid_of
from pyroclust.delimited.numerals import Cells, Marks
from pyroclust.delimited.rows import form_of, rows_of

CELLS = st.text(st.sampled_from("019.-+eE a#\x0b\x00"), max_size=4)
DELIMITERS = st.sampled_from([",", ";", "\t", "|"])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \n", "\n#c\n"])


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """A text, most often of one width, and its delimiter."""
    mark, width = draw(DELIMITERS), draw(st.integers(1, 4))
    widths = st.just(width) if draw(st.booleans()) else st.integers(1, 4)
    lines = [
        mark.join(draw(st.lists(CELLS, min_size=n, max_size=n))) + draw(ENDS)
        for n in draw(st.lists(widths, min_size=1, max_size=6))
    ]
    return "".join(lines), mark


@given(texts(), st.sampled_from([None, "#"]))
def test_both_ways_agree(found: tuple[str, str], comment: str | None) -> None:
    text, mark = found
    grid = grid_of(text, mark, comment=comment)
    if grid is None:
        return
    form = form_of(rows_of(text, mark, comment=comment))
    rows = [row.cells for row in form.cut(rows_of(text, mark, comment=comment))]
    assert grid.form == form
    assert [grid.row(place) for place in range(form.num_rows)] == rows
    assert [grid.column(place) for place in range(form.width)] == [
        [row[place] for row in rows[1:]] for place in range(form.width)
    ]


def test_plain_tables_are_divided_at_once() -> None:
    assert grid_of("a,b\r\n1.5,2\r\n\r\n2.5,x\r\n", ",") is not None
    assert grid_of('a,b\n"1.5",2\n', ",") is None
    assert grid_of("a,b\n1.5\n", ",") is None


@given(st.lists(st.text(st.sampled_from("0123456789.,-+eE"), max_size=6), min_size=1, max_size=5))
def test_plain_numbers_are_those_of_single_cells(cells: list[str]) -> None:
    plain = Cells(cells).plain
    if plain is None:
        return
    # A cell of white space is not plain, so that each of these is looked at alone.
    values, is_text = Marks(plain.mark or ".").numbers([*cells, " "])
    np.testing.assert_array_equal(values[:-1], plain.values)
    assert not is_text.any()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False).map(repr), min_size=1, max_size=5))
def test_every_number_is_read_exactly(cells: list[str]) -> None:
    plain = Cells(cells).plain
    assert plain is not None
    assert plain.values.tolist() == [float(cell) for cell in cells]
