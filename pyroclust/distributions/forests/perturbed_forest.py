"""The law of the partitions that spanning forests of perturbed similarities make."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Size, Tensor

from pyroclust.counts import check_count, check_number, check_seed
from pyroclust.distributions.forests.spanning_trees import (
    Forests,
    add_edges,
    add_pairs,
    edge_sums,
    pair_sums,
    spanning_forests,
)
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.random_state import seed_from_torch

__all__ = ["PerturbedSpanningForest"]

# Numbers of noise that are held at a time: 16 MB in single precision.
_NUMBERS_AT_ONCE = 1 << 22
_SYMMETRIC = 1e-5


class PerturbedSpanningForest(PartitionDistribution):
    r"""Components of the heaviest spanning forest of k components under similarities with noise.

    .. math::
        F_k(S) = \max_{A \in \text{forests of } k \text{ components}} \sum_{u > v} A_{uv} S_{uv}, \qquad
        c = \text{components of the maximiser at } S + \epsilon Z

    with Z symmetric, standard normal and independent for every pair. Without noise it is single linkage. With
    a law of k it is a distribution over all partitions. It has draws, means and gradients of these, and no
    formula of its probabilities.

    Cost: O(n^2) a draw; memory O(n^2), 16 MB of noise in single precision, and the draws. Data sets are taken
    one after the other, with the same noise for means and other noise for draws.

    Args:
        similarity: symmetric, ``(*batch, n, n)``; the diagonal is not looked at.
        num_clusters: k; or a prior over partitions, for the law of its number of clusters.
        noise_scale: :math:`\epsilon`, in the unit of the similarity.

    Raises:
        ValueError: if the similarity is not symmetric or not finite, or k is not between 1 and n.

    Example:
        >>> line = torch.tensor([0.0, 1.0, 5.0, 6.0])
        >>> forest = PerturbedSpanningForest(-(line - line.unsqueeze(-1)).abs(), 2, noise_scale=0.1)
        >>> forest.sample((3,)).tolist()
        [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]]
        >>> forest.mean_adjacency(num_draws=100)[0].tolist()
        [0.0, 1.0, 0.0, 0.0]

    References:
        Stewart et al. (2023), Differentiable clustering with perturbed spanning forests.
        https://arxiv.org/abs/2305.16358
    """

    is_exact = False

    def __init__(
        self,
        similarity: Tensor,
        num_clusters: int | PartitionPrior,
        *,
        noise_scale: float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.similarity = _checked(similarity)
        self.noise_scale = check_number("noise_scale", noise_scale, at_least=0)
        n = similarity.shape[-1]
        if isinstance(num_clusters, PartitionPrior):
            self.num_clusters_probs = num_clusters.log_prob_num_clusters(n).exp()
        else:
            k = check_count("num_clusters", num_clusters, at_most=n)
            self.num_clusters_probs = torch.nn.functional.one_hot(torch.tensor(k - 1), n).double()
        super().__init__(n, batch_shape=similarity.shape[:-2], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "PerturbedSpanningForest":
        """Return the same law for a larger batch of data sets."""
        new = PerturbedSpanningForest.__new__(PerturbedSpanningForest)
        new.similarity = self.similarity.expand(*batch_shape, *self.similarity.shape[-2:])
        new.noise_scale, new.num_clusters_probs = self.noise_scale, self.num_clusters_probs
        PartitionDistribution.__init__(
            new, self.num_points, batch_shape=Size(batch_shape), validate_args=self._validate_args
        )
        return new

    def _sample(self, sample_shape: Size) -> Tensor:
        count = sample_shape.numel()
        found = [
            torch.cat([one.forests.labels for one in self._noise(count, paired=False).solved(matrix)])
            for matrix in self._matrices()
        ]
        if not found:
            return torch.empty(*sample_shape, *self.batch_shape, self.num_points, dtype=torch.int64)
        return torch.stack(found, 1).view(*sample_shape, *self.batch_shape, self.num_points)

    def _log_prob(self, value: Tensor) -> Tensor:
        raise NotImplementedError(
            "PerturbedSpanningForest has no log_prob: its probabilities have no formula; draw partitions, or "
            "take mean_adjacency and co_assignment"
        )

    def perturbed_maximum(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        r"""Return the mean weight of the heaviest forest, ``(*batch)``, with its exact gradient.

        .. math:: F_{k, \epsilon}(S) = E \, F_k(S + \epsilon Z), \qquad \nabla F_{k, \epsilon} =
            A_{k, \epsilon}

        The gradient with respect to the matrix is half the mean adjacency of the same noise, since each pair
        stands in the matrix twice.

        Args:
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.
        """
        noise = self._noise(num_draws, seed=seed)
        found = [_Maximum.apply(matrix, noise) for matrix in self._matrices()]
        return torch.stack(found).view(self.batch_shape)

    def mean_adjacency(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        r"""Return how often each pair is an edge of the forest, ``(*batch, n, n)``, symmetric.

        Its gradient is estimated from the same noise,

        .. math:: \frac{\partial A}{\partial S} \approx \frac{1}{\epsilon} \,
            E \big[ (A(S + \epsilon Z) - A(S)) \, Z \big]

        Args:
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.
        """
        return self._mean(_EDGES, num_draws, seed)

    def co_assignment(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        """Return how often each pair is in one component, ``(*batch, n, n)``, with 1 on the diagonal.

        Its gradient is estimated as that of :meth:`mean_adjacency`.

        Args:
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.
        """
        return self._mean(_PAIRS, num_draws, seed) + torch.eye(self.num_points, dtype=self.similarity.dtype)

    def _mean(self, statistic: "_Statistic", num_draws: int, seed: int | None) -> Tensor:
        noise = self._noise(num_draws, seed=seed)
        found = [_Mean.apply(matrix, noise, statistic) for matrix in self._matrices()]
        return torch.stack(found).view(self.similarity.shape)

    def _matrices(self) -> tuple[Tensor, ...]:
        return self.similarity.reshape(-1, self.num_points, self.num_points).unbind()

    def _noise(self, num_draws: int, *, paired: bool = True, seed: int | None = None) -> "_Noise":
        seed = seed_from_torch() if seed is None else check_seed(seed)
        count = check_count("num_draws", num_draws)
        return _Noise(self.noise_scale, self.num_clusters_probs, count, paired, seed)


class _Solved(NamedTuple):
    noise: Tensor  # (D, n (n - 1) / 2)
    signs: Tensor  # (S,)
    num_components: Tensor  # (D * S,)
    forests: Forests  # of D * S rows


@dataclass(frozen=True)
class _Noise:
    """Noise that can be drawn again.

    Attributes:
        scale: epsilon.
        probs: of k = 1, ..., n, ``(n,)``.
        num_draws: draws, or pairs of opposite signs have at least so many together.
        paired: whether noise is drawn in pairs of opposite signs.
        seed: of the noise.
    """

    scale: float
    probs: Tensor
    num_draws: int
    paired: bool
    seed: int

    def solved(self, similarity: Tensor) -> Iterator[_Solved]:
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
            yield _Solved(noise, signs, k, spanning_forests(similarity, noise, self.scale * signs, k))
            left -= count


@dataclass(frozen=True)
class _Statistic:
    """What a forest says of every pair: whether it is an edge, or in one component."""

    of_pairs: bool

    def add(self, forests: Forests, factor: Tensor, matrix: Tensor) -> None:
        if self.of_pairs:
            add_pairs(forests.labels.numpy(), factor.numpy(), matrix.numpy())
        else:
            add_edges(forests.edges.numpy(), forests.kept.numpy(), factor.numpy(), matrix.numpy())

    def sums(self, forests: Forests, values: Tensor) -> Tensor:
        found = values.new_empty(len(forests.labels))
        if self.of_pairs:
            pair_sums(forests.labels.numpy(), values.numpy(), found.numpy())
        else:
            edge_sums(forests.edges.numpy(), forests.kept.numpy(), values.numpy(), found.numpy())
        return found


_EDGES, _PAIRS = _Statistic(of_pairs=False), _Statistic(of_pairs=True)


class _Maximum(torch.autograd.Function):
    """The mean weight of the heaviest forest of one similarity."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, noise: _Noise) -> Tensor:
        total, count = similarity.new_zeros(()), 0
        adjacency = torch.zeros_like(similarity)
        for one in noise.solved(similarity):
            forests = one.forests
            total += (forests.weights * forests.kept).sum()
            _EDGES.add(forests, similarity.new_ones(len(forests.kept)), adjacency)
            count += len(forests.kept)
        ctx.save_for_backward(_symmetric(adjacency / count))
        return total / count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (adjacency,) = ctx.saved_tensors
        return gradients[0] * adjacency / 2, None


