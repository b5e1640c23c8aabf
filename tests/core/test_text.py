"""Text of users: names that no terminal obeys, cells that no spreadsheet runs."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclust.core.messages import listed, spreadsheet_cell, unknown_name, visible


@given(st.text())
def test_what_is_visible_is_printable_and_printable_text_stays(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)
    if text.isprintable():
        assert visible(text) == text


def test_every_kind_of_hidden_character_is_shown() -> None:
    assert visible("a\x00\x1b[2J\r\n\u202eb\udcff\xa0") == r"a\x00\x1b[2J\r\n\u202eb\udcff\xa0"
    assert visible(r"a\frac") == r"a\frac"


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",))), min_size=1))
def test_cells_survive_every_reader_and_are_no_formula(texts: list[str]) -> None:
    line = ",".join(["1", *map(spreadsheet_cell, texts), "2"])
    assert line.isprintable() or "\n" in line or "\r" in line or "\t" in line
    (row,) = csv.reader(io.StringIO(line + "\n", newline=""))
    assert len(row) == len(texts) + 2
    for cell, text in zip(row[1:-1], texts, strict=True):
        kept = "".join(one if one in "\t\r\n" else visible(one) for one in text)
        assert cell in (kept, "'" + kept)
        assert not cell.startswith(tuple("=@\t\r")) or cell == kept == ""


@pytest.mark.parametrize("number", ["-1", "+2.5", "-.5", "-1e-3", "0"])
def test_numbers_stay_numbers(number: str) -> None:
    assert spreadsheet_cell(number) == number


@pytest.mark.parametrize("formula", ["=1", "+cmd|x", "-2+3", "@SUM(A1)", " =1", "＝1", "-", "-1-1"])
def test_formulas_become_text(formula: str) -> None:
    assert spreadsheet_cell(formula) == "'" + formula


def test_a_typo_among_twenty_thousand_columns_is_one_short_sentence() -> None:
    names = [f"column_{i}" for i in range(20_000)]
    said = unknown_name("column", "colum_17", names)
    assert "did you mean 'column_17'?" in said
    assert "more" in said
    assert len(said) < 500
    assert len(unknown_name("column", "a" * 10**6, ["b" * 10**6])) < 300


def test_lists_of_names_say_how_many_are_left_out() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([f"c{i}" for i in range(1000)], 2) == "c0, c1 and 998 more"
    assert listed(["a\x1b"]) == r"a\x1b"
