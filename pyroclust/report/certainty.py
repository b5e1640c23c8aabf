"""How sure a source is: credible ball, likeliest partitions, modes, points; the convergence of its chains."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.diagnostics import (
    Convergence,
    CredibleBall,
    PartitionModes,
    RankedPartitions,
    dendrogram_order,
)
from pyroclust.diagnostics.findings import num_doubtful
from pyroclust.diagnostics.labels import compact
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT, MAX_RHAT, MIN_ESS
from pyroclust.report.parts import (
    FigureTable,
    Paragraph,
    Part,
    Picture,
    Section,
    axis_names,
    functional_title,
    marked,
    number,
    numbers,
)
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.summaries import DrawsSummary

_MOST_MODES = 4


def certainty_section(analysis: Analysis) -> Section:
    """Show the ball around the estimate, the likeliest partitions and the modes."""
    view, data = analysis.reference, analysis.data
    ball, modes, ranked, estimate = view.ball, view.modes, view.ranked, view.estimate
    parts: list[Part] = []
    gist = ""
    if ball is not None:
        radius = number(ball.radius, 2)
        gist = f"{number(100 * ball.coverage, 0)} % of the draws lie within {radius} bits of it"
        distances = Picture(
            lambda figure: plots.plot_distance_histogram(ball, ax=figure.subplots()),
            size=(9, 2.8),
            alternative=f"Histogram of the distances of the draws of {view.name} to the point estimate; "
            f"the {number(100 * ball.level, 0)} % credible ball ends at {radius} bits.",
            caption="Each draw is a partition, its place the variation of information to the "
            f"point estimate in bits, 0 being equal. {number(100 * ball.coverage, 1)} % of the draws lie "
            "inside the ball. A heap far from 0 means that no draw looks quite like the estimate.",
        )
        parts += [distances, *([] if data is None else [_ball(data, ball)])]
    if modes is not None and len(modes.weights) > 1 and data is not None:
        parts.append(_modes(data, modes))
    if ranked is not None:
        parts.append(_ranked(ranked, view))
    if estimate is not None:
        points = Picture(
            lambda figure: plots.plot_point_uncertainty(
                estimate.uncertainty, estimate.assignments, ax=figure.subplots()
            ),
            size=(9, 2.8),
            alternative="Uncertainty of each row, by cluster and sorted; "
            f"{num_doubtful(estimate.uncertainty)} above one half.",
            caption="Each mark is a row, its height the probability of being apart from its "
            "companions in the estimate. Marks above one half are more often elsewhere than there."
            f"{marked(len(estimate.uncertainty))}",
        )
        parts.append(points)
    return Section("How sure is the estimate", (*parts, _table(view)), gist=gist)


def _ball(data: AnalysedData, ball: CredibleBall) -> Picture:
    bounds = ball.estimate, ball.horizontal[0], ball.upper[0], ball.lower[0]
    *some, last = (len(np.unique(partition)) for partition in bounds)
    return Picture(
        lambda figure: plots.plot_credible_ball(
            data.shown, ball, axes=figure.subplots(2, 2).ravel(), columns=axis_names(data.shown_columns)
        ),
        size=(9, 3.6 if data.shown.shape[1] == 1 else 6.2),
        alternative="The rows coloured by the estimate and by three bounds of its credible ball, with "
        f"{', '.join(map(str, some))} and {last} clusters.",
        caption="The bounds are the partitions at the edge of the ball: the farthest of "
        "all (horizontal), the farthest with the fewest clusters (upper) and with the most (lower). What "
        "is the same in all four panels is sure; clusters keep their colour where they overlap."
        f"{marked(len(data.values))}",
    )


def _modes(data: AnalysedData, modes: PartitionModes) -> Picture:
    count = min(len(modes.weights), _MOST_MODES)
    some = replace(
        modes,
        partitions=modes.partitions[:count],
        weights=modes.weights[:count],
        spread=modes.spread[:count],
    )
    weights = ", ".join(numbers(some.weights, 2))
    names = axis_names(data.shown_columns)
    return Picture(
        lambda figure: plots.plot_modes(
            data.shown, some, axes=figure.subplots(1, count, squeeze=False)[0], columns=names
        ),
        size=(9, 2.4 if data.shown.shape[1] == 1 else 3.6),
        alternative=f"The rows coloured by {count} modes of the posterior, with weights {weights}.",
        caption="The draws gather around more than one partition, and each panel is the "
        "centre of one group, with the share of the draws in it. A single estimate hides all but one."
        f"{marked(len(data.values))}",
    )


def _ranked(ranked: RankedPartitions, summary: DrawsSummary) -> Picture:
    some = compact(ranked.partitions[:, summary.paired_points])[0].astype(np.int64)
    return Picture(
        lambda figure: plots.plot_ranked_partitions(
            replace(ranked, partitions=some), dendrogram_order(summary.co_assignment), ax=figure.subplots()
        ),
        size=(9, 3.4),
        alternative=f"The likeliest partitions as strips of coloured rows; the first has probability "
        f"{number(ranked.probabilities[0])} and there are {ranked.num_distinct:,} different ones.",
        caption="Each strip is one partition, rows in the order of the dendrogram, runs "
        "of one colour being a cluster. Where the likeliest probability is small, the posterior is "
        "spread over so many partitions that single ones mean little: look at pairs of rows instead.",
    )


def _table(view: DrawsSummary) -> FigureTable:
    estimate, ball, entropy = view.estimate, view.ball, view.entropy
    ranked, modes = view.ranked, view.modes
    rows: dict[str, str] = {}
    without = ""
    if estimate is not None:
        rows["clusters of the point estimate"] = str(estimate.num_clusters)
        rows["mean uncertainty of a row"] = number(estimate.mean_uncertainty, 2)
    if ball is not None:
        rows[f"radius of the {100 * ball.level:g} % ball, bits"] = number(ball.radius)
    if entropy is not None:
        rows["different partitions among the draws"] = f"{entropy.num_distinct:,}"
    if ranked is not None:
        rows["probability of the likeliest partition"] = number(ranked.probabilities[0])
    if entropy is not None:
        rows["probability that the next draw was seen before"] = number(entropy.coverage)
        rows["entropy of the posterior, bits"] = number(entropy.corrected)
        rows["entropy of the draws, at most log2 of their number, bits"] = number(entropy.plug_in)
        if not math.isfinite(entropy.corrected):
            without = f" No partition of {view.name} was drawn twice: no entropy then."
    some, every = view.enough.size // view.shape[2], view.draws.num_draws
    if some < every:
        without += f" By {some:,} of the {every:,} draws, spread evenly, as the table is large."
    if modes is not None:
        rows["modes and their weights"] = ", ".join(numbers(modes.weights, 2))
    if estimate is not None and estimate.adjusted_rand is not None:
        rows["adjusted Rand index to the known labels"] = number(estimate.adjusted_rand)
    return FigureTable(
        f"The posterior of the partition.{without}", ("", view.name), tuple(rows.items()), "The partition"
    )


_TRACED = ("log_joint", "num_clusters", "entropy", "largest_share", "distance_to_reference")


def convergence_section(analysis: Analysis, view: DrawsSummary) -> Section:
    """Show the chains of one source, and every figure of their convergence."""
    # Of chains alone the verdict says it already.
    is_only = sum(not source.is_independent for source in analysis.sources) == 1
    parts: list[Part] = [] if is_only else [Paragraph(view.verdict.sentence)]
    names = [name for name in _TRACED if name in view.functionals][:4]
    if names:
        parts += [_traces(view, names), *([_ranks(view, names[:2])] if view.shape[0] > 1 else [])]
    rows, rhat, ess = view.convergence, number(view.max_rhat), number(view.min_ess, 0)
    if rows is not None:
        figures = Picture(
            lambda figure: plots.plot_convergence(rows, axes=figure.subplots(1, 2)),
            size=(9, 1.4 + 0.24 * len(rows)),
            alternative=f"R-hat and effective draws of {len(rows)} functionals of {view.name}; largest "
            f"R-hat {rhat}, fewest effective draws {ess}.",
            caption=f"Left, R-hat should lie left of the dashed line ({GOOD_RHAT:g}) and must lie left of "
            f"the solid one ({MAX_RHAT:g}); right, effective draws should lie right of the dashed line "
            f"({GOOD_ESS:.0f}) and must lie right of the solid one ({MIN_ESS:.0f}). A functional that never "
            "changes has no dot.",
        )
        functionals = FigureTable(
            f"Convergence of {view.name} on numbers that renaming clusters leaves alone. Wanted: R-hat at "
            f"most {GOOD_RHAT:g} and {GOOD_ESS:.0f} effective draws (ESS), in the bulk and in the tails. A "
            "constant has no R-hat.",
            ("", "mean", "sd", "R-hat", "ESS bulk", "ESS tail"),
            tuple(map(_convergence, rows)),
            f"Convergence of {view.name}",
        )
        parts += [figures, functionals]
    pairs = _pairs(view)
    parts += [pairs] if pairs.rows else []
    gist = f"Largest R-hat {rhat}, {ess} effective draws of the slowest functional"
    return Section(f"Convergence of {view.name}", tuple(parts), gist=gist)


def _convergence(row: Convergence) -> tuple[str, ...]:
    moments = functional_title(row.name), *numbers((row.mean, row.sd))
    if row.constant:
        return (*moments, "constant", "–", "–")
    return (*moments, number(row.rhat), *numbers((row.ess_bulk, row.ess_tail), 0))


def _traces(view: DrawsSummary, names: Sequence[str]) -> Picture:
    def draw(figure: Figure) -> None:
        for place, name in enumerate(names, 1):
            ax = figure.add_subplot(2, 2, place)
            plots.plot_trace(view.functionals[name], ax=ax, name=functional_title(name))
        handles, labels = ax.get_legend_handles_labels()
        legend = figure.legend(handles[:8], labels[:8], loc="outside lower center", ncols=8)
        for line in legend.get_lines():
            line.set_linewidth(2.5)

    return Picture(
        draw,
        size=(9, 4.4),
        alternative=f"Traces over the draws of the chains of {view.name}, one panel each: "
        f"{', '.join(map(functional_title, names))}.",
        caption="One colour a chain. Chains that lie over each other and wander over the "
        "whole range have converged; chains at different levels have not, and then nothing else can be "
        "judged.",
    )


def _ranks(view: DrawsSummary, names: Sequence[str]) -> Picture:
    def draw(figure: Figure) -> None:
        for name, ax in zip(names, figure.subplots(1, 2), strict=True):
            plots.plot_rank_bars(view.functionals[name], ax=ax, name=functional_title(name))

    return Picture(
        draw,
        size=(9, 3.2),
        alternative=f"Rank histograms of the chains of {view.name}: "
        f"{' and '.join(map(functional_title, names))}.",
        caption="How often the draws of each chain have low, middle and high ranks among "
        "all draws. Level bars mean that chains sample the same; a chain with bars on one side stayed "
        "low or high.",
    )


def _pairs(view: DrawsSummary) -> FigureTable:
    pairs, distances = view.co_membership, view.distance_rhat
    rows: tuple[tuple[str, str], ...] = ()
    if pairs is not None:
        rows += (
            ("pairs of rows looked at", f"{len(pairs.pairs):,}"),
            ("of these always together, or always apart", f"{pairs.num_constant:,}"),
            ("fewest effective draws of a pair", number(pairs.min, 0)),
            ("median effective draws of a pair", number(pairs.median, 0)),
        )
    if distances is not None:
        rows += (("largest R-hat of distances to reference partitions", number(distances.rhat)),)
    return FigureTable(
        "Convergence of whole partitions: whether pairs of rows share a cluster, and distances to partitions "
        "taken from the draws, which tell modes apart that have equally many clusters.",
        ("", view.name),
        rows,
    )
