"""Where a data set lies among simulations, summary by summary."""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.diagnostics import Familiarity
from pyroclust.plots.style import CYCLE, GREY, INK

__all__ = ["plot_familiarity"]

_LINEAR = 3.0


def plot_familiarity(found: Familiarity, *, ax: Axes) -> Axes:
    """Draw one row a summary: where the data lie, as multiples of the distance from the median to 5 or 95 %.

    The band holds 90 % of the simulations in every row. Dots are usual, crosses are not: they lie outside the
    band, on a side that counts (of distances to the average only large ones do). The axis is linear up to 3
    and logarithmic beyond. The title gives the p-value of all rows together.

    Args:
        found: such as :func:`pyroclust.diagnostics.familiarity`.
        ax: where to draw.

    Raises:
        ValueError: if there are no rows.

    Example:
        >>> from pyroclust.diagnostics import familiarity
        >>> from pyroclust.plots.style import new_figure
        >>> rng = np.random.default_rng(0)
        >>> found = familiarity(rng.standard_normal((20, 1)), rng.standard_normal((99, 20, 1)))
        >>> ax = plot_familiarity(found, ax=new_figure(6, 3).subplots())
        >>> len(ax.get_yticklabels()) == len(found.rows)
        True
    """
    if not found.rows:
        raise ValueError("found has no rows, expected at least one summary")
    value, low, middle, high = np.array([(row.value, row.low, row.median, row.high) for row in found.rows]).T
    reach = np.maximum(np.where(value < middle, middle - low, high - middle), 1e-12)
    place = (value - middle) / reach
    height = np.arange(len(place))[::-1]
    outside = np.array([row.is_unusual for row in found.rows])
    ax.axvspan(-1, 1, color=GREY, alpha=0.2, lw=0, label="90 % of the simulations")
    ax.axvline(0, color=INK, lw=0.9, ls=(0, (4, 3)))
    ax.plot(place[~outside], height[~outside], "o", color=CYCLE[0], ms=7, label="data, usual")
    if outside.any():
        ax.plot(place[outside], height[outside], "X", color=CYCLE[3], ms=8, label="data, unusual")
    ax.set_xscale("symlog", linthresh=_LINEAR)
    end = max(_LINEAR, 1.2 * float(np.abs(place).max()))
    ticks = [tick for tick in (-100, -30, -10, -3, -2, -1, 0, 1, 2, 3, 10, 30, 100) if abs(tick) <= end]
    ax.set_xticks(ticks, [f"{tick}".replace("-", "−") for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(height, [row.name for row in found.rows])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-end, end), ylim=(-0.6, len(place) - 0.4))
    ax.set(xlabel="distance from the median of the simulations (1: their 5 or 95 %)")
    ax.set_title(f"p = {found.overall:.3f} among {found.num_simulations} simulations")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, handletextpad=0.3, borderaxespad=0.1)
    return ax
