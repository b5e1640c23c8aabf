"""Components of mixtures and rounds of filtering, drawn on data in the plane."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from pyroclust.plots.drawable import counted, drawable, drawable_labels, drawable_points
from pyroclust.plots.marks import as_sequence, cluster_colour, mark_clusters
from pyroclust.plots.style import GREY, INK

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
