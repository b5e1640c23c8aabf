"""Attention over sets: through a few inducing points, and into a few learned seeds."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from pyroclust.nn.attention_block import MultiheadAttentionBlock

__all__ = ["InducedSetAttention", "PooledAttention"]


class InducedSetAttention(nn.Module):
    r"""Let every point see a summary of all points, in linear time.

    .. math:: \mathrm{ISAB}_m(X) = \mathrm{MAB}(X, \mathrm{MAB}(I, X))

    with m learned inducing points I. Cost O(N m W + N W^2) a set, memory O(N W).

    Args:
        width: W of the points' vectors.
        num_inducing: m.
        num_heads: heads of the attention, a divisor of the width.
        norm: class of the normalisation in front of each part; ``nn.Identity`` for none.

    Shape:
        points: ``(R, N, W)``; mask: ``(R, N)`` bool; output: ``(R, N, W)``, of which the masked points, which
        nobody sees, are meaningless.

    Example:
        >>> InducedSetAttention(8, num_inducing=3, num_heads=2)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 5, 8])

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(
        self,
        width: int,
        *,
        num_inducing: int = 16,
        num_heads: int = 4,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.inducing = nn.Parameter(torch.randn(1, num_inducing, width))
        self.gather = MultiheadAttentionBlock(width, num_heads=num_heads, norm=norm)
        self.spread = MultiheadAttentionBlock(width, num_heads=num_heads, norm=norm)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend from the inducing points to the points where the mask is true, and back."""
        summary = self.gather(self.inducing.expand(len(points), -1, -1), points, mask)
        output: Tensor = self.spread(points, summary)
        return output


class PooledAttention(nn.Module):
    r"""Pool a set into a few vectors, each asked for by a learned seed.

    .. math:: \mathrm{PMA}_k(X) = \mathrm{MAB}(S, \mathrm{rFF}(X))

    with k learned seeds S and two linear layers before. Cost O(N k W + N W^2) a set, memory O(N W). An empty
    set is pooled into what the seeds make of themselves.

    Args:
        width: W of the points' vectors.
        num_seeds: k.
        num_heads: heads of the attention, a divisor of the width.
        norm: class of the normalisation in front of each part; ``nn.Identity`` for none.

    Shape:
        points: ``(R, N, W)``; mask: ``(R, N)`` bool; output: ``(R, k, W)``.

    Example:
        >>> pool = PooledAttention(8, num_seeds=2)
        >>> pool(torch.randn(3, 5, 8), torch.zeros(3, 5, dtype=torch.bool)).shape
        torch.Size([3, 2, 8])

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(
        self,
        width: int,
        *,
        num_seeds: int = 1,
        num_heads: int = 4,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.seeds = nn.Parameter(torch.randn(1, num_seeds, width))
        self.before = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.block = MultiheadAttentionBlock(width, num_heads=num_heads, norm=norm)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend from the seeds to the points where the mask is true."""
        output: Tensor = self.block(self.seeds.expand(len(points), -1, -1), self.before(points), mask)
        return output
