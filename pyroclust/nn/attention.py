"""Attention over sets: blocks with masked keys, induced blocks, pooling seeds, and a set transformer."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.nn.modules import MAX_BLOCKS


class MultiheadAttentionBlock(nn.Module):
    r"""Multi-head attention from queries to keys, then a feed-forward layer, both residual.

    .. math:: \mathrm{MAB}(X, Y) = H + \mathrm{rFF}(\mathrm{norm}\, H), \qquad
        H = X + \mathrm{Attention}(\mathrm{norm}\, X, \mathrm{norm}\, Y, \mathrm{norm}\, Y)

    Scores are divided by the square root of the width of a head. Normalisation stands in front of each part,
    which trains more readily than behind it. A query without any key attends to nothing: H = X. Cost
    O(Q T W + (Q + T) W^2) a row; memory linear in Q and T, because attention weights are never stored.

    Shape:
        queries: ``(R, Q, W)``; keys: ``(R, T, W)``; mask: ``(R, T)`` bool; output: ``(R, Q, W)``.
    """

    def __init__(self, width: int, *, num_heads: int = 4) -> None:
        super().__init__()
        width, num_heads = check_count("width", width), check_count("num_heads", num_heads)
        if width % num_heads:
            raise ValueError(f"num_heads is {num_heads}, expected a divisor of the width, {width}")
        self.num_heads = num_heads
        self.norm_queries, self.norm_keys = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_queries = nn.Linear(width, width)
        self.to_keys, self.to_values = nn.Linear(width, width), nn.Linear(width, width)
        self.to_output = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)
        )

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        normed = self.norm_keys(keys)
        heads = (self.to_queries(self.norm_queries(queries)), self.to_keys(normed), self.to_values(normed))
        asked, offered, values = (one.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2) for one in heads)
        seen = self.attend(asked, offered, values, mask)
        hidden = queries + seen
        output: Tensor = hidden + self.feed_forward(hidden)
        return output

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return what each query sees: the part of the block that says who may look at whom.

        Shape:
            queries: ``(R, heads, Q, W / heads)``; keys and values: ``(R, heads, T, W / heads)``; mask:
                ``(R, T)`` bool; output: ``(R, Q, W)``.
        """
        if mask is None:
            return self.project(F.scaled_dot_product_attention(queries, keys, values))
        some = mask.any(-1, keepdim=True)
        # A softmax over nothing is not a number, in the gradient too: such rows attend, and are set to zero.
        allowed = (mask | ~some)[:, None, None, :].expand(-1, 1, queries.shape[-2], -1)
        seen = F.scaled_dot_product_attention(queries, keys, values, attn_mask=allowed)
        return torch.where(some.unsqueeze(-1), self.project(seen), 0.0)

    def project(self, heads: Tensor) -> Tensor:
        """Put the heads together, ``(..., heads, Q, W / heads) -> (..., Q, W)``."""
        output: Tensor = self.to_output(heads.transpose(-3, -2).flatten(-2))
        return output


class InducedSetAttention(nn.Module):
    r"""Attention among all points through a few inducing points: linear in their number.

    .. math:: \mathrm{ISAB}_m(X) = \mathrm{MAB}(X, \mathrm{MAB}(I, X))

    with m learned inducing points I. Cost O(N m W + N W^2) a set, memory O(N W).

    Shape:
        points: ``(R, N, W)``; mask: ``(R, N)`` bool; output: ``(R, N, W)``, of which the masked points, which
        nobody sees, are meaningless.
    """

    def __init__(self, width: int, *, num_inducing: int = 16, num_heads: int = 4) -> None:
        super().__init__()
        num_inducing, width = check_count("num_inducing", num_inducing), check_count("width", width)
        self.inducing = nn.Parameter(torch.randn(1, num_inducing, width))
        self.gather = MultiheadAttentionBlock(width, num_heads=num_heads)
        self.spread = MultiheadAttentionBlock(width, num_heads=num_heads)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        summary = self.gather(self.inducing.expand(len(points), -1, -1), points, mask)
        output: Tensor = self.spread(points, summary)
        return output


