"""Which estimate of the log evidence a result states, and when it states none."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyroclust.diagnostics.limits import MAX_EVIDENCE_ERRORS_APART
from pyroclust.diagnostics.weights.evidence import EvidenceMethod, LogEvidence

# Rounding of a guide in float32, in nats: estimates without chance differ by as much.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class EvidenceHeadline:
    """The log evidence that a result states, or why it states none.

    Attributes:
        best: the estimate to rely on; ``None`` where there is none.
        reason: why there is none; empty where there is one.
    """

    best: LogEvidence | None
    reason: str = ""

    def __repr__(self) -> str:
        if self.best is None:
            return f"EvidenceHeadline(unknown: {self.reason})"
        return f"EvidenceHeadline({self.best.estimate:.2f} +- {self.best.error:.2f} by {self.best.method})"

    @property
    def estimate(self) -> float:
        """Log p(data) in nats; nan where it is unknown."""
        return math.nan if self.best is None else self.best.estimate

    @property
    def error(self) -> float:
        """Standard error in nats; nan where it is unknown."""
        return math.nan if self.best is None else self.best.error

    def figures(self) -> dict[str, Any]:
        """Return what a JSON file says of it; numbers may be nan."""
        return {
            "estimate": self.estimate,
            "error": self.error,
            "method": None if self.best is None else self.best.method.value,
            "reason": self.reason or None,
        }


def evidence_headline(evidences: Sequence[LogEvidence]) -> EvidenceHeadline:
    """Choose among estimates of log p(x) the one to state.

    Those count that can be relied on, see :attr:`LogEvidence.is_reliable`. The one with the smallest standard
    error is stated. Where another of them differs from it by more than 4 standard errors of the difference
    none is stated, as at least one must be wrong.

    Args:
        evidences: estimates from the same data and model.

    Example:
        >>> sure = LogEvidence(EvidenceMethod.BRIDGE, -100.4, 0.02, 0.1)
        >>> rough = LogEvidence(EvidenceMethod.IMPORTANCE, -101.9, 0.5, 2.1)
        >>> evidence_headline([rough, sure])
        EvidenceHeadline(-100.40 +- 0.02 by bridge sampling)
        >>> evidence_headline([rough]).reason
        'no estimate can be relied on: importance sampling has Pareto k 2.10, not below 0.7'
    """
    if not evidences:
        return EvidenceHeadline(None, "nothing estimates it")
    reliable = sorted((one for one in evidences if one.is_reliable), key=lambda one: one.error)
    if not reliable:
        said = "; ".join(one.why_not for one in evidences if one.method is not EvidenceMethod.RECIPROCAL)
        return EvidenceHeadline(None, f"no estimate can be relied on: {said}")
    best = reliable[0]
    for other in reliable[1:]:
        apart = abs(other.estimate - best.estimate)
        if apart > MAX_EVIDENCE_ERRORS_APART * math.hypot(best.error, other.error, _ROUNDING):
            said = f"{_said(best)} and {_said(other)}"
            return EvidenceHeadline(None, f"{said}: they differ by more than chance")
    return EvidenceHeadline(best)


def _said(one: LogEvidence) -> str:
    return f"{one.method} says {one.estimate:.2f} with standard error {one.error:.2f}"
