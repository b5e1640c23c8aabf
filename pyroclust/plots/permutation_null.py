"""The null distribution of a two-sample test, and what was observed."""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.diagnostics import TwoSampleTest
from pyroclust.plots.style import CYCLE, GREY

__all__ = ["plot_permutation_null"]


def plot_permutation_null(test: TwoSampleTest, *, ax: Axes, statistic: str, num_bins: int = 40) -> Axes:
    """Draw a histogram of the statistic under permutations of the sources' names, and the observed one.

    An observed statistic far to the right of the histogram says that the sources differ.

    Args:
        test: such as :func:`pyroclust.diagnostics.mmd_test`.
        ax: where to draw.
        statistic: its name, for the axis.
        num_bins: of the histogram.

    Example:
        >>> from pyroclust.diagnostics import mmd_test
        >>> from pyroclust.plots.style import new_figure
        >>> draws = np.random.default_rng(0).integers(2, size=(2, 50, 5))
        >>> test = mmd_test(draws[0], draws[1], seed=0, num_permutations=99)
        >>> ax = plot_permutation_null(test, ax=new_figure(5, 3).subplots(), statistic="squared MMD")
        >>> int(sum(bar.get_height() for bar in ax.patches))
        99
    """
    ends = np.append(test.null, test.statistic)
    span = max(float(np.ptp(ends)), 1e-9)
    edges = np.linspace(ends.min() - 0.03 * span, ends.max() + 0.03 * span, num_bins + 1)
    label = f"{len(test.null)} permutations"
    ax.hist(test.null, bins=edges.tolist(), color=GREY, edgecolor="white", lw=0.4, label=label)
    ax.axvline(test.statistic, color=CYCLE[3], lw=2, label=f"observed, p = {test.p_value:.3g}")
    ax.set(xlabel=statistic, ylabel="permutations", xlim=(edges[0], edges[-1]))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1)
    return ax
