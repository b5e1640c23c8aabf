"""Classical clusterings beside the posterior."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.baselines.scores import PartitionScores
from pyroclust.report.parts import FigureTable, Paragraph, Part, Picture, Section
from pyroclust.report.words import axis_names, number
from pyroclust.results.analysis import Source
from pyroclust.results.baseline_rows import BaselineRow, FailedRow

__all__ = ["baseline_section"]

_OWN = "point estimate"


def baseline_section(every: Sequence[BaselineRow | FailedRow], view: Source) -> Section:
    """Show what classical methods make of the data, and where each lies in the posterior."""
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
        axes = list(figure.subplots(2, -(-len(partitions) // 2), squeeze=False).flat)
        for ax in axes[len(partitions) :]:
            ax.remove()
        plots.plot_baselines(
            view.points, partitions, axes=list(axes[: len(partitions)]), columns=axis_names(view.columns)
        )

    return Picture(
        draw,
        size=(9, 3.4 if view.points.shape[1] == 1 else 5.4),
        alternative=f"The rows coloured by {own}classical methods: {found}.",
        caption="One panel a method, clusters in the colour of the one of the point "
        "estimate that they overlap. None of the others says how sure it is.",
    )


def _table(rows: Sequence[BaselineRow | FailedRow], view: Source) -> FigureTable:
    estimate, ball = view.summary.estimate, view.summary.ball
    scored = [row.to_labels for row in rows if isinstance(row, BaselineRow)]
    scored += [] if estimate is None else [estimate.scores]
    labelled = any(one is not None for one in scored)
    header = ["", "clusters", "ARI to the estimate", "expected VI, bits", "in the ball"]
    if labelled:
        header += ["ARI to the labels", "AMI", "accuracy"]
    lines = []
    if estimate is not None:
        lines.append(
            [
                f"{_OWN} ({view.name})",
                str(estimate.num_clusters),
                number(1.0, 2),
                number(math.nan if ball is None else float(ball.distances.mean())),
                "–" if ball is None else "yes",
                *(_scores(estimate.scores) if labelled else []),
            ]
        )
    for row in rows:
        if isinstance(row, FailedRow):
            lines.append([row.name, "failed", *["–"] * (len(header) - 2)])
            continue
        line = [
            row.result.name,
            str(row.result.num_clusters),
            number(math.nan if row.to_estimate is None else row.to_estimate.adjusted_rand, 2),
            number(row.expected_vi),
            "–" if row.inside is None else "yes" if row.inside else "no",
        ]
        lines.append(line + (_scores(row.to_labels) if labelled else []))
    return FigureTable(
        "Each method from the posterior's point of view: its posterior expected variation of information "
        "(the estimate has the least that was found) and whether it lies in the 95 % credible ball. ARI: "
        "adjusted Rand index; AMI: adjusted mutual information, over the arithmetic mean of the entropies.",
        tuple(header),
        tuple(tuple(line) for line in lines),
        "Classical methods",
    )


def _scores(scores: PartitionScores | None) -> list[str]:
    if scores is None:
        return ["–"] * 3
    figures = scores.adjusted_rand, scores.adjusted_mutual_information, scores.accuracy
    return [number(figure, 2) for figure in figures]
