"""The law of the partitions that spanning forests of perturbed similarities make, with gradients of means."""

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Size, Tensor

from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.core.random_state import seed_from_torch
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.spanning_forests import (
    Forests,
    add_edges,
    add_pairs,
    constrained_forests,
    edge_sums,
    pair_sums,
    spanning_forests,
)
from pyroclust.partitions.constraints import Constraints

_SYMMETRIC = 1e-5
# Numbers of noise that are held at a time: 16 MB in single precision.
_NUMBERS_AT_ONCE = 1 << 22
# Least standard deviation of the distances, in units of their mean, and of the squares of vectors.
_LEAST_SPREAD, _ROUNDING = 1e-3, 1e-10


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
        """Find the forests under given noise: as :func:`~.spanning_forests.spanning_forests` has it."""
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
        matrix, count = torch.zeros_like(similarity), 0
        for one in noise.solved(similarity):
            statistic.add(one.forests, similarity.new_ones(len(one.forests.kept)), matrix)
            count += len(one.forests.kept)
        ctx.save_for_backward(similarity)
        ctx.arguments = noise, statistic
        return _symmetric(matrix / count)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Estimate it from the same noise, what forests without noise have being taken off."""
        (similarity,) = ctx.saved_tensors
        noise, statistic = ctx.arguments
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
    return lower + lower.T


def standardised_similarity(vectors: Tensor) -> Tensor:
    r"""Return negative squared distances, shifted and scaled to mean 0 and variance 1 over pairs.

    .. math:: D_{uv} = -\lVert x_u - x_v \rVert^2, \qquad S = (D - \text{mean}) / \text{sd}

    Shape:
        vectors: ``(*batch, n, D)`` of floating point; output: ``(*batch, n, n)`` symmetric.

    Example:
        >>> found = standardised_similarity(torch.tensor([[0.0], [1.0], [5.0]]))
        >>> [round(one, 2) for one in found[0, 1:].tolist()]
        [1.31, -1.11]
    """
    centred = vectors - vectors.mean(-2, keepdim=True)
    squares = centred.square().sum(-1)
    products = centred @ centred.mT
    near: Tensor = products + products.mT - (squares.unsqueeze(-1) + squares.unsqueeze(-2))
    u, v = torch.tril_indices(near.shape[-1], near.shape[-1], -1)
    pairs = near[..., u, v]
    if not pairs.shape[-1]:
        return 0.0 * near
    mean = pairs.mean(-1)
    # Of one pair there is no variance, and between points that are all the same are rounding errors.
    error = _ROUNDING * vectors.detach().square().mean((-1, -2))
    least = (_LEAST_SPREAD * mean).square() + error.square() + torch.finfo(near.dtype).tiny
    spread = (pairs.var(-1, correction=0) + least).sqrt()
    return (near - mean[..., None, None]) / spread[..., None, None]


class PerturbedSpanningForest(PartitionDistribution):
    r"""Components of the heaviest spanning forest of k components under similarities with noise.

    .. math::
        F_k(S) = \max_{A \in \text{forests of } k \text{ components}} \sum_{u > v} A_{uv} S_{uv}, \qquad
        c = \text{components of the maximiser at } S + \epsilon Z

    with Z symmetric, standard normal and independent for every pair. It has draws, means and gradients of
    these, and no formula of its probabilities.

    With ``constraints`` every draw keeps them: the greedy algorithm joins components along the heaviest edges
    that are allowed, which gives the heaviest forest if the groups that are apart from any are all apart from
    one another. Where everything that is left must be apart, a draw ends with more than k components:
    :meth:`excess_rate` says how often.

    Cost: O(n^2) time and memory a draw. Means are over ``num_draws`` draws of noise, in pairs of opposite
    signs, of a ``seed``; torch's generator decides without one.

    Args:
        similarity: symmetric, ``(*batch, n, n)``; the diagonal is not looked at.
        num_clusters: k; or a prior over partitions, for the law of its number of clusters.
        noise_scale: :math:`\epsilon`, in the unit of the similarity.
        constraints: on the n points, the same for all data sets.

    Raises:
        ValueError: if the similarity is not symmetric or not finite, k is not between 1 and n, or the
            constraints are of other points or leave fewer groups than k.

    Example:
        >>> line = torch.tensor([0.0, 1.0, 5.0, 6.0])
        >>> forest = PerturbedSpanningForest(-(line - line.unsqueeze(-1)).abs(), 2, noise_scale=0.1)
        >>> forest.mean_adjacency(num_draws=100)[0].tolist()
        [0.0, 1.0, 0.0, 0.0]

    References:
        Stewart et al. (2023), Differentiable clustering with perturbed spanning forests.
        https://arxiv.org/abs/2305.16358
    """

    is_exact = False
    batched: ClassVar[dict[str, int]] = {"similarity": 2}

    def __init__(
        self,
        similarity: Tensor,
        num_clusters: int | PartitionPrior,
        *,
        noise_scale: float = 1.0,
        constraints: Constraints | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.similarity = _checked(similarity)
        self.noise_scale = check_number("noise_scale", noise_scale, at_least=0)
        n = similarity.shape[-1]
        self.constraints = None if constraints is None else constraints.over(n)
        groups = n if self.constraints is None else self.constraints.num_groups
        if isinstance(num_clusters, PartitionPrior):
            self.num_clusters_probs = _up_to(groups, num_clusters.log_prob_num_clusters(n).exp())
        else:
            k = check_count("num_clusters", num_clusters, at_most=n)
            if k > groups:
                raise ValueError(
                    f"num_clusters is {k}, expected at most {groups}: points that must be together leave no "
                    "more groups; ask for fewer clusters, or leave out pairs of must_link"
                )
            self.num_clusters_probs = torch.nn.functional.one_hot(torch.tensor(k - 1), n).double()
        super().__init__(n, batch_shape=similarity.shape[:-2], validate_args=validate_args)

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

        .. math:: F_{k, \epsilon}(S) = E \, F_k(S + \epsilon Z), \qquad
            \nabla F_{k, \epsilon} = A_{k, \epsilon}

        The gradient with respect to the matrix is half the mean adjacency of the same noise: each pair stands
        in it twice. Where a constrained forest is not the heaviest, its weight may jump, and jumps have no
        gradient.
        """
        noise = self._noise(num_draws, seed=seed)
        found = [Maximum.apply(matrix, noise) for matrix in self._matrices()]
        return torch.stack(found).view(self.batch_shape)

    def fenchel_young_loss(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        r"""Return how much weight it costs to keep the constraints, ``(*batch)``, 0 without any.

        .. math:: L(S) = E \big[ F_{k'}(S + \epsilon Z) - F_k(S + \epsilon Z; C) \big], \qquad
            \nabla L = A_{k', \epsilon}(S) - A_{k, \epsilon}(S; C)

        with the same noise in both, and k' the number of components that the forest with constraints has.

        Example:
            >>> near = -torch.cdist(torch.eye(4), torch.eye(4)).square().requires_grad_()
            >>> known = Constraints.of(4, must_link=[(0, 1)], cannot_link=[(0, 2)])
            >>> forest = PerturbedSpanningForest(near, 2, noise_scale=0.5, constraints=known)
            >>> gradient, = torch.autograd.grad(forest.fenchel_young_loss(seed=0), near)
            >>> gradient[0, 1] < 0, gradient[0, 2] > 0
            (tensor(True), tensor(True))
        """
        noise = self._noise(num_draws, seed=seed)
        if noise.constraints is None:
            noise = replace(noise, constraints=Constraints.of(self.num_points))
        found = [Regret.apply(matrix, noise) for matrix in self._matrices()]
        return torch.stack(found).view(self.batch_shape)

    def partial_losses(self, labels: Tensor, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        """Return :meth:`fenchel_young_loss` of every data set under what its own labels imply.

        Instead of more components than there are groups, as many as these are asked for.

        Shape:
            labels: of classes, negative where unknown, ``(*batch, n)`` integers; output: ``(*batch)``.

        Raises:
            ValueError: if the labels have another shape.
        """
        if labels.shape != (*self.batch_shape, self.num_points):
            raise ValueError(
                f"labels has shape {tuple(labels.shape)}, expected {(*self.batch_shape, self.num_points)}: "
                "one a point, negative where nothing is known"
            )
        rows = labels.detach().cpu().reshape(-1, self.num_points).unbind()
        found = []
        for matrix, row in zip(self._matrices(), rows, strict=True):
            own = self._of(matrix, Constraints.of(self.num_points, labels=row))
            found.append(own.fenchel_young_loss(num_draws=num_draws, seed=seed))
        return torch.stack(found).view(self.batch_shape)

    def _of(self, similarity: Tensor, constraints: Constraints) -> Self:
        """Return the law for one data set, with at most as many components asked for as there are groups."""
        new = copy(self)
        new.similarity, new.constraints = similarity, constraints
        new.num_clusters_probs = _up_to(constraints.num_groups, self.num_clusters_probs)
        PartitionDistribution.__init__(new, self.num_points, validate_args=self._validate_args)
        return new

    def excess_rate(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        """Return the share of draws with more components than asked for, ``(*batch)``."""
        noise = self._noise(num_draws, seed=seed)
        found = [
            torch.cat([one.forests.labels.amax(-1) + 1 > one.num_components for one in noise.solved(matrix)])
            for matrix in self._matrices()
        ]
        shares = [one.to(self.similarity.dtype).mean() for one in found]
        return torch.stack(shares).view(self.batch_shape)

    def mean_adjacency(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        r"""Return how often each pair is an edge of the forest, ``(*batch, n, n)``, symmetric.

        Its gradient is estimated from the same noise,

        .. math:: \frac{\partial A}{\partial S} \approx \frac{1}{\epsilon} \,
            E \big[ (A(S + \epsilon Z) - A(S)) \, Z \big]
        """
        return self._mean(EDGES, num_draws, seed)

    def co_assignment(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        """Return how often each pair is in one component, ``(*batch, n, n)``, with 1 on the diagonal.

        Its gradient is estimated as that of :meth:`mean_adjacency`.
        """
        return self._mean(PAIRS, num_draws, seed) + torch.eye(self.num_points, dtype=self.similarity.dtype)

    def _mean(self, statistic: Statistic, num_draws: int, seed: int | None) -> Tensor:
        noise = self._noise(num_draws, seed=seed)
        found = [Mean.apply(matrix, noise, statistic) for matrix in self._matrices()]
        return torch.stack(found).view(self.similarity.shape)

    def _matrices(self) -> tuple[Tensor, ...]:
        return self.similarity.reshape(-1, self.num_points, self.num_points).unbind()

    def _noise(self, num_draws: int, *, paired: bool = True, seed: int | None = None) -> Noise:
        seed = seed_from_torch() if seed is None else check_seed(seed)
        count = check_count("num_draws", num_draws)
        return Noise(self.noise_scale, self.num_clusters_probs, count, paired, seed, self.constraints)


def _up_to(most: int, probs: Tensor) -> Tensor:
    """Return the law of the smaller of k and the most that there can be."""
    found = probs.clone()
    found[most - 1] += found[most:].sum()
    found[most:] = 0
    return found


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
