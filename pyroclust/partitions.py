"""Partitions as canonical label vectors: labels, enumeration, constraint."""

from functools import lru_cache

import torch
from torch import Tensor
from torch.distributions import constraints

__all__ = [
    "MAX_ENUMERATED_POINTS",
    "PartitionConstraint",
    "bell_number",
    "canonical",
    "enumerate_partitions",
    "is_canonical",
    "num_clusters",
    "partition",
]

MAX_ENUMERATED_POINTS = 10


def canonical(assignments: Tensor) -> Tensor:
    """Renumber clusters by first appearance.

    Two label vectors describe the same partition exactly when their canonical forms are equal.
    Cost: one sort per label vector, O(N log N); memory O(N).

    Shape:
        assignments: ``(..., N)`` integers; output: ``(..., N)`` int64.

    Raises:
        ValueError: if ``assignments`` has no points or is not of an integer type.

    Example:
        >>> canonical(torch.tensor([7, 7, 2, 7, 0])).tolist()
        [0, 0, 1, 0, 2]
    """
    if assignments.dim() == 0 or assignments.shape[-1] == 0:
        raise ValueError(
            f"assignments has shape {tuple(assignments.shape)}, expected (..., N) with at least one point"
        )
    if assignments.is_floating_point() or assignments.is_complex():
        raise ValueError(
            f"assignments has dtype {assignments.dtype}, expected integers; cast it with .long() first"
        )
    labels = assignments.long()
    ranked, order = labels.sort(dim=-1, stable=True)
    starts = torch.ones_like(ranked, dtype=torch.bool)
    starts[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    position = torch.arange(labels.shape[-1], device=labels.device).expand_as(labels)
    # Within a block of equal labels the stable sort puts the first appearance first.
    segment_start = torch.where(starts, position, 0).cummax(-1).values
    first = order.gather(-1, segment_start)
    first_of_point = torch.empty_like(labels).scatter_(-1, order, first)
    rank = (first_of_point == position).long().cumsum(-1) - 1
    return rank.gather(-1, first_of_point)


def is_canonical(assignments: Tensor) -> Tensor:
    """Say whether label vectors start at 0 and never exceed the running maximum by more than one.

    Shape:
        assignments: ``(..., N)``; output: ``(...)`` bool. Cost O(N).

    Example:
        >>> is_canonical(torch.tensor([[0, 1, 0], [0, 2, 1]])).tolist()
        [True, False]
    """
    running = assignments.cummax(-1).values
    steps = (assignments[..., 1:] <= running[..., :-1] + 1).all(-1)
    return steps & (assignments >= 0).all(-1) & (assignments[..., 0] == 0)


def num_clusters(assignments: Tensor) -> Tensor:
    """Count the clusters of canonical label vectors.

    Shape:
        assignments: ``(..., N)``; output: ``(...)`` int64. Cost O(N).

    Example:
        >>> num_clusters(torch.tensor([0, 0, 1, 2])).item()
        3
    """
    return assignments.amax(-1) + 1


@lru_cache(maxsize=MAX_ENUMERATED_POINTS)
def _enumerated(num_points: int) -> Tensor:
    labels = torch.zeros(1, 1, dtype=torch.int64)
    for _ in range(num_points - 1):
        children = labels.amax(-1) + 2
        parents = labels.repeat_interleave(children, dim=0)
        offsets = children.cumsum(0) - children
        child = torch.arange(len(parents)) - offsets.repeat_interleave(children)
        labels = torch.cat([parents, child.unsqueeze(-1)], -1)
    return labels


def enumerate_partitions(num_points: int) -> Tensor:
    """List every partition of ``num_points`` points once, as canonical label vectors.

    The list grows by one vectorised step per point and is cached; there are Bell(N) rows:
    Bell(8) = 4140, Bell(10) = 115975. Cost and memory O(N Bell(N)).

    Shape:
        output: ``(Bell(N), N)`` int64, in lexicographic order; a fresh copy.

    Raises:
        ValueError: if ``num_points`` is not between 1 and 10.

    Example:
        >>> enumerate_partitions(3).tolist()
        [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    if not 1 <= num_points <= MAX_ENUMERATED_POINTS:
        raise ValueError(
            f"num_points is {num_points}, expected 1 to {MAX_ENUMERATED_POINTS}: "
            "the number of partitions grows faster than exponentially; use MCMC for more points"
        )
    return _enumerated(num_points).clone()


def bell_number(num_points: int) -> int:
    """Count the partitions of ``num_points`` points by the Bell triangle, in O(N^2).

    Example:
        >>> [bell_number(n) for n in (1, 2, 3, 8)]
        [1, 2, 5, 4140]
    """
    row = [1]
    for _ in range(num_points - 1):
        following = [row[-1]]
        for value in row:
            following.append(following[-1] + value)
        row = following
    return row[-1]


class PartitionConstraint(constraints.Constraint):
    """Canonical label vectors: ``z[0] = 0`` and ``z[i] <= max(z[:i]) + 1``."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return for each label vector whether it is a canonical integer vector."""
        integral = (
            value.round() == value if value.is_floating_point() else torch.ones_like(value, dtype=torch.bool)
        )
        return is_canonical(value) & integral.all(-1)


partition = PartitionConstraint()
