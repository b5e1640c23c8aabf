"""Observed figures, those outside of their band marked as such."""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.plots.style import CYCLE

__all__ = ["draw_inside_and_out"]


def draw_inside_and_out(
    place: np.ndarray, observed: np.ndarray, low: np.ndarray, high: np.ndarray, *, ax: Axes
) -> None:
    """Draw blue dots where the band holds what was observed, and red crosses where it does not.

    Shape:
        all arrays: ``(M,)``.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> x = np.array([0.0, 1.0])
        >>> draw_inside_and_out(x, np.array([0.5, 2.0]), x, x + 0.5, ax=ax)
        >>> [line.get_xdata().tolist() for line in ax.lines]
        [[0.0], [1.0]]
    """
    inside = (observed >= low) & (observed <= high)
    ax.plot(place[inside], observed[inside], "o", color=CYCLE[0], ms=5.5, label="observed")
    if not inside.all():
        ax.plot(place[~inside], observed[~inside], "X", color=CYCLE[3], ms=8, label="outside the band")
