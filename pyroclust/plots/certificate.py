"""A guide's certificate and its training, as one picture each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pyroclust.core.numbers import whole_numbers
from pyroclust.diagnostics.chains import functional_name
from pyroclust.diagnostics.limits import MAX_PARETO_K
from pyroclust.diagnostics.ranks import ecdf_band
from pyroclust.plots.calibration import draw_coverage, draw_reliability, plot_averaged_posterior
from pyroclust.plots.drawable import check_mapping, drawable, plain_text
from pyroclust.plots.style import CYCLE, GREY, INK, new_figure, style

# Yellow and grey lines would be lost in front of a grey band.
_LINES = (*CYCLE[:6], INK)


def plot_efficiency(rows: Sequence[Mapping[str, Any]], *, ax: Axes) -> Axes:
    """Draw importance-sampling efficiency by number of points: median, and 5 to 95 % of the data sets.

    The share of data sets whose Pareto k is above its limit stands below each size.

    Args:
        rows: entries ``sampled`` of a certificate.

    Example:
        >>> row = {"num_points": 20, "median_efficiency": 0.9, "low_efficiency": 0.7}
        >>> plot_efficiency([row], ax=new_figure(4, 3).subplots()).get_ylabel()
        'efficiency'
    """
    sizes = [row["num_points"] for row in rows]
    median, low = (np.array([row[f"{name}_efficiency"] for row in rows]) for name in ("median", "low"))
    # Certificates of earlier versions have no upper end.
    high = np.array([row.get("high_efficiency") or row["median_efficiency"] for row in rows])
    ax.fill_between(sizes, low, high, color=CYCLE[0], alpha=0.2, lw=0)
    ax.errorbar(sizes, median, [median - low, high - median], color=CYCLE[0], marker="o", elinewidth=1)
    shares = [row.get("share_high_k") for row in rows]
    names = [
        f"{size}" if share is None else f"{size}\n{100 * share:.0f} %"
        for size, share in zip(sizes, shares, strict=True)
    ]
    ax.set_xscale("log")
    ax.set_xticks(sizes, names)
    ax.minorticks_off()
    ax.set(
        xlabel=f"points; data sets with Pareto k above {MAX_PARETO_K:g}", ylabel="efficiency", ylim=(0, 1.02)
    )
    return ax


def plot_rank_ecdf(
    counts: Mapping[str, Sequence[int] | np.ndarray], *, ax: Axes, level: float = 0.95
) -> Axes:
    """Draw the ECDF of ranks minus that of uniform ones, inside a simultaneous band.

    A line that leaves the band means that the truth is not one more draw of the guide: above zero, that true
    values are too low among the draws; an S, that draws spread too little or too much.

    Args:
        counts: functional -> counts of ranks in equal bins, all of as many data sets and bins.
        level: probability that the line of one calibrated functional stays inside.

    Raises:
        ValueError: if there are no counts, they are not whole, or functionals have other sums or bins.

    Example:
        >>> plot_rank_ecdf({"entropy": [5, 6, 4, 5]}, ax=new_figure(4, 3).subplots()).get_xlabel()
        'rank of the truth among the draws'
    """
    check_mapping("counts", counts)
    rows = {name: whole_numbers(plain_text(name), row) for name, row in counts.items()}
    first = next(iter(rows.values()))
    for name, row in rows.items():
        if row.shape != first.shape or row.ndim != 1 or (row < 0).any() or row.sum() != first.sum():
            raise ValueError(
                f"{plain_text(name)} has shape {row.shape} and sum {row.sum()}, expected (num_bins,) "
                "counts that sum to the same for every functional"
            )
    bins, total = len(first), int(first.sum())
    grid = np.arange(1, bins) / bins
    low, high = ecdf_band(total, bins, level=level)
    inside = f"{100 * level:.0f} % of calibrated"
    ax.fill_between(grid, low - grid, high - grid, color=GREY, alpha=0.25, lw=0, label=inside)
    for index, (name, row) in enumerate(rows.items()):
        ecdf = np.cumsum(row) / np.sum(row)
        padded = np.concatenate([[0], ecdf - np.arange(1, bins + 1) / bins])
        colour = _LINES[index % len(_LINES)]
        ax.plot(np.linspace(0, 1, bins + 1), padded, color=colour, lw=1.4, label=functional_name(name))
    ax.axhline(0, color=INK, lw=0.8, ls=(0, (4, 3)))
    ax.set(xlabel="rank of the truth among the draws", ylabel="ECDF minus uniform", xlim=(0, 1))
    reach = 1.9 * max(np.abs(ax.get_ylim()))
    ax.set_ylim(-reach / 1.9, reach)
    ax.legend(loc="upper left", ncols=2, fontsize=8, handlelength=1.3)
    return ax


def plot_order_spread(row: Mapping[str, Any], *, ax: Axes) -> Axes:
    """Draw by how much q(c | x) varies over visiting orders: median and 5 to 95 % of the data sets.

    Args:
        row: the entry ``order`` of a certificate.

    Example:
        >>> row = {"median": 0.2, "low": 0.1, "high": 0.4, "baseline_median": 0.6}
        >>> len(plot_order_spread(row, ax=new_figure(4, 3).subplots()).get_yticklabels())
        2
    """
    middle, low, high = row["median"], row["low"], row["high"]
    ax.errorbar(middle, 0, xerr=[[middle - low], [high - middle]], color=CYCLE[0], marker="o", capsize=4)
    names = ["guide"]
    if row.get("baseline_median") is not None:
        ax.plot(row["baseline_median"], 1, color=CYCLE[1], marker="s")
        names.append("baseline")
    ax.set_yticks(range(len(names)), names)
    ax.set(
        xlabel="standard deviation over mean of q, over orders", ylim=(-0.6, len(names) - 0.4), xlim=(0, None)
    )
    return ax


def plot_certificate(content: Mapping[str, Any], *, name: str) -> Figure:
    """Draw efficiency by size, ranks, prior and averaged posterior of K, and order invariance.

    A part that the certificate lacks is left blank. Where it has coverage or reliability there is a third row
    of panels for them.

    Args:
        content: a certificate as a card stores it.
        name: of the guide, for the title.

    Example:
        >>> figure = plot_certificate({"order": {"median": 0.2, "low": 0.1, "high": 0.4}}, name="mine")
        >>> len(figure.axes)
        4
    """
    with style():
        rows = 3 if content.get("coverage") or content.get("reliability") else 2
        figure = new_figure(10, 3.6 * rows)
        figure.suptitle(plain_text(_title(content, name)), x=0.01, ha="left", fontweight="bold")
        for part, ax in zip(_PARTS, figure.subplots(rows, 2).flat, strict=False):
            _draw_panel(part, content, ax)
    return figure


def _title(content: Mapping[str, Any], name: str) -> str:
    exact = [
        f"KL to exact posteriors {one['mean_kl']:.3f} ± {one['mean_kl_se']:.3f} at N = {one['num_points']}"
        for one in content.get("exact", ())
    ]
    return ", ".join([name, *exact])


def _draw_panel(part: str, content: Mapping[str, Any], ax: Axes) -> None:
    title, draw = _PARTS[part]
    ax.set_title(title)
    if content.get(part):
        ax.set_title(title + draw(content[part], ax))
        return
    ranked = {row["functional"] for row in content.get("calibration") or ()}
    unlikely = part == "sampled" and ranked and "log_joint" not in ranked
    ax.set_axis_off()
    words = "the model has no likelihood" if unlikely else "not measured"
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", color=GREY)


def _draw_efficiency(rows: Sequence[Mapping[str, Any]], ax: Axes) -> str:
    plot_efficiency(rows, ax=ax)
    return ""


def _draw_ranks(rows: Sequence[Mapping[str, Any]], ax: Axes) -> str:
    plot_rank_ecdf({row["functional"]: row["counts"] for row in rows}, ax=ax)
    return f": {rows[0]['num_datasets']} data sets of {rows[0]['num_points']} points"


def _draw_num_clusters(row: Mapping[str, Any], ax: Axes) -> str:
    name = "simulated" if row.get("prior") is None else "prior"
    plot_averaged_posterior(
        *(np.array(row[part]) for part in (name, "averaged", "averaged_se")), ax=ax, prior_name=name
    )
    if row.get("total_variation") is None:
        return ""
    return f": total variation {row['total_variation']:.3f} (noise {row['total_variation_noise']:.3f})"


def _draw_order(row: Mapping[str, Any], ax: Axes) -> str:
    plot_order_spread(row, ax=ax)
    return ""


def _draw_coverage(row: Mapping[str, Any], ax: Axes) -> str:
    draw_coverage(row, ax=ax)
    return f": p = {row['p_value']:.3f}"


def _draw_reliability(row: Mapping[str, Any], ax: Axes) -> str:
    draw_reliability(row, ax=ax)
    return f": error {row['ece']:.3f} (noise {row['ece_noise']:.3f})"


# Titles of the panels, and what draws each part of a certificate and returns the rest of its title.
_PARTS: Mapping[str, tuple[str, Callable[[Any, Axes], str]]] = {
    "sampled": ("Importance-sampling efficiency", _draw_efficiency),
    "calibration": ("Calibration", _draw_ranks),
    "num_clusters": ("Number of clusters", _draw_num_clusters),
    "order": ("Order of the points", _draw_order),
    "coverage": ("Credible balls", _draw_coverage),
    "reliability": ("Probabilities of pairs", _draw_reliability),
}


_MOST_POINTS = 400
_STEPS_A_BLOCK = 8
_PANELS = {
    "mean_kl": "Mean KL to the exact posterior (nats)",
    "median_efficiency": "Importance-sampling efficiency, median",
    "log_prob_truth": "Mean log q of the truth (nats)",
}


def plot_training_loss(steps: np.ndarray, loss: np.ndarray, *, ax: Axes) -> Axes:
    """Draw a noisy loss as the band from its 10th to its 90th percentile, and its mean, in blocks of steps.

    Shape:
        steps, loss: ``(steps,)``, nats per point.

    Raises:
        ValueError: if they are no finite numbers, none at all, or not equally many.

    Example:
        >>> axes = plot_training_loss(np.arange(9), np.ones(9), ax=new_figure(4, 3).subplots())
        >>> axes.get_ylabel()
        'loss, nats per point'
    """
    steps, loss = drawable("steps", steps), drawable("loss", loss)
    if steps.ndim != 1 or not steps.size or loss.shape != steps.shape:
        raise ValueError(f"steps and loss have shapes {steps.shape} and {loss.shape}, expected (S,) each")
    blocks = np.array_split(np.arange(len(steps)), min(-(-len(steps) // _STEPS_A_BLOCK), _MOST_POINTS))
    low, mean, high = (
        np.array([figure(loss[block]) for block in blocks])
        for figure in (lambda x: np.quantile(x, 0.1), np.mean, lambda x: np.quantile(x, 0.9))
    )
    middle = np.array([steps[block].mean() for block in blocks])
    ax.fill_between(middle, low, high, color=CYCLE[0], alpha=0.2, lw=0, label="10 to 90 % of the steps")
    ax.plot(middle, mean, color=CYCLE[0], lw=1.3, label="mean")
    top = np.quantile(high[len(high) // 10 :], 0.98) * 1.15
    if np.isfinite(top) and top > low.min():
        ax.set_ylim(min(0.0, float(low.min())), float(top))
    ax.set(xlabel="step", ylabel="loss, nats per point", title="Loss on fresh simulations")
    ax.legend()
    return ax


def plot_training(
    log: Mapping[str, np.ndarray], validation: Mapping[str, np.ndarray], *, name: str = ""
) -> Figure:
    """Draw the log and the validations of a training.

    Args:
        log: columns of ``log.csv``.
        validation: columns of ``validation.csv``; may be empty.
        name: of the guide, for the title.

    Example:
        >>> log = {"step": np.arange(3), "nats_per_point": np.ones(3), "learning_rate": np.ones(3)}
        >>> len(plot_training(log, {}).axes)
        2
    """
    with style():
        panels = [name for name in _PANELS if name in validation]
        figure = new_figure(4.2 * (1 + (len(panels) + 1 + 1) // 2), 6.0)
        axes = figure.subplots(2, 1 + (len(panels) + 1) // 2, squeeze=False).T.ravel()
        plot_training_loss(log["step"], log["nats_per_point"], ax=axes[0])
        axes[1].plot(log["step"], log["learning_rate"], color=CYCLE[3])
        axes[1].set(xlabel="step", title="Learning rate", ylim=(0, None))
        for ax, panel in zip(axes[2:], panels, strict=False):
            ax.plot(validation["step"], validation[panel], color=CYCLE[2], marker="o", ms=3.5)
            ax.set(xlabel="step", title=_PANELS[panel])
            if panel == "mean_kl" and (validation[panel] > 0).all():
                ax.set_yscale("log")
        for ax in axes[2 + len(panels) :]:
            ax.remove()
        if name:
            figure.suptitle(plain_text(name), x=0.01, ha="left")
    return figure
