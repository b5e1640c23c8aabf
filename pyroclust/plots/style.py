"""One look for every picture: colours for colour-blind readers, limits and bands, no pyplot."""

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

CYCLE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#7F7F7F")
"""The colours of Okabe and Ito (https://jfly.uni-koeln.de/color/), grey for black."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
"""Cluster k has colour k and marker k + k // 8, so that 64 clusters look different."""

INK = "#33373d"

GREY = "#8a9099"
"""Of frames and bands; too pale for text."""

_PARAMETERS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titley": 1.0,
    "axes.labelsize": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
}


# Matplotlib's parameters belong to the whole process.
_lock = threading.RLock()


@contextmanager
def style() -> Iterator[None]:
    """Give figures the package's look while the block runs; outside of it nothing changes.

    Blocks in several threads wait for one another.

    Example:
        >>> with style():
        ...     figure = new_figure(4, 3)
    """
    with _lock, mpl.rc_context(_PARAMETERS):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure with constrained layout that pyplot does not know.

    Args:
        width: in inches.
        height: in inches.

    Example:
        >>> new_figure(4, 3).get_size_inches().tolist()
        [4.0, 3.0]
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def png_bytes(figure: Figure, *, dpi: int = 130) -> bytes:
    """Return the figure as a PNG file.

    Args:
        figure: what to draw.
        dpi: pixels an inch.

    Example:
        >>> png_bytes(new_figure(1, 1))[1:4]
        b'PNG'
    """
    buffer = BytesIO()
    with _without_glyphs():
        figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


@contextmanager
def _without_glyphs() -> Iterator[None]:
    """Draw an empty box for a letter that the font does not have, and say nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def pixels(figure: Figure, *, dpi: int) -> np.ndarray:
    """Return the colours that :func:`png_bytes` writes, from one drawing where savefig draws twice."""
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    with _without_glyphs():
        canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


def name_rows(names: Sequence[str], *, ax: Axes, grid: bool = False) -> np.ndarray:
    """Name rows from the top down, and return their heights."""
    height = np.arange(len(names))[::-1]
    ax.set_yticks(height, names)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.6, len(names) - 0.4)
    if grid:
        ax.grid(axis="y", color=GREY, alpha=0.25, lw=0.8)
        ax.set_axisbelow(True)
    return height


def name_clusters(places: Sequence[float], clusters: Sequence[int], sizes: np.ndarray, *, ax: Axes) -> None:
    """Name clusters and their sizes beside their places on the page, in their colours."""
    ax.set_yticks(places, [f"cluster {one + 1}: {sizes[one]}" for one in clusters])
    for label, one in zip(ax.get_yticklabels(), clusters, strict=True):
        label.set_color(CYCLE[one % len(CYCLE)])
        label.set_fontweight("bold")


def draw_limit(value: float, *, ax: Axes, text: str, dashes: tuple[float, float] | None = None) -> None:
    """Draw a vertical line at a limit, with words above it; solid by default."""
    ax.axvline(value, color=CYCLE[3], lw=1, ls="-" if dashes is None else (0, dashes), zorder=1)
    place = ax.get_xaxis_transform()
    ax.text(value, 1.01, text, transform=place, ha="center", va="bottom", fontsize=8)


def draw_inside_and_out(
    place: np.ndarray, observed: np.ndarray, low: np.ndarray, high: np.ndarray, *, ax: Axes
) -> None:
    """Draw blue dots where the band holds what was observed, and red crosses where it does not."""
    inside = (observed >= low) & (observed <= high)
    ax.plot(place[inside], observed[inside], "o", color=CYCLE[0], ms=5.5, label="observed")
    if not inside.all():
        ax.plot(place[~inside], observed[~inside], "X", color=CYCLE[3], ms=8, label="outside the band")
