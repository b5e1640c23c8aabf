"""Columns of a table: parameters of clusters, and what missing cells may hold."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from pyroclust.core.numbers import whole_numbers
from pyroclust.plots.drawable import counted, drawable, plain_text
from pyroclust.plots.marks import as_sequence, cluster_colour, cluster_marker
from pyroclust.plots.style import CYCLE, GREY, name_rows


def plot_cluster_parameters(
    centre: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
    sizes: np.ndarray | None = None,
) -> list[Axes]:
    """Draw one panel a column: a row a cluster, its parameter as a mark on an interval.

    Args:
        centre: ``(K, D)``, such as posterior means of the clusters' means; nan leaves a gap.
        low: ``(K, D)``, lower ends of the intervals.
        high: ``(K, D)``, upper ends of the intervals.
        axes: D of them.
        columns: names of the D columns.
        sizes: ``(K,)``, numbers of points of the clusters, written beside them.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> axes = [new_figure(6, 3).subplots()]
        >>> mean = np.array([[0.0], [5.0]])
        >>> axes = plot_cluster_parameters(mean, mean - 1, mean + 1, axes=axes, sizes=np.array([7, 3]))
        >>> [label.get_text() for label in axes[0].get_yticklabels()]
        ['cluster 1 (7 points)', 'cluster 2 (3 points)']
    """
    centre, low, high = (
        drawable(name, row, gaps=True) for name, row in (("centre", centre), ("low", low), ("high", high))
    )
    sizes = None if sizes is None else whole_numbers("sizes", sizes)
    if sizes is not None and sizes.shape != centre.shape[:1]:
        raise ValueError(f"sizes has shape {sizes.shape}, expected {centre.shape[:1]}, one a cluster")
    if centre.ndim != 2 or not centre.size or low.shape != centre.shape or high.shape != centre.shape:
        raise ValueError(
            f"centre, low and high have shapes {centre.shape}, {low.shape} and {high.shape}, expected (K, D)"
        )
    flat = as_sequence(axes, centre.shape[1], what="columns")
    titles = [plain_text(name) for name in columns] or [f"column {d + 1}" for d in range(centre.shape[1])]
    names = [f"cluster {k + 1}" for k in range(len(centre))]
    if sizes is not None:
        names = [f"{name} ({counted(int(size), 'point')})" for name, size in zip(names, sizes, strict=True)]
    for column, (ax, title) in enumerate(zip(flat, titles, strict=True)):
        height = name_rows([""] * len(names) if column else names, ax=ax, grid=True)
        for label, place in enumerate(height):
            ax.plot([low[label, column], high[label, column]], [place] * 2, color=cluster_colour(label), lw=2)
            ax.plot(
                centre[label, column], place, marker=cluster_marker(label), color=cluster_colour(label), ms=7
            )
        ax.set_xlabel(title)
    return flat


_MOST = 60


def plot_missing_numbers(draws: np.ndarray, observed: np.ndarray, *, ax: Axes, column: str = "") -> Axes:
    """Draw a bar over 95 % of the draws of each missing cell, above the cells that are there.

    Cells are in the order of their means; of more than 60 every so many-th is shown. The histogram below has
    the cells that are there: bars as wide as all of it say that the rest of the row tells nothing.

    Args:
        draws: ``(S, M)``, values of the cells by draws of the posterior.
        observed: ``(n,)``, cells of the column that are there.
        column: its name.

    Raises:
        ValueError: if there are no draws, or values are not finite.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> draws = np.random.default_rng(0).normal(size=(50, 4))
        >>> ax = plot_missing_numbers(draws, draws[:, 0], ax=new_figure(4, 3).subplots(), column="age")
        >>> ax.get_xlabel()
        'age'
    """
    values, there = drawable("draws", draws), drawable("observed", observed)
    if values.ndim != 2 or not values.size or there.ndim != 1:
        raise ValueError(
            f"draws and observed have shapes {values.shape} and {there.shape}, expected (S, M) and (n,), "
            "with at least one draw of a cell"
        )
    centre, (low, high) = values.mean(0), np.quantile(values, (0.025, 0.975), axis=0)
    order = _thinned(np.argsort(centre, kind="stable"))
    height = np.arange(len(order)) + 1.0
    ax.hlines(height, low[order], high[order], color=CYCLE[0], lw=1.2)
    ax.plot(centre[order], height, "o", color=CYCLE[0], ms=3)
    if there.size:
        share, edges = np.histogram(there, bins=20)
        below = 0.35 * len(order) * share / max(1, share.max())
        ax.bar(
            edges[:-1], below, np.diff(edges), bottom=-0.4 * len(order), align="edge", color=GREY, alpha=0.6
        )
    ax.set(xlabel=plain_text(column), yticks=[], ylim=(-0.42 * len(order) - 0.5, len(order) + 1))
    ax.spines["left"].set_visible(False)
    return ax


def plot_missing_levels(
    probabilities: np.ndarray, levels: Sequence[str], *, ax: Axes, column: str = ""
) -> Axes:
    """Draw a bar for each missing cell, divided among the categories by their probabilities.

    Args:
        probabilities: ``(M, L)``, of the categories, rows sum to 1.
        levels: their names.
        column: its name.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> shares = np.array([[0.2, 0.8], [0.9, 0.1]])
        >>> ax = plot_missing_levels(shares, ["no", "yes"], ax=new_figure(4, 3).subplots(), column="smoker")
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['no', 'yes']
    """
    shares = drawable("probabilities", probabilities)
    if not isinstance(levels, list | tuple) or not all(isinstance(one, str) for one in levels):
        raise ValueError(f"levels is of type {type(levels).__name__}, expected a list of names")
    if shares.ndim != 2 or not shares.size or shares.shape[1] != len(levels):
        raise ValueError(f"probabilities has shape {shares.shape}, expected (M, {len(levels)})")
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"probabilities reach from {shares.min():g} to {shares.max():g}, expected 0 to 1")
    order = _thinned(np.lexsort(shares.T[::-1]))
    height, begin = np.arange(len(order)), np.zeros(len(order))
    for place, level in enumerate(levels):
        own = shares[order, place]
        colour = CYCLE[place % len(CYCLE)]
        ax.barh(height, own, left=begin, color=colour, height=0.9, label=plain_text(level))
        begin += own
    ax.set(xlabel=f"probability, {plain_text(column)}", yticks=[], xlim=(0, 1), ylim=(-0.6, len(order) - 0.4))
    ax.spines["left"].set_visible(False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(3, len(levels)))
    return ax


def _thinned(order: np.ndarray) -> np.ndarray:
    return order[np.unique(np.linspace(0, len(order) - 1, min(_MOST, len(order))).round().astype(int))]
