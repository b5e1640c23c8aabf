"""Means over the noise of what spanning forests weigh and have, with their gradients."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pyroclust.distributions.forests.constrained_forests import constrained_forests
from pyroclust.distributions.forests.spanning_trees import (
    Forests,
    add_edges,
    add_pairs,
    edge_sums,
    pair_sums,
    spanning_forests,
)
from pyroclust.partitions.constraints import Constraints

# Numbers of noise that are held at a time: 16 MB in single precision.
_NUMBERS_AT_ONCE = 1 << 22


class Solved(NamedTuple):
    """Some of the draws of noise, and the forests under them."""

    noise: Tensor  # (D, n (n - 1) / 2)
    signs: Tensor  # that each is taken with, (S,)
    num_components: Tensor  # k that was asked for, (D * S,)
    forests: Forests  # of D * S rows


@dataclass(frozen=True)
class Noise:
    """Noise that can be drawn again, and what the forests under it have to keep."""

    scale: float  # epsilon
    probs: Tensor  # of k = 1, ..., n, (n,)
    num_draws: int  # draws, or pairs of opposite signs have at least so many together
    paired: bool  # whether noise is drawn in pairs of opposite signs
    seed: int  # of the noise
    constraints: Constraints | None = None  # what is known of the points; None where nothing is

    def solved(self, similarity: Tensor) -> Iterator[Solved]:
        """Find the forests of one similarity, some at a time; the same noise each time."""
        generator = torch.Generator().manual_seed(self.seed)
        n = len(similarity)
        numbers = n * (n - 1) // 2
        signs = similarity.new_tensor([1.0, -1.0] if self.paired else [1.0])
        left = math.ceil(self.num_draws / len(signs))
        at_once = max(1, _NUMBERS_AT_ONCE // max(1, numbers))
        while left:
            count = min(left, at_once)
            noise = torch.randn(count, numbers, generator=generator, dtype=similarity.dtype)
            k = 1 + torch.multinomial(self.probs, count * len(signs), replacement=True, generator=generator)
            yield Solved(noise, signs, k, self.forests(similarity, noise, self.scale * signs, k))
            left -= count

    def forests(self, similarity: Tensor, noise: Tensor, scales: Tensor, num_components: Tensor) -> Forests:
        """Find the forests under given noise: as :func:`~.spanning_trees.spanning_forests` has it."""
        if self.constraints is None:
            return spanning_forests(similarity, noise, scales, num_components)
        return constrained_forests(similarity, noise, scales, num_components, self.constraints)


@dataclass(frozen=True)
class Statistic:
    """What a forest says of every pair: whether it is an edge, or in one component."""

    of_pairs: bool

    def add(self, forests: Forests, factor: Tensor, matrix: Tensor) -> None:
        """Add to the entries below the diagonal of a matrix the factor of every forest that has the pair."""
        if self.of_pairs:
            add_pairs(forests.labels.numpy(), factor.numpy(), matrix.numpy())
        else:
            add_edges(forests.edges.numpy(), forests.kept.numpy(), factor.numpy(), matrix.numpy())

    def sums(self, forests: Forests, values: Tensor) -> Tensor:
        """Sum the entries below the diagonal of a matrix over the pairs that every forest has."""
        found = values.new_empty(len(forests.labels))
        if self.of_pairs:
            pair_sums(forests.labels.numpy(), values.numpy(), found.numpy())
        else:
            edge_sums(forests.edges.numpy(), forests.kept.numpy(), values.numpy(), found.numpy())
        return found


EDGES, PAIRS = Statistic(of_pairs=False), Statistic(of_pairs=True)


class Maximum(torch.autograd.Function):
    """The mean weight of the forests of one similarity."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, noise: Noise) -> Tensor:
        """Return the mean, and keep its gradient."""
        total, count = similarity.new_zeros(()), 0
        adjacency = torch.zeros_like(similarity)
        for one in noise.solved(similarity):
            forests = one.forests
            total += _weights(forests).sum()
            EDGES.add(forests, similarity.new_ones(len(forests.kept)), adjacency)
            count += len(forests.kept)
        ctx.save_for_backward(_symmetric(adjacency / count))
        return total / count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Return half of what was kept: each pair stands in the matrix twice."""
        (adjacency,) = ctx.saved_tensors
        return gradients[0] * adjacency / 2, None


class Regret(Maximum):
    """By how much free forests of as many components are heavier than those that keep what is known."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, noise: Noise) -> Tensor:
        """Return the mean, and keep its gradient; draws whose components are the same add nothing to both."""
        total, count = similarity.new_zeros(()), 0
        adjacency = torch.zeros_like(similarity)
        for one in noise.solved(similarity):
            known, scales = one.forests, noise.scale * one.signs
            free = spanning_forests(similarity, one.noise, scales, known.labels.amax(-1) + 1)
            differs = (free.labels != known.labels).any(-1).to(similarity.dtype)
            # Weights are sums in another order: a difference below zero is one of rounding.
            total += (differs * (_weights(free) - _weights(known)).clamp(min=0)).sum()
            EDGES.add(free, differs, adjacency)
            EDGES.add(known, -differs, adjacency)
            count += len(differs)
        ctx.save_for_backward(_symmetric(adjacency / count))
        return total / count


class Mean(torch.autograd.Function):
    """The mean of a statistic of the forests of one similarity."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, noise: Noise, statistic: Statistic) -> Tensor:
        """Return the mean, ``(n, n)``."""
        matrix, count = torch.zeros_like(similarity), 0
        for one in noise.solved(similarity):
            statistic.add(one.forests, similarity.new_ones(len(one.forests.kept)), matrix)
            count += len(one.forests.kept)
        ctx.save_for_backward(similarity)
        ctx.told = noise, statistic
        return _symmetric(matrix / count)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Return the estimate from the same noise, what forests without noise have being taken off."""
        (similarity,) = ctx.saved_tensors
        noise, statistic = ctx.told
        if not noise.scale:
            raise ValueError("noise_scale is 0, expected above 0: without noise there is no gradient")
        # Each pair stands in the matrix twice.
        values = (gradients[0] + gradients[0].T).contiguous()
        n, count = len(similarity), 0
        k = 1 + noise.probs.nonzero().squeeze(-1)
        nothing = similarity.new_zeros(1, n * (n - 1) // 2)
        without = similarity.new_zeros(n)
        still = noise.forests(similarity, nothing, similarity.new_zeros(len(k)), k)
        without[k - 1] = statistic.sums(still, values)
        found = torch.zeros_like(nothing[0])
        for one in noise.solved(similarity):
            change = statistic.sums(one.forests, values) - without[one.num_components - 1]
            found += (change.view(-1, len(one.signs)) * one.signs).sum(-1) @ one.noise
            count += len(one.forests.kept)
        matrix = torch.zeros_like(similarity)
        u, v = torch.tril_indices(n, n, -1)
        matrix[u, v] = found / (count * noise.scale)
        return _symmetric(matrix) / 2, None, None


def _weights(forests: Forests) -> Tensor:
    return (forests.weights * forests.kept).sum(-1)


def _symmetric(lower: Tensor) -> Tensor:
    """Return a symmetric matrix, given its part below the diagonal."""
    return lower + lower.T
