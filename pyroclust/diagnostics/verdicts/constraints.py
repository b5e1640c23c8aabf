"""What the data say of constraints that a user knows, and which points they moved."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.diagnostics.differences.constraint_effect import ConstraintEffect
from pyroclust.diagnostics.limits import MAX_EVIDENCE_ERRORS_APART, MIN_CHANGE, MIN_KEPT, written
from pyroclust.diagnostics.verdicts.findings import Question, unavailable
from pyroclust.diagnostics.verdicts.verdict import Finding, Mark
from pyroclust.diagnostics.weights.evidence import LogEvidence, evidence_headline

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
