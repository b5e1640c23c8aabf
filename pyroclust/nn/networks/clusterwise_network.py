"""The network of clusterwise guides: from an anchor and the unassigned points to the law of who joins."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.clusterwise_steps import ClusterStep, ClusterwiseScorer
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.nn.attention import PooledAttention, SetEncoder
from pyroclust.nn.compiled.cluster_foresight import ClusterForesight, Completions
from pyroclust.nn.compiled.filter import can_foresee
from pyroclust.nn.encoders import Encoder, vectors_of
from pyroclust.nn.look_ahead import KernelSummary
from pyroclust.nn.modules import check_bandwidths, check_scale
from pyroclust.nn.networks.latents import (
    ClusterLatents,
    DiscreteMemberships,
    GaussianLatents,
    GaussianMemberships,
)


class PointPool(Protocol):
    """Makes a module that pools ``(R, T, W)`` under a mask ``(R, T)`` into ``(R, W)``."""

    def __call__(self, width: int) -> nn.Module: ...


@register(PointPool)
class GatedPool(nn.Module):
    r"""Averages weighted by learned gates, together with the sums of the gates.

    .. math:: u_a = \frac{\sum_i \sigma(a^T p_i) \, V_a p_i}{1 + \sum_i \sigma(a^T p_i)}, \qquad
        \log\big(1 + \textstyle\sum_i \sigma(a^T p_i)\big)

    Cost O(T W^2) a set.
    """

    def __init__(self, width: int, num_gates: int = 4) -> None:
        super().__init__()
        width, num_gates = check_count("width", width), check_count("num_gates", num_gates)
        self.gate, self.value = nn.Linear(width, num_gates), nn.Linear(width, width)
        self.output = nn.Linear(width + num_gates, width)

    def forward(self, points: Tensor, mask: Tensor) -> Tensor:
        gate = self.gate(points).sigmoid() * mask.unsqueeze(-1)
        count = gate.sum(1)
        value = self.value(points).unflatten(-1, (gate.shape[-1], -1))
        pooled = torch.einsum("rtg,rtgv->rgv", gate, value) / (1 + count).unsqueeze(-1)
        output: Tensor = self.output(torch.cat([pooled.flatten(1), count.log1p()], -1))
        return output


@register(PointPool)
class AttentivePool(nn.Module):
    """Pooling by attention with one learned seed, :class:`~pyroclust.nn.attention.PooledAttention`."""

    def __init__(self, width: int, num_heads: int = 4) -> None:
        super().__init__()
        self.attention = PooledAttention(width, num_heads=num_heads)

    def forward(self, points: Tensor, mask: Tensor) -> Tensor:
        output: Tensor = self.attention(points, mask).squeeze(1)
        return output


@register(PointPool)
class SummedPool(nn.Module):
    r"""The published pooling: a plain sum :math:`\sum_i u(p_i)`, in units of ten points."""

    def __init__(self, width: int) -> None:
        super().__init__()
        width = check_count("width", width)
        self.network = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, points: Tensor, mask: Tensor) -> Tensor:
        return (self.network(points) * mask.unsqueeze(-1)).sum(1) / 10


@dataclass(frozen=True)
class ClusterwiseEncoding:
    """Data sets, encoded once for all draws and all orders."""

    positions: Tensor  # (B, N, D), in units of the scale
    embedded: Tensor  # (B, N, W)
    pooled: Tensor | None  # (B, N, W): the first layer of the pools, None where it waits for the step
    decoded: Tensor | None  # (B, N, V): the first layer of the decoder, likewise
    foresight: ClusterForesight | None = None


@register(None)
class ClusterwiseNetwork(nn.Module, ClusterwiseScorer):
    r"""The network that gives, for an anchor, the law of which unassigned points join its cluster.

    .. math::
        C = f\big(e_d, U, \textstyle\sum_{j<k} g(\bar e_j), \text{kernels at } x_d\big), \qquad
        \text{logit}_i = \rho\big(A e_i + B \delta(x_i - x_d) + E \delta(x_i - m(C, z)) + F [C, z]\big)

    U pools the unassigned points as seen from the anchor; :math:`\delta` are differences, to the anchor and
    to a centre m that context and latent point at. Without ``differences`` and ``bandwidths`` this is the
    published network up to widths. Cost of a cluster: O(T W^2 + P T V^2) for T unassigned points and P
    latents.

    With the exact filter of the model, foresight says who belongs with the anchor where the points that are
    left are labelled by the model. Its log-odds :math:`\ell_{is}` for three states s of the cluster are
    added,

    .. math:: \text{logit}_i = \textstyle\sum_s t_s(C, z) \, \ell_{is} + \rho(\cdots)

    and seen by context, pools and decoder. Before training the logits are those of the first state.

    Args:
        dim: dimension D.
        scale: typical standard deviation within a cluster.
        width: W, of contexts.
        decoder_width: V.
        latents: the latent of a cluster; a Gaussian one by default.
        pool: makes the pools of unassigned points, of those that join, and of those that do not.
        up_front: lets the points of a data set see one another, ``(B, N, W) -> (B, N, W)``; None for not.
        each_step: lets the unassigned points see one another anew for every cluster; None for not.
        bandwidths: of the kernels, in units of the scale; empty for none.
        differences: whether points are seen relative to anchor and centre.
        encoder: maps points of any shape to vectors ``(B, N, D)``, once a data set; None for vectors.
        filter: the exact filter of a conjugate model; None for none.

    Raises:
        ValueError: if the vectors of the encoder have another dimension, or the filter is of a family that is
            not compiled or has conditions.
    """

    def __init__(
        self,
        dim: int,
        scale: float,
        *,
        width: int = 48,
        decoder_width: int = 32,
        latents: ClusterLatents | None = None,
        pool: PointPool = GatedPool,
        up_front: SetEncoder | None = None,
        each_step: SetEncoder | None = None,
        bandwidths: Sequence[float] = (0.7, 1.4, 2.8, 5.6),
        differences: bool = True,
        encoder: Encoder | None = None,
        filter: FilterScorer | None = None,
    ) -> None:
        super().__init__()
        if filter is not None and not can_foresee(filter):
            raise ValueError("filter is not of a compiled family or has conditions, expected None")
        self.filter = filter
        if encoder is not None and encoder.dim != dim:
            raise ValueError(f"dim is {dim}, expected {encoder.dim}, that of the encoder's vectors")
        self.encoder: Any = encoder
        self.dim, self.scale = check_count("dim", dim), check_scale("scale", scale)
        self.width, self.decoder_width = (
            check_count("width", width),
            check_count("decoder_width", decoder_width),
        )
        self.bandwidths, self.differences = check_bandwidths(bandwidths), differences
        self.latents: Any = GaussianLatents() if latents is None else latents
        self.latents.connect(width)
        self.up_front, self.each_step = up_front, each_step
        self.kernels = KernelSummary(dim, self.bandwidths) if self.bandwidths else None
        look = self.kernels.num_features if self.kernels is not None else 0
        seen = 2 * dim + 1
        self.embed = nn.Sequential(
            nn.Linear(2 * dim + look, width), nn.SiLU(), nn.Linear(width, width), nn.LayerNorm(width)
        )
        self.to_pool, self.to_decoder = nn.Linear(width, width), nn.Linear(width, decoder_width)
        self.anchor_to_pool = nn.Linear(width, width, bias=False)
        self.pool = pool(width)
        if self.latents.needs_summary:
            self.pool_in, self.pool_out = pool(width), pool(width)
        self.contribute = nn.Sequential(nn.Linear(width + 2, width), nn.SiLU(), nn.Linear(width, width))
        self.closed = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        ahead = Completions.num_row_features if filter is not None else 0
        self.context = nn.Sequential(
            nn.Linear(3 * width + 2 * look + 3 + ahead, width), nn.SiLU(), nn.Linear(width, width)
        )
        self.context_to_decoder = nn.Sequential(nn.SiLU(), nn.Linear(width, decoder_width))
        self.latent_to_decoder = nn.Linear(self.latents.num_latents, decoder_width, bias=False)
        hidden, answer = nn.Linear(decoder_width, decoder_width), nn.Linear(decoder_width, 1)
        self.head = nn.Sequential(nn.SiLU(), hidden, nn.SiLU(), answer)
        if differences:
            self.difference_to_pool = nn.Linear(seen, width, bias=False)
            self.difference_to_decoder = nn.Linear(seen, decoder_width, bias=False)
            self.centre = nn.Sequential(nn.SiLU(), nn.Linear(decoder_width, dim))
            self.from_centre = nn.Linear(seen, decoder_width, bias=False)
        if filter is not None:
            self.ahead_to_pool = nn.Linear(Completions.num_point_features, width, bias=False)
            self.ahead_to_decoder = nn.Linear(Completions.num_point_features, decoder_width, bias=False)
            trust = nn.Linear(decoder_width, Completions.num_states)
            self.trust = nn.Sequential(nn.SiLU(), trust)
            # At first the log-odds are those of the completion as it is.
            for values in (trust.weight, trust.bias, answer.weight, answer.bias):
                nn.init.zeros_(values)
            nn.init.ones_(trust.bias[:1])

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        stated = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        return stated | {"pool": type(self.pool)}

    @property
    def num_latents(self) -> int:
        return int(self.latents.num_latents)

    @property
    def num_contributions(self) -> int:
        return self.width

    @property
    def is_exact(self) -> bool:
        return bool(self.latents.is_exact)

    def encode(self, data: Tensor) -> ClusterwiseEncoding:
        positions = vectors_of(self.encoder, data).to(self.latent_to_decoder.weight.dtype) / self.scale
        features = [positions / 10, positions.asinh()]
        if self.kernels is not None:
            features.append(self.kernels.around_points(positions))
        embedded = self.embed(torch.cat(features, -1))
        if self.up_front is not None:
            embedded = self.up_front(embedded)
        foresight = None if self.filter is None else ClusterForesight(self.filter.encode(data))
        if self.each_step is not None:
            return ClusterwiseEncoding(positions, embedded, None, None, foresight)
        pooled, decoded = self.to_pool(embedded), self.to_decoder(embedded)
        return ClusterwiseEncoding(positions, embedded, pooled, decoded, foresight)

    def contribution(self, encoding: ClusterwiseEncoding, step: ClusterStep, joined: Tensor) -> Tensor:
        size = 1 + joined.sum(-1, keepdim=True)
        embedded = points_at(encoding.embedded, step.dataset, step.others)
        total = (joined.to(embedded).unsqueeze(1) @ embedded).squeeze(1)
        total = total + encoding.embedded[step.dataset, step.anchor]
        size = size.to(embedded)
        output: Tensor = self.contribute(torch.cat([total / size, size.log() / 3, 1 / size], -1))
        return output

    def law(
        self, encoding: ClusterwiseEncoding, step: ClusterStep
    ) -> GaussianMemberships | DiscreteMemberships:
        anchor, pooled, decoded = self._points(encoding, step)
        offsets = points_at(encoding.positions, step.dataset, step.others)
        offsets = offsets - encoding.positions[step.dataset, step.anchor].unsqueeze(1)
        pooled = pooled + self.anchor_to_pool(anchor).unsqueeze(1)
        if self.differences:
            seen = seen_offsets(offsets)
            pooled = pooled + self.difference_to_pool(seen)
            decoded = decoded + self.difference_to_decoder(seen)
        completions = None if encoding.foresight is None else encoding.foresight(step)
        if completions is not None:
            foreseen = completions.of_points().to(pooled)
            pooled = pooled + self.ahead_to_pool(foreseen)
            decoded = decoded + self.ahead_to_decoder(foreseen)
        pooled = nn.functional.silu(pooled)
        unassigned = self.pool(pooled, step.mask)
        context = self._context(anchor, unassigned, offsets, step, encoding, completions)
        into_decoder = self.context_to_decoder(context)

        def logits(latents: Tensor) -> Tensor:
            with_latent = into_decoder + self.latent_to_decoder(latents)
            hidden = decoded + with_latent.unsqueeze(-2)
            if self.differences:
                centre = 3 * self.centre(with_latent).unsqueeze(-2)
                hidden = hidden + self.from_centre(seen_offsets(offsets - centre))
            found: Tensor = self.head(hidden).squeeze(-1)
            if completions is not None:
                trusted = self.trust(with_latent).unsqueeze(-2) @ completions.log_odds.to(with_latent).mT
                found = found + trusted.squeeze(-2)
            return found

        def summary(joined: Tensor) -> Tensor:
            left = step.mask & ~joined
            return torch.cat([self.pool_in(pooled, joined), self.pool_out(pooled, left)], -1)

        law: GaussianMemberships | DiscreteMemberships = self.latents.memberships(
            context, logits, step.members, summary
        )
        return law

    def _points(self, encoding: ClusterwiseEncoding, step: ClusterStep) -> tuple[Tensor, Tensor, Tensor]:
        """Return the anchor's vector, and the first layers of the pools and the decoder at the others."""
        if encoding.pooled is not None and encoding.decoded is not None:
            anchor = encoding.embedded[step.dataset, step.anchor]
            pooled, decoded = (
                points_at(value, step.dataset, step.others) for value in (encoding.pooled, encoding.decoded)
            )
            return anchor, pooled, decoded
        index = torch.cat([step.anchor.unsqueeze(-1), step.others], -1)
        mask = nn.functional.pad(step.mask, (1, 0), value=True)
        assert self.each_step is not None
        seen = self.each_step(points_at(encoding.embedded, step.dataset, index), mask)
        return seen[:, 0], self.to_pool(seen[:, 1:]), self.to_decoder(seen[:, 1:])

    def _context(
        self,
        anchor: Tensor,
        unassigned: Tensor,
        offsets: Tensor,
        step: ClusterStep,
        encoding: ClusterwiseEncoding,
        completions: Completions | None,
    ) -> Tensor:
        left = step.mask.sum(-1)
        assigned = encoding.positions.shape[1] - 1 - left
        progress = torch.stack([left.log1p() / 3, assigned.log1p() / 3, step.num_closed.log1p()], -1)
        parts = [anchor, unassigned, self.closed(step.closed.to(anchor)), progress.to(anchor)]
        if self.kernels is not None:
            here, shift = self.kernels(offsets, step.mask)
            there, _ = self.kernels(offsets - shift.unsqueeze(1), step.mask)
            parts += [here, there]
        if completions is not None:
            parts.append(completions.of_rows().to(anchor))
        context: Tensor = self.context(torch.cat(parts, -1))
        return context


def points_at(values: Tensor, dataset: Tensor, points: Tensor) -> Tensor:
    """Pick vectors of points, ``(B, N, W), (R,), (R, T) -> (R, T, W)``."""
    index = (dataset.unsqueeze(-1) * values.shape[1] + points).reshape(-1)
    return values.flatten(0, 1).index_select(0, index).view(*points.shape, values.shape[-1])


def seen_offsets(offsets: Tensor) -> Tensor:
    """Return offsets as networks see them, on three scales, ``(..., D) -> (..., 2 D + 1)``."""
    squared = offsets.square().sum(-1, keepdim=True)
    return torch.cat([offsets.asinh(), offsets / 4 / (1 + squared / 16).sqrt(), squared.log1p()], -1)
