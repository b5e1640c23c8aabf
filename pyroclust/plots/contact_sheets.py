"""Points that can be looked at: sheets of images, and waveforms by cluster."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from pyroclust.core.numbers import check_count
from pyroclust.plots.drawable import counted, drawable, drawable_labels, drawable_shares
from pyroclust.plots.marks import cluster_colour
from pyroclust.plots.style import name_clusters

_GAP = 1
# Between the zero lines of neighbouring channels, in units of the largest mean waveform.
_APART = 1.6


def plot_contact_sheet(
    images: np.ndarray,
    assignments: np.ndarray,
    uncertainty: np.ndarray,
    *,
    ax: Axes,
    most_clusters: int = 12,
    most_images: int = 16,
) -> Axes:
    """Draw images by cluster, a row each, the largest cluster first, from sure to unsure.

    Of a cluster with more images than fit, every so many-th is shown, the surest and the least sure among
    them. One picture for the whole sheet, whatever the number of images.

    Args:
        images: ``(N, H, W)``, pixels in 0..1, light on dark, drawn dark on light.
        assignments: ``(N,)`` canonical labels, such as a point estimate.
        uncertainty: ``(N,)``, such as :func:`pyroclust.diagnostics.point_uncertainty`.
        most_clusters: rows.
        most_images: columns.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> images = np.random.default_rng(0).random((5, 8, 8))
        >>> ax = plot_contact_sheet(images, [0, 0, 1, 1, 1], np.zeros(5), ax=new_figure(4, 3).subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['cluster 2: 3', 'cluster 1: 2']
    """
    images = _drawable_images(images)
    assignments = drawable_labels("assignments", assignments, len(images))
    uncertainty = drawable_shares("uncertainty", uncertainty, len(images))
    most_clusters, most_images = (
        check_count(name, one)
        for name, one in (("most_clusters", most_clusters), ("most_images", most_images))
    )
    sizes = np.bincount(assignments)
    shown = np.argsort(-sizes, kind="stable")[:most_clusters]
    rows = [_some_of(np.flatnonzero(assignments == one), uncertainty, most_images) for one in shown]
    _draw_sheet(images, rows, ax=ax)
    name_clusters(_middles(len(rows), images.shape[1]), shown.tolist(), sizes, ax=ax)
    ax.set_xlabel(f"sure to unsure{_left_out(len(sizes) - len(shown))}")
    return ax


def plot_generated(images: np.ndarray, *, ax: Axes) -> Axes:
    """Draw images that a model makes, a row a cluster and a column a style.

    Args:
        images: ``(K, S, H, W)``, pixels in 0..1, as :meth:`pyroclust.models.DeepMixture.generate` gives them;
            light on dark, drawn dark on light.

    Raises:
        ValueError: if the shape does not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> images = np.random.default_rng(0).random((3, 5, 8, 8))
        >>> ax = plot_generated(images, ax=new_figure(4, 3).subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['1', '2', '3']
    """
    stacked = np.asarray(images)
    if stacked.ndim != 4:
        raise ValueError(f"images has shape {stacked.shape}, expected (K, S, H, W): clusters and styles")
    clusters, styles = stacked.shape[:2]
    flat = _drawable_images(stacked.reshape(-1, *stacked.shape[2:]))
    rows = np.arange(clusters * styles).reshape(clusters, styles)
    _draw_sheet(flat, list(rows), ax=ax)
    ax.set_yticks(_middles(clusters, stacked.shape[2]), [str(one + 1) for one in range(clusters)])
    ax.set(xlabel="style", ylabel="cluster")
    return ax


def plot_uncertain_images(
    images: np.ndarray, uncertainty: np.ndarray, *, ax: Axes, most_images: int = 24, columns: int = 12
) -> Axes:
    """Draw the images whose place is least sure, the worst first, row by row.

    Args:
        images: ``(N, H, W)``, pixels in 0..1, light on dark, drawn dark on light.
        uncertainty: ``(N,)`` in [0, 1], such as :func:`pyroclust.diagnostics.point_uncertainty`.
        most_images: how many.
        columns: images a row.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> images = np.random.default_rng(0).random((5, 8, 8))
        >>> unsure = np.array([0.0, 0.9, 0.5, 0.0, 0.2])
        >>> ax = plot_uncertain_images(images, unsure, ax=new_figure(4, 3).subplots(), columns=2)
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['0.90 to 0.50', '0.20 to 0.00', '0.00']
    """
    images = _drawable_images(images)
    uncertainty = drawable_shares("uncertainty", uncertainty, len(images))
    most_images, columns = check_count("most_images", most_images), check_count("columns", columns)
    worst = np.argsort(-uncertainty, kind="stable")[:most_images]
    rows = [worst[start : start + columns] for start in range(0, len(worst), columns)]
    _draw_sheet(images, rows, ax=ax)
    ends = [(f"{uncertainty[row[0]]:.2f}", f"{uncertainty[row[-1]]:.2f}") for row in rows]
    names = [high if high == low else f"{high} to {low}" for high, low in ends]
    ax.set_yticks(_middles(len(rows), images.shape[1]), names)
    ax.set_ylabel("uncertainty")
    return ax


def plot_waveforms(
    waveforms: np.ndarray, assignments: np.ndarray, *, ax: Axes, most_clusters: int = 8
) -> Axes:
    """Draw the mean waveform of every cluster, channels above one another, with one standard deviation.

    Args:
        waveforms: ``(N, channels, samples)``, in any unit.
        assignments: ``(N,)`` canonical labels, such as a point estimate.
        most_clusters: how many clusters, the largest ones; how many are left out stands under the axis.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> waves = np.random.default_rng(0).standard_normal((6, 3, 20))
        >>> ax = plot_waveforms(waves, [0, 0, 0, 1, 1, 1], ax=new_figure(4, 3).subplots())
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['channel 1', 'channel 2', 'channel 3']
    """
    waveforms = drawable("waveforms", waveforms)
    if waveforms.ndim != 3 or not waveforms.size:
        raise ValueError(f"waveforms has shape {waveforms.shape}, expected (N, channels, samples)")
    assignments = drawable_labels("assignments", assignments, len(waveforms))
    num_channels, num_samples = waveforms.shape[1:]
    sizes = np.bincount(assignments)
    shown = np.argsort(-sizes, kind="stable")[: check_count("most_clusters", most_clusters)]
    means = np.stack([waveforms[assignments == one].mean(0) for one in shown])
    spreads = np.stack([waveforms[assignments == one].std(0) for one in shown])
    unit = max(float(np.abs(means).max()), 1e-12)
    zero = -_APART * np.arange(num_channels)[:, None]
    # One line for all channels of a cluster: nan lifts the pen.
    times = np.tile(np.append(np.arange(num_samples, dtype=float), np.nan), num_channels)
    for one, mean, spread in zip(shown.tolist(), means, spreads, strict=True):
        middle, width = _one_line(mean / unit + zero), _one_line(spread / unit)
        colour = cluster_colour(one)
        ax.fill_between(times, middle - width, middle + width, color=colour, alpha=0.15, lw=0)
        ax.plot(times, middle, color=colour, lw=1.5, label=f"cluster {one + 1}: {sizes[one]}")
    ax.set_yticks(zero[:, 0], [f"channel {place + 1}" for place in range(num_channels)])
    ax.set_xlabel(f"sample{_left_out(len(sizes) - len(shown))}")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0)
    return ax


def _middles(rows: int, height: int) -> list[float]:
    return [(height + _GAP) * row + height / 2 for row in range(rows)]


def _left_out(number: int) -> str:
    """Say how many clusters are not shown; nothing where all are."""
    verb = "is" if number == 1 else "are"
    return f"; {counted(number, 'smaller cluster')} {verb} not shown" if number else ""


def _one_line(channels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put channels behind one another, each ended by nan."""
    ended = np.pad(channels, ((0, 0), (0, 1)), constant_values=np.nan)
    return ended.ravel()


def _drawable_images(images: np.ndarray) -> NDArray[np.float64]:
    found = drawable("images", images)
    if found.ndim != 3 or not found.size:
        raise ValueError(f"images has shape {found.shape}, expected (N, H, W)")
    if found.min() < 0 or found.max() > 1:
        raise ValueError(
            f"images has pixels from {found.min():.3g} to {found.max():.3g}, expected numbers in 0..1"
        )
    return found


def _some_of(members: NDArray[np.int64], uncertainty: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return members from sure to unsure, evenly thinned."""
    order = members[np.argsort(uncertainty[members], kind="stable")]
    places = np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.int64)
    return order[places]


def _draw_sheet(images: NDArray[np.float64], rows: Sequence[NDArray[np.int64]], *, ax: Axes) -> None:
    """Draw rows of images as one picture."""
    _, height, width = images.shape
    longest = max(map(len, rows))
    sheet = np.full((len(rows), longest, height + _GAP, width + _GAP), np.nan)
    for place, row in enumerate(rows):
        sheet[place, : len(row), :height, :width] = images[row]
    flat = sheet.transpose(0, 2, 1, 3).reshape(len(rows) * (height + _GAP), longest * (width + _GAP))
    ax.imshow(flat, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest", aspect="equal")
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
