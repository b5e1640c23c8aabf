"""A partition prior under constraints."""

from typing import ClassVar

import torch
from torch import Size, Tensor

from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.partitions import canonical
from pyroclust.partitions.constraints import Constraints

# Allowed partitions of the bound groups that are listed.
_MOST_LISTED = 1 << 18


def check_enough_clusters(prior: PartitionPrior, constraints: Constraints) -> None:
    """Refuse constraints for which a prior may have too few clusters."""
    needed = int(constraints.degrees.max()) + 1
    if prior.hyperpriors:
        return
    fewest, _ = constraints.clusters or (1, 1)
    if _has_fewer(prior, fewest, fewest):
        raise ValueError(
            f"clusters asks for at least {fewest}, and the prior allows fewer: take a prior that allows more"
        )
    if _has_fewer(prior, constraints.num_points, needed):
        raise ValueError(
            f"cannot_link or labels has a point that is apart from {needed - 1} others, and the prior allows "
            f"fewer than {needed} clusters: take a prior that allows more"
        )


def _has_fewer(prior: PartitionPrior, num_points: int, clusters: int) -> bool:
    """Return whether points cannot be in so many clusters."""
    return bool((prior.log_prob(torch.arange(num_points).clamp(max=clusters - 1)) == -torch.inf).any())


class ConstrainedPartition(PartitionDistribution):
    r"""A prior of partitions, given that some points are together, others apart, and how many clusters.

    .. math:: p(c \mid C) = \frac{p(c)}{\sum_{c' \in C} p(c')}, \qquad c \in C

    The allowed partitions of the points that constraints name are listed, whole groups at a time. A draw
    takes one of them and seats the other points after it, exactly, with the weights V of the partitions of N
    points inside of the bounds on the number of clusters. Cost: O(L G) for L allowed partitions of G bound
    groups, O(N K) for bounds, then O(N K) a draw.

    Args:
        prior: a prior with known hyperparameters, single numbers or batches.
        constraints: on the N points.

    Raises:
        ValueError: if there are more than 262,144 allowed partitions of the bound groups, or the number of
            clusters is bounded and that of points is not known.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantPrior
        >>> law = ConstrainedPartition(ChineseRestaurantPrior(1.0), Constraints.of(3, cannot_link=[(0, 1)]))
        >>> law.log_prob(torch.tensor([[0, 1, 0], [0, 1, 2], [0, 0, 1]])).exp()
        tensor([0.3333, 0.3333, 0.0000], dtype=torch.float64)
    """

    batched: ClassVar[dict[str, int]] = {"_log_joint": 1, "log_normaliser": 0}

    def __init__(
        self, prior: PartitionPrior, constraints: Constraints, *, validate_args: bool | None = None
    ) -> None:
        self.prior, self.constraints = prior, constraints
        if constraints.clusters is not None and constraints.is_open:
            raise ValueError(
                "constraints bound the clusters of all points, and more points may follow, expected how many "
                "there are: call constraints.over(num_points)"
            )
        self._labels = _allowed(constraints)
        sizes = torch.zeros(len(self._labels), int(self._labels.max()) + 1 if self._labels.numel() else 1)
        weight = constraints.sizes[constraints.bound].expand_as(self._labels)
        self._sizes = sizes.long().scatter_add(1, self._labels, weight)
        super().__init__(constraints.num_points, batch_shape=prior.batch_shape, validate_args=validate_args)
        self._log_v = _log_v_inside(prior, constraints, begin=int(self._sizes[0].sum()))
        log_joint = self._log_weights()
        self._log_joint = log_joint.movedim(0, -1)
        self.log_normaliser: Tensor = log_joint.logsumexp(0)
        """log p(C) in nats, ``batch_shape`` float64."""

    def _log_weights(self) -> Tensor:
        """Return log p of each listed partition of the bound points, ``(L, *batch)``."""
        ones = (1,) * len(self.prior.batch_shape)
        sizes = self._sizes.view(len(self._sizes), *ones, -1)
        total, clusters = int(self._sizes[0].sum()), (sizes > 0).sum(-1)
        of_blocks = self.prior.log_block_weight(sizes).sum(-1)
        if self._log_v is not None:
            return self._log_v[0][clusters.flatten()] + of_blocks
        if not total:
            return torch.zeros(1, *self.prior.batch_shape, dtype=torch.float64)
        return self.prior.log_v(total, clusters) + of_blocks

    def _log_prob(self, value: Tensor) -> Tensor:
        found = self.prior.log_prob(value) - self.log_normaliser
        return torch.where(self.constraints.allows(value), found, -torch.inf)

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)[:-1]
        rows, known = shape.numel(), self.constraints
        weights = self._log_joint.expand(*shape, -1).reshape(rows, -1)
        chosen = torch.multinomial(weights.softmax(-1), 1).squeeze(-1)
        width = self._sizes.shape[-1]
        labels = torch.full((rows, self.num_points), -1)
        points = known.bound_points
        labels[:, points] = self._labels[chosen][:, known.bound_tables[0][points]]
        counts = torch.zeros(rows, width + self.num_points - len(points), dtype=torch.float64)
        counts[:, :width] = self._sizes[chosen].double()
        self._seat(labels, counts, shape)
        return canonical(labels).view(*shape, self.num_points)

    def _inside(self, num_points: int, clusters: Tensor, shape: Size) -> tuple[Tensor, Tensor]:
        """Return the weights of so many points in so many clusters, and in one more, ``(rows,)``."""
        assert self._log_v is not None
        batch = self.prior.batch_shape
        table = self._log_v[num_points - len(self.constraints.bound_points)]
        table = table.view(len(table), *(1,) * (len(shape) - len(batch)), *batch).expand(-1, *shape)
        table = table.reshape(len(table), -1)
        stays, opens = (table.gather(0, one.unsqueeze(0)).squeeze(0) for one in (clusters, clusters + 1))
        return stays, opens

    def _seat(self, labels: Tensor, counts: Tensor, shape: Size) -> None:
        """Seat the points that are free one after the other."""
        prior, rows = self.prior, len(labels)
        discount = prior.block_discount.expand(shape).reshape(rows, 1)
        seated = len(self.constraints.bound_points)
        every = torch.arange(rows)
        for point in (labels[0] < 0).nonzero().squeeze(-1).tolist():
            clusters = (counts > 0).sum(-1)
            weights = torch.where(counts > 0, counts - discount, 0.0)
            if self._log_v is not None:
                stays, opens = self._inside(seated + 1, clusters, shape)
                weights *= (stays - torch.maximum(stays, opens)).exp().unsqueeze(1)
                weights[every, clusters] = (opens - torch.maximum(stays, opens)).exp()
            elif seated:
                opening = prior.log_opening_odds(seated, clusters.view(shape)).reshape(rows).exp()
                weights[every, clusters] = opening
            else:
                weights[:, 0] = 1.0
            label = torch.multinomial(weights, 1).squeeze(-1)
            labels[:, point] = label
            counts[every, label] += 1
            seated += 1


