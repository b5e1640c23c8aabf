"""From a set of points to the parameters of a mixture of diagonal Gaussians, in one forward pass."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.nn.attention import (
    FullSetEncoder,
    MultiheadAttentionBlock,
    PointEncoder,
    PooledAttention,
    SetEncoder,
)
from pyroclust.nn.modules import check_scale

_SMALLEST_SCALE = 1e-3


class MixtureParameters(NamedTuple):
    """Parameters of mixtures of K diagonal Gaussians."""

    log_weights: Tensor  # (*batch, K), minus infinity where there is no component
    means: Tensor  # (*batch, K, D)
    scales: Tensor  # standard deviations, (*batch, K, D)


@register(None)
class AttentiveDecoder(nn.Module):
    """Pools a set into one vector a component by attention; components then attend to one another.

    Cost O(N K W + N W^2) a set.

    Args:
        width: W.
        num_components: K.
        num_heads: heads of the attention, a divisor of the width.

    Shape:
        points: ``(B, N, W)``; present: ``(B, K)`` bool; output: ``(B, K, W)``.

    Example:
        >>> AttentiveDecoder(8, 3)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 3, 8])
    """

    def __init__(self, width: int, num_components: int, *, num_heads: int = 4) -> None:
        super().__init__()
        self.width, self.num_components = width, check_count("num_components", num_components)
        self.num_heads = num_heads
        self.pool = PooledAttention(width, num_seeds=num_components, num_heads=num_heads)
        self.among = MultiheadAttentionBlock(width, num_heads=num_heads)

    def forward(self, points: Tensor, present: Tensor | None = None) -> Tensor:
        pooled = self.pool(points)
        output: Tensor = self.among(pooled, pooled, present)
        return output


@register(None)
class MeanDecoder(nn.Module):
    """Pools a set into its mean, from which two layers make one vector a component: a deep set.

    Arguments and shapes are those of :class:`AttentiveDecoder`; which components are present is not looked
    at.

    Example:
        >>> MeanDecoder(8, 3)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 3, 8])
    """

    def __init__(self, width: int, num_components: int) -> None:
        super().__init__()
        self.width, self.num_components = width, check_count("num_components", num_components)
        self.layers = nn.Sequential(
            nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width * self.num_components), nn.SiLU()
        )

    def forward(self, points: Tensor, present: Tensor | None = None) -> Tensor:
        found: Tensor = self.layers(points.mean(-2)).unflatten(-1, (self.num_components, self.width))
        return found


@register(None)
class RecurrentDecoder(nn.Module):
    r"""Emits one vector a component, one after the other, each from a state that looks at the points again.

    .. math:: v_k = \mathrm{MAB}(s_k, H), \qquad s_{k+1} = \mathrm{GRU}(v_k, s_k)

    Beyond the number of components in training it does not go on finding clusters, as filtering does, see
    ``examples/clusters_beyond_training.py``. Arguments and shapes are those of :class:`AttentiveDecoder`.

    Example:
        >>> RecurrentDecoder(8, 3)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 3, 8])
    """

    def __init__(self, width: int, num_components: int, *, num_heads: int = 4) -> None:
        super().__init__()
        self.width, self.num_components = width, check_count("num_components", num_components)
        self.num_heads = num_heads
        self.pool = PooledAttention(width, num_heads=num_heads)
        self.look = MultiheadAttentionBlock(width, num_heads=num_heads)
        self.step = nn.GRUCell(width, width)

    def forward(self, points: Tensor, present: Tensor | None = None) -> Tensor:
        state = self.pool(points).squeeze(-2)
        emitted = []
        for _ in range(self.num_components):
            emitted.append(self.look(state.unsqueeze(-2), points).squeeze(-2))
            state = self.step(emitted[-1], state)
        return torch.stack(emitted, -2)


@register(None)
class MixtureNetwork(nn.Module):
    r"""A set encoder and a decoder that say weights, means and scales of the components of a mixture.

    .. math::
        h = \text{encoder}(\text{linear}(x)), \quad v_{1..K} = \text{decoder}(h), \quad
        (\log \pi, \mu, \sigma) = (\log\text{softmax}, \text{identity}, \text{softplus})(\text{linear}(v))

    Args:
        dim: dimension D.
        scale: typical standard deviation within a cluster, the unit of scales, which are above a thousandth
            of it.
        encoder: lets the points see one another.
        decoder: makes a vector of each component.

    Raises:
        ValueError: if encoder and decoder have different widths.

    Example:
        >>> network = MixtureNetwork(2, 0.3, encoder=SetEncoder(8), decoder=AttentiveDecoder(8, 3))
        >>> [tuple(one.shape) for one in network(torch.randn(5, 20, 2))]
        [(5, 3), (5, 3, 2), (5, 3, 2)]

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(
        self,
        dim: int,
        scale: float,
        *,
        encoder: SetEncoder | FullSetEncoder | PointEncoder,
        decoder: AttentiveDecoder | MeanDecoder | RecurrentDecoder,
    ) -> None:
        super().__init__()
        if encoder.width != decoder.width:
            raise ValueError(
                f"encoder has width {encoder.width} and decoder {decoder.width}, expected the same"
            )
        self.dim, self.scale = check_count("dim", dim), check_scale("scale", scale)
        self.encoder, self.decoder = encoder, decoder
        self.embed = nn.Linear(dim, encoder.width)
        self.out = nn.Linear(encoder.width, 1 + 2 * dim)

    @property
    def num_components(self) -> int:
        """K."""
        return self.decoder.num_components

    def forward(self, data: Tensor, present: Tensor | None = None) -> MixtureParameters:
        found = self.out(self.decoder(self.encoder(self.embed(data.to(self.embed.weight.dtype))), present))
        logits, means, scales = found.split([1, self.dim, self.dim], -1)
        logits = logits.squeeze(-1)
        if present is not None:
            logits = logits.masked_fill(~present, -torch.inf)
        scales = self.scale * (F.softplus(scales) + _SMALLEST_SCALE)
        return MixtureParameters(logits.log_softmax(-1), means, scales)
