"""Co-assignment matrices, points ordered by a dendrogram."""

import numpy as np
from matplotlib.axes import Axes

__all__ = ["plot_co_assignment", "plot_co_assignment_difference"]


def plot_co_assignment(similarity: np.ndarray, order: np.ndarray, *, ax: Axes) -> Axes:
    """Draw a co-assignment matrix as an image, dark where two points always share a cluster.

    Give matrices that are to be compared the same order.

    Shape:
        similarity: ``(N, N)`` probabilities; order: ``(N,)``.

    Args:
        similarity: such as :func:`pyroclust.diagnostics.co_assignment`.
        order: of the points, such as :func:`pyroclust.diagnostics.dendrogram_order`.
        ax: where to draw.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> len(plot_co_assignment(np.eye(2), np.array([0, 1]), ax=new_figure(3, 3).subplots()).images)
        1
    """
    return _draw(similarity, order, ax, cmap="Blues", vmin=0.0, vmax=1.0, label="probability")


def plot_co_assignment_difference(a: np.ndarray, b: np.ndarray, order: np.ndarray, *, ax: Axes) -> Axes:
    """Draw ``a - b``, white where the matrices agree, colours symmetric about 0.

    The scale ends at the largest difference, but not below 0.05, so that noise does not look like a finding.

    Shape:
        a, b: ``(N, N)`` probabilities; order: ``(N,)``.

    Args:
        a: matrix in question.
        b: matrix of reference.
        order: of the points.
        ax: where to draw.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(3, 3).subplots()
        >>> ax = plot_co_assignment_difference(np.eye(2), np.ones((2, 2)), np.arange(2), ax=ax)
        >>> [float(limit) for limit in ax.images[0].get_clim()]
        [-1.0, 1.0]
    """
    if a.shape != b.shape:
        raise ValueError(f"the matrices have shapes {a.shape} and {b.shape}, expected equal ones")
    limit = max(0.05, float(np.abs(a - b).max()))
    return _draw(a - b, order, ax, cmap="PuOr_r", vmin=-limit, vmax=limit, label="difference")


def _draw(
    matrix: np.ndarray, order: np.ndarray, ax: Axes, *, cmap: str, vmin: float, vmax: float, label: str
) -> Axes:
    if matrix.shape != (len(order), len(order)):
        raise ValueError(f"matrix has shape {matrix.shape}, expected ({len(order)}, {len(order)})")
    image = ax.imshow(matrix[np.ix_(order, order)], cmap=cmap, vmin=vmin, vmax=vmax, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)
    bar = ax.figure.colorbar(image, ax=ax, orientation="horizontal", shrink=0.85, aspect=28, pad=0.03)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return ax
