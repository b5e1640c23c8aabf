"""Whether chains have converged: traces, ranks, distances, R-hat, effective draws also of pairs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator, PercentFormatter

from pyroclust.core.numbers import as_finite, check_count
from pyroclust.diagnostics import (
    CoMembershipEss,
    Convergence,
    DistanceRhat,
    PartitionLoss,
    pairwise_loss,
)
from pyroclust.diagnostics.chains import functional_name
from pyroclust.diagnostics.labels import checked_labels
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT, MAX_RHAT, MIN_ESS
from pyroclust.partitions.raw_labels import DrawsLike
from pyroclust.plots.drawable import DEFAULT_LOSS, MAX_BINS, drawable, loss_name, plain_text, with_unit
from pyroclust.plots.marks import as_sequence
from pyroclust.plots.style import CYCLE, INK, draw_limit, name_rows

MAX_POINTS = 600


def plot_trace(values: np.ndarray, *, ax: Axes, name: str) -> Axes:
    """Draw one line a chain; at most 600 draws of each, evenly spaced.

    Args:
        values: ``(chains, draws)``, a functional, such as one of :func:`pyroclust.diagnostics.functionals`.
        name: title of the panel.

    Raises:
        ValueError: if ``values`` is not a matrix.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> len(plot_trace(np.zeros((4, 9)), ax=new_figure(4, 2).subplots(), name="num_clusters").lines)
        4
    """
    values = drawable("values", values)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"values has shape {values.shape}, expected (chains, draws)")
    draws = values.shape[1]
    kept = np.unique(np.linspace(0, draws - 1, min(draws, MAX_POINTS)).round().astype(int))
    for chain, line in enumerate(values[:, kept]):
        ax.plot(kept, line, lw=0.7, alpha=0.75, color=CYCLE[chain % len(CYCLE)], label=f"chain {chain + 1}")
    if (values == values.round()).all():
        ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    if (values == values.flat[0]).all():
        ax.set_ylim(values.flat[0] - 1, values.flat[0] + 1)
        ax.text(0.5, 0.62, "constant", transform=ax.transAxes, ha="center")
    ax.set(title=plain_text(name), xlabel="draw")
    ax.set_xlim(0, max(1, draws - 1))
    return ax


def plot_rank_bars(values: np.ndarray, *, ax: Axes, name: str, num_bins: int = 20) -> Axes:
    r"""Draw a histogram of ranks a chain, one above the other, over the same bins.

    .. math:: h_{cb} = \sum_s P(R_{cs} \in \text{bin } b)

    R is the rank among all draws of all chains; draws with equal values share their ranks evenly, the
    expectation under random tie-breaking. Chains that sample the same distribution have bars about the
    height of their dashed line; a chain that stays low has its bars on the left. Cost O(n log n).

    Args:
        values: ``(chains, draws)``, a functional, such as one of :func:`pyroclust.diagnostics.functionals`.
        name: title of the panel.
        num_bins: of the ranks.

    Raises:
        ValueError: if ``values`` is not a finite matrix.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> ax = new_figure(4, 3).subplots()
        >>> bars = plot_rank_bars(np.zeros((4, 9)), ax=ax, name="K", num_bins=5).collections[:4]
        >>> [len(one.get_paths()) for one in bars]
        [5, 5, 5, 5]
    """
    values, num_bins = as_finite("values", values), check_count("num_bins", num_bins, at_most=MAX_BINS)
    if values.ndim != 2 or values.size == 0:
        raise ValueError(f"values has shape {values.shape}, expected finite (chains, draws)")
    counts = _rank_counts(values, num_bins)
    chains, draws = values.shape
    height = counts / (draws / num_bins)
    # One row of bars for a chain; rows further apart than the tallest bar.
    step = max(1.6, 1.12 * float(height.max()))
    floors = step * np.arange(chains)[::-1]
    left = np.arange(num_bins) / num_bins
    right = left + 0.92 / num_bins
    for chain, (row, floor) in enumerate(zip(height, floors, strict=True)):
        low, high = np.full(num_bins, floor), floor + row
        corners = np.stack([left, low, left, high, right, high, right, low], -1).reshape(num_bins, 4, 2)
        # A patch for each bar would take twice as long as all else of the picture.
        bars = PolyCollection(list(corners), color=CYCLE[chain % len(CYCLE)], lw=0)
        ax.add_collection(bars, autolim=False)
    ax.hlines(floors + 1, 0, 1, color=INK, lw=0.9, ls=[(0, (4, 3))])
    ax.hlines(floors, 0, 1, color=INK, lw=0.6)
    ax.set_yticks(step * np.arange(chains) + 0.5, [f"chain {chain}" for chain in range(chains, 0, -1)])
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set(xlabel="rank among all draws", xlim=(0, 1), ylim=(0, step * chains), title=plain_text(name))
    return ax


def _rank_counts(values: np.ndarray, num_bins: int) -> np.ndarray:
    """Return the expected counts of ranks under random tie-breaking, ``(chains, num_bins)``."""
    distinct, place = np.unique(values, return_inverse=True)
    cell = place.reshape(values.shape) + len(distinct) * np.arange(len(values))[:, None]
    counts = np.bincount(cell.ravel(), minlength=len(values) * len(distinct)).reshape(len(values), -1)
    padded = np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0)))
    pooled, edges = padded.sum(0), np.linspace(0, values.size, num_bins + 1)
    return np.diff([np.interp(edges, pooled, row) for row in padded], axis=1)


def plot_distances(
    draws: DrawsLike, found: DistanceRhat, *, axes: Sequence[Axes], loss: PartitionLoss = DEFAULT_LOSS
) -> list[Axes]:
    """Draw a trace of distances a reference, the references with the largest R-hat first.

    Chains in different modes keep different distances to a partition of one of them, even where their numbers
    of clusters agree. Cost O(R S N) for R Axes, in compiled code.

    Args:
        draws: ``(chains, draws, N)``, posterior draws.
        found: such as :func:`pyroclust.diagnostics.distance_rhat` of the same draws.
        axes: at most as many as there are references.
        loss: the distance that ``found`` was made with.

    Raises:
        ValueError: if the draws have no dimension of chains, or there are more Axes than references.

    Example:
        >>> from pyroclust.diagnostics import distance_rhat
        >>> from pyroclust.plots import new_figure
        >>> draws = np.random.default_rng(0).integers(2, size=(4, 50, 5))
        >>> axes = new_figure(6, 4).subplots(1, 2)
        >>> len(plot_distances(draws, distance_rhat(draws, seed=0), axes=axes)[0].lines)
        4
    """
    flat = np.ravel(np.asarray(axes, dtype=object)).tolist()
    draws = checked_labels("draws", draws)
    if draws.ndim != 3:
        raise ValueError(f"draws has shape {draws.shape}, expected (chains, draws, N)")
    if len(flat) > len(found.references):
        raise ValueError(
            f"axes has {len(flat)} Axes, expected at most {len(found.references)}, one a reference"
        )
    order = np.argsort(-np.nan_to_num(found.rhats, nan=0.0, posinf=np.inf), kind="stable")[: len(flat)]
    distances = pairwise_loss(found.references[order], draws.reshape(-1, draws.shape[-1]), loss=loss)
    for ax, place, row in zip(flat, order.tolist(), distances, strict=True):
        rhat = found.rhats[place]
        words = "constant" if np.isnan(rhat) else "R-hat ∞" if np.isinf(rhat) else f"R-hat {rhat:.3f}"
        plot_trace(row.reshape(draws.shape[:2]), ax=ax, name=f"To reference {place + 1}: {words}")
    flat[0].set_ylabel(with_unit(loss_name(loss), loss).replace(" (", "\n("))
    return flat


def plot_convergence(rows: Sequence[Convergence], *, axes: Sequence[Axes]) -> list[Axes]:
    """Draw R-hat in the first panel and bulk and tail effective draws in the second, a line a functional.

    The lines say where a verdict warns (dashed) and where it gives up (solid). A functional that never
    changes has no R-hat: it is named as constant, and has no dots.

    Args:
        rows: such as :func:`pyroclust.diagnostics.convergence`.
        axes: two Axes.

    Raises:
        ValueError: if there are no rows, or not two Axes.

    Example:
        >>> from pyroclust.diagnostics import convergence
        >>> from pyroclust.plots import new_figure
        >>> rows = convergence({"num_clusters": np.full((4, 100), 3.0)})
        >>> axes = plot_convergence(rows, axes=new_figure(9, 3).subplots(1, 2))
        >>> axes[0].get_yticklabels()[0].get_text()
        'number of clusters (constant)'
    """
    if not rows:
        raise ValueError("rows is empty, expected one row a functional")
    left, right = as_sequence(axes, 2, what="figures, R-hat and effective draws")
    names = [plain_text(functional_name(row.name) + (" (constant)" if row.constant else "")) for row in rows]
    height = name_rows(names, ax=left, grid=True)
    name_rows([""] * len(rows), ax=right, grid=True)
    table = np.array([(row.rhat, row.ess_bulk, row.ess_tail) for row in rows], dtype=np.float64)
    table[[row.constant for row in rows]] = np.nan
    good = np.array([row.is_good for row in rows])
    _rhat_panel(table[:, 0], good, height, left)
    _ess_panel(table[:, 1:], height, right)
    return [left, right]


def _rhat_panel(rhats: np.ndarray, good: np.ndarray, height: np.ndarray, ax: Axes) -> None:
    finite = rhats[np.isfinite(rhats)]
    top = max(1.06, 1 + 1.15 * (float(finite.max(initial=1.0)) - 1))
    shown = np.minimum(rhats, top)
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
    ax.xaxis.set_minor_locator(NullLocator())
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, handletextpad=0.2, borderaxespad=0.1)


def plot_co_membership(found: CoMembershipEss, *, ax: Axes, num_bins: int = 30) -> Axes:
    """Draw a histogram of the effective draws of pairs of points, on a logarithmic axis.

    The lines say where a verdict warns (dashed) and where it gives up (solid). Pairs that are together in
    every draw, or apart in every draw, have no bar; the title counts them.

    Args:
        found: such as :func:`pyroclust.diagnostics.co_membership_ess`.
        num_bins: of the histogram.

    Example:
        >>> from pyroclust.diagnostics import co_membership_ess
        >>> from pyroclust.plots import new_figure
        >>> found = co_membership_ess(np.random.default_rng(0).integers(2, size=(4, 100, 5)), seed=0)
        >>> ax = plot_co_membership(found, ax=new_figure(5, 3).subplots())
        >>> ax.get_title(), int(sum(bar.get_height() for bar in ax.patches))
        ('10 pairs of points, 0 constant', 10)
    """
    num_bins = check_count("num_bins", num_bins, at_most=MAX_BINS)
    ess = np.maximum(found.ess[np.isfinite(found.ess)], 1.0)
    low, high = (
        min(0.8 * MIN_ESS, 0.9 * ess.min(initial=np.inf)),
        max(1.25 * GOOD_ESS, 1.1 * ess.max(initial=0)),
    )
    ax.hist(
        ess, bins=np.geomspace(low, high, num_bins + 1).tolist(), color=CYCLE[0], edgecolor="white", lw=0.5
    )
    ax.set_xscale("log")
    draw_limit(GOOD_ESS, ax=ax, text=f"{GOOD_ESS:.0f}", dashes=(4, 3))
    draw_limit(MIN_ESS, ax=ax, text=f"{MIN_ESS:.0f}")
    if ess.size:
        ax.plot(
            np.median(ess), 0, marker="^", ms=9, color=INK, clip_on=False, zorder=4, ls="", label="median"
        )
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), handletextpad=0.2, borderaxespad=0.1)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set(xlabel="effective draws of a pair", ylabel="pairs", xlim=(low, high))
    ax.set_title(f"{len(found.pairs)} pairs of points, {found.num_constant} constant", pad=16)
    return ax
