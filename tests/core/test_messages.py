"""What people are told, and small helpers: names, cells, sentences, progress of long runs."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclust.core import long_runs
from pyroclust.core.long_runs import lines_instead_of_bars, progress_bar, stages
from pyroclust.core.messages import (
    Attempts,
    duration,
    listed,
    range_in_words,
    spreadsheet_cell,
    unknown_name,
    visible,
)
from pyroclust.core.numbers import check_range, json_values, mean_imputed, overflow_scale, short_seed, shown


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


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (short_seed(7), 7),
        (short_seed(2**40) < 2**32, True),
        (short_seed(2**40) != short_seed(2**41), True),
        (shown(10**400), "a number of 1329 bits"),
        (check_range("clusters", 3), (3, 3)),
        (json_values({"values": np.arange(2), "p": float("nan")}), {"values": [0, 1], "p": None}),
        (mean_imputed(np.array([[1.0], [np.nan], [2.0]])).tolist(), [[1.0], [1.5], [2.0]]),
        ((overflow_scale(np.array([3.0])), overflow_scale(np.array([1e308])) > 1e307), (1.0, True)),
        ([duration(one) for one in (7.2, 41.0, 200.0)], ["7 s", "40 s", "3 min"]),
        ([range_in_words(one) for one in ((3, 3), (2, 6))], ["3 clusters", "between 2 and 6 clusters"]),
    ],
)
def test_values(found, expected):
    assert found == expected


@pytest.mark.parametrize("error", [TimeoutError("time is over"), MemoryError(), KeyboardInterrupt()])
def test_what_is_no_error_of_the_part_ends_the_run(error):
    def part() -> None:
        raise error

    tries = Attempts()
    with pytest.raises(type(error)):
        tries.value_or_none("The part", part)
    assert not tries.failures


def test_a_bar_tells_steps_and_figures(capsys):
    with progress_bar("draws", 10, shown=True, done=2) as tell:
        tell(7, "3 clusters")
    out, err = capsys.readouterr()
    assert out == ""
    assert "draws" in err
    assert "7/10" in err
    assert "3 clusters" in err


def test_stages_are_lines_where_there_is_no_terminal(capsys):
    with stages() as tell:
        tell("reading")
        tell("sampling")
    assert capsys.readouterr() == ("", "reading\nsampling\n")


@pytest.mark.parametrize("show", [lambda: progress_bar("draws", 3, shown=False), lambda: stages(shown=False)])
def test_nothing_is_shown_where_nothing_is_wanted(capsys, show):
    with show() as tell:
        tell(*(1, "") if tell.__code__.co_argcount == 2 else ("reading",))
    assert capsys.readouterr() == ("", "")


def test_lines_say_how_far_a_loop_is_and_how_long_it_takes(monkeypatch):
    said, clock = [], iter([0.0, 5.0, 12.0, 15.0, 30.0, 40.0])
    monkeypatch.setattr(long_runs.time, "monotonic", lambda: next(clock))
    with lines_instead_of_bars(said.append), progress_bar("draws", 4000, shown=False) as tell:
        for done in (500, 1200, 1500, 3000, 4000):
            tell(done, "")
    assert said == ["draws: 1,200 of 4,000, about 30 s left", "draws: 3,000 of 4,000, about 10 s left"]


def test_lines_end_with_the_block_and_bars_stay_bars(capsys):
    said = []
    with lines_instead_of_bars(said.append):
        with progress_bar("draws", 10, shown=True) as tell:
            tell(5, "")
        assert "5/10" in capsys.readouterr().err
    with progress_bar("draws", 10, shown=False) as tell:
        tell(5, "")
    assert said == []
