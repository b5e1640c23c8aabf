"""Whether two sources of draws agree: distances, their null distribution, a map of both."""

import numpy as np
from matplotlib.axes import Axes

from pyroclust.core.numbers import MAX_SEED, check_count, check_number, check_seed
from pyroclust.diagnostics import (
    Agreement,
    PartitionLoss,
    TwoSampleTest,
    pairwise_loss,
)
from pyroclust.diagnostics.labels import flatten
from pyroclust.diagnostics.limits import MAX_DIFFERENCE
from pyroclust.diagnostics.losses import check_same_points
from pyroclust.partitions.raw_labels import DrawsLike
from pyroclust.plots.drawable import DEFAULT_LOSS, MAX_BINS, loss_name, plain_text, with_unit
from pyroclust.plots.style import CYCLE, GREY, INK, name_rows

_ROWS = {
    "total_variation": "total variation of the\nnumber of clusters",
    "largest_difference": "largest difference\nof co-assignments",
    "mean_difference": "mean difference\nof co-assignments",
}


def plot_agreement(found: Agreement, *, ax: Axes, tolerance: float = MAX_DIFFERENCE) -> Axes:
    """Draw each distance between two sources as a full mark, and its noise floor as a hollow one.

    A distance near its noise floor is as small as two halves of the reference allow. The strokes are the
    limits of the verdict, for the first two.

    Args:
        found: such as :func:`pyroclust.diagnostics.agreement`.
        tolerance: limit of the verdict on the largest difference.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> found = Agreement(0.2, 0.3, 0.05, 0.02, 0.04, 0.01)
        >>> ax = plot_agreement(found, ax=new_figure(6, 3).subplots())
        >>> [line.get_xdata().tolist() for line in ax.lines]
        [[0.2, 0.3, 0.05], [0.02, 0.04, 0.01]]
    """
    height = name_rows(list(_ROWS.values()), ax=ax)
    between = np.array([getattr(found, name) for name in _ROWS])
    noise = np.array([getattr(found, f"noise_{name}") for name in _ROWS])
    limits = (MAX_DIFFERENCE, check_number("tolerance", tolerance, above=0.0, at_most=1.0))
    for place, limit in zip(height, limits, strict=False):
        ax.vlines(limit, place - 0.3, place + 0.3, color=CYCLE[3], lw=1.4, zorder=1)
        ax.annotate(f"{limit:g}", (limit, place + 0.3), ha="center", va="bottom", fontsize=8)
    ax.hlines(height, noise, between, color=GREY, lw=2, zorder=1)
    ax.plot(between, height, ls="", marker="o", ms=9, color=CYCLE[0], label="between the sources")
    ax.plot(noise, height, ls="", marker="D", ms=7, mfc="white", color=CYCLE[3], label="noise floor")
    top = max(1.2 * max(limits), 1.08 * float(np.nanmax([*between, *noise])))
    ax.set(xlabel="distance", xlim=(-0.015 * top, top))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, borderaxespad=0.1)
    return ax


def plot_permutation_null(test: TwoSampleTest, *, ax: Axes, statistic: str, num_bins: int = 40) -> Axes:
    """Draw a histogram of the statistic under permutations of the sources' names, and the observed one.

    An observed statistic far to the right of the histogram says that the sources differ.

    Args:
        test: such as :func:`pyroclust.diagnostics.mmd_test`.
        statistic: its name, for the axis.
        num_bins: of the histogram.

    Example:
        >>> from pyroclust.diagnostics import mmd_test
        >>> from pyroclust.plots import new_figure
        >>> draws = np.random.default_rng(0).integers(2, size=(2, 50, 5))
        >>> test = mmd_test(draws[0], draws[1], seed=0, num_permutations=99)
        >>> ax = plot_permutation_null(test, ax=new_figure(5, 3).subplots(), statistic="squared MMD")
        >>> int(sum(bar.get_height() for bar in ax.patches))
        99
    """
    ends = np.append(test.null, test.statistic)
    num_bins = check_count("num_bins", num_bins, at_most=MAX_BINS)
    span = max(float(np.ptp(ends)), 1e-9)
    edges = np.linspace(ends.min() - 0.03 * span, ends.max() + 0.03 * span, num_bins + 1)
    label = f"{len(test.null)} permutations"
    ax.hist(test.null, bins=edges.tolist(), color=GREY, edgecolor="white", lw=0.4, label=label)
    ax.axvline(test.statistic, color=CYCLE[3], lw=2, label=f"observed, p = {test.p_value:.3g}")
    ax.set(xlabel=statistic, ylabel="permutations", xlim=(edges[0], edges[-1]))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1)
    return ax


_LOOKS = ((CYCLE[0], "-", "o"), (CYCLE[3], "--", "s"), (INK, ":", ""))


