"""Classical clusterings of a table beside the posterior of its partition."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.baselines import BASELINES, Baseline, BaselineResult
from pyroclust.baselines.scores import PartitionScores, partition_scores, scores_where_known
from pyroclust.diagnostics import VariationOfInformation
from pyroclust.errors import ends_the_run, first_line
from pyroclust.results.summaries import DrawsSummary

__all__ = ["BaselineRow", "FailedRow", "baseline_rows"]


@dataclass(frozen=True)
class BaselineRow:
    """One classical clustering, seen from the posterior."""

    result: BaselineResult
    # Posterior expected variation of information, in bits; the point estimate's is the least that the
    # search found.
    expected_vi: float
    # Whether it lies in the 95 % credible ball around the point estimate; None without a ball.
    inside: bool | None
    # Scores with the point estimate as the truth; None without an estimate.
    to_estimate: PartitionScores | None
    to_labels: PartitionScores | None  # scores against the known labels, or None

    def __repr__(self) -> str:
        return f"BaselineRow({self.result.name}: {self.result.num_clusters} clusters)"

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it."""
        estimate, labels = self.to_estimate, self.to_labels
        return {
            "name": self.result.name,
            "about": self.result.about,
            "num_clusters": self.result.num_clusters,
            "seconds": self.result.seconds,
            "expected_vi": self.expected_vi,
            "inside_credible_ball": self.inside,
            "adjusted_rand_to_estimate": None if estimate is None else estimate.adjusted_rand,
            "adjusted_rand_to_labels": None if labels is None else labels.adjusted_rand,
        }


@dataclass(frozen=True)
class FailedRow:
    """A classical method that has no answer for these points."""

    name: str
    reason: str  # why it failed, in a sentence without its end

    def __repr__(self) -> str:
        return f"FailedRow({self.name})"

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it."""
        return {"name": self.name, "failed": self.reason}


def baseline_rows(
    data: np.ndarray,
    draws: np.ndarray,
    *,
    summary: DrawsSummary,
    true_labels: np.ndarray | None,
    seed: int,
    methods: Sequence[Baseline] = BASELINES,
) -> tuple[BaselineRow | FailedRow, ...]:
    """Run the classical methods and place each among the draws; none where all points are equal.

    A method that fails is a row that says so.
    """
    if (data == data[0]).all():
        return ()
    tried = [_tried(method, data, seed) for method in methods]
    results = [one for one in tried if isinstance(one, BaselineResult)]
    loss, estimate, ball = VariationOfInformation(), summary.estimate, summary.ball
    expected = loss.expected(np.stack([one.assignments for one in results]), draws) if results else ()
    means = iter(expected)

    def row(found: BaselineResult) -> BaselineRow:
        labels = found.assignments
        return BaselineRow(
            result=found,
            expected_vi=float(next(means)),
            inside=None
            if estimate is None or ball is None
            else bool(ball.holds(loss(labels, estimate.assignments))),
            to_estimate=None if estimate is None else partition_scores(estimate.assignments, labels),
            to_labels=scores_where_known(true_labels, labels),
        )

    return tuple(row(one) if isinstance(one, BaselineResult) else one for one in tried)


def _tried(method: Baseline, data: np.ndarray, seed: int) -> BaselineResult | FailedRow:
    try:
        return method.partition(data, seed=seed)
    except Exception as error:
        if ends_the_run(error):
            raise
        return FailedRow(method.name, first_line(error).split(". ")[0])
