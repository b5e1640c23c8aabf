"""Columns of a table: intervals of the parameters of clusters."""

import numpy as np
import pytest

from pyroclust import plots


def panels(count: int):
    return plots.new_figure(3 * count, 3).subplots(1, count, squeeze=False)


def test_parameters_have_intervals_and_sizes():
    centre = np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])
    axes = plots.plot_cluster_parameters(
        centre, centre - 0.5, centre + 0.25, axes=panels(2), columns=["u", "v"], sizes=np.array([9, 1, 3])
    )
    assert [label.get_text() for label in axes[0].get_yticklabels()][1] == "cluster 2 (1 point)"
    assert [ax.get_xlabel() for ax in axes] == ["u", "v"]
    for column, ax in enumerate(axes):
        intervals, marks = ax.lines[::2], ax.lines[1::2]
        assert [line.get_xdata()[0] for line in marks] == centre[:, column].tolist()
        assert [np.diff(line.get_xdata())[0] for line in intervals] == [0.75] * 3
        assert all(i.get_ydata()[0] == m.get_ydata()[0] for i, m in zip(intervals, marks, strict=True))
    with pytest.raises(ValueError, match="expected \\(K, D\\)"):
        plots.plot_cluster_parameters(centre, centre[:2], centre, axes=panels(2))
