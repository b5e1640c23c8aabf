"""Draws of partitions from one source, with what the model says of them."""

from dataclasses import dataclass

import numpy as np

__all__ = ["GUIDE", "MCMC", "REFINED", "WEIGHTED", "PartitionDraws"]

GUIDE, WEIGHTED, REFINED, MCMC = "the guide", "the weighted draws", "the refined draws", "MCMC"
"""What pages call the sources of a comparison."""


@dataclass(frozen=True)
class PartitionDraws:
    """Draws of partitions from one source, with the model's log joint of each.

    Attributes:
        name: what reports call the source.
        assignments: canonical labels, ``(chains, draws, N)`` int64.
        log_joint: log p(assignments, data) in nats, ``(chains, draws)``; ``None`` without a likelihood.
        seconds: wall time that the draws took, that of a warm-up included.
        log_prob: log q(assignments | data) in nats, ``(chains, draws)``; ``None`` where unknown (MCMC).
        seconds_warmup: part of ``seconds`` that the warm-up took, whose draws were dropped.
        num_orders: visiting orders of a guide that share the draws in equal parts, one after the other.

    Raises:
        ValueError: if the shapes do not fit.
    """

    name: str
    assignments: np.ndarray
    log_joint: np.ndarray | None
    seconds: float
    log_prob: np.ndarray | None = None
    seconds_warmup: float = 0.0
    num_orders: int = 1

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.assignments.ndim != 3:
            raise ValueError(
                f"assignments has shape {self.assignments.shape}, expected (chains, draws, points)"
            )
        for name, values in (("log_joint", self.log_joint), ("log_prob", self.log_prob)):
            if values is not None and values.shape != self.assignments.shape[:2]:
                raise ValueError(f"{name} has shape {values.shape}, expected {self.assignments.shape[:2]}")

    def __repr__(self) -> str:
        """Return the name and the numbers of chains, draws and points."""
        chains, draws, points = self.assignments.shape
        return f"PartitionDraws({self.name}: {chains} x {draws} draws of {points} points)"