class _Mean(torch.autograd.Function):
    """The mean of a statistic of the forests of one similarity."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, noise: _Noise, statistic: _Statistic) -> Tensor:
        matrix, count = torch.zeros_like(similarity), 0
        for one in noise.solved(similarity):
            statistic.add(one.forests, similarity.new_ones(len(one.forests.kept)), matrix)
            count += len(one.forests.kept)
        ctx.save_for_backward(similarity)
        ctx.told = noise, statistic
        return _symmetric(matrix / count)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (similarity,) = ctx.saved_tensors
        noise, statistic = ctx.told
        if not noise.scale:
            raise ValueError("noise_scale is 0, expected above 0: without noise there is no gradient")
        # Each pair stands in the matrix twice.
        values = (gradients[0] + gradients[0].T).contiguous()
        n, count = len(similarity), 0
        k = torch.arange(1, n + 1)
        nothing = similarity.new_zeros(1, n * (n - 1) // 2)
        without = statistic.sums(spanning_forests(similarity, nothing, similarity.new_zeros(n), k), values)
        found = torch.zeros_like(nothing[0])
        for one in noise.solved(similarity):
            change = statistic.sums(one.forests, values) - without[one.num_components - 1]
            found += (change.view(-1, len(one.signs)) * one.signs).sum(-1) @ one.noise
            count += len(one.forests.kept)
        matrix = torch.zeros_like(similarity)
        u, v = torch.tril_indices(n, n, -1)
        matrix[u, v] = found / (count * noise.scale)
        return _symmetric(matrix) / 2, None, None


def _symmetric(lower: Tensor) -> Tensor:
    """Return a symmetric matrix, given its part below the diagonal."""
    return lower + lower.T


def _checked(similarity: Tensor) -> Tensor:
    shape = tuple(similarity.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or not shape[-1]:
        raise ValueError(f"similarity has shape {shape}, expected (*batch, n, n) with a number for each pair")
    if similarity.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"similarity has dtype {similarity.dtype}, expected float32 or float64")
    if similarity.device.type != "cpu":
        raise ValueError(f"similarity is on {similarity.device}, expected the CPU: call .cpu() first")
    values = similarity.detach()
    off = ~torch.eye(shape[-1], dtype=torch.bool)
    if not bool(values[..., off].isfinite().all()):
        raise ValueError("similarity has entries off its diagonal that are not finite, expected numbers")
    apart = (values - values.mT)[..., off].abs()
    if apart.numel() and bool((apart > _SYMMETRIC * (1 + values[..., off].abs())).any()):
        raise ValueError(
            f"similarity is not symmetric: entries differ by up to {apart.max().item():.3g}; "
            "give (S + S.mT) / 2"
        )
    return similarity
