"""Which page belongs to which kind of result."""

from pathlib import Path

from pyroclust.report.alone_page import alone_page
from pyroclust.report.comparison_page import comparison_page
from pyroclust.report.diagnosis_page import diagnosis_page
from pyroclust.report.page import Page, render_page, write_page
from pyroclust.results.comparison import Comparison
from pyroclust.results.comparison_summary import ComparisonSummary
from pyroclust.results.diagnosis import Diagnosis
from pyroclust.results.guide_alone import AloneSummary, GuideAlone

__all__ = ["render", "write_diagnosis_report", "write_report"]


def render(comparison: Comparison | GuideAlone, summary: ComparisonSummary | AloneSummary) -> str:
    """Return the report as one HTML page that needs no other file and no network.

    Args:
        comparison: the draws.
        summary: their figures, from :func:`pyroclust.results.summarising.summarise`, or of a guide's draws
            alone from :func:`pyroclust.results.guide_alone.summarise_alone`.

    Raises:
        TypeError: if the one is of a guide alone and the other is not.
    """
    return render_page(_page_of(comparison, summary))


def write_report(
    comparison: Comparison | GuideAlone, summary: ComparisonSummary | AloneSummary, folder: Path
) -> Path:
    """Write the report as ``report.html`` into an existing folder and return its path.

    Args:
        comparison: the draws.
        summary: their figures.
        folder: where to write.

    Raises:
        OSError: if the folder cannot be written.
        TypeError: if the one is of a guide alone and the other is not.
    """
    return write_page(_page_of(comparison, summary), folder)


def write_diagnosis_report(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write the report of draws from any software as ``report.html`` into an existing folder.

    Args:
        diagnosis: the draws and their figures.
        folder: where to write.

    Raises:
        OSError: if the folder cannot be written.
    """
    return write_page(diagnosis_page(diagnosis), folder)


def _page_of(comparison: Comparison | GuideAlone, summary: ComparisonSummary | AloneSummary) -> Page:
    if isinstance(comparison, GuideAlone) and isinstance(summary, AloneSummary):
        return alone_page(comparison, summary)
    if isinstance(comparison, Comparison) and isinstance(summary, ComparisonSummary):
        return comparison_page(comparison, summary)
    raise TypeError("comparison and summary belong to different kinds of draws, expected one kind")