def _log_v_inside(prior: PartitionPrior, constraints: Constraints, *, begin: int) -> Tensor | None:
    r"""Return the weights of n points in K clusters that go on to an allowed number, ``(n, K, *batch)``.

    .. math:: G_N(K) = V_N(K) \, 1[K \text{ is allowed}], \qquad
        G_n(K) = (n - d K) \, G_{n+1}(K) + G_{n+1}(K + 1)
    """
    if constraints.clusters is None:
        return None
    num_points, (fewest, most) = constraints.num_points, constraints.clusters
    clusters = torch.arange(min(most, num_points) + 2).view(-1, *(1,) * len(prior.batch_shape))
    inside = (clusters >= fewest) & (clusters <= most)
    rows = [torch.where(inside, prior.log_v(num_points, clusters), -torch.inf)]
    for n in range(num_points - 1, begin - 1, -1):
        joins = (n - prior.block_discount * clusters).clamp(min=0).log()
        more = torch.cat([rows[-1][1:], torch.full_like(rows[-1][:1], -torch.inf)])
        rows.append(torch.logaddexp(joins + rows[-1], more))
    return torch.stack(rows[::-1])


def _allowed(constraints: Constraints) -> Tensor:
    """List the allowed partitions of the bound groups, ``(L, G)``, numbered as they open."""
    bound, place = constraints.bound, constraints.bound_tables[0][constraints.first]
    # Those that are apart from many come first: the list stays short.
    order = bound[constraints.degrees[bound].argsort(descending=True, stable=True)].tolist()
    labels = torch.full((1, len(bound)), -1)
    clusters = torch.zeros(1, dtype=torch.int64)
    _, most = constraints.clusters or (1, constraints.num_groups)
    for group in order:
        rivals = place[constraints.neighbours(group)]
        candidates = torch.arange(min(int(clusters.max()) + 1, most))
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
