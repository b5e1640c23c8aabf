"""Classical clusterings beside the posterior."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.baselines.scores import PartitionScores
from pyroclust.report.parts import FigureTable, Paragraph, Part, Picture, Section
from pyroclust.report.words import YES_OR_NO, axis_names, number, numbers
from pyroclust.results.analysis import Analysis, Source
from pyroclust.results.baseline_rows import BaselineRow, FailedRow

__all__ = ["baseline_section"]

_OWN = "point estimate"


def baseline_section(found: Analysis, every: Sequence[BaselineRow | FailedRow]) -> Section:
    """Show what classical methods make of the data, and where each lies in the posterior."""
    view = found.reference
    rows = [row for row in every if isinstance(row, BaselineRow)]
    failed = [row for row in every if isinstance(row, FailedRow)]
    known = [row.inside for row in rows if row.inside is not None]
    parts: tuple[Part, ...] = (_picture(rows, view), _table(every, view))
    parts += tuple(Paragraph(f"{row.name} failed: {row.reason}.") for row in failed)
    gist = f"{sum(known)} of {len(known)} lie inside the credible ball" if known else ""
    return Section("What classical methods find", parts, gist=gist)


def _picture(rows: Sequence[BaselineRow], view: Source) -> Picture:
    estimate = view.summary.estimate
    partitions = {} if estimate is None else {_OWN: estimate.assignments}
    partitions |= {row.result.name: row.result.assignments for row in rows}
    found = ", ".join(f"{row.result.num_clusters} by {row.result.name}" for row in rows)
    own = "" if estimate is None else f"the point estimate, with {estimate.num_clusters} clusters, and by "

    def draw(figure: Figure) -> None:
        across = -(-len(partitions) // 2)
        axes = [figure.add_subplot(2, across, place + 1) for place in range(len(partitions))]
        plots.plot_baselines(view.points, partitions, axes=axes, columns=axis_names(view.columns))

    return Picture(
        draw,
        size=(9, 3.4 if view.points.shape[1] == 1 else 5.4),
        alternative=f"The rows coloured by {own}classical methods: {found}.",
        caption="One panel a method, clusters in the colour of the one of the point "
        "estimate that they overlap. None of the others says how sure it is.",
    )


def _table(rows: Sequence[BaselineRow | FailedRow], view: Source) -> FigureTable:
    estimate, ball = view.summary.estimate, view.summary.ball
    header = ["", "clusters", "ARI to the estimate", "expected VI, bits", "in the ball"]
    scores = [row.to_labels for row in rows if isinstance(row, BaselineRow)]
    scores += [] if estimate is None else [estimate.scores]
    is_labelled = any(one is not None for one in scores)
    header += ["ARI to the labels", "AMI", "accuracy"] if is_labelled else []
    lines: list[tuple[str, ...]] = []
    if estimate is not None:
        expected = math.nan if ball is None else float(ball.distances.mean())
        first = str(estimate.num_clusters), number(1.0, 2), number(expected), "–" if ball is None else "yes"
        lines.append((f"{_OWN} ({view.name})", *first, *_scores(estimate.scores)))
    for row in rows:
        if isinstance(row, FailedRow):
            lines.append((row.name, "failed", *["–"] * 6))
            continue
        rand = math.nan if row.to_estimate is None else row.to_estimate.adjusted_rand
        figures = number(rand, 2), number(row.expected_vi), YES_OR_NO[row.inside]
        lines.append((row.result.name, str(row.result.num_clusters), *figures, *_scores(row.to_labels)))
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
