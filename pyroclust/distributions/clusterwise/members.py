"""Who joins a cluster by independent odds: freely, or under constraints on the partition."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from pyroclust.partitions.constraints import Constraints


class Members(Protocol):
    """The law of who joins, by the log-odds of each point."""

    def draw(self, logits: Tensor) -> Tensor:
        """Draw who joins, ``(R, T) -> (R, T)`` bool."""
        ...

    def most_likely(self, logits: Tensor) -> Tensor:
        """Return who joins rather than not, ``(R, T) -> (R, T)`` bool."""
        ...

    def log_prob(self, logits: Tensor, joined: Tensor) -> Tensor:
        """Return the log-probability of who joins in nats, ``(..., R, T), (R, T) -> (..., R)`` float64."""
        ...


def members_of(constraints: Constraints | None, anchor: Tensor, others: Tensor, mask: Tensor) -> Members:
    """Return the law of who of the others joins each anchor, ``(R,), (R, T), (R, T)``."""
    if constraints is None:
        return FreeMembers(mask)
    column, apart = (one.to(mask.device) for one in constraints.bound_tables)
    return GroupedMembers(mask, column[others], column[anchor], apart)


@dataclass(frozen=True)
class FreeMembers:
    """Independent memberships."""

    mask: Tensor  # who may join, (R, T)

    def draw(self, logits: Tensor) -> Tensor:
        return (torch.rand_like(logits) < logits.sigmoid()) & self.mask

    def most_likely(self, logits: Tensor) -> Tensor:
        return (logits > 0) & self.mask

    def log_prob(self, logits: Tensor, joined: Tensor) -> Tensor:
        signed = torch.where(joined, logits, -logits)
        return (F.logsigmoid(signed) * self.mask).sum(-1, dtype=torch.float64)


@dataclass(frozen=True)
class GroupedMembers:
    r"""Memberships of groups that join as a whole or not at all, and of which some exclude others.

    .. math:: p(b) = \prod_{g \text{ open}} p_g^{b_g} (1 - p_g)^{1 - b_g}, \qquad
        \frac{p_g}{1 - p_g} = \prod_{i \in g} \frac{p_i}{1 - p_i}

    The odds of a group are those that all its points join, given that all do or none. Groups are decided one
    after the other; a group is closed, and stays out, once one that it is apart from has joined. The group of
    the anchor joins first. So every set of members is allowed, and the probabilities of the allowed sets sum
    to one.
    """

    mask: Tensor  # who may join, (R, T)
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
        """Count the points of each group, ``(R, T) -> (R, G)``."""
        ones = torch.zeros(len(points), len(self.apart), dtype=torch.int64, device=points.device)
        return ones.scatter_add(-1, self.column.clamp(min=0), (points & (self.column >= 0)).long())

    def _of_anchor(self) -> Tensor:
        groups = torch.arange(len(self.apart), device=self.anchor.device)
        return self.anchor.unsqueeze(-1) == groups

    def _of_anchor_apart(self) -> Tensor:
        return self.apart[self.anchor.clamp(min=0)] & (self.anchor >= 0).unsqueeze(-1)
