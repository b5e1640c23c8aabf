"""What the sections about draws need besides the figures."""

from dataclasses import dataclass

import numpy as np

from pyroclust.report.words import axis_names, short
from pyroclust.results.comparison import GuideOnData
from pyroclust.results.diagnosis import Diagnosis
from pyroclust.results.draws_summary import DrawsSummary

__all__ = ["View", "view_of_compared", "view_of_diagnosis"]


@dataclass(frozen=True)
class View:
    """One source's draws as the sections show them.

    Attributes:
        source: what the page calls the source, inside a sentence.
        draws: ``(chains, draws, N)``.
        summary: their figures.
        data: the points on the axes of pictures, ``(N, D)``, or ``None``.
        columns: names of the D columns, short enough for axes.
    """

    source: str
    draws: np.ndarray
    summary: DrawsSummary
    data: np.ndarray | None
    columns: tuple[str, ...]

    @property
    def points(self) -> np.ndarray:
        """The data, where there are some.

        Raises:
            ValueError: if there are none.
        """
        if self.data is None:
            raise ValueError(f"{self.source} has no data, expected a source with data")
        return self.data

    @property
    def label(self) -> str:
        """The source's name, short enough for a legend."""
        return short(self.source, 18)


def view_of_compared(compared: GuideOnData, draws: np.ndarray, summary: DrawsSummary, *, source: str) -> View:
    """Return the view of one source of a comparison.

    Args:
        compared: the data.
        draws: of the source.
        summary: their figures.
        source: what the page calls it.
    """
    shown = (
        compared.data if compared.data.shape[1] > 2 else compared.data * compared.scale + compared.location
    )
    return View(source, draws, summary, shown, axis_names(compared.columns))


def view_of_diagnosis(diagnosis: Diagnosis, number: int) -> View:
    """Return the view of one source of a diagnosis.

    Args:
        diagnosis: the sources.
        number: which, 0 or 1.
    """
    summary, draws = diagnosis.summaries[number], diagnosis.draws[number]
    table, points = diagnosis.table, diagnosis.points
    if table is None or points is None:
        return View(summary.name, draws, summary, None, ())
    # The first two principal components of columns in different units would be those of one column.
    shown = points.data if points.data.shape[1] > 2 else table.data
    return View(summary.name, draws, summary, shown, axis_names(table.columns))
