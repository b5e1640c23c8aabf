"""How refined draws came about, and whether they had settled."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyroclust.diagnostics import EvidenceHeadline, LogEvidence, evidence_headline
from pyroclust.diagnostics.chains.short_chains import CheckedRound
from pyroclust.diagnostics.weights.importance import importance_efficiency, pareto_k
from pyroclust.partitions import Draws

__all__ = ["Refinement"]


@dataclass(frozen=True, kw_only=True)
class Refinement:
    """What :func:`refine` knows of its draws beside them.

    Attributes:
        ancestors: which proposal each draw came from, ``(S,)`` int64.
        kernel: what moved them.
        proposals: the guide's draws, one chain of P, with log q, and log p where it has a formula.
        is_exact: whether log q of the proposals is exact, not an estimate.
        num_orders: visiting orders that share the proposals in equal parts, one after the other.
        evidences: estimates of log p(data), bridge sampling first; empty without weights. Which to rely on,
            if any, says ``log_evidence``.
        rounds: what was seen at every look.
        seconds: wall-clock seconds of each part, by name; compilation is not among them.
    """

    ancestors: np.ndarray
    kernel: str
    proposals: Draws
    is_exact: bool
    num_orders: int
    evidences: tuple[LogEvidence, ...] = ()
    rounds: tuple[CheckedRound, ...]
    seconds: dict[str, float]

    def __repr__(self) -> str:
        """Return the sizes, and whether the draws had settled."""
        end = "settled" if self.settled else "not settled"
        return (
            f"Refinement({len(self.ancestors)} draws from {self.num_ancestors} ancestors, "
            f"{end} after {self.sweeps} sweeps)"
        )

    @property
    def pareto_k(self) -> float:
        """Shape of the tail of the proposals' weights, reliable below 0.7; nan without weights."""
        log_weights = self.proposals.log_ratios
        return math.nan if log_weights is None else pareto_k(log_weights)

    @property
    def efficiency(self) -> float:
        """Effective share of the proposals; nan without weights."""
        log_weights = self.proposals.log_ratios
        return math.nan if log_weights is None else importance_efficiency(log_weights)

    @property
    def sweeps(self) -> int:
        """Draws of the kernel that each chain has taken."""
        return self.rounds[-1].sweeps if self.rounds else 0

    @property
    def settled(self) -> bool:
        """Whether at the last look nothing moved, and no start was remembered."""
        return bool(self.rounds) and self.rounds[-1].has_settled

    @property
    def num_ancestors(self) -> int:
        """Distinct proposals that the draws came from."""
        return len(np.unique(self.ancestors))

    @property
    def log_evidence(self) -> EvidenceHeadline:
        """Log p(data) by the estimate that can be relied on, or why there is none."""
        return evidence_headline(self.evidences)

    @property
    def effective_draws(self) -> float:
        """Effective number of draws: fewer than there are where those of one ancestor are alike."""
        return self.rounds[-1].effective_draws if self.rounds else float(self.num_ancestors)

    @property
    def nested_rhat(self) -> float:
        """Largest nested R-hat of the last look; nan where no two chains have one ancestor."""
        return self.rounds[-1].nested_rhat if self.rounds else math.nan

    def figures(self) -> dict[str, Any]:
        """Return them as JSON can hold them; numbers may not be finite."""
        return {
            "settled": self.settled,
            "sweeps": self.sweeps,
            "kernel": self.kernel,
            "draws": len(self.ancestors),
            "proposals": self.proposals.num_draws,
            "ancestors": self.num_ancestors,
            "effective_draws": self.effective_draws,
            "nested_rhat": self.nested_rhat,
            "pareto_k": self.pareto_k,
            "efficiency": self.efficiency,
            "seconds_of_parts": self.seconds,
            "looks": [vars(one) for one in self.rounds],
        }
