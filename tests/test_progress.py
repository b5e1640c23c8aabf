"""One bar and one line for stages, on standard error; nothing where nothing is wanted."""

import pytest

from pyroclust.progress import progress_bar, stages


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
