"""Attention to the points still to come through a few inducing points, in linear time."""

from typing import Any

import torch
from torch import Tensor, nn

from pyroclust.nn.attention_block import MultiheadAttentionBlock

__all__ = ["InducedFuture"]

_LARGEST_SCORE = 10.0


class InducedFuture(nn.Module):
    r"""Contexts of the points still to come, gathered by inducing points and asked for by the point at hand.

    .. math:: S_n = \mathrm{MAB}\big(I, \{\varnothing, x_{n+1}, \ldots, x_N\}\big), \qquad
        U_n = \mathrm{MAB}(x_n, S_n)

    Induced set attention restricted to what comes after each point. The inducing points ask the same at every
    step, so that the softmax over a suffix is a ratio of two sums from the end, all found by one cumulative
    sum of positive weights: nothing is subtracted, and nothing overflows, because scores s enter as
    :math:`c \tanh(s / c)`. "Nothing", of score 0 and value 0, is what the last point sees. The last number of
    each head is the logarithm of the sum of the weights, over 3: how many points to come it is about.

    Cost O(N m W^2) a data set, memory O(N m W), nothing a draw.

    Args:
        width: W of the points' vectors.
        num_inducing: m.
        num_heads: heads of the attention, a divisor of the width.

    Shape:
        points: ``(R, N, W)`` in visiting order; output: ``(R, N, W)``.

    Example:
        >>> InducedFuture(8, num_inducing=2)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 5, 8])

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(self, width: int, *, num_inducing: int = 8, num_heads: int = 4) -> None:
        super().__init__()
        self.width, self.num_heads = width, num_heads
        self.inducing = nn.Parameter(torch.randn(num_inducing, width))
        self.gather = _Suffixes(width, num_heads=num_heads)
        self.spread = MultiheadAttentionBlock(width, num_heads=num_heads)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        return {"width": self.width, "num_inducing": len(self.inducing), "num_heads": self.num_heads}

    def forward(self, points: Tensor) -> Tensor:
        """Gather what comes after each point, and let the point look at it."""
        summaries = self.gather(self.inducing, points)
        seen: Tensor = self.spread(points.flatten(0, 1).unsqueeze(1), summaries.flatten(0, 1))
        return seen.view_as(points)


class _Suffixes(MultiheadAttentionBlock):
    """A block in which fixed queries ``(m, W)`` see all points after each, ``(R, N, W) -> (R, N, m, W)``."""

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        score = torch.einsum("hmd,rhnd->rnhm", queries, keys) / queries.shape[-1] ** 0.5
        weight = (_LARGEST_SCORE * (score / _LARGEST_SCORE).tanh()).exp()
        weighted = torch.einsum("rnhm,rhnd->rnhmd", weight, values)
        total = (1 + _sum_after(weight)).unsqueeze(-1)
        seen = _sum_after(weighted)[..., :-1] / total
        return self.project(torch.cat([seen, total.log() / 3], -1))


def _sum_after(values: Tensor) -> Tensor:
    """Sum what comes after each place of the second dimension."""
    later = torch.cat([values[:, 1:], torch.zeros_like(values[:, :1])], 1)
    return later.flip(1).cumsum(1).flip(1)