def plot_two_samples(
    draws_a: DrawsLike,
    draws_b: DrawsLike,
    *,
    ax: Axes,
    seed: int,
    names: tuple[str, str] = ("A", "B"),
    num_draws: int = 300,
    loss: PartitionLoss = DEFAULT_LOSS,
) -> Axes:
    """Draw the distributions of the distances between draws: within each source, and from one to the other.

    Where the sources sample the same posterior the three lines lie over each other; a third line to the right
    of the others says that a draw of the one is farther from the other source than from its own. Triangles
    mark the means. Cost O(S^2 N) for S draws of each, in compiled code.

    Args:
        draws_a: ``(chains, draws, N)`` or ``(S, N)``, of the first source.
        draws_b: ``(chains, draws, N)`` or ``(S, N)``, of the second source.
        seed: of the draws that are taken.
        names: of the sources.
        num_draws: at most so many random draws of each.
        loss: the distance.

    Example:
        >>> from pyroclust.plots import new_figure
        >>> draws = np.random.default_rng(0).integers(2, size=(2, 50, 5))
        >>> ax = plot_two_samples(draws[0], draws[1], ax=new_figure(5, 3).subplots(), seed=0)
        >>> ax.get_xlabel()
        'variation of information between two draws (bits)'
    """
    a, b = _two(draws_a, draws_b, num_draws, seed)
    within_a, within_b = (pairwise_loss(x, x, loss=loss)[np.triu_indices(len(x), 1)] for x in (a, b))
    between = pairwise_loss(a, b, loss=loss).ravel()
    rows = {f"within {names[0]}": within_a, f"within {names[1]}": within_b, "between the two": between}
    top = max(float(row.max(initial=0)) for row in rows.values())
    edges = np.linspace(0, max(1.03 * top, 1e-9), 51)
    for (name, row), (colour, dashes, _) in zip(rows.items(), _LOOKS, strict=True):
        heights = np.histogram(row, edges)[0] / max(1, len(row))
        label = f"{plain_text(name)}, mean {_mean(row):.2f}"
        ax.stairs(heights, edges, color=colour, ls=dashes, lw=1.8, label=label)
        ax.plot(_mean(row), 0, marker="^", ms=8, color=colour, clip_on=False, zorder=4)
    label = with_unit(f"{loss_name(loss)} between two draws", loss)
    ax.set(xlabel=label, ylabel="share of the pairs", xlim=(0, edges[-1]), ylim=(0, None))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.1, columnspacing=1.2)
    return ax


def plot_partition_map(
    draws_a: DrawsLike,
    draws_b: DrawsLike,
    *,
    ax: Axes,
    seed: int,
    names: tuple[str, str] = ("A", "B"),
    num_draws: int = 300,
    loss: PartitionLoss = DEFAULT_LOSS,
) -> Axes:
    r"""Draw draws of two sources as points in the plane, near to each other where partitions are.

    Classical multidimensional scaling: coordinates are the two leading eigenvectors of
    :math:`-\tfrac12 J D^{\circ 2} J` with distances D and the centring matrix J. The title gives the share
    of the positive eigenvalues that the plane shows. Arguments as in :func:`plot_two_samples`. Cost
    O(S^2 N + S^3) for S draws of both.

    References:
        Torgerson (1952), Multidimensional scaling: I. Theory and method. https://doi.org/10.1007/BF02288916

    Example:
        >>> from pyroclust.plots import new_figure
        >>> draws = np.random.default_rng(0).integers(2, size=(2, 50, 5))
        >>> ax = plot_partition_map(draws[0], draws[1], ax=new_figure(4, 4).subplots(), seed=0)
        >>> [len(marks.get_offsets()) for marks in ax.collections]
        [50, 50]
    """
    both = _two(draws_a, draws_b, num_draws, seed)
    pooled = np.concatenate(both)
    places, share = _scaled(pairwise_loss(pooled, pooled, loss=loss))
    split = len(both[0])
    for name, part, (colour, _, marker) in zip(names, (places[:split], places[split:]), _LOOKS, strict=False):
        label, face = plain_text(name), colour if marker == "o" else "none"
        across, up = part.T
        ax.scatter(across, up, s=22, marker=marker, fc=face, ec=colour, alpha=0.6, lw=1, label=label)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel=with_unit("first coordinate", loss), ylabel="second coordinate")
    ax.set_title(f"{share:.0%} of the squared distances shown")
    ax.legend(loc="best", handletextpad=0.2)
    return ax


def _two(draws_a: DrawsLike, draws_b: DrawsLike, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    seed = check_seed(seed)
    first = _some("draws_a", draws_a, count, seed)
    # The largest seed has no next one.
    second = _some("draws_b", draws_b, count, seed + 1 if seed < MAX_SEED else 0)
    check_same_points(first, second)
    return first, second


def _some(name: str, draws: DrawsLike, count: int, seed: int) -> np.ndarray:
    flat, count = flatten(draws, name=name), check_count("num_draws", count, at_least=2)
    if len(flat) <= count:
        return flat
    return flat[np.random.default_rng(seed).choice(len(flat), count, replace=False)]


def _mean(losses: np.ndarray) -> float:
    """Return the mean, and nan of no pairs: a single draw has none."""
    return float(losses.mean()) if losses.size else float("nan")


def _scaled(distances: np.ndarray) -> tuple[np.ndarray, float]:
    squares = (distances + distances.T) ** 2 / 4
    inner = -(squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()) / 2
    values, vectors = np.linalg.eigh(inner)
    positive = np.maximum(values, 0)
    share = float(positive[-2:].sum() / max(positive.sum(), 1e-12))
    return (vectors * np.sqrt(positive))[:, [-1, -2]], share
