"""The picture of what constraints changed, and how constraints are spelled."""

import numpy as np
import pytest

from pyroclust import plots
from pyroclust.plots.clusterings import plot_moved_points
from pyroclust.results.constraints import RowConstraints

NOTHING = np.empty((0, 2), dtype=np.int64)


def drawn(dim=2, change=None, **changes):
    data = np.random.default_rng(0).standard_normal((12, dim))
    given = {
        "together": np.array([[0, 1], [1, 2]]),
        "apart": np.array([[0, 3]]),
        "bound": np.arange(4),
    } | changes
    change = np.linspace(0, 0.5, 12) if change is None else change
    return plot_moved_points(data, change, ax=plots.new_figure(5, 4).subplots(), **given)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_every_pair_is_a_line_and_every_constrained_row_has_a_ring(dim):
    ax = drawn(dim)
    marks, together, apart, rings = ax.collections[:4]
    assert (len(together.get_segments()), len(apart.get_segments())) == (2, 1)
    assert (len(marks.get_offsets()), len(rings.get_offsets())) == (12, 4)
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["together", "apart", "constrained row"]
    assert plots.png_bytes(ax.figure).startswith(b"\x89PNG")


def test_rows_that_moved_most_lie_above_the_others():
    marks = drawn(change=np.linspace(0.5, 0, 12)).collections[0]
    assert (np.diff(marks.get_array()) >= 0).all()


def test_noise_does_not_look_like_a_finding():
    assert drawn(change=np.full(12, 0.001)).collections[0].get_clim() == (0.0, 0.05)


def test_kinds_of_pairs_that_are_not_there_are_not_in_the_legend():
    texts = drawn(together=NOTHING, apart=NOTHING).get_legend().get_texts()
    assert [one.get_text() for one in texts] == ["constrained row"]


@pytest.mark.parametrize("change", [np.full(11, 0.1), np.full(12, 1.5)])
def test_what_cannot_be_drawn_is_refused(change):
    with pytest.raises(ValueError, match="change has shape"):
        drawn(change=change)


def known(**changes):
    given = {
        "row_names": tuple(map(str, range(1, 31))),
        "groups": (),
        "must_link": NOTHING,
        "cannot_link": NOTHING,
        "labels": None,
        "apart": NOTHING,
        "bound": np.arange(4),
    }
    return RowConstraints(**given | changes)


def test_the_first_groups_and_pairs_are_spelled():
    groups = tuple((2 * k, 2 * k + 1) for k in range(7))
    pairs = np.array([[20, 21 + k] for k in range(6)])
    found = known(groups=groups, cannot_link=pairs, apart=pairs).spelled
    assert found[0] == "Together: rows 1, 2."
    assert found[5] == "Apart: rows 21, 22."
    assert found[-1] == "And 2 more groups and 1 more pair."
    assert len(found) == 11


def test_long_groups_and_labels_are_cut():
    labels = np.array(["a", "b", None] * 10, dtype=object)
    found = known(groups=(tuple(range(12)),), labels=labels).spelled
    assert found == (
        "Together: rows 1, 2, 3, 4, 5, 6, 7, 8 and 4 more.",
        "Apart: rows with different labels (a, b).",
    )


def test_rows_say_which_partitions_they_allow():
    rows = known(groups=((0, 1),), apart=np.array([[1, 2]]))
    assert rows.allows(np.array([0, 0, 1, 0]))
    assert not rows.allows(np.array([0, 0, 0, 1]))
    assert not rows.allows(np.array([0, 1, 2, 0]))
