"""The page: a template filled with the figures of a comparison."""

from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pyroclust.comparison import Comparison, ComparisonSummary
from pyroclust.report.figures import pictures
from pyroclust.report.words import functional_title, number, seconds

__all__ = ["render", "write_report"]

FILE_NAME = "report.html"


def render(comparison: Comparison, summary: ComparisonSummary) -> str:
    """Return the report as one HTML page that needs no other file and no network.

    Args:
        comparison: the draws.
        summary: their figures, from :func:`pyroclust.comparison.summarise`.
    """
    environment = Environment(
        loader=PackageLoader("pyroclust.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, seconds=seconds, functional=functional_title)
    return environment.get_template("report.html.jinja").render(
        comparison=comparison,
        summary=summary,
        level=summary.verdict.level.name.lower(),
        style=Markup(files("pyroclust.report").joinpath("report.css").read_text(encoding="utf-8")),
        pictures=pictures(comparison, summary),
        rows=_rows(comparison, summary),
        num_points=len(comparison.data),
        total_draws=int(np.prod(comparison.mcmc.assignments.shape[:2])),
    )


def write_report(comparison: Comparison, summary: ComparisonSummary, folder: Path) -> Path:
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
