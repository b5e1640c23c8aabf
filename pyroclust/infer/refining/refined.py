"""What refining returns: draws, how they came about, and whether they had settled."""

from dataclasses import dataclass, field
from typing import NoReturn

from torch import Tensor

from pyroclust.diagnostics import EvidenceHeadline, LogEvidence, Round, evidence_headline
from pyroclust.infer.refining.proposals import Proposals

__all__ = ["Refined"]


@dataclass(frozen=True, kw_only=True)
class Refined:
    r"""Draws of a guide, resampled by their weights and then moved by a kernel of the model's posterior.

    The law of a draw is :math:`\hat p K^T`, with :math:`\hat p` that of the resampled draws and T sweeps of
    the kernel K. Its distance to the posterior is at most that of :math:`\hat p` times what T sweeps leave of
    a difference. It has no density that could be evaluated: there is no log q, and no weights.

    Attributes:
        assignments: the draws, ``(S, N)`` int64, canonical.
        log_joint: log p(assignments, data) in nats, ``(S,)`` float64. Where that has no formula it is the
            joint density with the hyperparameters and the cluster parameters that the kernel keeps, and nan
            before the first sweep.
        hyperparameters: sampled ones by name, ``(S,)`` float64 each.
        ancestors: which proposal each draw came from, ``(S,)`` int64.
        kernel: what moved them.
        proposals: the guide's draws, with their log q, their log p, and what the weights are worth.
        evidences: estimates of log p(data), bridge sampling first; empty without weights. Which to rely on,
            if any, says ``log_evidence``.
        rounds: what was seen at every look.
        seconds: wall-clock seconds of each part, by name; compilation is not among them.
    """

    assignments: Tensor
    log_joint: Tensor
    hyperparameters: dict[str, Tensor] = field(default_factory=dict)
    ancestors: Tensor
    kernel: str
    proposals: Proposals
    evidences: tuple[LogEvidence, ...] = ()
    rounds: tuple[Round, ...]
    seconds: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the sizes, and whether the draws had settled."""
        draws, points = self.assignments.shape
        end = "settled" if self.settled else "not settled"
        return (
            f"Refined({draws} draws of {points} points from {self.num_ancestors} ancestors, "
            f"{end} after {self.sweeps} sweeps)"
        )

    @property
    def starts(self) -> Tensor:
        """Where the chains began: the proposals after resampling, ``(S, N)``."""
        return self.proposals.assignments[self.ancestors]

    @property
    def log_weights(self) -> Tensor:
        """Unnormalised log weights of the proposals, ``(P,)`` in nats; nan without a formula of log p."""
        return self.proposals.log_weights

    @property
    def pareto_k(self) -> float:
        """Shape of the tail of the weights, see :class:`ImportanceSample`; nan without weights."""
        return self.proposals.pareto_k

    @property
    def efficiency(self) -> float:
        """Effective share of the proposals; nan without weights."""
        return self.proposals.efficiency

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
        return len(self.ancestors.unique())

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
        return self.rounds[-1].nested_rhat if self.rounds else float("nan")

    @property
    def log_prob(self) -> NoReturn:
        """There is none.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(
            "refined draws have no log_prob: the law of a guide's draws after sweeps of a kernel has no "
            "density that could be evaluated; the weights of the proposals are in log_weights"
        )
