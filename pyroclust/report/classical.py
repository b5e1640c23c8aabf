"""Classical clusterings beside the posterior."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.baselines.scores import PartitionScores
from pyroclust.report.parts import FigureTable, Paragraph, Part, Picture, Section
from pyroclust.report.words import axis_names, number
from pyroclust.results.baseline_rows import BaselineRow, FailedRow
from pyroclust.results.contents import Source

__all__ = ["baseline_section"]


def baseline_section(every: Sequence[BaselineRow | FailedRow], view: Source) -> Section:
    """Show what classical methods make of the data, and where each lies in the posterior.

    Args:
        every: one a method.
        view: the source of the posterior.
    """
    rows = [row for row in every if isinstance(row, BaselineRow)]
    failed = [row for row in every if isinstance(row, FailedRow)]
    inside = sum(row.inside for row in rows)
    parts: tuple[Part, ...] = (_picture(rows, view), _table(every, view))
    parts += tuple(Paragraph(f"{row.name} failed: {row.reason}.", in_terminal=True) for row in failed)
    gist = f"{inside} of {len(rows)} lie inside the credible ball"
    return Section("What classical methods find", parts, gist=gist)


def _picture(rows: Sequence[BaselineRow], view: Source) -> Picture:
    partitions = {"Bayesian estimate": view.summary.estimate.assignments}
    partitions |= {row.result.name: row.result.assignments for row in rows}
    found = ", ".join(f"{row.result.num_clusters} by {row.result.name}" for row in rows)

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
        alternative=f"The rows coloured by the Bayesian estimate, with "
        f"{view.summary.estimate.num_clusters} clusters, and by classical methods: {found}.",
        caption="One panel a method, clusters in the colour of the one of the Bayesian "
        "estimate that they overlap. None of the others says how sure it is.",
    )


def _table(rows: Sequence[BaselineRow | FailedRow], view: Source) -> FigureTable:
    labelled = view.summary.estimate.scores is not None
    header = ["", "clusters", "ARI to the estimate", "expected VI, bits", "in the ball"]
    if labelled:
        header += ["ARI to the labels", "AMI", "accuracy"]
    own = view.summary.estimate.scores
    lines = [
        [
            f"Bayesian estimate ({view.name})",
            str(view.summary.estimate.num_clusters),
            number(1.0, 2),
            number(float(view.summary.ball.distances.mean())),
            "yes",
            *([] if own is None else _scores(own)),
        ]
    ]
    for row in rows:
        if isinstance(row, FailedRow):
            lines.append([row.name, "failed", *["–"] * (len(header) - 2)])
            continue
        line = [
            row.result.name,
            str(row.result.num_clusters),
            number(row.to_estimate.adjusted_rand, 2),
            number(row.expected_vi),
            "yes" if row.inside else "no",
        ]
        lines.append(line + ([] if row.to_labels is None else _scores(row.to_labels)))
    return FigureTable(
        "Each method from the posterior's point of view: its posterior expected variation of information "
        "(the estimate has the least that was found) and whether it lies in the 95 % credible ball. ARI: "
        "adjusted Rand index; AMI: adjusted mutual information, over the arithmetic mean of the entropies.",
        tuple(header),
        tuple(tuple(line) for line in lines),
        "Classical methods",
    )


def _scores(scores: PartitionScores) -> list[str]:
    figures = scores.adjusted_rand, scores.adjusted_mutual_information, scores.accuracy
    return [number(figure, 2) for figure in figures]
