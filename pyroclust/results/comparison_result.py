"""What a comparison returns: the table, the draws and every figure."""

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from pyroclust.data.tables import Table
from pyroclust.diagnostics import Verdict
from pyroclust.results.comparison import ROWS_FILE, Comparison
from pyroclust.results.comparison_summary import ComparisonSummary
from pyroclust.results.contents import Contents
from pyroclust.results.frames import points_frame
from pyroclust.results.guide_alone import AloneSummary, GuideAlone
from pyroclust.results.mcmc_alone import McmcAlone, McmcSummary
from pyroclust.results.missing_cells import MissingCells
from pyroclust.results.showing import Shown

__all__ = ["ComparisonResult"]


@dataclass(frozen=True)
class ComparisonResult(Shown):
    """What :func:`pyroclust.compare` returns.

    Attributes:
        table: the points in the units of their source.
        summary: every figure, and the verdict.
        folder: where the files were written, or ``None``.
        run: checksum of all that the result depends on: data, guide, options and seed.
        missing: what missing cells may hold; ``None`` where all are there.
    """

    table: Table
    summary: ComparisonSummary | AloneSummary | McmcSummary
    folder: Path | None = None
    run: str = ""
    missing: MissingCells | None = None
    rows_file: ClassVar[str] = ROWS_FILE

    def __repr__(self) -> str:
        """Return the data set, what drew, and the verdict."""
        found = self.comparison
        return f"ComparisonResult({found.source} with {found.drawn_by}: {self.verdict.level.value})"

    @property
    def comparison(self) -> Comparison | GuideAlone | McmcAlone:
        """Standardised points and the draws: of guide and MCMC, or of one where there is no other."""
        return self.summary.comparison

    @property
    def failures(self) -> tuple[str, ...]:
        """Why parts are missing, a sentence each."""
        return self.summary.failures

    @property
    def verdict(self) -> Verdict:
        """Whether to trust the guide here, or whether MCMC alone has converged, with its findings."""
        return self.summary.verdict

    def contents(self) -> Contents:
        """Return what there is to show."""
        return replace(self.summary.contents(), missing=self.missing)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``summary.json`` holds: what was compared, and every figure."""
        about = {"pyroclust": version("pyroclust"), **self.comparison.about(), "seed": self.summary.seed}
        about |= {"run": self.run} if self.run else {}
        return about | self.summary.to_dict()

    def frame(self) -> pd.DataFrame:
        """Return one row a point: name, columns and label as given, cluster and uncertainty by source."""
        names = pd.Series(list(self.table.row_names), name="row")
        return points_frame(names, self.table, self.summary.estimates)

    def with_failures(self, failures: tuple[str, ...]) -> Self:
        """Return the same result that also says which parts of its page are missing.

        Args:
            failures: a sentence each.
        """
        return replace(self, summary=replace(self.summary, failures=(*self.summary.failures, *failures)))
