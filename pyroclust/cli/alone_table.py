"""A guide's draws alone as tables for the terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyroclust.results.guide_alone import AloneSummary, GuideAlone

__all__ = ["alone_view"]

_SMALLEST_SHOWN = 0.001


def alone_view(alone: GuideAlone, summary: AloneSummary) -> RenderableType:
    """Lay out what the report says: clusters, figures, what is missing and why, the verdict last.

    Args:
        alone: the draws.
        summary: their figures.
    """
    num_points, dim = alone.data.shape
    head = Text(f"{alone.source}: {num_points} points, {', '.join(alone.columns)} ({dim}-D)\n")
    head.append(f"{alone.guide_name} on {alone.model_name}, alone")
    parts: list[RenderableType] = [head, _clusters(summary), _figures(alone, summary)]
    parts += [Text(f"Note: {note}") for note in (alone.missing, *alone.notes)]
    if summary.familiarity.warning is not None:
        parts.append(Text(summary.familiarity.warning, style="bold"))
    if summary.calibration is not None:
        parts.append(Text(f"Near these data: {summary.calibration.verdict.sentence}"))
    parts.append(Text(summary.verdict.sentence, style="bold"))
    return Group(*parts)


def _clusters(summary: AloneSummary) -> Table:
    table = Table(title="Posterior of the number of clusters", title_justify="left")
    for column in ("clusters", "guide"):
        table.add_column(column, justify="right")
    for value, probability in zip(summary.draws.values, summary.draws.probabilities, strict=True):
        if probability >= _SMALLEST_SHOWN:
            table.add_row(str(value), f"{probability:.3f}")
    return table


def _figures(alone: GuideAlone, summary: AloneSummary) -> Table:
    table = Table(title="Draws and trust", title_justify="left")
    table.add_column("")
    table.add_column("guide", justify="right")
    table.add_row("independent draws", str(alone.guide.assignments.shape[1]))
    table.add_row("seconds", f"{alone.guide.seconds:.3g}")
    table.add_row("clusters of the point estimate", str(summary.estimate.num_clusters))
    table.add_row("mean uncertainty of a row", f"{summary.estimate.uncertainty.mean():.3g}")
    share = f"{summary.familiarity.overall:.3f} of {summary.familiarity.num_simulations + 1}"
    table.add_row("simulations at least as unusual", share)
    tests = f"{summary.calibration_passed} of {summary.calibration_tests}"
    table.add_row("calibration tests passed", tests)
    if summary.estimate.truth_rand is not None:
        table.add_row("adjusted Rand index to the labels", f"{summary.estimate.truth_rand:.3g}")
    return table
