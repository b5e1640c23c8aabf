"""Lines at the figures on which verdicts turn."""

from matplotlib.axes import Axes

from pyroclust.plots.style import CYCLE

__all__ = ["draw_limit"]


def draw_limit(value: float, *, ax: Axes, text: str, dashes: tuple[float, float] | None = None) -> None:
    """Draw a vertical line at a limit, with words above it; solid by default.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> draw_limit(1.01, ax=ax, text="1.01")
        >>> ax.lines[0].get_xdata()
        [1.01, 1.01]
    """
    ax.axvline(value, color=CYCLE[3], lw=1, ls="-" if dashes is None else (0, dashes), zorder=1)
    place = ax.get_xaxis_transform()
    ax.text(value, 1.01, text, transform=place, ha="center", va="bottom", fontsize=8)
