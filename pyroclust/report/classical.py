"""Classical clusterings beside the posterior."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.baselines.scores import PartitionScores, scores_where_known
from pyroclust.report.parts import FigureTable, Paragraph, Picture, Section
from pyroclust.report.words import YES_OR_NO, axis_names, number, numbers
from pyroclust.results.analysis import Analysis
from pyroclust.results.baseline_rows import BaselineRow
from pyroclust.results.data import AnalysedData
from pyroclust.results.summaries import DrawsSummary

_OWN = "point estimate"


def baseline_section(analysis: Analysis, rows: Sequence[BaselineRow]) -> Section:
    """Show what classical methods make of the data, and where each lies in the posterior."""
    known = [row.inside for row in rows if row.inside is not None]
    failed = [Paragraph(f"{row.name} failed: {row.failed}.") for row in rows if row.result is None]
    gist = f"{sum(known)} of {len(known)} lie inside the credible ball" if known else ""
    assert analysis.data is not None
    parts = _picture(rows, analysis.reference, analysis.data), _table(rows, analysis.reference), *failed
    return Section("What classical methods find", parts, gist=gist)


def _picture(rows: Sequence[BaselineRow], view: DrawsSummary, data: AnalysedData) -> Picture:
    estimate = view.estimate
    results = [row.result for row in rows if row.result is not None]
    partitions = {} if estimate is None else {_OWN: estimate.assignments}
    partitions |= {one.name: one.assignments for one in results}
    counts = ", ".join(f"{one.num_clusters} by {one.name}" for one in results)
    own = "" if estimate is None else f"the point estimate, with {estimate.num_clusters} clusters, and by "

    def draw(figure: Figure) -> None:
        across = -(-len(partitions) // 2)
        axes = [figure.add_subplot(2, across, place + 1) for place in range(len(partitions))]
        plots.plot_baselines(data.shown, partitions, axes=axes, columns=axis_names(data.shown_columns))

    return Picture(
        draw,
        size=(9, 3.4 if data.shown.shape[1] == 1 else 5.4),
        alternative=f"The rows coloured by {own}classical methods: {counts}.",
        caption="One panel a method, clusters in the colour of the one of the point "
        "estimate that they overlap. None of the others says how sure it is.",
    )


def _table(rows: Sequence[BaselineRow], view: DrawsSummary) -> FigureTable:
    estimate, ball = view.estimate, view.ball
    own = None
    if estimate is not None:
        own = scores_where_known(view.true_labels, estimate.assignments, row_weights=view.row_weights)
    is_labelled = own is not None or any(row.to_labels is not None for row in rows)
    header = ["", "clusters", "ARI to the estimate", "expected VI, bits", "in the ball"]
    header += ["ARI to the labels", "AMI", "accuracy"] if is_labelled else []
    lines: list[tuple[str, ...]] = []
    if estimate is not None:
        expected = math.nan if ball is None else float(ball.distances.mean())
        first = str(estimate.num_clusters), number(1.0, 2), number(expected), "–" if ball is None else "yes"
        lines.append((f"{_OWN} ({view.name})", *first, *_scores(own)))
    for row in rows:
        if row.result is None:
            lines.append((row.name, "failed", *["–"] * 6))
            continue
        rand = math.nan if row.to_estimate is None else row.to_estimate.adjusted_rand
        figures = number(rand, 2), number(row.expected_vi), YES_OR_NO[row.inside]
        lines.append((row.name, str(row.result.num_clusters), *figures, *_scores(row.to_labels)))
    return FigureTable(
        "Each method from the posterior's point of view: its posterior expected variation of information "
        "(the estimate has the least that was found) and whether it lies in the 95 % credible ball. ARI: "
        "adjusted Rand index; AMI: adjusted mutual information, over the arithmetic mean of the entropies.",
        tuple(header),
        tuple(line[: len(header)] for line in lines),
        "Classical methods",
    )


def _scores(scores: PartitionScores | None) -> tuple[str, ...]:
    if scores is None:
        return ("–",) * 3
    return numbers((scores.adjusted_rand, scores.adjusted_mutual_information, scores.accuracy), 2)
