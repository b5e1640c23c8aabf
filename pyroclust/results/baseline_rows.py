"""Classical clusterings of a table beside the posterior of its partition."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyroclust.baselines import Baseline, BaselineResult
from pyroclust.baselines.scores import PartitionScores, partition_scores, scores_where_known
from pyroclust.core.messages import ends_the_run, first_line
from pyroclust.diagnostics import VariationOfInformation
from pyroclust.results.analysis import Analysis


@dataclass(frozen=True)
class BaselineRow:
    """One classical clustering, seen from the posterior, or why there is none."""

    name: str
    result: BaselineResult | None = None
    failed: str = ""  # why there is no result, in a sentence without its end
    # Posterior expected variation of information, in bits; the point estimate's is the least that the
    # search found.
    expected_vi: float = math.nan
    # Whether it lies in the 95 % credible ball around the point estimate; None without a ball.
    inside: bool | None = None
    # Scores with the point estimate as the truth; None without an estimate.
    to_estimate: PartitionScores | None = None
    to_labels: PartitionScores | None = None  # scores against the known labels, or None

    def __repr__(self) -> str:
        how = "failed" if self.result is None else f"{self.result.num_clusters} clusters"
        return f"BaselineRow({self.name}: {how})"

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it."""
        result, estimate, labels = self.result, self.to_estimate, self.to_labels
        if result is None:
            return {"name": self.name, "failed": self.failed}
        return {
            "name": self.name,
            "about": result.about,
            "num_clusters": result.num_clusters,
            "seconds": result.seconds,
            "expected_vi": self.expected_vi,
            "inside_credible_ball": self.inside,
            "adjusted_rand_to_estimate": None if estimate is None else estimate.adjusted_rand,
            "adjusted_rand_to_labels": None if labels is None else labels.adjusted_rand,
        }


# Classical methods know no weights and see every row; some of them cost the square of the number of rows.
_MOST_ROWS = 20_000


def _as_many_rows(points: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return each row as often as it counts, and where each comes first."""
    if weights is None:
        return points, np.arange(len(points))
    if (number := int(weights.sum())) > _MOST_ROWS:
        raise ValueError(f"the rows stand for {number:,}, expected at most {_MOST_ROWS:,}")
    return np.repeat(points, weights, axis=0), np.cumsum(weights) - weights


def baseline_rows(analysis: Analysis, methods: Sequence[Baseline]) -> tuple[BaselineRow, ...]:
    """Run the classical methods and place each among the draws; none where all points are equal."""
    data, shown = analysis.data, analysis.reference
    if data is None or (data.vectors == data.vectors[0]).all():
        return ()
    points, first = _as_many_rows(data.vectors, shown.row_weights)
    loss, estimate, ball = VariationOfInformation(), shown.estimate, shown.ball
    of_rows: dict[str, Any] = {"row_weights": shown.row_weights}
    rows = []
    for method in methods:
        try:
            result = method.partition(points, seed=analysis.seed)
        except Exception as error:
            if ends_the_run(error):
                raise
            rows.append(BaselineRow(method.name, failed=first_line(error).split(". ")[0]))
            continue
        result = replace(result, assignments=result.assignments[first])
        labels = result.assignments
        to_labels = scores_where_known(data.table.labels, labels, **of_rows)
        row = BaselineRow(result.name, result, to_labels=to_labels)
        if estimate is not None:
            row = replace(row, to_estimate=partition_scores(estimate.assignments, labels, **of_rows))
            if ball is not None:
                row = replace(row, inside=bool(ball.holds(loss(labels, estimate.assignments, **of_rows))))
        rows.append(row)
    # The expected losses of all at once go through the draws once.
    every = [one.result.assignments for one in rows if one.result is not None]
    means = iter(loss.expected(np.stack(every), shown.draws.assignments, **of_rows) if every else ())
    return tuple(one if one.result is None else replace(one, expected_vi=float(next(means))) for one in rows)