class PooledAttention(nn.Module):
    r"""Pool a set into a few vectors by attention, one for each learned seed.

    .. math:: \mathrm{PMA}_k(X) = \mathrm{MAB}(S, \mathrm{rFF}(X))

    with k learned seeds S and two linear layers before. Cost O(N k W + N W^2) a set, memory O(N W). An empty
    set is pooled into what the seeds make of themselves.

    Shape:
        points: ``(R, N, W)``; mask: ``(R, N)`` bool; output: ``(R, k, W)``.
    """

    def __init__(self, width: int, *, num_seeds: int = 1, num_heads: int = 4) -> None:
        super().__init__()
        num_seeds, width = check_count("num_seeds", num_seeds), check_count("width", width)
        self.seeds = nn.Parameter(torch.randn(1, num_seeds, width))
        self.before = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.block = MultiheadAttentionBlock(width, num_heads=num_heads)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        output: Tensor = self.block(self.seeds.expand(len(points), -1, -1), self.before(points), mask)
        return output


@register(None)
class SetEncoder(nn.Module):
    """Several blocks of induced attention over the points of a set.

    Cost O(N m W + N W^2) a set and block, memory O(N W).

    Args:
        width: W of the points' vectors.
        num_blocks: blocks, each with weights of its own.
        num_inducing: m, inducing points of a block.
        num_heads: heads of the attention, a divisor of the width.

    Shape:
        points: ``(R, N, W)``; mask: ``(R, N)`` bool, all present without one; output: ``(R, N, W)``.

    Example:
        >>> import torch
        >>> SetEncoder(8, num_inducing=3)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 5, 8])

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(
        self, width: int, *, num_blocks: int = 1, num_inducing: int = 16, num_heads: int = 4
    ) -> None:
        super().__init__()
        num_blocks = check_count("num_blocks", num_blocks, at_most=MAX_BLOCKS)
        self.width, self.num_blocks, self.num_inducing = width, num_blocks, num_inducing
        self.num_heads = num_heads
        self.blocks = nn.ModuleList(
            InducedSetAttention(width, num_inducing=num_inducing, num_heads=num_heads)
            for _ in range(num_blocks)
        )

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        for block in self.blocks:
            points = block(points, mask)
        return points


@register(None)
class FullSetEncoder(nn.Module):
    """Several blocks of attention among all pairs of points of a set (SAB).

    Cost O(N^2 W + N W^2) a set and block, memory O(N W).

    Args:
        width: W of the points' vectors.
        num_blocks: blocks, each with weights of its own.
        num_heads: heads of the attention, a divisor of the width.

    Shape:
        points: ``(R, N, W)``; mask: ``(R, N)`` bool, all present without one; output: ``(R, N, W)``.

    Example:
        >>> import torch
        >>> FullSetEncoder(8)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 5, 8])

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(self, width: int, *, num_blocks: int = 2, num_heads: int = 4) -> None:
        super().__init__()
        num_blocks = check_count("num_blocks", num_blocks, at_most=MAX_BLOCKS)
        self.width, self.num_blocks, self.num_heads = width, num_blocks, num_heads
        self.blocks = nn.ModuleList(
            MultiheadAttentionBlock(width, num_heads=num_heads) for _ in range(num_blocks)
        )

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        for block in self.blocks:
            points = block(points, points, mask)
        return points


@register(None)
class PointEncoder(nn.Module):
    """Layers that see every point on its own: the encoder of a deep set.

    Cost O(N W^2) a set and layer, memory O(N W).

    Args:
        width: W of the points' vectors.
        num_blocks: layers.

    Shape:
        points: ``(R, N, W)``; mask: not looked at; output: ``(R, N, W)``.

    Example:
        >>> import torch
        >>> PointEncoder(8)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 5, 8])

    References:
        Zaheer et al. (2017), Deep sets. https://arxiv.org/abs/1703.06114
    """

    def __init__(self, width: int, *, num_blocks: int = 3) -> None:
        super().__init__()
        num_blocks = check_count("num_blocks", num_blocks, at_most=MAX_BLOCKS)
        self.width, self.num_blocks = width, num_blocks
        self.layers = nn.Sequential(
            *(layer for _ in range(num_blocks) for layer in (nn.SiLU(), nn.Linear(width, width)))
        )

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        found: Tensor = self.layers(points)
        return found
