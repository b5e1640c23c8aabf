"""A question that is one step, one section and one check: has every row a companion?"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.analysis.steps import Step, Work
from pyroclust.diagnostics import Finding
from pyroclust.report.parts import FigureTable, Section
from pyroclust.results.analysis import Analysis

QUESTION = "Has every row a companion?"


@dataclass(frozen=True)
class Alone:
    """Rows that are a cluster of their own in most draws."""

    rows: tuple[str, ...]
    most: float

    @property
    def checks(self) -> tuple[Finding, ...]:
        """Whether no row is alone in more than half of the draws."""
        said = f"{len(self.rows)} rows, the largest probability {self.most:.2f}"
        return (Finding(QUESTION, self.most, 0.5, self.most <= 0.5, said, "at most 0.5"),)


def find_alone(work: Work) -> Alone:
    """Count how often each row is alone."""
    found = work.analysis
    draws = found.reference.draws.flat
    alone = np.array([(draws == draws[:, [row]]).sum(1) == 1 for row in range(draws.shape[1])]).mean(1)
    return Alone(tuple(found.row_names[row] for row in np.flatnonzero(alone > 0.5)), float(alone.max()))


def alone_section(found: Analysis, result: Any) -> Section:
    """List these rows."""
    rows = tuple((name,) for name in result.rows)
    return Section("Rows on their own", (FigureTable("Alone in most draws.", ("row",), rows, "Alone"),))


STEP = Step(name="alone", compute=find_alone, of_the_answer=True, what="The rows on their own")
