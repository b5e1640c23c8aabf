"""Decisions that make one cluster each: an anchor, and which of the unassigned points join it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from pyroclust.partitions.constraints import Constraints


@dataclass(frozen=True)
class Members:
    """The law of who joins, by the log-odds of each point, ``(R, T)``: independent memberships."""

    mask: Tensor  # who may join, (R, T)

    def draw(self, logits: Tensor) -> Tensor:
        return (torch.rand_like(logits) < logits.sigmoid()) & self.mask

    def most_likely(self, logits: Tensor) -> Tensor:
        return (logits > 0) & self.mask

    def log_prob(self, logits: Tensor, joined: Tensor) -> Tensor:
        """Return the log-probability of who joins in nats, ``(..., R, T), (R, T) -> (..., R)`` float64."""
        signed = torch.where(joined, logits, -logits)
        return (F.logsigmoid(signed) * self.mask).sum(-1, dtype=torch.float64)


@dataclass(frozen=True)
class GroupedMembers(Members):
    r"""Memberships of groups that join as a whole or not at all, and of which some exclude others.

    .. math:: p(b) = \prod_{g \text{ open}} p_g^{b_g} (1 - p_g)^{1 - b_g}, \qquad
        \frac{p_g}{1 - p_g} = \prod_{i \in g} \frac{p_i}{1 - p_i}

    The group of the anchor joins first; the others are decided one after the other, and one is closed once
    one that it is apart from has joined. So the probabilities of the allowed sets sum to one.
    """

    column: Tensor  # the bound group of each point, (R, T) int64, -1 for free points
    anchor: Tensor  # the bound group of the anchor, (R,), -1 for none
    apart: Tensor  # which bound groups are apart, (G, G) bool

    def draw(self, logits: Tensor) -> Tensor:
        odds = self._of_groups(logits)
        return self._decided(logits, odds, torch.rand_like(logits), torch.rand_like(odds))

    def most_likely(self, logits: Tensor) -> Tensor:
        odds = self._of_groups(logits)
        return self._decided(logits, odds, torch.full_like(logits, 0.5), torch.full_like(odds, 0.5))

    def log_prob(self, logits: Tensor, joined: Tensor) -> Tensor:
        """Sum over free points and over groups; minus infinity where a group is divided, or two are apart."""
        free = (self.column < 0) & self.mask
        signed = torch.where(joined, logits, -logits)
        total = torch.where(free, F.logsigmoid(signed), 0.0).sum(-1, dtype=torch.float64)
        bound = ~free & self.mask
        here = self._count(bound)
        inside = self._count(bound & joined)
        whole = (inside == 0) | (inside == here)
        chosen = (inside > 0) | self._of_anchor()
        # Closed by the anchor's group, or by one that was decided before.
        earlier = self.apart.tril(-1).to(torch.float32)
        closed = (chosen.to(torch.float32) @ earlier.T > 0) | self._of_anchor_apart()
        forced = closed | self._of_anchor()
        odds = self._of_groups(logits)
        each = F.logsigmoid(torch.where(chosen, odds, -odds)).double()
        total = total + torch.where((here > 0) & ~forced, each, 0.0).sum(-1)
        missing = self._of_anchor() & (inside < here)
        broken = (~whole | (closed & chosen) | missing).any(-1)
        return total.masked_fill(broken, -torch.inf)

    def _decided(self, logits: Tensor, odds: Tensor, uniform: Tensor, of_groups: Tensor) -> Tensor:
        joined = (uniform < logits.sigmoid()) & self.mask
        # Groups that are in other clusters already close nothing here.
        wanted = (of_groups < odds.sigmoid()) & (self._count(self.mask) > 0)
        chosen, closed = self._of_anchor().clone(), self._of_anchor_apart().clone()
        for group in range(self.apart.shape[0]):
            chosen[:, group] |= wanted[:, group] & ~closed[:, group]
            closed |= chosen[:, group : group + 1] & self.apart[group]
        of_point = chosen.gather(-1, self.column.clamp(min=0)) & self.mask
        return torch.where(self.column < 0, joined, of_point)

    def _of_groups(self, logits: Tensor) -> Tensor:
        """Sum log-odds over the points of each group, ``(..., R, T) -> (..., R, G)``."""
        present = torch.where((self.column >= 0) & self.mask, logits, 0.0)
        column = self.column.clamp(min=0).expand_as(present)
        return present.new_zeros(*present.shape[:-1], len(self.apart)).scatter_add(-1, column, present)

    def _count(self, points: Tensor) -> Tensor:
        ones = torch.zeros(len(points), len(self.apart), dtype=torch.int64, device=points.device)
        return ones.scatter_add(-1, self.column.clamp(min=0), (points & (self.column >= 0)).long())

    def _of_anchor(self) -> Tensor:
        groups = torch.arange(len(self.apart), device=self.anchor.device)
        return self.anchor.unsqueeze(-1) == groups

    def _of_anchor_apart(self) -> Tensor:
        return self.apart[self.anchor.clamp(min=0)] & (self.anchor >= 0).unsqueeze(-1)


def members_of(constraints: Constraints | None, anchor: Tensor, others: Tensor, mask: Tensor) -> Members:
    """Return the law of who of the others joins each anchor, ``(R,), (R, T), (R, T)``."""
    if constraints is None:
        return Members(mask)
    column, apart = (one.to(mask.device) for one in constraints.bound_tables)
    return GroupedMembers(mask, column[others], column[anchor], apart)


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
        """Estimate the log-probability of who joins, ``(R, T)``, and its relative variance, ``(R,)`` each.

        It is an average over latents; those that the draws came from, ``(R, Z)``, take the place of one.
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
