"""The network that finds one cluster among the points that are left, and describes it."""

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.clusterwise_steps import ClusterStep, ClusterwiseScorer, Members
from pyroclust.nn.attention import MultiheadAttentionBlock, PooledAttention, SetEncoder
from pyroclust.nn.encoders.encoder import Encoder
from pyroclust.nn.modules import check_scale
from pyroclust.nn.networks.cluster_densities import AutoencoderDensity, FlowDensity, GaussianDensity
from pyroclust.nn.networks.clusterwise_network import points_at, seen_offsets


class FilteringEncoding(NamedTuple):
    """Data sets, embedded once for all rounds and draws."""

    positions: Tensor  # (B, N, D), in units of the scale
    embedded: Tensor  # (B, N, W)


class FilteredCluster(NamedTuple):
    """A cluster that a round found: who is in it, and what describes it."""

    logits: Tensor  # of belonging to the cluster, (R, T)
    context: Tensor  # the vector that describes it, (R, W)


@dataclass(frozen=True)
class IndependentMemberships:
    """Memberships that are independent given the anchor."""

    logits: Tensor  # (R, T)
    members: Members  # the law of who joins, by log-odds

    def draw(self) -> tuple[Tensor, Tensor]:
        joined = self.members.draw(self.logits)
        return joined, self.latents(joined)

    def most_likely(self) -> Tensor:
        return self.members.most_likely(self.logits)

    def estimate(
        self, joined: Tensor, num_particles: int, *, latent: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        total = self.members.log_prob(self.logits, joined)
        return total, torch.zeros_like(total)

    def latents(self, joined: Tensor) -> Tensor:
        return self.logits.new_zeros(len(joined), 0)


@register(None)
class FilteringNetwork(nn.Module, ClusterwiseScorer):
    r"""The network of deep amortized clustering: attention among the points that are left finds one cluster.

    .. math::
        H = \mathrm{ISAB}^L(\mathrm{MAB}(X, x_a)), \qquad \theta = \mathrm{PMA}_1(H), \qquad
        \text{logit}_i = \text{linear}(\mathrm{ISAB}^L(\mathrm{MAB}(H, \theta)))_i

    Around an anchor a it finds the anchor's cluster. Without anchors the first block is left out, and it
    finds a cluster of its own choice. Points that were filtered before are not there any more. With
    ``differences`` points are seen relative to the anchor as well. Cost O(T m W + T W^2) a round for T
    points and m inducing points.

    Args:
        dim: dimension D of what is embedded.
        scale: typical standard deviation within a cluster.
        density: of the points of a cluster given its vector; None for memberships alone.
        width: W.
        num_blocks: L.
        num_inducing: m.
        num_heads: heads of the attention, a divisor of the width.
        anchored: whether there are anchors.
        differences: whether points are seen relative to the anchor.
        encoder: maps points of any shape to vectors ``(B, N, D)``, once a data set; None for vectors.

    Raises:
        ValueError: if the density has another width, or the vectors of the encoder another dimension, or
            differences are asked for without anchors.

    References:
        Lee, Lee & Teh (2019), Deep amortized clustering. https://arxiv.org/abs/1909.13433
    """

    def __init__(
        self,
        dim: int,
        scale: float,
        *,
        density: GaussianDensity | FlowDensity | AutoencoderDensity | None = None,
        width: int = 128,
        num_blocks: int = 4,
        num_inducing: int = 32,
        num_heads: int = 4,
        anchored: bool = True,
        differences: bool = False,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__()
        if encoder is not None and encoder.dim != dim:
            raise ValueError(f"dim is {dim}, expected {encoder.dim}, that of the encoder's vectors")
        if density is not None and density.width != width:
            raise ValueError(f"density has width {density.width}, expected {width}, that of the network")
        if differences and not anchored:
            raise ValueError("differences is True and anchored False, expected anchors to be seen from")
        self.dim, self.scale = check_count("dim", dim), check_scale("scale", scale)
        self.width, self.num_blocks = check_count("width", width), check_count("num_blocks", num_blocks)
        self.num_inducing, self.num_heads = num_inducing, num_heads
        self.anchored, self.differences = bool(anchored), bool(differences)
        self.encoder: Any = nn.Identity() if encoder is None else encoder
        self.density = density
        self.embed = nn.Linear(2 * dim, width)
        self.from_anchor = nn.Linear(2 * dim + 1, width) if differences else None
        self.to_anchor = MultiheadAttentionBlock(width, num_heads=num_heads) if anchored else None
        sizes = {"num_blocks": num_blocks, "num_inducing": num_inducing, "num_heads": num_heads}
        self.among = SetEncoder(width, **sizes)
        self.pool = PooledAttention(width, num_heads=num_heads)
        self.to_cluster = MultiheadAttentionBlock(width, num_heads=num_heads)
        self.again = SetEncoder(width, **sizes)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        names = [name for name in inspect.signature(type(self)).parameters if name != "encoder"]
        encoder = None if isinstance(self.encoder, nn.Identity) else self.encoder
        return {name: getattr(self, name) for name in names} | {"encoder": encoder}

    @property
    def num_latents(self) -> int:
        return 0

    @property
    def num_contributions(self) -> int:
        return 0

    @property
    def is_exact(self) -> bool:
        return True

    def encode(self, data: Tensor) -> FilteringEncoding:
        positions = self.encoder(data).to(self.embed.weight.dtype) / self.scale
        embedded = self.embed(torch.cat([positions / 10, positions.asinh()], -1))
        return FilteringEncoding(positions, embedded)

    def contribution(self, encoding: FilteringEncoding, step: ClusterStep, joined: Tensor) -> Tensor:
        return encoding.embedded.new_zeros(len(joined), 0)

    def law(self, encoding: FilteringEncoding, step: ClusterStep) -> IndependentMemberships:
        if not self.anchored:
            raise ValueError(
                "network has no anchors, expected anchored=True: SurestFirstPartition needs none"
            )
        points = torch.cat([step.anchor.unsqueeze(-1), step.others], -1)
        found = self.find(encoding, step.dataset, points, F.pad(step.mask, (1, 0), value=True))
        return IndependentMemberships(found.logits[:, 1:], step.members)

    def find(
        self, encoding: FilteringEncoding, dataset: Tensor, points: Tensor, mask: Tensor
    ) -> FilteredCluster:
        """Find a cluster among points: that of the first, the anchor, or one of the network's choice.

        Args:
            encoding: of the data sets.
            dataset: rows of the encoding, ``(R,)``.
            points: places of the points, ``(R, T)``, padded with any.
            mask: which of them are there, ``(R, T)``, the first always.
        """
        hidden = points_at(encoding.embedded, dataset, points)
        if self.from_anchor is not None:
            positions = points_at(encoding.positions, dataset, points)
            hidden = hidden + self.from_anchor(seen_offsets(positions - positions[:, :1]))
        if self.to_anchor is not None:
            hidden = self.to_anchor(hidden, hidden[:, :1])
        hidden = self.among(hidden, mask)
        context = self.pool(hidden, mask)
        hidden = self.again(self.to_cluster(hidden, context), mask)
        return FilteredCluster(self.head(hidden).squeeze(-1), context.squeeze(-2))
