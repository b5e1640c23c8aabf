"""What a posterior says: numbers of clusters, pairs of points, partitions, and how sure they are."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pyroclust.core.numbers import check_count, whole_numbers
from pyroclust.diagnostics import CredibleBall, PartitionLoss, RankedPartitions
from pyroclust.diagnostics.labels import checked_labels
from pyroclust.plots.drawable import (
    DEFAULT_LOSS,
    MAX_BINS,
    check_mapping,
    drawable,
    drawable_order,
    drawable_shares,
    loss_name,
    loss_unit,
    marked_points,
    plain_text,
    with_unit,
)
from pyroclust.plots.marks import HOLLOW, cluster_colour, cluster_marker, matched_labels, text_colour
from pyroclust.plots.style import CYCLE, GREY, INK, MARKERS, name_rows

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
        colour = colours[index % len(colours)]
        ax.bar(values[kept] + offset, row[kept], 0.92 * width, color=colour, label=plain_text(name))
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


def plot_point_uncertainty(uncertainty: np.ndarray, assignments: np.ndarray, *, ax: Axes) -> Axes:
    """Draw one stem a point, clusters side by side, the most certain points of each first; at most 5000.

    On the data themselves :func:`plot_clustering` shows the same figures, uncertain points hollow.

    Args:
        uncertainty: ``(N,)`` in [0, 1], such as :func:`pyroclust.diagnostics.point_uncertainty`.
        assignments: ``(N,)`` canonical labels, the estimate that it belongs to.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> ax = new_figure(6, 3).subplots()
        >>> ax = plot_point_uncertainty(np.array([0.2, 0.0, 0.4]), np.array([0, 0, 1]), ax=ax)
        >>> ax.lines[0].get_ydata().tolist()
        [0.0, 0.2]
    """
    assignments = checked_labels("assignments", assignments)
    if assignments.ndim != 1:
        raise ValueError(f"assignments has shape {assignments.shape}, expected (N,), one label a point")
    uncertainty = drawable_shares("uncertainty", uncertainty, len(assignments))
    uncertainty, assignments = (one[marked_points(len(assignments))] for one in (uncertainty, assignments))
    order = np.lexsort((uncertainty, assignments))
    gap = max(1.0, 0.02 * len(order))
    place = np.arange(len(order)) + gap * np.searchsorted(np.unique(assignments), assignments[order])
    labels, middles = np.unique(assignments).tolist(), []
    for label in labels:
        member = assignments[order] == label
        x, y, colour = place[member], uncertainty[order][member], cluster_colour(label)
        ax.vlines(x, 0, y, color=colour, lw=1, alpha=0.6)
        ax.plot(x, y, ls="", marker=cluster_marker(label), color=colour, ms=4.5)
        middles.append(x.mean())
    ax.axhline(HOLLOW, color=INK, lw=0.9, ls=(0, (4, 3)))
    names = [str(label + 1) for label in labels]
    ax.set_xticks(_apart(np.array(middles), 0.035 * float(place[-1] + 1)), names)
    ax.tick_params(axis="x", length=0)
    ax.set(xlabel="cluster", ylabel="probability of being\napart from companions", ylim=(0, 1.02))
    ax.set_xlim(-1, place[-1] + 1)
    return ax


def _apart(places: np.ndarray, least: float) -> np.ndarray:
    """Move names of small clusters to the right until they no longer touch."""
    steps = least * np.arange(len(places))
    return np.maximum.accumulate(places - steps) + steps


_BARS = 0.3
_NARROW = 0.03


def plot_ranked_partitions(ranked: RankedPartitions, order: np.ndarray, *, ax: Axes, shown: int = 10) -> Axes:
    """Draw one strip a partition, points from left to right in a common order, and a bar for its probability.

    Runs of points of one cluster have its colour and its number; both are matched by overlap from strip to
    strip. The last line says what is left to all partitions that are not shown.

    Args:
        ranked: such as :func:`pyroclust.diagnostics.ranked_partitions`.
        order: ``(N,)``, a permutation of the points, such as :func:`pyroclust.diagnostics.dendrogram_order`.
        shown: at most so many partitions.

    Example:
        >>> from pyroclust.diagnostics import ranked_partitions
        >>> from pyroclust.plots import new_figure
        >>> ranked = ranked_partitions(np.array([[0, 1, 1]] * 3 + [[0, 0, 1]]))
        >>> ax = plot_ranked_partitions(ranked, np.arange(3), ax=new_figure(6, 3).subplots())
        >>> [text.get_text() for text in ax.texts if "%" in text.get_text()]
        ['75.00%', '25.00%']
    """
    order = drawable_order(order, ranked.partitions.shape[1])
    shown = check_count("shown", shown, at_most=MAX_BINS)
    labels = matched_labels(ranked.partitions[:shown])[:, order]
    probabilities = ranked.probabilities[: len(labels)]
    for row, strip in enumerate(labels):
        _draw_strip(strip, row, ax)
    scale = _BARS / max(float(probabilities.max()), 1e-12)
    ax.barh(np.arange(len(labels)), scale * probabilities, 0.62, left=1.02, color=GREY)
    for row, probability in enumerate(probabilities):
        place = 1.03 + scale * probability
        ax.text(place, row, f"{probability:.2%}", va="center", fontsize=9)
    others = ranked.num_distinct - len(labels)
    rest = max(0.0, 1 - float(probabilities.sum()))
    if others > 0:
        ax.text(0, len(labels) - 0.25, f"{others:,} other partitions: {rest:.2%}", va="center", fontsize=9)
    ax.set_yticks(np.arange(len(labels)), np.arange(1, len(labels) + 1).astype(str))
    ax.tick_params(length=0)
    ax.set_xticks([0.5, 1.02 + _BARS / 2], ["points, ordered by the dendrogram", "probability"])
    ax.spines[:].set_visible(False)
    ax.set(ylabel="rank", xlim=(0, 1.16 + _BARS), ylim=(len(labels) + (0.1 if others > 0 else -0.4), -0.5))
    return ax


def _draw_strip(strip: np.ndarray, row: int, ax: Axes) -> None:
    ends = np.flatnonzero(np.diff(strip)) + 1
    start, stop = np.r_[0, ends] / len(strip), np.r_[ends, len(strip)] / len(strip)
    cluster = strip[np.r_[0, ends]].tolist()
    colours = [cluster_colour(label) for label in cluster]
    spans = list(zip(start, stop - start, strict=True))
    ax.broken_barh(spans, (row - 0.4, 0.8), facecolors=colours, edgecolor="white", lw=0.4)
    for label, colour, left, right in zip(cluster, colours, start, stop, strict=True):
        if right - left >= _NARROW:
            middle, ink = (left + right) / 2, text_colour(colour)
            ax.text(middle, row, f"{label + 1}", ha="center", va="center", fontsize=9, color=ink)


def plot_distance_histogram(
    ball: CredibleBall, *, ax: Axes, num_bins: int = 40, loss: PartitionLoss = DEFAULT_LOSS
) -> Axes:
    """Draw a histogram of the distances of the draws to the estimate, and the radius of the credible ball.

    Draws inside the ball are blue; those outside are grey and hatched.

    Args:
        ball: such as :func:`pyroclust.diagnostics.credible_ball`.
        num_bins: of the histogram.
        loss: the distance that the ball was made with.

    Example:
        >>> from pyroclust.diagnostics import credible_ball
        >>> from pyroclust.plots import new_figure
        >>> ball = credible_ball(np.array([[0, 0]] * 9 + [[0, 1]]), np.array([0, 0]), level=0.9)
        >>> plot_distance_histogram(ball, ax=new_figure(5, 3).subplots()).get_xlabel()
        'variation of information to the estimate (bits)'
    """
    top = max(float(np.max(ball.distances)), ball.radius, 1e-9)
    edges = _edges(top, ball.radius, check_count("num_bins", num_bins, at_most=MAX_BINS))
    inside = ball.holds(ball.distances)
    looks = ((inside, CYCLE[0], "", f"in the ball: {ball.coverage:.0%}"), (~inside, GREY, "////", "farther"))
    bottom = np.zeros(len(edges) - 1)
    for member, colour, hatch, name in looks:
        heights = np.histogram(ball.distances[member], edges)[0] / len(inside)
        # Bars take their time even where they have no height; the legend wants one.
        seen = heights > 0
        seen[0] = True
        bars = edges[:-1][seen], heights[seen], np.diff(edges)[seen], bottom[seen]
        label = plain_text(name)
        ax.bar(*bars, align="edge", color=colour, hatch=hatch, label=label, edgecolor="white", lw=0.4)
        bottom = heights
    ax.axvline(ball.radius, color=INK, lw=1.2, ls=(0, (4, 3)))
    label = f"radius {ball.radius:.2f}{loss_unit(loss)}, level {ball.level:.0%}"
    ax.text(
        ball.radius, 1.01, label, transform=ax.get_xaxis_transform(), ha="center", va="bottom", fontsize=9
    )
    ax.set(xlabel=with_unit(f"{loss_name(loss)} to the estimate", loss), ylabel="share of the draws")
    ax.set_xlim(0, edges[-1])
    ax.legend(loc="upper left")
    return ax


def _edges(top: float, radius: float, num_bins: int) -> np.ndarray:
    """Return bins up to the largest distance, one of which ends just above the radius."""
    width = top / num_bins
    if radius > width:
        width = radius / round(radius / width)
    edges = width * np.arange(int(np.ceil(top / width - 1e-9)) + 1)
    # Draws at the radius belong to the ball: to the bin that ends there.
    edges[1:] += 1e-9 + 1e-9 * width
    return edges


def plot_scores(scores: Mapping[str, Mapping[str, float]], *, ax: Axes) -> Axes:
    """Draw one row a method and one mark a score, scores at most 1, the more to the right the better.

    Args:
        scores: method -> score -> value, the same scores for each, such as adjusted Rand index and accuracy;
            nan leaves a gap.

    Raises:
        ValueError: if methods have different scores, or there are none.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> scores = {"k-means": {"ARI": 0.7}, "estimate": {"ARI": 0.9}}
        >>> ax = plot_scores(scores, ax=new_figure(6, 3).subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['k-means', 'estimate']
    """
    check_mapping("scores", scores)
    for method, row in scores.items():
        check_mapping(f"scores of {plain_text(method)}", row)
    names = list(next(iter(scores.values())))
    if any(list(row) != names for row in scores.values()):
        raise ValueError(
            f"scores of methods are {[list(row) for row in scores.values()]}, expected the same names"
        )
    table = drawable("scores", [[row[name] for name in names] for row in scores.values()], gaps=True)
    if table.ndim != 2:
        raise ValueError("scores holds more than one number a name, expected one a method and name")
    height = name_rows([plain_text(name) for name in scores], ax=ax, grid=True)
    # Equal scores would hide each other: one lies a little above the other.
    shift = np.linspace(0.2, -0.2, len(names)) if len(names) > 1 else np.zeros(1)
    for column, name in enumerate(names):
        marker, colour = MARKERS[column % len(MARKERS)], CYCLE[column % len(CYCLE)]
        places, label = height + shift[column], plain_text(name)
        ax.plot(table[:, column], places, ls="", marker=marker, color=colour, ms=7, alpha=0.9, label=label)
    ax.axvline(1, color=GREY, lw=0.8)
    # fmin passes over gaps.
    least = float(np.fmin.reduce(table, axis=None, initial=1.0))
    ax.set(xlabel="score (1: the known partition)", xlim=(least - 0.05, 1.03))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(names), handletextpad=0.2, borderaxespad=0.1)
    return ax
