"""The light scorer: differences to cluster means, contexts once per data set, kernel look-ahead."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pyroclust.distributions.filter_scorer import FilterEncoding, FilterScorer
from pyroclust.nn.cluster_shape import ClusterShape
from pyroclust.nn.kernel_look_ahead import KernelLookAhead
from pyroclust.nn.set_attention import InducedSetAttention

__all__ = ["LightEncoding", "LightScorer"]


@dataclass(frozen=True)
class LightEncoding:
    """Data sets in visiting order, encoded once for all draws."""

    positions: Tensor  # (B, N, D) float32
    moments: Tensor  # (B, N, F) float64: the shape's, then the filter's
    context: Tensor  # (B, N, W)
    filter: FilterEncoding | None


class LightScorer(nn.Module):
    r"""Scores candidates by a small network on what distinguishes them.

    .. math::
        \text{logit}_k = \ell_k + \text{head}\big(C_n + \text{pool}(\textstyle\sum_j g(t_j)) + A t_k +
        D\,\delta(x_n, k)\big)

    with contexts C_n of the points (embedding, progress, look-ahead at x_n) computed once per data set and
    order; states t_k of the clusters (mean, size, shape, look-ahead at the mean) refreshed when a cluster
    gains a point; and differences :math:`\delta` of the point to the cluster in the cluster's own frame.
    Where the model is conjugate, the exact filter's log-weights :math:`\ell_k` are added and the head
    starts at zero, so that training starts at the filter.

    About ``W^2 + W (2 D + 4)`` multiply-adds a candidate; look-ahead costs O(N H) a point and a refreshed
    state.

    Args:
        shape: the frame of a cluster.
        encoder: maps data to positions whose differences and means make sense; ``nn.Identity()`` for vectors.
        width: W.
        bandwidths: of the look-ahead at the start, in units of ``shape.scale``; empty for none.
        second_moments: look also at the second moments of the neighbourhoods.
        num_attention: blocks of attention over all points of a data set, past and future, in the contexts.
        filter: log-weights of the exact filter of a conjugate model, or None.
    """

    def __init__(
        self,
        shape: ClusterShape,
        *,
        encoder: nn.Module | None = None,
        width: int = 48,
        bandwidths: Sequence[float] = (0.7, 1.4, 2.8, 5.6),
        second_moments: bool = False,
        num_attention: int = 0,
        filter: FilterScorer | None = None,
    ) -> None:
        super().__init__()
        self.shape, self.width, self.bandwidths, self.filter = shape, width, tuple(bandwidths), filter
        self.encoder = nn.Identity() if encoder is None else encoder
        dim = shape.dim
        self.look_at_point = KernelLookAhead(dim, self.bandwidths, second_moments=second_moments)
        self.look_at_mean = KernelLookAhead(dim, self.bandwidths, second_moments=second_moments)
        look = self.look_at_point.num_features
        self.embed = nn.Sequential(
            nn.Linear(2 * dim, width), nn.SiLU(), nn.Linear(width, width), nn.LayerNorm(width)
        )
        self.attend = nn.Sequential(*(InducedSetAttention(width) for _ in range(num_attention)))
        self.context = nn.Linear(width + 3 + look, width)
        self.state = nn.Sequential(
            nn.Linear(dim + 3 + look, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )
        self.state_to_head = nn.Linear(width, width, bias=False)
        self.contribute = nn.Linear(width, width)
        self.pool = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        self.difference = nn.Linear(2 * dim + 1, width, bias=False)
        self.new_cluster = nn.Parameter(torch.zeros(width))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.to_join = nn.Linear(width, 1)
        self.to_open = nn.Linear(width, 1)
        if filter is not None:
            for layer in (self.to_join, self.to_open):
                nn.init.zeros_(layer.weight)
                nn.init.zeros_(layer.bias)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments besides shape, encoder and filter, ready for JSON."""
        return {
            "width": self.width,
            "bandwidths": list(self.bandwidths),
            "second_moments": self.look_at_point.second_moments,
            "num_attention": len(self.attend),
        }

    def encode(self, data: Tensor) -> LightEncoding:
        """Encode data sets in visiting order: contexts, look-ahead at every point, moments."""
        positions = self.encoder(data).to(self.new_cluster.dtype)
        points = positions.shape[1]
        steps = torch.arange(points, device=data.device)
        scaled = positions / self.shape.scale
        embedded = self.attend(self.embed(torch.cat([scaled / 10, scaled.asinh()], -1)))
        left = points - 1 - steps
        progress = torch.stack([steps.log1p() / 3, left.log1p() / 3, steps / points], -1).to(positions.dtype)
        frame = torch.eye(self.shape.dim, dtype=positions.dtype, device=data.device) / self.shape.scale
        look = self.look_at_point(positions, positions, frame, steps)
        context = self.context(torch.cat([embedded, progress.expand(*positions.shape[:2], 3), look], -1))
        moments = self.shape.moments(positions)
        filtered = None if self.filter is None else self.filter.encode(data)
        if filtered is not None:
            moments = torch.cat([moments, filtered.moments], -1)
        return LightEncoding(positions, moments, context, filtered)

    def absorb(
        self, encoding: LightEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack mean, frame, head input, contribution and the filter's state of refreshed clusters."""
        own = moments[..., : self.shape.num_moments]
        frame = self.shape.frame(counts, own)
        dtype = encoding.positions.dtype
        mean, whiten, log_volume = (value.to(dtype) for value in frame)
        size = counts.to(dtype)
        look = self.look_at_mean(encoding.positions[dataset], mean, whiten, steps)
        summary = torch.stack([size.log() / 3, 1 / size, log_volume], -1)
        state = self.state(torch.cat([(mean / self.shape.scale).asinh(), summary, look], -1))
        parts = [mean, whiten.flatten(-2), self.state_to_head(state), self.contribute(state)]
        if self.filter is not None and encoding.filter is not None:
            rest = moments[..., self.shape.num_moments :]
            parts.append(self.filter.absorb(encoding.filter, dataset, steps, counts, rest).to(dtype))
        return torch.cat(parts, -1)

    def contribution(self, states: Tensor) -> Tensor:
        """Return the part of a state that clusters sum up."""
        start = self.shape.dim * (1 + self.shape.dim) + self.width
        return states[..., start : start + self.width]

    def query(
        self, encoding: LightEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Pack the point's position, the head input shared by all candidates, and the filter's query."""
        dtype = encoding.positions.dtype
        shared = encoding.context[dataset, step] + self.pool(pooled.to(dtype))
        parts = [encoding.positions[dataset, step], shared]
        if self.filter is not None and encoding.filter is not None:
            parts.append(
                self.filter.query(encoding.filter, dataset, step, pooled[..., :0], clusters).to(dtype)
            )
        return torch.cat(parts, -1)

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Score existing clusters."""
        dim, width = self.shape.dim, self.width
        point, shared, filter_query = query.tensor_split((dim, dim + width), -1)
        cuts = (dim, dim + dim * dim, dim + dim * dim + width, dim + dim * dim + 2 * width)
        mean, whiten, state, _, filter_state = states.tensor_split(cuts, -1)
        offset = (whiten.unflatten(-1, (dim, dim)) * (point - mean).unsqueeze(-2)).sum(-1)
        squared = offset.square().sum(-1, keepdim=True)
        seen = torch.cat([offset.asinh(), ((point - mean) / self.shape.scale).asinh(), squared.log1p()], -1)
        logit = self.to_join(self.head(shared + state + self.difference(seen))).squeeze(-1)
        return logit if self.filter is None else logit + self.filter.join(filter_query, filter_state)

    def open(self, query: Tensor) -> Tensor:
        """Score a new cluster."""
        dim = self.shape.dim
        _, shared, filter_query = query.tensor_split((dim, dim + self.width), -1)
        logit = self.to_open(self.head(shared + self.new_cluster)).squeeze(-1)
        return logit if self.filter is None else logit + self.filter.open(filter_query)
