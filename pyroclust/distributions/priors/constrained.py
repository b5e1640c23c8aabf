"""A partition prior given that constraints hold."""

from typing import Any

import torch
from torch import Size, Tensor

from pyroclust.constraints import Constraints
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.partitions import canonical

__all__ = ["ConstrainedPartition", "check_enough_clusters"]

# Allowed partitions of the bound groups that are listed.
_MOST_LISTED = 1 << 18


def check_enough_clusters(prior: PartitionPrior, constraints: Constraints) -> None:
    """Refuse constraints for which a prior may have too few clusters.

    With D the largest number of groups that one is apart from, D + 1 clusters are always enough.

    Raises:
        ValueError: if partitions cannot have as many.
    """
    needed = int(constraints.degrees.max()) + 1
    if prior.hyperpriors:
        return
    if bool((prior.log_v(constraints.num_points, torch.tensor(needed)) == -torch.inf).any()):
        raise ValueError(
            f"cannot_link or labels has a point that is apart from {needed - 1} others, and the prior allows "
            f"fewer than {needed} clusters: take a prior that allows more"
        )


class ConstrainedPartition(PartitionDistribution):
    r"""A prior of partitions, given that some points are together and others apart.

    .. math:: p(c \mid C) = \frac{p(c)}{\sum_{c' \in C} p(c')}, \qquad c \in C

    The partition of the points that something is known of has the prior's own law, with weights
    :math:`V_n(K) \prod_k w(n_k)`: its allowed values are listed once, whole groups at a time. A draw takes
    one of them and seats the other points after it, exactly.

    Cost: O(L G) for L allowed partitions of G bound groups, then O(N K) a draw.

    Args:
        prior: a prior with known hyperparameters, single numbers or batches.
        constraints: what is known.

    Raises:
        ValueError: if there are more than 262,144 allowed partitions of the bound groups.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantPrior
        >>> known = Constraints.of(3, cannot_link=[(0, 1)])
        >>> law = ConstrainedPartition(ChineseRestaurantPrior(1.0), known)
        >>> law.log_normaliser.exp()
        tensor(0.5000, dtype=torch.float64)
        >>> law.log_prob(torch.tensor([[0, 1, 0], [0, 1, 2], [0, 0, 1]])).exp()
        tensor([0.3333, 0.3333, 0.0000], dtype=torch.float64)
    """

    def __init__(
        self, prior: PartitionPrior, constraints: Constraints, *, validate_args: bool | None = None
    ) -> None:
        self.prior, self.constraints = prior, constraints
        self._labels = _allowed(constraints)
        sizes = torch.zeros(len(self._labels), int(self._labels.max()) + 1 if self._labels.numel() else 1)
        weight = constraints.sizes[constraints.bound].expand_as(self._labels)
        self._sizes = sizes.long().scatter_add(1, self._labels, weight)
        super().__init__(constraints.num_points, batch_shape=prior.batch_shape, validate_args=validate_args)
        self._log_joint = self._log_weights()
        self.log_normaliser: Tensor = self._log_joint.logsumexp(0)
        """log p(C) in nats, ``batch_shape`` float64."""

    def expand(self, batch_shape: Any, _instance: Any = None) -> "ConstrainedPartition":
        """Return the same law with a larger batch shape."""
        new = ConstrainedPartition.__new__(ConstrainedPartition)
        new.prior, new.constraints = self.prior, self.constraints
        new._labels, new._sizes = self._labels, self._sizes
        shape = Size(batch_shape)
        ones = (1,) * (len(shape) - len(self.batch_shape))
        own = self._log_joint.view(len(self._labels), *ones, *self.batch_shape)
        new._log_joint = own.expand(len(self._labels), *shape)
        new.log_normaliser = self.log_normaliser.expand(shape)
        PartitionDistribution.__init__(
            new, self.num_points, batch_shape=shape, validate_args=self._validate_args
        )
        return new

    def _log_weights(self) -> Tensor:
        """Return log p of each listed partition of the bound points, ``(L, *batch)``."""
        ones = (1,) * len(self.prior.batch_shape)
        sizes = self._sizes.view(len(self._sizes), *ones, -1)
        total, clusters = int(self._sizes[0].sum()), (sizes > 0).sum(-1)
        if not total:
            return torch.zeros(1, *self.prior.batch_shape, dtype=torch.float64)
        return self.prior.log_v(total, clusters) + self.prior.log_block_weight(sizes).sum(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        found = self.prior.log_prob(value) - self.log_normaliser
        return torch.where(self.constraints.allows(value), found, -torch.inf)

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)[:-1]
        rows, known = shape.numel(), self.constraints
        weights = self._log_joint.movedim(0, -1).expand(*shape, -1).reshape(rows, -1)
        chosen = torch.multinomial(weights.softmax(-1), 1).squeeze(-1)
        width = self._sizes.shape[-1]
        labels = torch.full((rows, self.num_points), -1)
        place = torch.full((known.num_groups,), -1)
        place[known.bound] = torch.arange(len(known.bound))
        points = known.bound_points
        labels[:, points] = self._labels[chosen][:, place[known.groups[points]]]
        counts = torch.zeros(rows, width + self.num_points - len(points), dtype=torch.float64)
        counts[:, :width] = self._sizes[chosen].double()
        self._seat(labels, counts, shape)
        return canonical(labels).view(*shape, self.num_points)

    def _seat(self, labels: Tensor, counts: Tensor, shape: Size) -> None:
        """Seat the points that are free one after the other."""
        prior, rows = self.prior, len(labels)
        discount = prior.block_discount.expand(shape).reshape(rows, 1)
        seated = len(self.constraints.bound_points)
        every = torch.arange(rows)
        for point in (labels[0] < 0).nonzero().squeeze(-1).tolist():
            clusters = (counts > 0).sum(-1)
            weights = torch.where(counts > 0, counts - discount, 0.0)
            if seated:
                opening = prior.log_opening_odds(seated, clusters.view(shape)).reshape(rows).exp()
                weights[every, clusters] = opening
            else:
                weights[:, 0] = 1.0
            label = torch.multinomial(weights, 1).squeeze(-1)
            labels[:, point] = label
            counts[every, label] += 1
            seated += 1


def _allowed(constraints: Constraints) -> Tensor:
    """List the allowed partitions of the bound groups, ``(L, G)``, numbered as they open."""
    bound = constraints.bound
    place = torch.full((constraints.num_groups,), -1)
    place[bound] = torch.arange(len(bound))
    # Those that are apart from many come first: the list stays short.
    order = bound[constraints.degrees[bound].argsort(descending=True, stable=True)].tolist()
    labels = torch.full((1, len(bound)), -1)
    clusters = torch.zeros(1, dtype=torch.int64)
    for group in order:
        rivals = place[constraints.neighbours(group)]
        candidates = torch.arange(int(clusters.max()) + 1)
        allowed = candidates <= clusters.unsqueeze(-1)
        allowed &= (labels[:, rivals].unsqueeze(-1) != candidates).all(1)
        row, chosen = allowed.nonzero(as_tuple=True)
        if len(row) > _MOST_LISTED:
            raise ValueError(
                f"constraints allow more than {_MOST_LISTED} partitions of the {len(bound)} groups that they "
                "name, expected fewer: their prior probability is a sum over all of these"
            )
        labels = labels[row]
        labels[:, place[group]] = chosen
        clusters = torch.maximum(clusters[row], chosen + 1)
    return labels
