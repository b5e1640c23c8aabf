"""Attention of every point to all points after it."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.nn.attention_block import MultiheadAttentionBlock

__all__ = ["FutureAttention"]


class FutureAttention(nn.Module):
    r"""Contexts of the points still to come, each asked for by the point at hand.

    .. math:: U_n = \mathrm{MAB}\big(x_n, \{\varnothing, x_{n+1}, \ldots, x_N\}\big), \qquad
        \text{weight of } x_i = \frac{e^{s_{ni}}}{e^{s_{n\varnothing}} + \sum_{j>n} e^{s_{nj}}}

    one block after the other. The learned point :math:`\varnothing`, "nothing", makes the weights those of a
    kernel look-ahead with a learned kernel: what it leaves over tells how many points to come are like this
    one, which a softmax over the points alone would hide. It also is what the last point sees.

    All N contexts are causal attention on the reversed sequence: cost O(N^2 W + N W^2) a data set and block,
    memory O(N W), nothing a draw.

    Args:
        width: W of the points' vectors.
        num_blocks: blocks in turn; in the second, points to come bring what they saw themselves.
        num_heads: heads of the attention, a divisor of the width.

    Shape:
        points: ``(R, N, W)`` in visiting order; output: ``(R, N, W)``.

    Example:
        >>> FutureAttention(8)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 5, 8])

    References:
        Wang et al. (2020), Attentive Clustering Processes. https://arxiv.org/abs/2010.15727
    """

    def __init__(self, width: int, *, num_blocks: int = 1, num_heads: int = 4) -> None:
        super().__init__()
        self.width, self.num_heads = width, num_heads
        self.blocks = nn.Sequential(*(_LaterPoints(width, num_heads=num_heads) for _ in range(num_blocks)))

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        return {"width": self.width, "num_blocks": len(self.blocks), "num_heads": self.num_heads}

    def forward(self, points: Tensor) -> Tensor:
        """Let every point attend to those after it."""
        output: Tensor = self.blocks(points)
        return output


class _LaterPoints(MultiheadAttentionBlock):
    """A block in which points see the points after them, and a learned nothing."""

    def __init__(self, width: int, *, num_heads: int) -> None:
        super().__init__(width, num_heads=num_heads)
        self.nothing = nn.Parameter(torch.zeros(2, num_heads, 1, width // num_heads))

    def forward(self, queries: Tensor, keys: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        return super().forward(queries, queries, mask)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        # Backwards, and one place behind nothing, "strictly after" is what causal attention sees.
        seen = F.scaled_dot_product_attention(
            queries.flip(-2).contiguous(),
            self._behind_nothing(0, keys),
            self._behind_nothing(1, values),
            is_causal=True,
        )
        return self.project(seen.flip(-2))

    def _behind_nothing(self, part: int, points: Tensor) -> Tensor:
        nothing = self.nothing[part].expand(len(points), -1, -1, -1)
        return torch.cat([nothing, points[:, :, 1:].flip(-2)], -2)
