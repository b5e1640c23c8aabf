"""How near several methods come to a known partition."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from pyroclust.plots.style import CYCLE, GREY, MARKERS

__all__ = ["plot_scores"]


def plot_scores(scores: Mapping[str, Mapping[str, float]], *, ax: Axes) -> Axes:
    """Draw one row a method and one mark a score, scores at most 1, the more to the right the better.

    Args:
        scores: method -> score -> value, the same scores for each, such as adjusted Rand index and accuracy.
        ax: where to draw.

    Raises:
        ValueError: if methods have different scores, or there are none.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> scores = {"k-means": {"ARI": 0.7}, "estimate": {"ARI": 0.9}}
        >>> ax = plot_scores(scores, ax=new_figure(6, 3).subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['k-means', 'estimate']
    """
    names = list(next(iter(scores.values()), {}))
    if not names or any(list(row) != names for row in scores.values()):
        raise ValueError(
            f"scores of methods are {[list(row) for row in scores.values()]}, expected the same names"
        )
    table = np.array([[row[name] for name in names] for row in scores.values()])
    height = np.arange(len(table))[::-1]
    # Equal scores would hide each other: one lies a little above the other.
    shift = np.linspace(0.2, -0.2, len(names)) if len(names) > 1 else np.zeros(1)
    ax.grid(axis="y", color=GREY, alpha=0.25, lw=0.8)
    ax.set_axisbelow(True)
    for column, name in enumerate(names):
        ax.plot(
            table[:, column],
            height + shift[column],
            ls="",
            marker=MARKERS[column % len(MARKERS)],
            color=CYCLE[column % len(CYCLE)],
            ms=7,
            alpha=0.9,
            label=name,
        )
    ax.axvline(1, color=GREY, lw=0.8)
    ax.set_yticks(height, list(scores))
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel="score (1: the known partition)", xlim=(float(table.min()) - 0.05, 1.03))
    ax.set_ylim(-0.6, len(table) - 0.4)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(names), handletextpad=0.2, borderaxespad=0.1)
    return ax
