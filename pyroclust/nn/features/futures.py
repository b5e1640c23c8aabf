"""Features of the points that have no label yet, for sequential guides."""

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.nn.attention import MultiheadAttentionBlock
from pyroclust.nn.modules import MAX_BLOCKS


class Future(Protocol):
    """A module that summarises, for every point of a sequence, the points after it.

    Attributes:
        width: W, of points and contexts.
    """

    width: int

    def __call__(self, points: Tensor) -> Tensor: ...


_SMALLEST_WEIGHT = 1e-12


@register(Future)
class FutureAttention(nn.Module):
    r"""Contexts of the points still to come, by attention from the current point.

    .. math:: U_n = \mathrm{MAB}\big(x_n, \{\varnothing, x_{n+1}, \ldots, x_N\}\big), \qquad
        \text{weight of } x_i = \frac{e^{-|q_n - k_i|^2 / 2}}{e^b + \sum_{j>n} e^{-|q_n - k_j|^2 / 2}}

    one block after the other, with queries q and keys k of each head linear in the normalised points. This is
    the look-ahead of Gaussian kernels with learned ones: "nothing", of learned score b, value 0, has
    the weight that tells how many points to come are like this one, which a softmax over the points alone
    would hide, and minus its logarithm over 3 is the last number of each head. At the start keys are made as
    queries are, in bandwidths from head to head, so that points attend to their like.

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
        num_blocks = check_count("num_blocks", num_blocks, at_most=MAX_BLOCKS)
        self.width, self.num_blocks, self.num_heads = width, num_blocks, num_heads
        self.blocks = nn.Sequential(*(_LaterPoints(width, num_heads=num_heads) for _ in range(num_blocks)))

    def forward(self, points: Tensor) -> Tensor:
        output: Tensor = self.blocks(points)
        return output


class _LaterPoints(MultiheadAttentionBlock):
    """A block in which points see the points after them, and a learned nothing."""

    def __init__(self, width: int, *, num_heads: int) -> None:
        super().__init__(width, num_heads=num_heads)
        self.log_nothing = nn.Parameter(torch.zeros(num_heads, 1, 1))
        self._start_with_similarity(width // num_heads)

    def forward(self, queries: Tensor, keys: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        return super().forward(queries, queries, mask)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        # Two more numbers make inner products distances, and nothing as near as its score says:
        # (q, 1, |q|^2 / 2) with (k, -|k|^2 / 2, -1) for points and with (0, score, 0) for nothing.
        asked = torch.cat([queries, torch.ones_like(queries[..., :1]), _half_square(queries)], -1)
        offered = torch.cat([keys, -_half_square(keys), -torch.ones_like(keys[..., :1])], -1)
        none = F.pad(self.log_nothing, (keys.shape[-1], 1))
        # The last number of a value marks nothing, whose weight comes out with the average.
        seen = F.scaled_dot_product_attention(
            asked.flip(-2).contiguous(),
            _behind(none, offered),
            _behind(_mark(torch.zeros_like(none), 1.0), _mark(F.pad(values, (0, 2)), 0.0)),
            is_causal=True,
            scale=1.0,
        )[..., : keys.shape[-1]]
        left_over = seen[..., -1:].clamp(min=_SMALLEST_WEIGHT)
        return self.project(torch.cat([seen[..., :-1], -left_over.log() / 3], -1).flip(-2))

    def _start_with_similarity(self, size: int) -> None:
        """Make keys as queries are made, in bandwidths of 1/2, 1, 2, 4 of the normalised points."""
        precision = torch.logspace(1, 2 - self.num_heads, self.num_heads, base=2.0).repeat_interleave(size)
        with torch.no_grad():
            self.to_queries.weight.normal_().mul_(precision.unsqueeze(-1) / size**0.5)
            self.to_keys.weight.copy_(self.to_queries.weight)
        nn.init.zeros_(self.to_queries.bias)
        nn.init.zeros_(self.to_keys.bias)


def _half_square(vectors: Tensor) -> Tensor:
    return vectors.square().sum(-1, keepdim=True) / 2


def _mark(padded: Tensor, value: float) -> Tensor:
    """Overwrite the last number before the padding."""
    return torch.cat([padded[..., :-3], torch.full_like(padded[..., :1], value), padded[..., -2:]], -1)


def _behind(nothing: Tensor, points: Tensor) -> Tensor:
    """Put nothing in front of the points after the first, backwards."""
    return torch.cat([nothing.expand(len(points), -1, -1, -1), points[:, :, 1:].flip(-2)], -2)


_LARGEST_SCORE = 10.0


@register(Future)
class InducedFuture(nn.Module):
    r"""Contexts of the points still to come, by attention through inducing points.

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
        width, num_inducing = check_count("width", width), check_count("num_inducing", num_inducing)
        self.width, self.num_inducing, self.num_heads = width, num_inducing, num_heads
        self.inducing = nn.Parameter(torch.randn(num_inducing, width))
        self.gather = _Suffixes(width, num_heads=num_heads)
        self.spread = MultiheadAttentionBlock(width, num_heads=num_heads)

    def forward(self, points: Tensor) -> Tensor:
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
