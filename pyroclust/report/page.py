"""The page: a template filled with the figures of a comparison."""

from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pyroclust.comparison import Comparison, ComparisonSummary
from pyroclust.guide_alone import AloneSummary, GuideAlone
from pyroclust.report.alone import alone_page
from pyroclust.report.figures import pictures
from pyroclust.report.words import functional_title, number, seconds

__all__ = ["render", "write_report"]

FILE_NAME = "report.html"


def render(comparison: Comparison | GuideAlone, summary: ComparisonSummary | AloneSummary) -> str:
    """Return the report as one HTML page that needs no other file and no network.

    Args:
        comparison: the draws.
        summary: their figures, from :func:`pyroclust.comparison.summarise`, or of a guide's draws alone from
            :func:`pyroclust.guide_alone.summarise_alone`.
    """
    if isinstance(comparison, GuideAlone) and isinstance(summary, AloneSummary):
        return _fill("alone.html.jinja", **alone_page(comparison, summary))
    if isinstance(comparison, Comparison) and isinstance(summary, ComparisonSummary):
        return _fill("report.html.jinja", **_page(comparison, summary))
    raise TypeError("comparison and summary belong to different kinds of draws, expected one kind")


def _fill(template: str, **values: object) -> str:
    environment = Environment(
        loader=PackageLoader("pyroclust.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, seconds=seconds, functional=functional_title)
    style = Markup(files("pyroclust.report").joinpath("report.css").read_text(encoding="utf-8"))
    return environment.get_template(template).render(style=style, **values)


def _page(comparison: Comparison, summary: ComparisonSummary) -> dict[str, object]:
    return {
        "comparison": comparison,
        "summary": summary,
        "level": summary.verdict.level.name.lower(),
        "pictures": pictures(comparison, summary),
        "rows": _rows(comparison, summary),
        "num_points": len(comparison.data),
        "total_draws": int(np.prod(comparison.mcmc.assignments.shape[:2])),
    }


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
    """
    path = Path(folder) / FILE_NAME
    path.write_text(render(comparison, summary), encoding="utf-8")
    return path


def _rows(comparison: Comparison, summary: ComparisonSummary) -> list[dict[str, object]]:
    values = comparison.data * comparison.scale + comparison.location
    names = comparison.row_names or tuple(str(row + 1) for row in range(len(values)))
    guide, mcmc = summary.estimate_guide, summary.estimate_mcmc
    return [
        {
            "name": names[row],
            "values": [f"{value:.6g}" for value in values[row]],
            "mcmc": int(mcmc.assignments[row]) + 1,
            "guide": int(guide.assignments[row]) + 1,
            "mcmc_uncertainty": mcmc.uncertainty[row],
            "guide_uncertainty": guide.uncertainty[row],
            "label": None if comparison.true_labels is None else comparison.true_labels[row],
        }
        for row in range(len(values))
    ]
