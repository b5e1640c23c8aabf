"""Decisions that make one cluster each: an anchor, and which of the points still unassigned join it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from torch import Tensor

from pyroclust.distributions.clusterwise.members import Members

__all__ = ["ClusterStep", "ClusterwiseScorer", "MembershipLaw", "row_blocks"]


@dataclass(frozen=True)
class ClusterStep:
    """Rows that make a cluster each, of different data sets or draws.

    Attributes:
        dataset: rows of the encoding, ``(R,)``.
        anchor: the point that the cluster is made around, ``(R,)``.
        others: the unassigned points besides the anchor, ``(R, T)``, padded with any point.
        mask: which of them are there, ``(R, T)``.
        members: the law of who joins, by log-odds.
        closed: sum of the contributions of the clusters that are made, ``(R, G)``.
        num_closed: how many these are, ``(R,)``.
    """

    dataset: Tensor
    anchor: Tensor
    others: Tensor
    mask: Tensor
    members: Members
    closed: Tensor
    num_closed: Tensor

    def after(self, closed: Tensor) -> Self:
        """Return the same rows with another sum over the clusters that are made."""
        return replace(self, closed=closed)


class MembershipLaw(Protocol):
    """The law of who joins, given anchors and unassigned points."""

    def draw(self) -> tuple[Tensor, Tensor]:
        """Draw who joins, ``(R, T)`` bool, and the latents that it came from, ``(R, Z)``."""
        ...

    def most_likely(self) -> Tensor:
        """Return who joins with probability above one half at the most likely latent, ``(R, T)`` bool."""
        ...

    def estimate(
        self, joined: Tensor, num_particles: int, *, latent: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Estimate the log-probability of who joins, and the relative variance of the estimate.

        Args:
            joined: ``(R, T)`` bool.
            num_particles: latents that are averaged over.
            latent: latents that the draws came from, to take the place of one of them; ``(R, Z)``.

        Shape:
            output: two ``(R,)`` float64: nats, and the variance of the estimate over its squared mean.
        """
        ...

    def latents(self, joined: Tensor) -> Tensor:
        """Draw latents given who joins, ``(R, Z)``."""
        ...


class ClusterwiseScorer(ABC):
    """What a clusterwise partition asks of its network: a new one is a subclass in a file of its own."""

    @property
    @abstractmethod
    def num_latents(self) -> int:
        """Z."""

    @property
    @abstractmethod
    def num_contributions(self) -> int:
        """G."""

    @property
    @abstractmethod
    def is_exact(self) -> bool:
        """Whether the estimates of its laws are exact."""

    @abstractmethod
    def encode(self, data: Tensor) -> Any:
        """Encode data sets, ``(B, N, ...)``, once for all draws."""

    @abstractmethod
    def contribution(self, encoding: Any, step: ClusterStep, joined: Tensor) -> Tensor:
        """Return what the clusters that were made add to ``closed``, ``(R, G)``; ``closed`` is not read."""

    @abstractmethod
    def law(self, encoding: Any, step: ClusterStep) -> MembershipLaw:
        """Return the law of who joins."""


def row_blocks(counts: Tensor, entries_at_once: int) -> Iterator[Tensor]:
    """Split rows into blocks of similar length, so that little is padded and memory is bounded.

    Args:
        counts: entries of each row, ``(R,)``.
        entries_at_once: largest number of padded entries of a block of more than one row.

    Example:
        >>> import torch
        >>> [block.tolist() for block in row_blocks(torch.tensor([1, 4, 0, 3]), 8)]
        [[1, 3], [0, 2]]
    """
    by_count = counts.argsort(descending=True, stable=True)
    lengths = counts[by_count].tolist()
    first = 0
    while first < len(lengths):
        last = first + max(1, entries_at_once // max(1, lengths[first]))
        yield by_count[first:last]
        first = last
