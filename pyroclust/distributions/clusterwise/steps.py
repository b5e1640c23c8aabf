"""Decisions that make one cluster each: an anchor, and which of the points still unassigned join it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from pyroclust.distributions.clusterwise.members import Members


@dataclass(frozen=True)
class ClusterStep:
    """Rows that make a cluster each, of different data sets or draws."""

    dataset: Tensor  # rows of the encoding, (R,)
    anchor: Tensor  # the point that the cluster is made around, (R,)
    others: Tensor  # the unassigned points besides the anchor, (R, T), padded with any point
    mask: Tensor  # which of them are there, (R, T)
    members: Members  # the law of who joins, by log-odds
    closed: Tensor  # sum of the contributions of the clusters that are made, (R, G)
    num_closed: Tensor  # how many these are, (R,)


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
        """Estimate the log-probability of who joins by averaging over latents, with its relative variance.

        Shape:
            joined: ``(R, T)``; latent: latents that the draws came from, in place of one, ``(R, Z)``; output:
                two ``(R,)`` float64: nats, and the variance of the estimate over its squared mean.
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
    """Split rows into blocks of similar length, so that little is padded and memory is bounded."""
    by_count = counts.argsort(descending=True, stable=True)
    lengths = counts[by_count].tolist()
    first = 0
    while first < len(lengths):
        last = first + max(1, entries_at_once // max(1, lengths[first]))
        yield by_count[first:last]
        first = last
