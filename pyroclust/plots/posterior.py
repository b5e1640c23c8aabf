"""What a posterior says: numbers of clusters, and co-assignment matrices."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pyroclust.core.numbers import whole_numbers
from pyroclust.plots.drawable import check_mapping, drawable, drawable_order, plain_text
from pyroclust.plots.style import CYCLE

# Neighbours that readers of any colour vision tell apart.
_COLOURS = tuple(CYCLE[place] for place in (0, 5, 1, 2, 3, 4, 6, 7))
# Wide bars behind the others, the line at their height before them, and from which height on they are shown.
_OF_PRIOR, _LINE_OF_PRIOR, _WIDTH_OF_PRIOR, _LEAST_OF_PRIOR = "#d9d9d9", "#808080", 0.96, 0.02
# Far larger numbers leave no room for bars between them: they are told apart no more.
_LARGEST = 10**9


def plot_num_clusters(
    values: np.ndarray,
    probabilities: Mapping[str, np.ndarray],
    *,
    ax: Axes,
    prior: np.ndarray | None = None,
    colours: Sequence[str] = _COLOURS,
) -> Axes:
    """Draw one group of bars a number of clusters, one bar a source, before the prior as wide pale bars.

    Numbers to which every source gives less than 0.002, and the prior less than 0.02, are left out at both
    ends.

    Args:
        values: ``(V,)``, numbers of clusters, rising without gaps.
        probabilities: source -> ``(V,)``, in the order of the bars.
        prior: ``(V,)``, probabilities before the data.
        colours: one a source, in turn.

    Raises:
        ValueError: if the values have gaps, or a source has another number of probabilities or negative ones.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> len(plot_num_clusters(np.array([1, 2]), {"MCMC": np.array([0.3, 0.7])}, ax=ax).patches)
        2
    """
    check_mapping("probabilities", probabilities)
    values = whole_numbers("values", values)
    rows = [drawable(plain_text(name), row) for name, row in probabilities.items()]
    rows += [] if prior is None else [drawable("prior", prior)]
    if values.ndim != 1 or not values.size or any(row.shape != values.shape for row in rows):
        shapes = [row.shape for row in rows]
        raise ValueError(f"values has shape {values.shape} and probabilities {shapes}, expected (K,) each")
    if (np.diff(values) != 1).any() or np.abs(values).max() > _LARGEST:
        raise ValueError(
            f"values are from {values[0]} to {values[-1]}, expected numbers of clusters that rise by one, at "
            f"most {_LARGEST}"
        )
    table = np.stack(rows)
    if (table < 0).any():
        raise ValueError("probabilities has negative numbers, expected none below 0")
    least = np.full((len(table), 1), 0.002)
    least[len(probabilities) :] = _LEAST_OF_PRIOR
    seen = np.flatnonzero((table >= least).any(0))
    seen = seen if seen.size else np.arange(len(values))
    kept = slice(seen[0], seen[-1] + 1)
    width = 0.8 / len(probabilities)
    if prior is not None:
        ends = values[kept] - _WIDTH_OF_PRIOR / 2, values[kept] + _WIDTH_OF_PRIOR / 2
        ax.bar(values[kept], table[-1, kept], _WIDTH_OF_PRIOR, color=_OF_PRIOR, label="prior")
        ax.hlines(table[-1, kept], *ends, colors=_LINE_OF_PRIOR, linewidth=1.2, zorder=3)
    for index, (name, row) in enumerate(zip(probabilities, table, strict=False)):
        offset = (index - (len(probabilities) - 1) / 2) * width
        ax.bar(
            values[kept] + offset,
            row[kept],
            0.92 * width,
            color=colours[index % len(colours)],
            label=plain_text(name),
        )
    what = "posterior probability" if prior is None else "probability"
    ax.set(xlabel="number of clusters", ylabel=what, ylim=(0, 1.12 * (table.max() or 1.0)))
    middle, reach = (values[kept][0] + values[kept][-1]) / 2, max(2.0, len(values[kept]) / 2 + 0.3)
    ax.set_xlim(middle - reach, middle + reach)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=15, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(table), handlelength=1.1, columnspacing=1.4
    )
    return ax


def plot_co_assignment(similarity: np.ndarray, order: np.ndarray, *, ax: Axes) -> Axes:
    """Draw a co-assignment matrix as an image, dark where two points always share a cluster.

    Give matrices that are to be compared the same order.

    Args:
        similarity: ``(N, N)`` probabilities, such as :func:`pyroclust.diagnostics.co_assignment`.
        order: ``(N,)``, of the points, such as :func:`pyroclust.diagnostics.dendrogram_order`.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> len(plot_co_assignment(np.eye(2), np.array([0, 1]), ax=new_figure(3, 3).subplots()).images)
        1
    """
    similarity = drawable("similarity", similarity)
    return _draw(similarity, order, ax, cmap="Blues", vmin=0.0, vmax=1.0, label="probability")


def plot_co_assignment_difference(a: np.ndarray, b: np.ndarray, order: np.ndarray, *, ax: Axes) -> Axes:
    """Draw ``a - b``, white where the matrices agree, colours symmetric about 0.

    The scale ends at the largest difference, but not below 0.05, so that noise does not look like a finding.

    Args:
        a: ``(N, N)``, probabilities in question.
        b: ``(N, N)``, probabilities of reference.
        order: ``(N,)``, of the points.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
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
