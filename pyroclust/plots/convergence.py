"""R-hat and effective draws of all functionals, against their limits."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from pyroclust.diagnostics import Convergence
from pyroclust.diagnostics.verdict import GOOD_ESS, GOOD_RHAT, MAX_RHAT, MIN_ESS
from pyroclust.plots.limits import draw_limit
from pyroclust.plots.names import functional_name
from pyroclust.plots.panels import as_sequence
from pyroclust.plots.style import CYCLE, GREY

__all__ = ["plot_convergence"]


def plot_convergence(rows: Sequence[Convergence], *, axes: Sequence[Axes]) -> list[Axes]:
    """Draw R-hat in the first panel and bulk and tail effective draws in the second, a line a functional.

    The lines say where a verdict warns (dashed) and where it gives up (solid). A functional that never
    changes has no R-hat: it is named as constant, and has no dots.

    Args:
        rows: such as :func:`pyroclust.diagnostics.convergence`.
        axes: two Axes.

    Raises:
        ValueError: if there are no rows, or not two Axes.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> from pyroclust.diagnostics import convergence
        >>> from pyroclust.plots.style import new_figure
        >>> rows = convergence({"num_clusters": np.full((4, 100), 3.0)})
        >>> axes = plot_convergence(rows, axes=new_figure(9, 3).subplots(1, 2))
        >>> axes[0].get_yticklabels()[0].get_text()
        'number of clusters (constant)'
    """
    if not rows:
        raise ValueError("rows is empty, expected one row a functional")
    left, right = as_sequence(axes, 2, what="figures, R-hat and effective draws")
    height = np.arange(len(rows))[::-1]
    table = np.array([(row.rhat, row.ess_bulk, row.ess_tail) for row in rows], dtype=np.float64)
    table[[row.constant for row in rows]] = np.nan
    _rhat_panel(table[:, 0], height, left)
    _ess_panel(table[:, 1:], height, right)
    names = [functional_name(row.name) + (" (constant)" if row.constant else "") for row in rows]
    left.set_yticks(height, names)
    right.set_yticks(height, [""] * len(rows))
    for ax in (left, right):
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", color=GREY, alpha=0.25, lw=0.8)
        ax.set_axisbelow(True)
    return [left, right]


def _rhat_panel(rhats: np.ndarray, height: np.ndarray, ax: Axes) -> None:
    finite = rhats[np.isfinite(rhats)]
    top = max(1.06, 1 + 1.15 * (float(finite.max(initial=1.0)) - 1))
    shown = np.minimum(rhats, top)
    good = rhats <= GOOD_RHAT
    ax.plot(shown[good], height[good], "o", color=CYCLE[0])
    ax.plot(shown[~good], height[~good], "D", color=CYCLE[3])
    for place in np.flatnonzero(np.isinf(rhats)):
        ax.annotate(
            "∞", (top, height[place]), xytext=(-9, 0), textcoords="offset points", va="center", ha="right"
        )
    draw_limit(GOOD_RHAT, ax=ax, text=f"{GOOD_RHAT:.2f}", dashes=(4, 3))
    draw_limit(MAX_RHAT, ax=ax, text=f"{MAX_RHAT:.2f}")
    ax.set(xlabel="split R-hat", xlim=(min(0.998, float(finite.min(initial=1.0))), top + 0.002))


def _ess_panel(ess: np.ndarray, height: np.ndarray, ax: Axes) -> None:
    ax.plot(ess[:, 1], height, "s", mfc="none", color=CYCLE[3], ms=9, label="tail")
    ax.plot(ess[:, 0], height, "o", color=CYCLE[0], ms=5, label="bulk")
    ax.set_xscale("log")
    draw_limit(GOOD_ESS, ax=ax, text=f"{GOOD_ESS:.0f}", dashes=(4, 3))
    draw_limit(MIN_ESS, ax=ax, text=f"{MIN_ESS:.0f}")
    low, high = np.nanmin([ess.min(initial=np.inf, where=ess > 0), 50]), np.nanmax([*ess.ravel(), 1000])
    ax.set(xlabel="effective draws", xlim=(0.8 * low, 1.25 * high))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, handletextpad=0.2, borderaxespad=0.1)
