"""What clustering by spanning forests alone returns: the draws, and what is said of them."""

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from pyroclust.arrays import plain
from pyroclust.attempts import Attempts
from pyroclust.data.tables import Table
from pyroclust.diagnostics import Finding, Verdict
from pyroclust.diagnostics.verdicts.forests import judge_forest
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.comparison import ROWS_FILE, OnData
from pyroclust.results.constraints import ConstraintSummary, summarise_constraints
from pyroclust.results.contents import Contents, Source, posteriors_of_k
from pyroclust.results.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.results.frames import points_frame
from pyroclust.results.partition_draws import PartitionDraws
from pyroclust.results.showing import Shown

__all__ = ["FOREST", "ForestClustering", "ForestOnData", "summarise_forest"]

FOREST = "the spanning forest"
"""What pages call the source."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ForestOnData(OnData):
    """One data set, and partitions of it by spanning forests.

    Attributes besides those of :class:`~pyroclust.results.comparison.OnData`:
        forest: the draws, one chain of independent ones.
        asked: the number of clusters that was asked for, in words.
        noise_scale: standard deviation of the noise, in standard deviations of the similarities.
        excess: share of the draws with more clusters than were asked for.

    Raises:
        ValueError: if the shapes do not fit.
    """

    forest: PartitionDraws
    asked: str
    noise_scale: float
    excess: float

    def __post_init__(self) -> None:
        """Check the shapes."""
        super().__post_init__()
        self._check_points("forest", self.forest)

    @property
    def drawn_by(self) -> str:
        """The forest."""
        return self.forest.name

    def about(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of the data and of what drew."""
        return super().about() | {
            "asked": self.asked,
            "noise_scale": self.noise_scale,
            "draws": int(self.forest.assignments.shape[1]),
            "seconds": self.forest.seconds,
        }


@dataclass(frozen=True)
class ForestClustering(Shown):
    """Partitions by spanning forests, and everything that a page, a table or a JSON file says of them.

    Attributes:
        table: the points in the units of their source.
        on_data: the draws.
        seed: of the draws and random subsets.
        verdict: what the draws are.
        draws: what they say.
        baselines: classical clusterings beside them.
        constraints: what is known of the rows, and what that changed; ``None`` without any.
        folder: where the files were written, or ``None``.
        run: checksum of all that the result depends on.
        failures: why parts are missing, a sentence each.
    """

    table: Table
    on_data: ForestOnData
    seed: int
    verdict: Verdict
    draws: DrawsSummary
    baselines: tuple[BaselineRow | FailedRow, ...]
    constraints: ConstraintSummary | None
    folder: Path | None = None
    run: str = ""
    failures: tuple[str, ...] = ()
    rows_file: ClassVar[str] = ROWS_FILE

    def __repr__(self) -> str:
        """Return the data set and the number of clusters of the estimate."""
        estimate = self.draws.estimate
        found = "no estimate" if estimate is None else f"{estimate.num_clusters} clusters"
        return f"ForestClustering({self.on_data.source}: {found})"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every question that was asked."""
        known = () if self.constraints is None else self.constraints.findings
        return (*self.verdict.findings, *known, *self.draws.findings)

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The most central partition, by the name that files have for it."""
        return {} if self.draws.estimate is None else {"forest": self.draws.estimate}

    def contents(self) -> Contents:
        """Return what there is to show."""
        found = self.on_data
        source = self._source()
        counts_from, counts = posteriors_of_k([source])
        return Contents(
            title=f"{found.source}: spanning forests",
            command="pyroclust cluster",
            heading=found.source,
            introduction=(
                f"{found.size_in_words}. {source.num_draws:,} heaviest spanning forests of {found.asked}, "
                "under similarities (negative squared distances of rows) with noise of "
                f"{found.noise_scale:g} of their standard deviations; their trees are the clusters. There is "
                "no model of the data."
            ),
            footer=(
                "Uncertainty of a row: the share of the forests in which it is apart from its companions in "
                "the estimate, the partition that is nearest to all draws. All draws are independent."
            ),
            notes=(*found.notes, *self.failures),
            verdict=self.verdict,
            findings=self.findings,
            sources=(source,),
            reference=source,
            counts=counts,
            counts_from=counts_from,
            rows=found.rows,
            seed=self.seed,
            baselines=self.baselines,
            constraints=self.constraints,
        )

    def _source(self) -> Source:
        draws = self.on_data.forest
        return self.on_data.source_of(
            FOREST, draws, self.draws, effective_draws=float(draws.assignments.shape[1])
        )

    def frame(self) -> pd.DataFrame:
        """Return one row a point: name, columns and label as given, cluster and uncertainty."""
        names = pd.Series(list(self.table.row_names), name="row")
        return points_frame(names, self.table, self.estimates)

    def with_failures(self, failures: tuple[str, ...]) -> Self:
        """Return the same result that also says which parts of its page are missing.

        Args:
            failures: a sentence each.
        """
        return replace(self, failures=(*self.failures, *failures))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures without matrices and draws, fit for JSON."""
        figures = {
            "pyroclust": version("pyroclust"),
            **self.on_data.about(),
            "seed": self.seed,
            **({"run": self.run} if self.run else {}),
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "findings": [one.to_dict() for one in self.findings],
            "num_clusters": {"values": self.draws.values, "probabilities": self.draws.probabilities},
            "more_clusters_than_asked": self.on_data.excess,
            "point_estimates": {name: one.figures() for name, one in self.estimates.items()},
            "sources": {"forest": self.draws.figures()},
            "constraints": None if self.constraints is None else self.constraints.figures(),
            "baselines": [one.figures() for one in self.baselines],
            "notes": [*self.on_data.notes, *self.failures],
            "failures": list(self.failures),
        }
        found: dict[str, Any] = plain(figures)
        return found


def summarise_forest(table: Table, on_data: ForestOnData, *, seed: int, run: str = "") -> ForestClustering:
    """Compute every figure of spanning forests.

    A part that fails is left out, with a sentence in ``failures``.

    Args:
        table: the points in the units of their source.
        on_data: the draws.
        seed: of the random subsets that the diagnostics use.
        run: checksum of all that the result depends on.
    """
    tries, draws = Attempts(), on_data.forest
    labels: dict[str, Any] = {"true_labels": on_data.true_labels, "seed": seed}
    found = summarise_draws(
        draws.assignments, name=FOREST, data=on_data.profiled, allowed=on_data.allowed, **labels
    )
    constraints = tries.make(
        "What the constraints say", lambda: summarise_constraints(on_data.knowledge, found.marginals, None)
    )
    baselines = tries.make(
        "The classical methods",
        lambda: baseline_rows(
            on_data.vectors, draws.assignments, summary=found, methods=on_data.classical, **labels
        ),
    )
    return ForestClustering(
        table=table,
        on_data=on_data,
        seed=seed,
        verdict=judge_forest(
            num_draws=draws.assignments.shape[1],
            uncertainty=None if found.estimate is None else found.estimate.uncertainty,
            excess=on_data.excess,
        ),
        draws=found,
        baselines=baselines or (),
        constraints=constraints,
        run=run,
        failures=(
            *on_data.failures,
            *found.failures,
            *(() if constraints is None else constraints.failures),
            *tries.failures,
        ),
    )
