"""The most probable partitions, each a strip of labels, with their probabilities."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from pyroclust.diagnostics import RankedPartitions
from pyroclust.plots.marks import cluster_colour, text_colour
from pyroclust.plots.matching import matched_labels
from pyroclust.plots.style import GREY

__all__ = ["plot_ranked_partitions"]

_BARS = 0.3
_NARROW = 0.03


def plot_ranked_partitions(ranked: RankedPartitions, order: np.ndarray, *, ax: Axes, shown: int = 10) -> Axes:
    """Draw one strip a partition, points from left to right in a common order, and a bar for its probability.

    Runs of points of one cluster have its colour and its number; both are matched by overlap from strip to
    strip. The last line says what is left to all partitions that are not shown.

    Shape:
        order: ``(N,)``, a permutation of the points.

    Args:
        ranked: such as :func:`pyroclust.diagnostics.ranked_partitions`.
        order: such as :func:`pyroclust.diagnostics.dendrogram_order`.
        ax: where to draw.
        shown: at most so many partitions.

    Raises:
        ValueError: if ``order`` has another number of points.

    Example:
        >>> from pyroclust.diagnostics import ranked_partitions
        >>> from pyroclust.plots.style import new_figure
        >>> ranked = ranked_partitions(np.array([[0, 1, 1]] * 3 + [[0, 0, 1]]))
        >>> ax = plot_ranked_partitions(ranked, np.arange(3), ax=new_figure(6, 3).subplots())
        >>> [text.get_text() for text in ax.texts if "%" in text.get_text()]
        ['75.00%', '25.00%']
    """
    if np.shape(order) != ranked.partitions.shape[1:]:
        raise ValueError(f"order has shape {np.shape(order)}, expected {ranked.partitions.shape[1:]}")
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
    ax.barh(
        np.full(len(start), row),
        stop - start,
        0.8,
        left=start,
        color=[to_rgb(colour) for colour in colours],
        edgecolor="white",
        lw=0.4,
    )
    for label, colour, left, right in zip(cluster, colours, start, stop, strict=True):
        if right - left >= _NARROW:
            middle = (left + right) / 2
            ax.text(
                middle, row, f"{label + 1}", ha="center", va="center", fontsize=9, color=text_colour(colour)
            )
