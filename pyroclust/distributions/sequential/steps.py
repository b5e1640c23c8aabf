"""The decisions of given partitions, all steps at once, as flat indices of the candidates that exist."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ForcedSteps:
    """What teacher forcing has to score, known from the labels alone."""

    labels: Tensor  # canonical labels, (R, N)
    clusters: Tensor  # number of clusters before each decision, (R (N - 1),)
    decision: Tensor  # the decision of each candidate, (M,)
    cluster: Tensor  # the cluster of each candidate, (M,)
    member: Tensor  # the last point its cluster has taken before, which made its state, (M,)
    point: Tensor  # the point to be labelled, (M,)
    taken: Tensor  # the candidates that the labels choose, ascending

    @classmethod
    def of(cls, labels: Tensor) -> "ForcedSteps":
        """List the candidates in O(R N K)."""
        points = labels.shape[1]
        clusters = labels.cummax(-1).values[:, :-1] + 1
        last = _last_member(labels[:, :-1], int(clusters.max()))
        row, step, cluster = (last >= 0).nonzero(as_tuple=True)
        point = row * points + step + 1
        taken = (labels.reshape(-1).index_select(0, point) == cluster).nonzero().squeeze(-1)
        member = row * points + last[row, step, cluster]
        return cls(labels, clusters.reshape(-1), row * (points - 1) + step, cluster, member, point, taken)

    @property
    def width(self) -> int:
        """Largest number of candidates of a decision."""
        return int(self.clusters.max()) + 1

    def together(self, dtype: torch.dtype) -> Tensor:
        """Mark for every point the points its cluster holds once it has joined, ``(R, N, N)``."""
        same = self.labels.unsqueeze(-1) == self.labels.unsqueeze(-2)
        return same.tril().to(dtype)

    def present(self, dtype: torch.dtype) -> Tensor:
        """Mark for every decision the last members of the clusters there are, ``(R, N - 1, N)``."""
        rows, points = self.labels.shape
        marks = torch.zeros(len(self.clusters) * points, dtype=dtype, device=self.labels.device)
        marks.index_fill_(0, self.decision * points + self.member % points, 1.0)
        return marks.view(rows, points - 1, points)

    def table(self, joined: Tensor, opened: Tensor) -> Tensor:
        """Arrange logits by decision, ``(R (N - 1), K + 1)``, minus infinity where there is no candidate."""
        width, decisions = self.width, len(self.clusters)
        opening = torch.arange(decisions, device=joined.device) * width + self.clusters
        index = torch.cat([self.decision * width + self.cluster, opening])
        logits = joined.new_full((decisions * width,), -torch.inf)
        return logits.index_copy(0, index, torch.cat([joined, opened])).view(decisions, width)


def _last_member(labels: Tensor, width: int) -> Tensor:
    """Return for every step and cluster the last member so far, ``(R, N, K)``, -1 where there is none."""
    position = torch.arange(labels.shape[-1], device=labels.device).unsqueeze(-1)
    member = labels.unsqueeze(-1) == torch.arange(width, device=labels.device)
    return torch.where(member, position, -1).cummax(1).values


def prefix_sums(moments: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return for every point its cluster's count and sum up to it, and the member before it (or -1)."""
    ranked, order = labels.sort(dim=-1, stable=True)
    position = torch.arange(labels.shape[-1], device=labels.device).expand_as(labels)
    starts = torch.ones_like(ranked, dtype=torch.bool)
    starts[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first = torch.where(starts, position, 0).cummax(-1).values
    wide = order.unsqueeze(-1).expand_as(moments)
    running = moments.gather(1, wide).cumsum(1)
    before = torch.cat([torch.zeros_like(running[:, :1]), running[:, :-1]], 1)
    segment = running - before.gather(1, first.unsqueeze(-1).expand_as(moments))
    sums = torch.zeros_like(moments).scatter(1, wide, segment)
    counts = torch.zeros_like(labels).scatter(1, order, position - first + 1)
    shifted = torch.cat([torch.full_like(order[:, :1], -1), order[:, :-1]], 1)
    previous = torch.zeros_like(labels).scatter(1, order, torch.where(starts, -1, shifted))
    return counts.double(), sums, previous


def pooled_before(contributions: Tensor, previous: Tensor) -> Tensor:
    """Sum the contributions of all clusters after every step, in float64 against drift."""
    wide = contributions.double()
    index = previous.clamp(min=0).unsqueeze(-1).expand_as(wide)
    replaced = torch.where((previous >= 0).unsqueeze(-1), wide.gather(1, index), 0.0)
    return (wide - replaced).cumsum(1)
