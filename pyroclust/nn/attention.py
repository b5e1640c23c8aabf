"""Attention over the points of a set, and from each point of a sequence to those after it."""

from typing import Protocol

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

    A query without any key attends to nothing: H = X. Cost O(Q T W + (Q + T) W^2) a row.

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
        """Return what each query of each head sees, ``(R, heads, Q, W / heads) -> (R, Q, W)``."""
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
    r"""Attention among all points through m learned inducing points I, linear in their number.

    .. math:: \mathrm{ISAB}_m(X) = \mathrm{MAB}(X, \mathrm{MAB}(I, X))

    Of ``(R, N, W)`` what the masked points get, which nobody sees, is meaningless.
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
    r"""Pool a set into k vectors by attention, ``(R, N, W) -> (R, k, W)``, one for each learned seed S.

    .. math:: \mathrm{PMA}_k(X) = \mathrm{MAB}(S, \mathrm{rFF}(X))
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

    Arguments and shapes are those of :class:`SetEncoder`. Cost O(N^2 W + N W^2) a set and block.

    Example:
        >>> import torch
        >>> FullSetEncoder(8)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 5, 8])
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
    """Layers that see every point on its own: the encoder of a deep set; a mask is not looked at.

    Arguments and shapes are those of :class:`SetEncoder`. Cost O(N W^2) a set and layer.

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

    with queries q and keys k of each head linear in the normalised points: the look-ahead of Gaussian kernels
    with learned ones. "Nothing", of learned score b and value 0, has the weight that tells how many points to
    come are like this one; minus its logarithm over 3 is the last number of each head. All N contexts are
    causal attention on the reversed sequence: cost O(N^2 W + N W^2) a data set and block, memory O(N W).

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

    The inducing points ask the same at every step, so that the softmax over a suffix is a ratio of two sums
    from the end. Nothing overflows, because scores s enter as :math:`c \tanh(s / c)`. "Nothing" has score 0
    and value 0; the last number of each head is the logarithm of the sum of the weights, over 3. Cost O(N m
    W^2) a data set, memory O(N m W).

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
