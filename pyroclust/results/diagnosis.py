"""What is said of draws of a partition from any software."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from pyroclust.arrays import plain
from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import Table
from pyroclust.diagnostics import Finding, SourceComparison, Trust, Verdict
from pyroclust.diagnostics.verdicts.judging import with_untold
from pyroclust.diagnostics.verdicts.sources import no_verdict
from pyroclust.results.baseline_rows import BaselineRow, FailedRow
from pyroclust.results.contents import Contents, RowsOfData, Source, posteriors_of_k
from pyroclust.results.draws_summary import DrawsSummary
from pyroclust.results.frames import points_frame
from pyroclust.results.showing import Shown

__all__ = ["Diagnosis"]


@dataclass(frozen=True, kw_only=True)
class Diagnosis(Shown):
    """One or two sources of draws of the same partition.

    Attributes:
        summaries: of each source, one or two.
        draws: of each source, ``(chains, draws, N)``.
        between: the two sources beside each other; ``None`` where there is one, or that failed.
        table: the points in their units, or ``None``.
        points: the points as the baselines saw them, or ``None``.
        baselines: classical clusterings of the points; empty without data.
        point_names: names of the N points.
        seed: of everything random.
        notes: sentences that reports repeat.
        run: checksum of all that the result depends on: draws, data and seed.
        failures: why parts are missing, a sentence each.
    """

    summaries: tuple[DrawsSummary, ...]
    draws: tuple[np.ndarray, ...]
    between: SourceComparison | None
    table: Table | None
    points: Standardised | None
    baselines: tuple[BaselineRow | FailedRow, ...]
    point_names: tuple[str, ...]
    seed: int
    notes: tuple[str, ...] = ()
    run: str = ""
    failures: tuple[str, ...] = ()
    rows_file: ClassVar[str] = "points.csv"

    def __repr__(self) -> str:
        """Return the sources and the verdict."""
        return f"Diagnosis({' beside '.join(one.name for one in self.summaries)}: {self.verdict.level.value})"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts on the convergence of each source."""
        return tuple(one.verdict for one in self.summaries)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every question that was asked: those of the verdict first."""
        return (*self.verdict.findings, *self.summaries[0].findings)

    @property
    def verdict(self) -> Verdict:
        """The one sentence: on the two sources where there are two, else on the convergence."""
        open_ones = self.summaries[0].untold
        if len(self.summaries) == 1:
            return with_untold(self.verdicts[0], open_ones)
        if self.between is None:
            return with_untold(no_verdict((self.summaries[0].name, self.summaries[1].name)), open_ones)
        return with_untold(self.between.verdict, open_ones)

    @property
    def converged(self) -> bool:
        """Whether no source was found not to have converged."""
        return all(one.level is not Trust.DISTRUST for one in self.verdicts)

    def contents(self) -> Contents:
        """Return what there is to show."""
        sources = tuple(self._source(place) for place in range(len(self.summaries)))
        names = " beside ".join(one.name for one in sources)
        sizes = "; ".join(
            f"{_chains(one)} of {one.draws.shape[1]:,} draws from {one.name}" for one in sources
        )
        counts_from, counts = posteriors_of_k(sources)
        return Contents(
            title=f"{names}: diagnosis",
            command="pyroclust diagnose",
            heading=names,
            introduction=f"Partitions of {self.draws[0].shape[-1]:,} points: {sizes}. No model was needed.",
            footer=(
                "Uncertainty of a row: the probability that it is apart from its companions in the "
                "estimate. Variation of information is measured in bits; 0 means equal partitions."
            ),
            notes=(*self.notes, *self.failures),
            verdict=self.verdict,
            findings=self.findings,
            sources=sources,
            reference=sources[0],
            counts=counts,
            counts_from=counts_from,
            rows=self._rows(),
            seed=self.seed,
            between=self.between,
            baselines=self.baselines,
        )

    def _source(self, place: int) -> Source:
        summary, draws = self.summaries[place], self.draws[place]
        if self.table is None or self.points is None:
            return Source(summary.name, draws, summary)
        # The first two principal components of columns in different units would be those of one column.
        shown = self.points.data if self.points.data.shape[1] > 2 else self.table.data
        return Source(summary.name, draws, summary, shown, self.table.columns)

    def _rows(self) -> RowsOfData:
        table = self.table
        if table is None:
            return RowsOfData(self.point_names, (), None, self.rows_file)
        return RowsOfData(self.point_names, table.written(), table.labels, self.rows_file)

    def frame(self) -> pd.DataFrame:
        """Return one row a point: name, columns and label as given, cluster and uncertainty by source."""
        names = pd.Series(list(self.point_names), name="point")
        estimates = {one.name: one.estimate for one in self.summaries if one.estimate is not None}
        return points_frame(names, self.table, estimates)

    def with_failures(self, failures: tuple[str, ...]) -> Self:
        """Return the same result that also says which parts of its page are missing.

        Args:
            failures: a sentence each.
        """
        return replace(self, failures=(*self.failures, *failures))

    def to_dict(self) -> dict[str, Any]:
        """Return every figure, fit for JSON: not finite becomes ``None``."""
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "findings": [one.to_dict() for one in self.findings],
            "sources": [one.figures() | {"verdict": one.verdict.to_dict()} for one in self.summaries],
            "between": None if self.between is None else self.between.to_dict(),
            "baselines": [one.figures() for one in self.baselines],
            "seed": self.seed,
            "notes": [*self.notes, *self.failures],
            "failures": list(self.failures),
        } | ({"run": self.run} if self.run else {})
        content: dict[str, Any] = plain(figures)
        return content


def _chains(source: Source) -> str:
    chains = source.draws.shape[0]
    return "1 chain" if chains == 1 else f"{chains:,} chains"
