"""The prior of the number of clusters against the posterior averaged over simulated data."""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.plots.num_clusters import plot_num_clusters
from pyroclust.plots.style import CYCLE, INK

__all__ = ["plot_averaged_posterior"]


def plot_averaged_posterior(
    prior: np.ndarray, averaged: np.ndarray, error: np.ndarray, *, ax: Axes, prior_name: str = "prior"
) -> Axes:
    r"""Draw two bars a number of clusters: the prior, and the averaged posterior with two standard errors.

    .. math:: \int p(K \mid x) \, p(x) \, dx = p(K)

    so that exact posteriors have bars of equal height.

    Shape:
        prior, averaged, error: ``(K_max,)``, probabilities of 1, ..., K_max clusters.

    Args:
        prior: of the number of clusters, or its frequencies among simulations.
        averaged: posterior averaged over data sets of the model.
        error: standard errors of ``averaged``.
        ax: where to draw.
        prior_name: what the first bars are called.

    Raises:
        ValueError: if the shapes do not fit.

    References:
        Geweke (2004), Getting it right: joint distribution tests of posterior simulators.
        https://doi.org/10.1198/016214504000001132

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> row = np.array([0.4, 0.6])
        >>> len(plot_averaged_posterior(row, row, 0.01 * row, ax=ax).patches)
        4
    """
    shapes = [np.shape(row) for row in (prior, averaged, error)]
    if len(set(shapes)) != 1 or len(shapes[0]) != 1:
        raise ValueError(f"prior, averaged and error have shapes {shapes}, expected (K_max,) each")
    values = np.arange(1, len(averaged) + 1)
    bars = {prior_name: np.asarray(prior), "averaged posterior": np.asarray(averaged)}
    plot_num_clusters(values, bars, ax=ax, colours=(CYCLE[7], CYCLE[0]))
    ax.errorbar(values + 0.2, averaged, 2 * np.asarray(error), color=INK, ls="none", lw=1)
    ax.legend(loc="upper right", handlelength=1.1)
    ax.set_ylabel("probability")
    return ax
