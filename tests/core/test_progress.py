"""One bar and one line for stages, on standard error; nothing where nothing is wanted."""

import pytest

from pyroclust.core import long_runs
from pyroclust.core.long_runs import lines_instead_of_bars, progress_bar, stages


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
