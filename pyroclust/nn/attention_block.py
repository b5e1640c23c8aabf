"""One block of multi-head attention with masked keys: what all set attention is made of."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["MultiheadAttentionBlock"]


class MultiheadAttentionBlock(nn.Module):
    r"""Let queries attend to keys, then think about what they saw.

    .. math:: \mathrm{MAB}(X, Y) = H + \mathrm{rFF}(\mathrm{norm}\, H), \qquad
        H = X + \mathrm{Attention}(\mathrm{norm}\, X, \mathrm{norm}\, Y, \mathrm{norm}\, Y)

    Scores are divided by the square root of the width of a head. Normalisation stands in front of each part,
    which trains more readily than behind it. A query without any key attends to nothing: H = X. Cost
    O(Q T W + (Q + T) W^2) a row; memory linear in Q and T, because attention weights are never stored.

    Args:
        width: W of queries, keys and output.
        num_heads: heads, a divisor of the width.
        norm: class of the normalisation, called with the width; ``nn.Identity`` for none.

    Shape:
        queries: ``(R, Q, W)``; keys: ``(R, T, W)``; mask: ``(R, T)`` bool; output: ``(R, Q, W)``.

    Raises:
        ValueError: if the heads do not divide the width.

    Example:
        >>> block = MultiheadAttentionBlock(8, num_heads=2)
        >>> keys, present = torch.randn(2, 5, 8), torch.tensor([[True] * 3 + [False] * 2] * 2)
        >>> block(torch.randn(2, 1, 8), keys, present).shape
        torch.Size([2, 1, 8])

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(
        self, width: int, *, num_heads: int = 4, norm: Callable[[int], nn.Module] = nn.LayerNorm
    ) -> None:
        super().__init__()
        if num_heads < 1 or width % num_heads:
            raise ValueError(f"num_heads is {num_heads}, expected a divisor of the width, {width}")
        self.num_heads = num_heads
        self.norm_queries, self.norm_keys = norm(width), norm(width)
        self.to_queries = nn.Linear(width, width)
        self.to_keys, self.to_values = nn.Linear(width, width), nn.Linear(width, width)
        self.to_output = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(
            norm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)
        )

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend to the keys where the mask is true, to all without one."""
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
