"""The neighbour scorer: a candidate is judged by which of its members lie near the point, and how."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import threshold

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.sequential.scorer import ForcedSteps
from pyroclust.nn.look_ahead import gaussian_kernel
from pyroclust.nn.modules import check_scale
from pyroclust.nn.scorers.network_scorer import NetworkScorer

__all__ = ["NeighbourEncoding", "NeighbourScorer", "PairFeatures", "pair_features"]

_KERNELS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_FRAMED = (2, 3, 4)  # kernels around which local frames are measured
_NEIGHBOURS = (4, 7)
_SQUARINGS = (0, 2, 4, 6)
_FLOOR = 1e-3
_TINY = 1e-9


@dataclass(frozen=True)
class PairFeatures:
    """Channels of all ordered pairs of points, which sums over the members of a cluster turn into features.

    Attributes:
        channels: ``(B, F, N, N)``: rows are the points that look, columns those they look at.
        walks: transition matrices of some walks, ``(B, V, N, N)``.
    """

    channels: Tensor
    walks: Tensor

    num_channels = len(_KERNELS) + 2 * len(_SQUARINGS) + 5 * len(_FRAMED)
    num_features = len(_KERNELS) + 2 * len(_SQUARINGS) + 4 * len(_FRAMED)
    num_walks = 3

    @staticmethod
    def features(sums: Tensor) -> Tensor:
        """Turn sums of channels over a set of points into what a network can use, all unmoved by rotations.

        Logarithms of the sums; and of each local frame the squared distance to the mean, the two variances
        and the squared distance to the line along the major axis.

        Shape:
            sums: ``(..., F)``; output: ``(..., num_features)``.
        """
        plain = len(_KERNELS) + 2 * len(_SQUARINGS)
        kernels = sums[..., list(_FRAMED)].clamp(min=1e-9).unsqueeze(-1)
        x, y, xx, xy, yy = (sums[..., plain:].unflatten(-1, (len(_FRAMED), 5)) / kernels).unbind(-1)
        squared = x.square() + y.square()
        xx, xy, yy = xx - x * x, xy - x * y, yy - y * y
        middle, half = (xx + yy) / 2, ((xx - yy).square() / 4 + xy.square()).sqrt()
        spread = x * x * xx + 2 * x * y * xy + y * y * yy
        major, minor = middle + half, (middle - half).clamp(min=0)
        across = (((major * squared - spread) / (2 * half + 1e-6)).clamp(min=0)).minimum(squared)
        frames = torch.stack([squared, major, minor, across], -1).clamp(min=0).flatten(-2)
        logs = (sums[..., :plain].clamp(min=0) + 1e-5).log() / 3
        return torch.cat([logs, (frames + _FLOOR).log() / 3], -1)


@torch.no_grad()
def pair_features(positions: Tensor) -> PairFeatures:
    r"""Compute the channels of data sets in the plane, ``(B, N, 2)``, O(N^3) each.

    .. math::
        w_h(i, j) = (1 + d_{ij}^2 / h^2)^{-2}, \qquad
        P_{ij} \propto e^{-d_{ij}^2 / \sigma_i \sigma_j}, \qquad P^t, \; t = 1, 4, 16, 64

    with the distance :math:`\sigma_i` to a near neighbour (Zelnik-Manor & Perona, 2004, Self-tuning spectral
    clustering): kernels; powers of P, in which points are near when a chain of any points, labelled or not,
    joins them; the same for a walk whose steps weigh more where they follow the tangents at both ends; and
    moments of the offsets.
    """
    offset = positions.unsqueeze(-3) - positions.unsqueeze(-2)
    squared = offset.square().sum(-1)
    kernels = [(1 + squared / h**2).square().reciprocal() for h in _KERNELS]
    x, y = offset.unbind(-1)
    free, straight = _walks(offset, squared)
    steps, guided = _powers(free), _powers(straight)
    moments = [w * one for w in (kernels[i] for i in _FRAMED) for one in (x, y, x * x, x * y, y * y)]
    walks = torch.stack([free, steps[2], guided[2]], 1)
    return PairFeatures(torch.stack([*kernels, *steps, *guided, *moments], 1), walks)


def _walks(offset: Tensor, squared: Tensor) -> tuple[Tensor, Tensor]:
    """Return transition matrices of the free walk and of the one along tangents."""
    points = squared.shape[-1]
    ranked = squared.sort(-1).values
    near, far = ((ranked[..., min(k, points - 1)] + 1e-3).sqrt() for k in _NEIGHBOURS)
    free = gaussian_kernel(2 * squared / (near.unsqueeze(-1) * near.unsqueeze(-2)))
    wide = gaussian_kernel(2 * squared / (far.unsqueeze(-1) * far.unsqueeze(-2)))
    direction = offset / (squared + 1e-9).sqrt().unsqueeze(-1)
    a, b = direction.unbind(-1)
    tangent = torch.stack([wide * a * a, wide * a * b, wide * b * b], -1).sum(-2)
    tangent = tangent / (tangent[..., :1] + tangent[..., 2:] + 1e-9)
    pair = torch.stack([a * a, 2 * a * b, b * b], -1)
    seen = (pair @ tangent.unsqueeze(-1)).squeeze(-1)
    # The tangent of the other end is seen along the same line.
    straight = wide * (seen * seen.mT).square()
    straight = straight + torch.eye(points, dtype=squared.dtype, device=squared.device)
    return _transitions(free), _transitions(straight)


def _transitions(affinity: Tensor) -> Tensor:
    return threshold(affinity / affinity.sum(-1, keepdim=True), _TINY, 0.0)


def _powers(walk: Tensor) -> list[Tensor]:
    """Square again and again, keeping some."""
    found = []
    for squaring in range(max(_SQUARINGS) + 1):
        if squaring in _SQUARINGS:
            found.append(walk)
        # Denormal numbers would make the products many times slower.
        walk = threshold(walk @ walk, _TINY, 0.0)
    return found


_PLACE = 3  # x, y and their squared length
_NUMBERS_AT_ONCE = 1 << 25


@dataclass(frozen=True)
class NeighbourEncoding:
    """Data sets in visiting order, encoded once for all draws."""

    moments: Tensor  # (B, N, N + 3 + W) float64: the point's own number, place, embedding
    context: Tensor  # (B, N, W)
    past: Tensor  # (B, F, N, N): channels of the points visited before


@register(NetworkScorer)
class NeighbourScorer(NetworkScorer[NeighbourEncoding]):
    r"""Scores candidates of curved clusters in the plane by the neighbours of the point among their members.

    .. math::
        \text{logit}_k = \text{head}\big(C_n + \text{pool}(\textstyle\sum_j g(t_j)) + A t_k +
        D\,\delta_{nk}\big), \qquad \delta_{nk} = \phi\big(\textstyle\sum_{i<n, c_i=k} \psi(x_n, x_i)\big)

    with channels :math:`\psi` of pairs: kernels of the distance, walks over all points, labelled or not, and
    local frames. A mean and a covariance do not describe an arc; these do. Cost O(N^3) a data set and O(N F +
    W^2) a candidate; memory O(N^2 F) a data set.

    Args:
        scale: unit of length, a typical standard deviation within a cluster.
        width: W.

    Raises:
        ValueError: if ``scale`` is not positive.

    Example:
        >>> encoding = NeighbourScorer().encode(torch.zeros(3, 20, 2))
        >>> encoding.past.shape[0], encoding.context.shape
        (3, torch.Size([3, 20, 48]))
    """

    def __init__(self, scale: float = 1.0, *, width: int = 48) -> None:
        super().__init__()
        self.scale, self.width = check_scale("scale", scale), check_count("width", width)
        seen = PairFeatures.num_features
        self.embed = nn.Sequential(nn.Linear(4 + 2 * seen, width), nn.SiLU(), nn.Linear(width, width))
        self.exchange = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm((1 + PairFeatures.num_walks) * width),
                nn.Linear((1 + PairFeatures.num_walks) * width, width),
                nn.SiLU(),
                nn.Linear(width, width),
            )
            for _ in range(2)
        )
        self.context = nn.Sequential(
            nn.Linear(width + 3 + 2 * seen, width), nn.SiLU(), nn.Linear(width, width)
        )
        self.state = nn.Sequential(nn.Linear(width + 6, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.state_to_head = nn.Linear(width, width, bias=False)
        self.contribute = nn.Linear(width, width)
        self.pool = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        self.difference = nn.Linear(seen, width, bias=False)
        self.new_cluster = nn.Parameter(torch.zeros(width))
        self.head = nn.Sequential(
            nn.LayerNorm(width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
        )
        self.to_join = nn.Linear(width, 1)
        self.to_open = nn.Linear(width, 1)

    def encode(self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None) -> NeighbourEncoding:
        """Encode data sets ``(B, N, 2)`` in visiting order: pairs, embeddings, contexts.

        Raises:
            ValueError: if the points are not in the plane.
        """
        if data.shape[-1] != 2:
            raise ValueError(f"data has shape {tuple(data.shape)}, expected two columns, (B, N, 2)")
        positions = data.to(self.new_cluster.dtype) / self.scale
        sets, points = positions.shape[:2]
        pairs = pair_features(positions)
        past = pairs.channels * positions.new_ones(points, points).tril(-1)
        own = pairs.channels.diagonal(dim1=2, dim2=3).mT
        every, before = pairs.channels.sum(-1).mT, past.sum(-1).mT
        embedded = self._embed(
            positions, torch.cat([_features(every - own), _features(own)], -1), pairs.walks
        )
        steps = torch.arange(points, device=data.device)
        left = points - 1 - steps
        progress = torch.stack([steps.log1p() / 3, left.log1p() / 3, steps / points], -1).to(positions)
        around = [embedded, progress.expand(sets, -1, -1), _features(before), _features(every - before - own)]
        context = self.context(torch.cat(around, -1))
        place = torch.cat([positions, positions.square().sum(-1, keepdim=True)], -1)
        number = torch.eye(points, dtype=torch.float64, device=data.device).expand(sets, -1, -1)
        return NeighbourEncoding(torch.cat([number, place.double(), embedded.double()], -1), context, past)

    def _embed(self, positions: Tensor, features: Tensor, walks: Tensor) -> Tensor:
        """Embed the points, then exchange embeddings along the walks."""
        value = self.embed(torch.cat([positions / 10, positions.asinh(), features], -1))
        for layer in self.exchange:
            met = (walks @ value.unsqueeze(1)).transpose(1, 2).flatten(2)
            value = value + layer(torch.cat([value, met], -1))
        return value

    def forced_logits(
        self, encoding: NeighbourEncoding, dataset: Tensor, steps: ForcedSteps
    ) -> tuple[Tensor, Tensor]:
        """Evaluate all decisions of given partitions; members are summed by one matrix product."""
        points = steps.labels.shape[1]
        together = steps.together(torch.float64)
        moments = together @ encoding.moments[dataset][..., points:]
        state = self._state(together.sum(-1), moments)
        pooled = steps.present(state.dtype) @ self.contribute(state)
        shared = (encoding.context[dataset, 1:] + self.pool(pooled)).flatten(0, 1)
        seen = self.difference(_features(self._forced_sums(encoding, dataset, steps)))
        own = self.state_to_head(state).flatten(0, 1).index_select(0, steps.member)
        joined = self.to_join(self.head(shared.index_select(0, steps.decision) + own + seen))
        return joined.squeeze(-1), self.to_open(self.head(shared + self.new_cluster)).squeeze(-1)

    def _forced_sums(self, encoding: NeighbourEncoding, dataset: Tensor, steps: ForcedSteps) -> Tensor:
        """Sum the channels over the members of every candidate, ``(M, F)``."""
        rows, points = steps.labels.shape
        width = steps.width
        one_hot = nn.functional.one_hot(steps.labels, width).to(encoding.past.dtype)  # (R, N, K)
        past = encoding.past.flatten(1, 2)  # (B, F N, N)
        if len(past) == 1:
            sums = (past[0] @ one_hot.transpose(0, 1).flatten(1)).unflatten(-1, (rows, width)).transpose(0, 1)
        else:
            block = max(1, _NUMBERS_AT_ONCE // past[0].numel())
            pieces = zip(dataset.split(block), one_hot.split(block), strict=True)
            sums = torch.cat([past[which] @ some for which, some in pieces])
        row, step = steps.point // points, steps.point % points
        return sums.unflatten(1, (-1, points))[row, :, step, steps.cluster]

    def _state(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Describe clusters by their size, place, shape and mean embedding."""
        mean = moments / counts.unsqueeze(-1)
        place, embedded = mean.split([_PLACE, self.width], -1)
        x, y, squared = place.unbind(-1)
        volume = (squared - x * x - y * y).clamp(min=0)
        summary = [x.asinh(), y.asinh(), counts.log() / 3, 1 / counts, (volume + 0.01).log() / 3]
        summary.append(torch.hypot(x, y).log1p())
        return self.state(torch.cat([torch.stack(summary, -1), embedded], -1).to(self.new_cluster.dtype))

    def absorb(
        self, encoding: NeighbourEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack head input, contribution and members of refreshed clusters."""
        points = encoding.moments.shape[1]
        state = self._state(counts, moments[..., points:])
        members = moments[..., :points].to(state.dtype)
        return torch.cat([self.state_to_head(state), self.contribute(state), members], -1)

    def contribution(self, states: Tensor) -> Tensor:
        """Return the part of a state that clusters sum up."""
        return states[..., self.width : 2 * self.width]

    def query(
        self, encoding: NeighbourEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Pack the head input shared by all candidates and the channels of the points before."""
        shared = encoding.context[dataset, step] + self.pool(pooled.to(encoding.context.dtype))
        latest = int(step.max())
        return torch.cat([shared, encoding.past[dataset, :, step, :latest].flatten(1)], -1)

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Score existing clusters."""
        shared, channels = query.tensor_split([self.width], -1)
        channels = channels.unflatten(-1, (PairFeatures.num_channels, -1))
        own, members = states[..., : self.width], states[..., 2 * self.width :]
        sums = (channels @ members[..., : channels.shape[-1]].unsqueeze(-1)).squeeze(-1)
        seen = self.difference(_features(sums))
        return self.to_join(self.head(shared + own + seen)).squeeze(-1)

    def open(self, query: Tensor) -> Tensor:
        """Score a new cluster."""
        return self.to_open(self.head(query[..., : self.width] + self.new_cluster)).squeeze(-1)


def _features(sums: Tensor) -> Tensor:
    return PairFeatures.features(sums)
