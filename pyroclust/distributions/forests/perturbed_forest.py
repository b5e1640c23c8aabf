"""The law of the partitions that spanning forests of perturbed similarities make."""

from dataclasses import replace
from typing import Any

import torch
from torch import Size, Tensor

from pyroclust.core.counts import check_count, check_number, check_seed
from pyroclust.core.random_state import seed_from_torch
from pyroclust.distributions.forests.perturbed_means import (
    EDGES,
    PAIRS,
    Maximum,
    Mean,
    Noise,
    Regret,
    Statistic,
)
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.partitions.constraints import Constraints

_SYMMETRIC = 1e-5


class PerturbedSpanningForest(PartitionDistribution):
    r"""Components of the heaviest spanning forest of k components under similarities with noise.

    .. math::
        F_k(S) = \max_{A \in \text{forests of } k \text{ components}} \sum_{u > v} A_{uv} S_{uv}, \qquad
        c = \text{components of the maximiser at } S + \epsilon Z

    with Z symmetric, standard normal and independent for every pair. Without noise it is single linkage. With
    a law of k it is a distribution over all partitions. It has draws, means and gradients of these, and no
    formula of its probabilities.

    With ``constraints`` every draw keeps what is known: points that must be together share a component, and
    points that must be apart do not. Groups begin as one component each, and the greedy algorithm joins
    components along the heaviest edges that are allowed, then takes the heaviest tree inside of each; see
    :func:`~pyroclust.distributions.forests.constrained_forests.constrained_forests` for when this is the
    heaviest of all. Where everything that is left must be apart, a draw ends with more than k components:
    :meth:`excess_rate` says how often. A law of k asks for as many components as there are groups where it
    would ask for more. The same seed gives the same noise with and without constraints.

    Cost: O(n^2) a draw, with many pairs apart two to three times as much; memory O(n^2), 16 MB of noise in
    single precision, and the draws. Data sets are taken one after the other, with the same noise for means
    and other noise for draws.

    Args:
        similarity: symmetric, ``(*batch, n, n)``; the diagonal is not looked at.
        num_clusters: k; or a prior over partitions, for the law of its number of clusters.
        noise_scale: :math:`\epsilon`, in the unit of the similarity.
        constraints: what is known of the n points, the same for all data sets.

    Raises:
        ValueError: if the similarity is not symmetric or not finite, k is not between 1 and n, or the
            constraints are of other points or leave fewer groups than k.

    Example:
        >>> line = torch.tensor([0.0, 1.0, 5.0, 6.0])
        >>> forest = PerturbedSpanningForest(-(line - line.unsqueeze(-1)).abs(), 2, noise_scale=0.1)
        >>> forest.sample((3,)).tolist()
        [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]]
        >>> forest.mean_adjacency(num_draws=100)[0].tolist()
        [0.0, 1.0, 0.0, 0.0]
        >>> known = Constraints.of(4, cannot_link=[(0, 1)])
        >>> forest = PerturbedSpanningForest(forest.similarity, 2, noise_scale=0.1, constraints=known)
        >>> forest.sample().tolist()
        [0, 1, 1, 1]

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
        constraints: Constraints | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.similarity = _checked(similarity)
        self.noise_scale = check_number("noise_scale", noise_scale, at_least=0)
        n = similarity.shape[-1]
        self.constraints = None if constraints is None else constraints.over(n)
        groups = n if self.constraints is None else self.constraints.num_groups
        if isinstance(num_clusters, PartitionPrior):
            probs = num_clusters.log_prob_num_clusters(n).exp()
            self.num_clusters_probs = _up_to(groups, probs)
        else:
            k = check_count("num_clusters", num_clusters, at_most=n)
            if k > groups:
                raise ValueError(
                    f"num_clusters is {k}, expected at most {groups}: points that must be together leave no "
                    "more groups; ask for fewer clusters, or leave out pairs of must_link"
                )
            self.num_clusters_probs = torch.nn.functional.one_hot(torch.tensor(k - 1), n).double()
        super().__init__(n, batch_shape=similarity.shape[:-2], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "PerturbedSpanningForest":
        """Return the same law for a larger batch of data sets."""
        new = PerturbedSpanningForest.__new__(PerturbedSpanningForest)
        new.similarity = self.similarity.expand(*batch_shape, *self.similarity.shape[-2:])
        new.noise_scale, new.num_clusters_probs = self.noise_scale, self.num_clusters_probs
        new.constraints = self.constraints
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
        stands in the matrix twice. With constraints it is that of the mean over this noise as well, exactly;
        where the greedy forest is not the heaviest of all, the weight of a draw may jump as the similarity
        changes, and jumps have no gradient.

        Args:
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.
        """
        noise = self._noise(num_draws, seed=seed)
        found = [Maximum.apply(matrix, noise) for matrix in self._matrices()]
        return torch.stack(found).view(self.batch_shape)

    def fenchel_young_loss(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        r"""Return how much weight it costs to keep what is known, ``(*batch)``, at least 0.

        .. math:: L(S) = E \big[ F_{k'}(S + \epsilon Z) - F_k(S + \epsilon Z; C) \big], \qquad
            \nabla L = A_{k', \epsilon}(S) - A_{k, \epsilon}(S; C)

        with the same noise in both, and k' the number of components that the forest with constraints has: it
        is k, or more where k cannot be reached; forests of the same number of edges are compared. A draw
        whose free forest has what is known adds nothing to loss and gradient. Without constraints it is 0.

        Args:
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.

        Example:
            >>> near = -torch.cdist(torch.eye(4), torch.eye(4)).square().requires_grad_()
            >>> known = Constraints.of(4, must_link=[(0, 1)], cannot_link=[(0, 2)])
            >>> forest = PerturbedSpanningForest(near, 2, noise_scale=0.5, constraints=known)
            >>> loss = forest.fenchel_young_loss(seed=0)
            >>> gradient, = torch.autograd.grad(loss, near)
            >>> loss > 0, gradient[0, 1] < 0, gradient[0, 2] > 0
            (tensor(True), tensor(True), tensor(True))

        References:
            Stewart et al. (2023), Differentiable clustering with perturbed spanning forests, section 4.
            https://arxiv.org/abs/2305.16358
        """
        noise = self._noise(num_draws, seed=seed)
        if noise.constraints is None:
            noise = replace(noise, constraints=Constraints.of(self.num_points))
        found = [Regret.apply(matrix, noise) for matrix in self._matrices()]
        return torch.stack(found).view(self.batch_shape)

    def partial_losses(self, labels: Tensor, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        """Return :meth:`fenchel_young_loss` of every data set under what its own labels imply.

        Without a seed every data set has noise of its own. Instead of more components than there are groups,
        as many as these are asked for.

        Args:
            labels: of known classes; negative where the class of a point is unknown.
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.

        Shape:
            labels: ``(*batch, n)`` integers; output: ``(*batch)``.

        Raises:
            ValueError: if the labels have another shape.

        Example:
            >>> points = torch.tensor([[[0.0], [0.1], [5.0]], [[0.0], [5.0], [5.1]]])
            >>> forest = PerturbedSpanningForest(-torch.cdist(points, points), 2, noise_scale=0.0)
            >>> forest.partial_losses(torch.tensor([[3, 3, -1], [3, 3, 1]]), num_draws=2)
            tensor([0.0000, 4.9000])
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

    def _of(self, similarity: Tensor, constraints: Constraints) -> "PerturbedSpanningForest":
        """Return the law for one data set, with at most as many components asked for as there are groups."""
        new = PerturbedSpanningForest.__new__(PerturbedSpanningForest)
        new.similarity, new.noise_scale, new.constraints = similarity, self.noise_scale, constraints
        PartitionDistribution.__init__(new, self.num_points, validate_args=self._validate_args)
        new.num_clusters_probs = _up_to(constraints.num_groups, self.num_clusters_probs)
        return new

    def excess_rate(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        """Return the share of draws that have more components than asked for, ``(*batch)``.

        It is 0 without constraints, and where labels of at most k classes are all that is known: a point of
        no label can always join another component.

        Args:
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.

        Example:
            >>> known = Constraints.of(4, cannot_link=[(0, 1), (1, 2), (0, 2)])
            >>> PerturbedSpanningForest(torch.zeros(4, 4), 2, constraints=known).excess_rate()
            tensor(1.)
        """
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

        Args:
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.
        """
        return self._mean(EDGES, num_draws, seed)

    def co_assignment(self, *, num_draws: int = 1000, seed: int | None = None) -> Tensor:
        """Return how often each pair is in one component, ``(*batch, n, n)``, with 1 on the diagonal.

        Its gradient is estimated as that of :meth:`mean_adjacency`.

        Args:
            num_draws: draws of noise, in pairs of opposite signs.
            seed: of the noise; torch's generator decides without one.
        """
        return self._mean(PAIRS, num_draws, seed) + torch.eye(self.num_points, dtype=self.similarity.dtype)

    def _mean(self, statistic: "Statistic", num_draws: int, seed: int | None) -> Tensor:
        noise = self._noise(num_draws, seed=seed)
        found = [Mean.apply(matrix, noise, statistic) for matrix in self._matrices()]
        return torch.stack(found).view(self.similarity.shape)

    def _matrices(self) -> tuple[Tensor, ...]:
        return self.similarity.reshape(-1, self.num_points, self.num_points).unbind()

    def _noise(self, num_draws: int, *, paired: bool = True, seed: int | None = None) -> "Noise":
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
