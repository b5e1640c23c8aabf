"""Candidates masked by what is known of the partition: the same law, restricted decision by decision."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.distributions.sequential.steps import ForcedSteps, prefix_sums
from pyroclust.partitions.constraints import Constraints


@dataclass(frozen=True)
class ConstrainedEncoding:
    """Data sets as a scorer has encoded them, and the constraints on their points in visiting order.

    Every bound group has two columns among the moments: whether a cluster has its first point, and how many
    first points of groups that are apart from it.
    """

    inner: Any
    moments: Tensor  # (B, N, F + 2 G) float64
    column: Tensor  # (B, N) int64, the bound group of each point, -1 for free ones
    begun: Tensor  # (B, N) bool, whether a point of the same group comes before

    @property
    def num_own(self) -> int:
        """F, the moments of the scorer itself."""
        return int(self.inner.moments.shape[-1])

    def closed(self, dataset: Tensor, step: Tensor, features: Tensor) -> Tensor:
        """Say which clusters may not be joined: ``(M,), (M,)``, what they hold ``(M, 2 G) -> (M,)``."""
        column = self.column[dataset, step]
        groups = features.shape[-1] // 2
        place = column.clamp(min=0)
        own = features.gather(-1, place.unsqueeze(-1)).squeeze(-1) > 0
        rivals = features.gather(-1, (groups + place).unsqueeze(-1)).squeeze(-1) > 0
        return (column >= 0) & torch.where(self.begun[dataset, step], ~own, rivals)


class ConstrainedScorer(Scorer[ConstrainedEncoding]):
    """Another scorer, the candidates masked that constraints rule out, at O(G) numbers a point and cluster.

    The first point of a group that belongs together cannot join a cluster with points that are apart from any
    of the group; later ones follow the first. A partition of the points so far can always be completed, so
    that the probabilities of the allowed partitions sum to one, exactly. This is not the law of the scorer
    given the constraints: a decision does not know what constraints will rule out later. Importance weights
    say how much that matters.
    """

    def __init__(self, scorer: Scorer[Any], constraints: Constraints) -> None:
        self.scorer, self.constraints = scorer, constraints

    def encode(
        self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None
    ) -> ConstrainedEncoding:
        order = torch.arange(data.shape[1], device=data.device).expand(len(data), -1)
        return self._constrained(self.scorer.encode(data, hyperparameters), order)

    def encode_over_orders(
        self,
        data: Tensor,
        dataset: Tensor,
        order: Tensor,
        hyperparameters: Mapping[str, Tensor] | None = None,
    ) -> ConstrainedEncoding:
        inner = self.scorer.encode_over_orders(data, dataset, order, hyperparameters)
        return self._constrained(inner, order)

    def in_order(self, data: Tensor, order: Tensor) -> Tensor:
        return self.scorer.in_order(data, order)

    def absorb(
        self, encoding: ConstrainedEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        own = moments[..., : encoding.num_own]
        return self.scorer.absorb(encoding.inner, dataset, steps, counts, own)

    def contribution(self, states: Tensor) -> Tensor:
        return self.scorer.contribution(states)

    def step_logits(self, encoding: ConstrainedEncoding, step: int, prefixes: Any) -> Tensor:
        own = replace(prefixes, moments=prefixes.moments[..., : encoding.num_own])
        logits = self.scorer.step_logits(encoding.inner, step, own).clone()
        at = torch.full_like(prefixes.dataset, step)
        held = prefixes.moments[:, : logits.shape[-1] - 1, encoding.num_own :]
        rows, slots = held.shape[:2]
        closed = encoding.closed(
            prefixes.dataset.repeat_interleave(slots), at.repeat_interleave(slots), held.flatten(0, 1)
        )
        exists = torch.arange(slots, device=at.device) < prefixes.clusters.unsqueeze(-1)
        logits[:, :slots] = logits[:, :slots].masked_fill(closed.view(rows, slots) & exists, -torch.inf)
        every = torch.arange(rows, device=at.device)
        opened = logits[every, prefixes.clusters]
        begun = encoding.begun[prefixes.dataset, at]
        logits[every, prefixes.clusters] = opened.masked_fill(begun, -torch.inf)
        return logits

    def forced_logits(
        self, encoding: ConstrainedEncoding, dataset: Tensor, steps: ForcedSteps
    ) -> tuple[Tensor, Tensor]:
        joined, opened = self.scorer.forced_logits(encoding.inner, dataset, steps)
        points = steps.labels.shape[1]
        features = encoding.moments[dataset, :, encoding.num_own :]
        _, held, _ = prefix_sums(features, steps.labels)
        row, step = steps.point // points, steps.point % points
        closed = encoding.closed(dataset[row], step, held.flatten(0, 1).index_select(0, steps.member))
        begun = encoding.begun[dataset, 1:].reshape(-1)
        return joined.masked_fill(closed, -torch.inf), opened.masked_fill(begun, -torch.inf)

    def _constrained(self, inner: Any, order: Tensor) -> ConstrainedEncoding:
        of_point, apart = self.constraints.over(order.shape[-1]).bound_tables
        column = of_point.to(order.device)[order]
        own = torch.nn.functional.one_hot(column + 1, len(apart) + 1)[..., 1:].double()
        begun = (own.cumsum(-2) - own).gather(-1, column.clamp(min=0).unsqueeze(-1)).squeeze(-1) > 0
        begun &= column >= 0
        # Later points follow: first ones alone say where a group is, also in partitions that divide it.
        first_of_group = own.masked_fill(begun.unsqueeze(-1), 0.0)
        moments = torch.cat([inner.moments.double(), first_of_group, first_of_group @ apart.to(own)], -1)
        return ConstrainedEncoding(inner, moments, column, begun)
