"""Rank plots of chains: where each chain's draws lie among those of all chains."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from pyroclust.plots.style import CYCLE, INK

__all__ = ["plot_rank_bars"]


def plot_rank_bars(values: np.ndarray, *, ax: Axes, name: str, num_bins: int = 20) -> Axes:
    r"""Draw a histogram of ranks a chain, one above the other, over the same bins.

    .. math:: h_{cb} = \sum_s P(R_{cs} \in \text{bin } b)

    R is the rank among all draws of all chains; draws with equal values share their ranks evenly, the
    expectation under random tie-breaking. Chains that sample the same distribution have bars about the
    height of their dashed line; a chain that stays low has its bars on the left. Cost O(n log n).

    Shape:
        values: ``(chains, draws)``.

    Args:
        values: a functional, such as one of :func:`pyroclust.diagnostics.functionals`.
        ax: where to draw.
        name: title of the panel.
        num_bins: of the ranks.

    Raises:
        ValueError: if ``values`` is not a finite matrix.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> len(plot_rank_bars(np.zeros((4, 9)), ax=ax, name="K", num_bins=5).patches)
        20
    """
    if values.ndim != 2 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"values has shape {values.shape}, expected finite (chains, draws)")
    counts = _rank_counts(values, num_bins)
    chains, draws = values.shape
    height = counts / (draws / num_bins)
    # One row of bars for a chain; rows further apart than the tallest bar.
    step = max(1.6, 1.12 * float(height.max()))
    left = np.arange(num_bins) / num_bins
    for chain, row in enumerate(height):
        floor = step * (chains - 1 - chain)
        ax.bar(left, row, 0.92 / num_bins, floor, align="edge", color=CYCLE[chain % len(CYCLE)])
        ax.plot([0, 1], [floor + 1, floor + 1], color=INK, lw=0.9, ls=(0, (4, 3)))
        ax.plot([0, 1], [floor, floor], color=INK, lw=0.6)
    ax.set_yticks(step * np.arange(chains) + 0.5, [f"chain {chain}" for chain in range(chains, 0, -1)])
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set(xlabel="rank among all draws", xlim=(0, 1), ylim=(0, step * chains), title=name)
    return ax


def _rank_counts(values: np.ndarray, num_bins: int) -> np.ndarray:
    """Return the expected counts of ranks under random tie-breaking, ``(chains, num_bins)``."""
    distinct, place = np.unique(values, return_inverse=True)
    cell = place.reshape(values.shape) + len(distinct) * np.arange(len(values))[:, None]
    counts = np.bincount(cell.ravel(), minlength=len(values) * len(distinct)).reshape(len(values), -1)
    padded = np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0)))
    pooled, edges = padded.sum(0), np.linspace(0, values.size, num_bins + 1)
    return np.diff([np.interp(edges, pooled, row) for row in padded], axis=1)
