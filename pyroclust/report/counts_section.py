"""The section on the number of clusters."""

from collections.abc import Mapping, Sequence

import numpy as np

from pyroclust import plots
from pyroclust.report.parts import Section
from pyroclust.report.picture import picture_of
from pyroclust.report.view import View

__all__ = ["counts_section", "posteriors_of_k"]


def posteriors_of_k(views: Sequence[View]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the posteriors of the number of clusters on one support without gaps.

    Args:
        views: the sources.
    """
    low = min(int(one.summary.values[0]) for one in views)
    high = max(int(one.summary.values[-1]) for one in views)
    bars = {one.source: np.zeros(high - low + 1) for one in views}
    for one in views:
        bars[one.source][one.summary.values - low] = one.summary.probabilities
    return np.arange(low, high + 1), bars


def counts_section(values: np.ndarray, bars: Mapping[str, np.ndarray], *, caption: str) -> Section:
    """Show the posterior of the number of clusters, sources side by side.

    Args:
        values: numbers of clusters, without gaps.
        bars: source -> probabilities.
        caption: how to read it.
    """
    likeliest = ", ".join(f"{values[p.argmax()]} by {name}" for name, p in bars.items())
    with plots.style():
        figure = plots.new_figure(9, 3.2)
        plots.plot_num_clusters(values, bars, ax=figure.subplots())
        picture = picture_of(
            figure,
            alternative="Bars of the posterior of the number of clusters. The likeliest number is "
            f"{likeliest}.",
            caption=caption,
        )
    return Section("How many clusters", (picture,), is_open=True, gist=f"Likeliest: {likeliest}")
