"""What is said of draws of a partition from any software."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import Table
from pyroclust.diagnostics import SourceComparison, Trust, Verdict
from pyroclust.results.baseline_rows import BaselineRow
from pyroclust.results.draws_summary import DrawsSummary
from pyroclust.results.json_figures import plain, source_figures

__all__ = ["Diagnosis"]


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """One or two sources of draws of the same partition.

    Attributes:
        summaries: of each source, one or two.
        verdicts: on the convergence of each source.
        draws: of each source, ``(chains, draws, N)``.
        between: the two sources beside each other, or ``None``.
        table: the points in their units, or ``None``.
        points: the points as the baselines saw them, or ``None``.
        baselines: classical clusterings of the points; empty without data.
        point_names: names of the N points.
        seed: of everything random.
        notes: sentences that reports repeat.
    """

    summaries: tuple[DrawsSummary, ...]
    verdicts: tuple[Verdict, ...]
    draws: tuple[np.ndarray, ...]
    between: SourceComparison | None
    table: Table | None
    points: Standardised | None
    baselines: tuple[BaselineRow, ...]
    point_names: tuple[str, ...]
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The one sentence: on the two sources where there are two, else on the convergence."""
        return self.verdicts[0] if self.between is None else self.between.verdict

    @property
    def converged(self) -> bool:
        """Whether no source was found not to have converged."""
        return all(one.level is not Trust.DISTRUST for one in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Return every figure, fit for JSON: not finite becomes ``None``."""
        figures = {
            "verdict": _verdict(self.verdict),
            "sources": [
                summary.figures() | {"verdict": _verdict(verdict)}
                for summary, verdict in zip(self.summaries, self.verdicts, strict=True)
            ],
            "between": None if self.between is None else source_figures(self.between),
            "baselines": [one.figures() for one in self.baselines],
            "seed": self.seed,
            "notes": list(self.notes),
        }
        content: dict[str, Any] = plain(figures)
        return content


def _verdict(verdict: Verdict) -> dict[str, str]:
    return {"level": verdict.level.value, "sentence": verdict.sentence}
