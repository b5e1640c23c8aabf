"""How sure the point estimate is: credible ball, likeliest partitions, modes, points."""

import math
from dataclasses import replace

import numpy as np

from pyroclust import plots
from pyroclust.diagnostics import CredibleBall, PartitionModes, RankedPartitions, dendrogram_order
from pyroclust.diagnostics.draws.contingency import compact
from pyroclust.diagnostics.verdicts.findings import num_doubtful
from pyroclust.report.parts import FigureTable, Part, Picture, Section
from pyroclust.report.words import axis_names, number, numbers
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
            "companions in the estimate. Marks above one half are more often elsewhere than there.",
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
        "is the same in all four panels is sure; clusters keep their colour where they overlap.",
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
        "centre of one group, with the share of the draws in it. A single estimate hides all but one.",
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
    if modes is not None:
        rows["modes and their weights"] = ", ".join(numbers(modes.weights, 2))
    if estimate is not None and estimate.adjusted_rand is not None:
        rows["adjusted Rand index to the known labels"] = number(estimate.adjusted_rand)
    return FigureTable(
        f"The posterior of the partition.{without}", ("", view.name), tuple(rows.items()), "The partition"
    )
