"""Attention over the points of a data set through a few inducing points."""

import torch
from torch import Tensor, nn

__all__ = ["InducedSetAttention"]


class InducedSetAttention(nn.Module):
    r"""Let every point see a summary of all points, in linear time.

    .. math:: \mathrm{ISAB}_m(X) = \mathrm{MAB}(X, \mathrm{MAB}(I, X)), \quad
        \mathrm{MAB}(X, Y) = H + \mathrm{rFF}(\mathrm{LN}\, H), \quad
        H = X + \mathrm{Attention}(\mathrm{LN}\, X, \mathrm{LN}\, Y, \mathrm{LN}\, Y)

    with m learned inducing points I; normalisation stands in front of each part. Cost O(N m W) a data set.

    Args:
        width: W of the points' vectors.
        num_inducing: m.
        num_heads: heads of the attention.

    Shape:
        input and output: ``(B, N, W)``.

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(self, width: int, *, num_inducing: int = 16, num_heads: int = 4) -> None:
        super().__init__()
        self.inducing = nn.Parameter(torch.randn(1, num_inducing, width))
        self.gather = _AttentionBlock(width, num_heads)
        self.spread = _AttentionBlock(width, num_heads)

    def forward(self, points: Tensor) -> Tensor:
        """Attend from the inducing points to the points, and back."""
        summary = self.gather(self.inducing.expand(len(points), -1, -1), points)
        return self.spread(points, summary)


class _AttentionBlock(nn.Module):
    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.norm_queries, self.norm_keys = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)
        )

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        normed = self.norm_keys(keys)
        attended, _ = self.attention(self.norm_queries(queries), normed, normed, need_weights=False)
        hidden = queries + attended
        return hidden + self.feed_forward(hidden)
