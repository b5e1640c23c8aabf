"""A guide's draws after resampling and sweeps of MCMC: what is kept of them in a comparison."""

import math
from dataclasses import dataclass
from typing import Any

from pyroclust.diagnostics import Agreement, LogEvidence, RefinedFigures, Round
from pyroclust.results.partition_draws import PartitionDraws

__all__ = ["RefinedDraws"]


@dataclass(frozen=True, kw_only=True)
class RefinedDraws:
    """Draws of a guide that were resampled by their weights and moved by a kernel, with their proposals.

    Attributes:
        draws: the refined draws, one chain, ``(1, S, N)``; they have no log q.
        proposals: the guide's draws that they come from, ``(1, P, N)``, with log q and log p where known.
        is_exact: whether log q of the proposals is exact, not an estimate.
        kernel: what moved them, for people.
        num_ancestors: different proposals that the refined draws come from.
        seen: what was seen at each look.
        pareto_k: of the weights of the proposals; nan without weights.
        efficiency: effective share of the proposals; nan without weights.
        evidences: estimates of log p(x) from these draws; empty without weights.
        seconds_of: wall time of each part, by its name.
    """

    draws: PartitionDraws
    proposals: PartitionDraws
    is_exact: bool
    kernel: str
    num_ancestors: int
    seen: tuple[Round, ...]
    pareto_k: float
    efficiency: float
    evidences: tuple[LogEvidence, ...]
    seconds_of: dict[str, float]

    def __repr__(self) -> str:
        """Return the sizes, and whether the draws have settled."""
        settled = "settled" if self.settled else "not settled"
        ancestors = f"{self.num_ancestors} ancestors"
        return f"RefinedDraws({self.draws.name}: {ancestors}, {self.sweeps} sweeps, {settled})"

    @property
    def has_weights(self) -> bool:
        """Whether the proposals were resampled by importance weights; else all of them went on."""
        return self.proposals.log_joint is not None

    @property
    def settled(self) -> bool:
        """Whether nothing moved at the last look, and no start was remembered."""
        return bool(self.seen) and self.seen[-1].has_settled

    @property
    def sweeps(self) -> int:
        """Sweeps that each chain has taken."""
        return self.seen[-1].sweeps if self.seen else 0

    @property
    def effective_draws(self) -> float:
        """What the draws are worth: less than their number where those of one ancestor are alike."""
        return self.seen[-1].effective_draws if self.seen else float(self.num_ancestors)

    @property
    def nested_rhat(self) -> float:
        """Largest nested R-hat of the last look; nan where no two chains have one ancestor."""
        return self.seen[-1].nested_rhat if self.seen else math.nan

    @property
    def num_proposals(self) -> int:
        """Draws of the guide that were weighed."""
        return int(self.proposals.assignments.shape[1])

    def verdict_figures(self, agreement: Agreement | None) -> RefinedFigures:
        """Gather what a verdict rests on.

        Args:
            agreement: with MCMC, where there is some.
        """
        return RefinedFigures(agreement, self.seen[-1] if self.seen else None)

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it; numbers may not be finite."""
        return {
            "settled": self.settled,
            "sweeps": self.sweeps,
            "kernel": self.kernel,
            "draws": int(self.draws.assignments.shape[1]),
            "proposals": self.num_proposals,
            "ancestors": self.num_ancestors,
            "effective_draws": self.effective_draws,
            "nested_rhat": self.nested_rhat,
            "pareto_k": self.pareto_k,
            "efficiency": self.efficiency,
            "seconds": self.draws.seconds,
            "seconds_of_parts": self.seconds_of,
            "looks": [vars(one) for one in self.seen],
        }
