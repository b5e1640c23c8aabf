"""Whether a sampler is calibrated: averaged posteriors, coverage, reliability, weights, familiarity."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from scipy.special import logsumexp

from pyroclust.diagnostics import BallCoverage, Familiarity, PairReliability
from pyroclust.plots.drawable import drawable
from pyroclust.plots.posterior import plot_num_clusters
from pyroclust.plots.style import CYCLE, GREY, INK, draw_inside_and_out, name_rows


def plot_averaged_posterior(
    prior: np.ndarray, averaged: np.ndarray, error: np.ndarray, *, ax: Axes, prior_name: str = "prior"
) -> Axes:
    r"""Draw two bars a number of clusters: the prior, and the averaged posterior with two standard errors.

    .. math:: \int p(K \mid x) \, p(x) \, dx = p(K)

    so that exact posteriors have bars of equal height.

    Args:
        prior: ``(K_max,)``, probabilities of 1, ..., K_max clusters, or their frequencies among simulations.
        averaged: ``(K_max,)``, the posterior averaged over data sets of the model.
        error: ``(K_max,)``, standard errors of ``averaged``.
        prior_name: what the first bars are called.

    Raises:
        ValueError: if the shapes do not fit.

    References:
        Geweke (2004), Getting it right: joint distribution tests of posterior simulators.
        https://doi.org/10.1198/016214504000001132

    Example:
        >>> from pyroclust.plots import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> row = np.array([0.4, 0.6])
        >>> len(plot_averaged_posterior(row, row, 0.01 * row, ax=ax).patches)
        4
    """
    prior, averaged, error = (
        drawable(name, row) for name, row in (("prior", prior), ("averaged", averaged), ("error", error))
    )
    shapes = [row.shape for row in (prior, averaged, error)]
    if len(set(shapes)) != 1 or len(shapes[0]) != 1 or (error < 0).any():
        raise ValueError(
            f"prior, averaged and error have shapes {shapes}, expected (K_max,), errors from 0 on"
        )
    values = np.arange(1, len(averaged) + 1)
    bars = {prior_name: np.asarray(prior), "averaged posterior": np.asarray(averaged)}
    plot_num_clusters(values, bars, ax=ax, colours=(CYCLE[7], CYCLE[0]))
    ax.errorbar(values + 0.2, averaged, 2 * np.asarray(error), color=INK, ls="none", lw=1)
    ax.legend(loc="upper right", handlelength=1.1)
    ax.set_ylabel("probability")
    return ax


def plot_coverage(found: BallCoverage, *, ax: Axes) -> Axes:
    """Draw the observed against the nominal coverage of credible balls, inside the band of calibrated ones.

    Below the diagonal balls are too small: the guide is too sure. Above it they are too large.

    Args:
        found: such as :func:`pyroclust.diagnostics.ball_coverage`.

    Example:
        >>> from pyroclust.diagnostics import ball_coverage
        >>> from pyroclust.plots import new_figure
        >>> partitions = np.random.default_rng(0).integers(2, size=(50, 20, 5))
        >>> found = ball_coverage(partitions[0], partitions[1:], seed=0)
        >>> plot_coverage(found, ax=new_figure(4, 4).subplots()).get_ylabel()
        'balls with the truth'
    """
    return draw_coverage(vars(found), ax=ax)


def draw_coverage(found: Mapping[str, Any], *, ax: Axes) -> Axes:
    """Draw coverage from its arrays by name, as a certificate stores them."""
    levels, observed, low, high = (np.asarray(found[name]) for name in ("levels", "observed", "low", "high"))
    band = f"{found.get('band_level', 0.95):.0%} of calibrated"
    ax.fill_between(levels, low, high, color=GREY, alpha=0.25, lw=0, label=band)
    ax.plot([0, 1], [0, 1], color=INK, lw=0.9, ls=(0, (4, 3)))
    ax.plot(levels, observed, color=CYCLE[0], lw=1.4)
    draw_inside_and_out(levels, observed, low, high, ax=ax)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1))
    ax.set(xlabel="level of the credible ball", ylabel="balls with the truth", xlim=(0, 1), ylim=(0, 1))
    ax.legend(loc="upper left")
    return ax


def plot_reliability(found: PairReliability, *, ax: Axes) -> Axes:
    """Draw observed against predicted co-assignment, a mark a bin, with the band of calibrated ones.

    Bars along the bottom are the shares of the pairs in each bin, on a scale of their own: most pairs are
    nearly surely together or apart.

    Args:
        found: such as :func:`pyroclust.diagnostics.pair_reliability`.

    Example:
        >>> from pyroclust.diagnostics import pair_reliability
        >>> from pyroclust.plots import new_figure
        >>> partitions = np.random.default_rng(0).integers(2, size=(20, 50, 8))
        >>> found = pair_reliability(partitions[0], partitions[1:])
        >>> plot_reliability(found, ax=new_figure(4, 4).subplots()).get_ylabel()
        'share together'
    """
    draw_reliability(vars(found), ax=ax)
    words = f"Brier score {found.brier:.3f}\nby the base rate {found.brier_prior:.3f}"
    ax.text(0.98, 0.26, words, transform=ax.transAxes, ha="right", va="bottom", fontsize=9)
    return ax


def draw_reliability(found: Mapping[str, Any], *, ax: Axes) -> Axes:
    """Draw a reliability diagram from its arrays by name, as a certificate stores them."""
    names = ("predicted", "observed", "low", "high", "counts")
    predicted, observed, low, high, counts = (np.asarray(found[name]) for name in names)
    share = counts / counts.sum()
    heights = 0.22 * share / share.max()
    ax.bar(predicted, heights, 0.04, color=CYCLE[5], alpha=0.6, label="share of the pairs")
    band = f"{found.get('band_level', 0.95):.0%} of calibrated"
    ax.vlines(predicted, low, high, color=GREY, alpha=0.35, lw=9, label=band)
    ax.plot([0, 1], [0, 1], color=INK, lw=0.9, ls=(0, (4, 3)))
    draw_inside_and_out(predicted, observed, low, high, ax=ax)
    ax.set(xlabel="predicted probability of a pair", ylabel="share together")
    ax.set(xlim=(-0.03, 1.03), ylim=(0, 1.03))
    ax.legend(loc="upper left")
    return ax


def plot_log_weights(log_weights: np.ndarray, *, ax: Axes) -> Axes:
    """Draw a histogram of the log importance weights, 0 being the weight of an average draw.

    The nearer all mass lies to 0, the nearer the guide is to the posterior; mass far to the right means draws
    that count for many others.

    Args:
        log_weights: S entries of log p(c, x) - log q(c), any shape, in nats.

    Raises:
        ValueError: if there are no weights, or they are no finite numbers.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> plot_log_weights(np.zeros(9), ax=new_figure(4, 3).subplots()).get_ylabel()
        'draws'
    """
    flat = drawable("log_weights", log_weights).reshape(-1)
    if not flat.size:
        raise ValueError("log_weights is empty, expected at least one number")
    relative = flat - (logsumexp(flat) - np.log(len(flat)))
    low, high = min(-1.0, 1.05 * float(relative.min())), max(1.0, 1.05 * float(relative.max()))
    ax.hist(relative, bins=np.linspace(low, high, 62).tolist(), color=CYCLE[0])
    ax.axvline(0, color=INK, lw=1, ls=(0, (4, 3)))
    ax.set(xlabel="log weight relative to the mean weight (nats)", ylabel="draws", xlim=(low, high))
    return ax


_LINEAR = 3.0


def plot_familiarity(found: Familiarity, *, ax: Axes) -> Axes:
    """Draw one row a summary: where the data lie, as multiples of the distance from the median to 5 or 95 %.

    The band holds 90 % of the simulations in every row. Dots are usual, crosses are not: they lie outside the
    band, on a side that counts (of distances to the average only large ones do). The axis is linear up to 3
    and logarithmic beyond. The title gives the p-value of all rows together.

    Args:
        found: such as :func:`pyroclust.diagnostics.familiarity`.

    Raises:
        ValueError: if there are no rows.

    Example:
        >>> from pyroclust.diagnostics import familiarity
        >>> from pyroclust.plots import new_figure
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
    height = name_rows([row.name for row in found.rows], ax=ax)
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
    ax.set(xlim=(-end, end), xlabel="distance from the median of the simulations (1: their 5 or 95 %)")
    ax.set_title(f"p = {found.overall:.3f} among {found.num_simulations} simulations")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, handletextpad=0.3, borderaxespad=0.1)
    return ax
