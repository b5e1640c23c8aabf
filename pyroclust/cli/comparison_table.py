"""A comparison as tables for the terminal."""

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyroclust.cli.alone_table import alone_view
from pyroclust.cli.diagnosis_table import convergence_table
from pyroclust.results.comparison import Comparison
from pyroclust.results.comparison_summary import ComparisonSummary
from pyroclust.results.guide_alone import AloneSummary, GuideAlone

__all__ = ["comparison_view"]

_MOST_CLUSTER_ROWS = 12


def comparison_view(
    comparison: Comparison | GuideAlone, summary: ComparisonSummary | AloneSummary
) -> RenderableType:
    """Lay out a comparison as the report does: clusters, agreement, chains, weights, cost, verdict.

    Args:
        comparison: the draws.
        summary: their figures.

    Raises:
        TypeError: if the one is of a guide alone and the other is not.
    """
    if isinstance(comparison, GuideAlone) and isinstance(summary, AloneSummary):
        return alone_view(comparison, summary)
    if not (isinstance(comparison, Comparison) and isinstance(summary, ComparisonSummary)):
        raise TypeError("comparison and summary belong to different kinds of draws, expected one kind")
    num_points, dim = comparison.data.shape
    head = Text(f"{comparison.source}: {num_points} points, {', '.join(comparison.columns)} ({dim}-D)\n")
    head.append(f"{comparison.guide_name} beside {comparison.mcmc.name} on {comparison.model_name}")
    parts: list[RenderableType] = [
        head,
        _clusters(summary),
        _agreement(summary),
        convergence_table(summary.convergence, title="Convergence of MCMC"),
        _cost(comparison, summary),
    ]
    parts += [Text(f"Note: {note}") for note in comparison.notes]
    if summary.familiarity is not None and summary.familiarity.warning is not None:
        parts.append(Text(summary.familiarity.warning, style="bold"))
    if summary.calibration is not None:
        parts.append(Text(f"Near these data: {summary.calibration.verdict.sentence}"))
    parts.append(Text(summary.verdict.sentence, style="bold"))
    return Group(*parts)


def _clusters(summary: ComparisonSummary) -> Table:
    found = summary.num_clusters
    table = Table(title="Posterior of the number of clusters", title_justify="left")
    for column in ("clusters", "guide", "weighted", "MCMC"):
        table.add_column(column, justify="right")
    largest = found.mcmc + found.guide
    shown = sorted(sorted(range(len(found.values)), key=lambda i: -largest[i])[:_MOST_CLUSTER_ROWS])
    for i in shown:
        if largest[i] >= 0.001:
            table.add_row(
                str(found.values[i]), *(f"{p[i]:.3f}" for p in (found.guide, found.corrected, found.mcmc))
            )
    return table


def _agreement(summary: ComparisonSummary) -> Table:
    table = Table(title="Distance from MCMC", title_justify="left")
    table.add_column("")
    for column in ("guide", "weighted", "MCMC's halves"):
        table.add_column(column, justify="right")
    rows = {
        "total variation of the number of clusters": "total_variation",
        "largest co-assignment difference": "largest_difference",
        "mean co-assignment difference": "mean_difference",
    }
    for title, field in rows.items():
        plain, weighted = getattr(summary.agreement, field), getattr(summary.agreement_corrected, field)
        table.add_row(title, *map(_short, (plain, weighted, getattr(summary.agreement, f"noise_{field}"))))
    return table


def _cost(comparison: Comparison, summary: ComparisonSummary) -> Table:
    weighting = summary.weighting
    table = Table(title="Cost and weights", title_justify="left")
    for column, justify in (("", "left"), ("guide", "right"), ("MCMC", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    table.add_row("draws", str(len(weighting.weights)), str(math.prod(comparison.mcmc.assignments.shape[:2])))
    table.add_row("seconds", _short(comparison.guide.seconds), _short(comparison.mcmc.seconds))
    table.add_row("seconds per effective draw", _short(summary.guide_seconds), _short(summary.mcmc_seconds))
    table.add_row("importance-sampling efficiency", f"{weighting.efficiency:.3f}", "")
    table.add_row("Pareto k", _short(weighting.pareto_k), "")
    evidences = [f"{one.estimate:.2f} ± {one.error:.2f}" for one in summary.evidences]
    table.add_row("log evidence, nats", evidences[0], evidences[1] if len(evidences) > 1 else "")
    rand = (summary.estimate_guide.truth_rand, summary.estimate_mcmc.truth_rand)
    if rand[0] is not None and rand[1] is not None:
        table.add_row("adjusted Rand index to the labels", _short(rand[0]), _short(rand[1]))
    return table


def _short(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"
