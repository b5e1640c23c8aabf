"""What constraints on a partition changed, and what the data say of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

from pyroclust.diagnostics.differences import Marginals, marginals_of_halves
from pyroclust.diagnostics.evidence import LogEvidence, evidence_headline
from pyroclust.diagnostics.findings import Question, unavailable
from pyroclust.diagnostics.labels import as_chains, rows_per_point
from pyroclust.diagnostics.limits import MAX_EVIDENCE_ERRORS_APART, MIN_CHANGE, MIN_KEPT, written
from pyroclust.diagnostics.verdict import Finding, Mark
from pyroclust.partitions.raw_labels import DrawsLike


@dataclass(frozen=True)
class Uncertainty:
    """How unsure a posterior of a partition is."""

    disagreeing: float
    pair_entropy: float
    num_pairs: int
    mean_clusters: float
    cluster_entropy: float

    def __repr__(self) -> str:
        return f"Uncertainty({self.disagreeing:.1f} pairs in doubt, {self.mean_clusters:.2f} clusters)"


@dataclass(frozen=True)
class ConstraintEffect:
    """A posterior beside the same posterior under constraints."""

    change: np.ndarray
    noise: np.ndarray
    points: np.ndarray
    before: Uncertainty
    after: Uncertainty
    clusters_from: int
    counts_before: np.ndarray
    counts_after: np.ndarray
    together_before: np.ndarray
    together_after: np.ndarray

    def __repr__(self) -> str:
        doubt = f"{self.before.disagreeing:.1f} to {self.after.disagreeing:.1f} pairs in doubt"
        return f"ConstraintEffect(changes up to {self.change.max():.2f}, {doubt})"

    def figures(self) -> dict[str, Any]:
        """Return what a JSON file says of it, without matrices."""
        return {
            "change": self.change,
            "noise": self.noise,
            "points": self.points,
            "before": vars(self.before),
            "after": vars(self.after),
            "num_clusters": {
                "values": self.clusters_from + np.arange(len(self.counts_before)),
                "before": self.counts_before,
                "after": self.counts_after,
            },
        }


def constraint_effect(
    before: DrawsLike, after: Marginals, *, row_weights: np.ndarray | None = None
) -> ConstraintEffect:
    """Compare a posterior with the same one given something more, point by point."""
    draws = as_chains(before, name="before")
    num_points = draws.shape[-1]
    free, halves = marginals_of_halves(draws)
    first, second = halves or (free, free)
    points = np.arange(num_points) if after.points is None else after.points
    times = rows_per_point(row_weights, num_points)[points]
    seen = np.flatnonzero((free.counts > 0) | (after.counts > 0))
    counts = slice(int(seen[0]), int(seen[-1]) + 1)
    return ConstraintEffect(
        change=_change(free.together, after.together, times),
        noise=_change(first.together, second.together, times),
        points=points,
        before=uncertainty_of(free, row_weights=times),
        after=uncertainty_of(after, row_weights=times),
        clusters_from=counts.start,
        counts_before=free.counts[counts],
        counts_after=after.counts[counts],
        together_before=free.together,
        together_after=after.together,
    )


def uncertainty_of(found: Marginals, *, row_weights: np.ndarray | None = None) -> Uncertainty:
    """Return how unsure a posterior is of pairs of points, and of the number of clusters."""
    times = np.ones(len(found.together), np.int64) if row_weights is None else row_weights
    first, second = np.triu_indices(len(times), 1)
    pairs, number = found.together[first, second].astype(np.float64), times[first] * times[second]
    values, rows = np.arange(len(found.counts)), int(times.sum())
    return Uncertainty(
        disagreeing=float(number @ (2 * pairs * (1 - pairs))),
        pair_entropy=float(number @ (entr(pairs) + entr((1 - pairs).clip(0)))) / math.log(2),
        num_pairs=rows * (rows - 1) // 2,
        mean_clusters=float(values @ found.counts),
        cluster_entropy=float(entr(found.counts).sum()) / math.log(2),
    )


def _change(before: np.ndarray, after: np.ndarray, times: np.ndarray) -> np.ndarray:
    gap = np.abs(before.astype(np.float64) - after)
    np.fill_diagonal(gap, 0.0)
    found: np.ndarray = gap @ times / max(1, times.sum() - 1)
    return found


# Standard errors within which the data speak neither for nor against constraints.
_ERRORS = 2.0
_BY_EVIDENCE = "the evidence with the constraints beside that without"
_BY_DRAWS = "the share of the draws without the constraints that keep them"


@dataclass(frozen=True)
class ConstraintOdds:
    """How probable constraints are before and after the data, in nats."""

    log_prior: float  # log P(C); nan where it could not be computed
    log_posterior: float  # log P(C | x); nan where nothing tells it
    error: float  # its standard error; nan likewise
    method: str = ""  # what tells it; empty where nothing does
    why_no_prior: str = ""  # why log P(C) is unknown, without a full stop
    why_no_posterior: str = ""  # why log P(C | x) is

    def __repr__(self) -> str:
        return f"ConstraintOdds(log Bayes factor {self.log_bayes_factor:.2f} +- {self.error:.2f})"

    @property
    def log_bayes_factor(self) -> float:
        """Log of how many times more probable the data make the constraints; nan where unknown."""
        return self.log_posterior - self.log_prior

    @property
    def sentence(self) -> str:
        """What the data say of the constraints, for people."""
        if math.isnan(self.log_posterior):
            return f"What the data say of these constraints is unknown: {self.why_no_posterior}."
        if math.isnan(self.log_prior):
            return (
                f"Given the data these constraints have probability {_probability(self.log_posterior)}; that "
                f"under the prior is unknown: {self.why_no_prior}."
            )
        if abs(self.log_bayes_factor) <= _ERRORS * self.error:
            return "The data speak neither for nor against these constraints."
        more = self.log_bayes_factor > 0
        return (
            f"The data make these constraints {_times(abs(self.log_bayes_factor))} times "
            f"{'more' if more else 'less'} probable than the prior did."
        )

    @property
    def finding(self) -> Finding:
        """Whether the data speak for the constraints."""
        factor = self.log_bayes_factor
        if math.isnan(factor):
            return unavailable(Question.KNOWN, self.why_no_posterior or self.why_no_prior)
        said = f"log Bayes factor {written(factor, '.2f', 0.0)} nats, standard error {self.error:.2f}"
        passed, answer, mark = (True, "Yes", Mark.GOOD) if factor > 0 else (False, "No", Mark.CAUTION)
        if abs(factor) <= _ERRORS * self.error:
            return Finding(Question.KNOWN, factor, 0.0, None, said, "above 0", "Neither way", Mark.PLAIN)
        return Finding(Question.KNOWN, factor, 0.0, passed, said, "above 0", answer, mark)

    def figures(self) -> dict[str, Any]:
        """Return what a JSON file says of it; numbers may be nan."""
        return {
            "log_prior": self.log_prior,
            "log_posterior": self.log_posterior,
            "error": self.error,
            "log_bayes_factor": self.log_bayes_factor,
            "method": self.method or None,
            "sentence": self.sentence,
        }


def constraint_odds(
    constrained: Sequence[LogEvidence],
    free: Sequence[LogEvidence],
    *,
    log_prior: float,
    why_no_prior: str = "",
    kept: np.ndarray,
    effective_draws: float,
) -> ConstraintOdds:
    """Estimate how probable constraints are given the data, from evidences or from draws without them."""
    found = list[tuple[float, float, str]]()
    with_known, without = evidence_headline(constrained), evidence_headline(free)
    if with_known.best is not None and without.best is not None:
        error = math.hypot(with_known.error, without.error)
        found.append((error, with_known.estimate - without.estimate, _BY_EVIDENCE))
    share = float(np.mean(kept))
    if np.isfinite(effective_draws) and share * effective_draws >= MIN_KEPT:
        # Adding half a draw keeps the error above 0 where all draws keep the constraints.
        smooth = (share * effective_draws + 0.5) / (effective_draws + 1)
        found.append((math.sqrt((1 - smooth) / (smooth * effective_draws)), math.log(share), _BY_DRAWS))
    if not found:
        why = f"{np.sum(kept):,} of {np.size(kept):,} draws without them keep them"
        for name, headline in (("with", with_known), ("without", without)):
            why += f"; of the evidence {name} them {headline.reason}" if headline.best is None else ""
        return ConstraintOdds(log_prior, math.nan, math.nan, "", why_no_prior, why)
    if len(found) > 1:
        (first, one, _), (second, other, _) = found
        if abs(one - other) > MAX_EVIDENCE_ERRORS_APART * math.hypot(first, second):
            why = (
                f"{_BY_EVIDENCE} gives log P(C | data) {one:.2f} and {_BY_DRAWS} {other:.2f}: they differ by "
                "more than chance"
            )
            return ConstraintOdds(log_prior, math.nan, math.nan, "", why_no_prior, why)
    error, log_posterior, method = min(found)
    return ConstraintOdds(log_prior, min(log_posterior, 0.0), error, method, why_no_prior)


def moved_points(found: ConstraintEffect) -> np.ndarray:
    """Return the points that constraints moved, those that moved most first."""
    far = (found.change > MIN_CHANGE) & (found.change > found.noise)
    order = np.argsort(-found.change, kind="stable")
    moved: np.ndarray = found.points[order[far[order]]]
    return moved


def _probability(log_probability: float) -> str:
    if log_probability >= math.log(1e-3):
        return f"{math.exp(log_probability):.2g}"
    return f"10^{log_probability / math.log(10):.1f}"


def _times(log_factor: float) -> str:
    if log_factor < math.log(10):
        return f"{math.exp(log_factor):.1f}"
    if log_factor < math.log(10_000):
        return f"{math.exp(log_factor):,.0f}"
    return f"10^{log_factor / math.log(10):.1f}"
