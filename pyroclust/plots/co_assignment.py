"""Co-assignment matrices, and effective draws of whether pairs of points share a cluster."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from pyroclust.core.counts import check_count
from pyroclust.diagnostics import CoMembershipEss
from pyroclust.diagnostics.limits import GOOD_ESS, MIN_ESS
from pyroclust.plots.given import MAX_BINS, drawable, drawable_order
from pyroclust.plots.style import CYCLE, INK, draw_limit

__all__ = ["plot_co_assignment", "plot_co_assignment_difference", "plot_co_membership"]


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
    similarity = drawable("similarity", similarity)
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
    a, b = drawable("a", a), drawable("b", b)
    if a.shape != b.shape or not a.size:
        raise ValueError(f"the matrices have shapes {a.shape} and {b.shape}, expected equal ones")
    limit = max(0.05, float(np.abs(a - b).max()))
    return _draw(a - b, order, ax, cmap="PuOr_r", vmin=-limit, vmax=limit, label="difference")


def _draw(
    matrix: np.ndarray, order: np.ndarray, ax: Axes, *, cmap: str, vmin: float, vmax: float, label: str
) -> Axes:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"the matrix has shape {matrix.shape}, expected (N, N) with at least one point")
    order = drawable_order(order, len(matrix))
    # Colours have 256 levels: single precision takes half of the memory.
    seen = matrix.astype(np.float32)[np.ix_(order, order)]
    image = ax.imshow(seen, cmap=cmap, vmin=vmin, vmax=vmax, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)
    bar = ax.figure.colorbar(image, ax=ax, orientation="horizontal", shrink=0.85, aspect=28, pad=0.03)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return ax


def plot_co_membership(found: CoMembershipEss, *, ax: Axes, num_bins: int = 30) -> Axes:
    """Draw a histogram of the effective draws of pairs of points, on a logarithmic axis.

    The lines say where a verdict warns (dashed) and where it gives up (solid). Pairs that are together in
    every draw, or apart in every draw, have no bar; the title counts them.

    Args:
        found: such as :func:`pyroclust.diagnostics.co_membership_ess`.
        ax: where to draw.
        num_bins: of the histogram.

    Example:
        >>> from pyroclust.diagnostics import co_membership_ess
        >>> from pyroclust.plots.style import new_figure
        >>> found = co_membership_ess(np.random.default_rng(0).integers(2, size=(4, 100, 5)), seed=0)
        >>> ax = plot_co_membership(found, ax=new_figure(5, 3).subplots())
        >>> ax.get_title(), int(sum(bar.get_height() for bar in ax.patches))
        ('10 pairs of points, 0 constant', 10)
    """
    num_bins = check_count("num_bins", num_bins, at_most=MAX_BINS)
    ess = np.maximum(found.ess[np.isfinite(found.ess)], 1.0)
    low, high = (
        min(0.8 * MIN_ESS, 0.9 * ess.min(initial=np.inf)),
        max(1.25 * GOOD_ESS, 1.1 * ess.max(initial=0)),
    )
    ax.hist(
        ess, bins=np.geomspace(low, high, num_bins + 1).tolist(), color=CYCLE[0], edgecolor="white", lw=0.5
    )
    ax.set_xscale("log")
    draw_limit(GOOD_ESS, ax=ax, text=f"{GOOD_ESS:.0f}", dashes=(4, 3))
    draw_limit(MIN_ESS, ax=ax, text=f"{MIN_ESS:.0f}")
    if ess.size:
        ax.plot(
            np.median(ess), 0, marker="^", ms=9, color=INK, clip_on=False, zorder=4, ls="", label="median"
        )
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), handletextpad=0.2, borderaxespad=0.1)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set(xlabel="effective draws of a pair", ylabel="pairs", xlim=(low, high))
    ax.set_title(f"{len(found.pairs)} pairs of points, {found.num_constant} constant", pad=16)
    return ax
