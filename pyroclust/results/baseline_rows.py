"""Classical clusterings of a table beside the posterior of its partition."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.baselines import BASELINES, Baseline, BaselineResult
from pyroclust.baselines.scores import PartitionScores, partition_scores, scores_where_known
from pyroclust.diagnostics import VariationOfInformation
from pyroclust.errors import first_line, lacks_memory
from pyroclust.results.summaries import DrawsSummary

__all__ = ["BaselineRow", "FailedRow", "baseline_rows"]


@dataclass(frozen=True)
class BaselineRow:
    """One classical clustering, seen from the posterior.

    Attributes:
        result: what the method found.
        expected_vi: posterior expected variation of information, in bits; the point estimate's is the least
            that the search found.
        inside: whether it lies in the 95 % credible ball around the point estimate; ``None`` without a ball.
        to_estimate: scores with the point estimate as the truth; ``None`` without an estimate.
        to_labels: scores against the known labels, or ``None``.
    """

    result: BaselineResult
    expected_vi: float
    inside: bool | None
    to_estimate: PartitionScores | None
    to_labels: PartitionScores | None

    def __repr__(self) -> str:
        """Return the method and its number of clusters."""
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
    """A classical method that has no answer for these points.

    Attributes:
        name: of the method.
        reason: why it failed, in a sentence without its end.
    """

    name: str
    reason: str

    def __repr__(self) -> str:
        """Return the method, and that it failed."""
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
    methods: Sequence[Baseline] | None = None,
) -> tuple[BaselineRow | FailedRow, ...]:
    """Run the classical methods and place each among the draws; none where all points are equal.

    A method that fails is a row that says so.
    """
    if (data == data[0]).all():
        return ()
    tried = [_tried(method, data, seed) for method in (BASELINES if methods is None else methods)]
    results = [one for one in tried if isinstance(one, BaselineResult)]
    if not results:
        return tuple(one for one in tried if isinstance(one, FailedRow))
    partitions = np.stack([one.assignments for one in results])
    loss = VariationOfInformation()
    expected = loss.expected(partitions, draws)
    rows = iter(
        BaselineRow(
            result=one,
            expected_vi=float(mean),
            inside=_inside(one, summary, loss),
            to_estimate=_to_estimate(one, summary),
            to_labels=scores_where_known(true_labels, one.assignments),
        )
        for one, mean in zip(results, expected, strict=True)
    )
    return tuple(one if isinstance(one, FailedRow) else next(rows) for one in tried)


def _tried(method: Baseline, data: np.ndarray, seed: int) -> BaselineResult | FailedRow:
    try:
        return method.partition(data, seed=seed)
    except Exception as error:
        if lacks_memory(error):
            raise
        return FailedRow(method.name, first_line(error).split(". ")[0])


def _inside(found: BaselineResult, summary: DrawsSummary, loss: VariationOfInformation) -> bool | None:
    if summary.estimate is None or summary.ball is None:
        return None
    return bool(summary.ball.holds(loss(found.assignments, summary.estimate.assignments)))


def _to_estimate(found: BaselineResult, summary: DrawsSummary) -> PartitionScores | None:
    if summary.estimate is None:
        return None
    return partition_scores(summary.estimate.assignments, found.assignments)
