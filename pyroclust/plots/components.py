"""Components of mixtures in the plane and by column, rounds of filtering, and missing cells."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from pyroclust.core.numbers import whole_numbers
from pyroclust.plots.drawable import counted, drawable, drawable_labels, drawable_points, plain_text
from pyroclust.plots.marks import as_sequence, cluster_colour, cluster_marker, mark_clusters
from pyroclust.plots.style import CYCLE, GREY, INK, name_rows

# A diagonal Gaussian in the plane has 86 % of its points within two standard deviations.
_DEVIATIONS = 2.0
# Highest densities that hold these shares of the mass are outlined.
_SHARES = (0.9, 0.5)
_GRID = 160


def plot_components(
    data: np.ndarray,
    weights: np.ndarray,
    means: np.ndarray,
    scales: np.ndarray,
    *,
    ax: Axes,
    assignments: np.ndarray | None = None,
) -> Axes:
    """Draw Gaussian components as ellipses of two standard deviations, wider lines for larger weights.

    Args:
        data: ``(N, 2)``, points of the plane.
        weights: ``(K,)``, of the components; those of weight 0 are not there.
        means: ``(K, 2)``, their centres.
        scales: ``(K, 2)``, standard deviations along the axes.
        assignments: ``(N,)``, partition that colours the points; grey without.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> ax = plot_components(np.zeros((3, 2)), np.ones(1), np.zeros((1, 2)), np.ones((1, 2)), ax=ax)
        >>> len(ax.patches)
        1
    """
    data = _plane(data)
    weights, means, scales = (
        drawable(name, row) for name, row in (("weights", weights), ("means", means), ("scales", scales))
    )
    if weights.ndim != 1 or means.shape != (len(weights), 2) or scales.shape != means.shape:
        raise ValueError(
            f"weights, means and scales have shapes {weights.shape}, {means.shape} and {scales.shape}, "
            "expected (K,), (K, 2) and (K, 2)"
        )
    _draw_points(data, assignments, ax)
    for weight, centre, scale in zip(weights, means, scales, strict=True):
        if weight > 0:
            width, height = 2 * _DEVIATIONS * scale
            line = 0.8 + 4 * weight
            ax.add_patch(Ellipse(tuple(centre), width, height, fill=False, ec=INK, lw=line, zorder=3))
    return ax


def plot_cluster_densities(
    data: np.ndarray,
    log_densities: Callable[[np.ndarray], Any],
    *,
    ax: Axes,
    assignments: np.ndarray | None = None,
) -> Axes:
    """Draw the densities of clusters of any shape: outlines that hold half and nine tenths of each.

    Args:
        data: ``(N, 2)``, points of the plane.
        log_densities: from points ``(M, 2)`` to the log-density of each under each cluster, ``(K, M)``, in
            nats.
        assignments: ``(N,)``, partition that colours the points; grey without.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> normal = lambda points: -0.5 * (points**2).sum(-1)[None]
        >>> ax = plot_cluster_densities(np.array([[-3.0, -3.0], [3.0, 3.0]]), normal, ax=ax)
        >>> len(ax.collections)
        2
    """
    data = _plane(data)
    _draw_points(data, assignments, ax)
    low, high = data.min(0), data.max(0)
    margin = 0.1 * (high - low) + 1e-9
    across, up = (np.linspace(low[d] - margin[d], high[d] + margin[d], _GRID) for d in range(2))
    grid = np.stack(np.meshgrid(across, up), -1).reshape(-1, 2)
    scored = drawable("log_densities", np.asarray(log_densities(grid)))
    if scored.ndim != 2 or scored.shape[1] != len(grid):
        raise ValueError(
            f"log_densities gives shape {scored.shape} for {len(grid)} points, expected (K, {len(grid)})"
        )
    for cluster, one in enumerate(scored):
        density = np.exp(one - one.max())
        levels = _levels(density)
        if len(levels):
            ax.contour(
                across,
                up,
                density.reshape(_GRID, _GRID),
                levels=levels,
                colors=[cluster_colour(cluster)],
                linewidths=1.4,
                zorder=3,
            )
    return ax


def plot_filtering(data: np.ndarray, rounds: np.ndarray, *, axes: Sequence[Axes]) -> list[Axes]:
    """Draw the rounds of filtering one by one: what is found in colour, what is left in grey.

    A panel a round, as many as there are Axes; points that were found before are gone. The last panel says
    how many points are left after it.

    Args:
        data: ``(N, 2)``, points of the plane.
        rounds: ``(N,)``, the round in which each point was filtered, -1 for points that never were, as
            :class:`pyroclust.distributions.Filtering` has it.
        axes: as many as rounds are shown.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> axes = new_figure(6, 3).subplots(1, 2)
        >>> axes = plot_filtering(np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]), axes=axes)
        >>> [ax.get_title() for ax in axes]
        ['1: 1 point, 2 left', '2: 2 points, 0 left']
    """
    data, rounds = _plane(data), np.asarray(rounds)
    if rounds.shape != (len(data),) or rounds.dtype.kind not in "iu":
        raise ValueError(
            f"rounds has shape {rounds.shape} and dtype {rounds.dtype}, expected ({len(data)},) whole numbers"
        )
    flat = as_sequence(axes, np.size(np.asarray(axes, dtype=object)), what="rounds")
    low, high = data.min(0), data.max(0)
    margin = 0.06 * (high - low) + 1e-9
    for place, ax in enumerate(flat):
        now = rounds == place
        later = (rounds > place) | (rounds < 0)
        ax.scatter(data[later, 0], data[later, 1], s=10, color=GREY, alpha=0.6, lw=0)
        ax.scatter(data[now, 0], data[now, 1], s=14, color=cluster_colour(place), lw=0)
        ax.set(xlim=(low[0] - margin[0], high[0] + margin[0]), ylim=(low[1] - margin[1], high[1] + margin[1]))
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{place + 1}: {counted(int(now.sum()), 'point')}, {int(later.sum())} left")
    return flat


def _plane(data: np.ndarray) -> np.ndarray:
    found = drawable_points("data", data)
    if found.shape[1] != 2:
        raise ValueError(f"data has {found.shape[1]} columns, expected 2: the picture is of the plane")
    return found


def _draw_points(data: np.ndarray, assignments: np.ndarray | None, ax: Axes) -> None:
    size = float(np.clip(6000 / len(data), 6, 30))
    if assignments is None:
        ax.scatter(data[:, 0], data[:, 1], s=size, color=GREY, lw=0)
    else:
        labels = drawable_labels("assignments", assignments, len(data))
        mark_clusters(data, labels, ax=ax, size=size, uncertainty=np.zeros(len(data)))
    ax.set(xlabel="column 1", ylabel="column 2")


def _levels(density: np.ndarray) -> list[float]:
    """Return the heights above which the shares of the mass lie, the lower first."""
    ordered = np.sort(density)[::-1]
    mass = ordered.cumsum() / ordered.sum()
    heights = [float(ordered[np.searchsorted(mass, share)]) for share in _SHARES]
    return sorted({one for one in heights if 0 < one < density.max()})


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
