"""Names of users in pictures."""

import numpy as np
import pytest

from pyroclust.plots import new_figure, plot_clustering, plot_num_clusters, png_bytes


@pytest.mark.parametrize("name", [r"a$\frac", "$", "$x$", "a\0b", "a\nb\x1b[31m", "身長", "_hidden"])
def test_any_name_is_drawn_as_it_is(name: str) -> None:
    figure = new_figure(4, 3)
    left, right = figure.subplots(1, 2)
    plot_clustering(
        np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1]), np.zeros(4), ax=left, columns=(name, "b")
    )
    plot_num_clusters(np.array([1, 2]), {name: np.array([0.5, 0.5])}, ax=right)
    assert png_bytes(figure, dpi=40)[1:4] == b"PNG"
