"""Partitions as canonical label vectors: labels, enumeration, constraint."""

from functools import lru_cache
from typing import NoReturn

import torch
from torch import Tensor
from torch.distributions import constraints

from pyroclust.core.numbers import check_count

MAX_ENUMERATED_POINTS = 10
_MAX_COUNTED_POINTS = 10_000


def canonical(assignments: Tensor) -> Tensor:
    """Renumber clusters by first appearance, so that equal partitions have equal labels, in O(N log N).

    Shape:
        assignments: ``(..., N)`` integers; output: ``(..., N)`` int64.

    Raises:
        ValueError: if ``assignments`` has no points or is not of an integer type.

    Example:
        >>> canonical(torch.tensor([7, 7, 2, 7, 0])).tolist()
        [0, 0, 1, 0, 2]
    """
    check_label_vectors("assignments", assignments)
    if assignments.is_floating_point():
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

    Labels of a floating-point type, as Pyro's MCMC stores them, have to be whole numbers.

    Shape:
        assignments: ``(..., N)``; output: ``(...)`` bool. Cost O(N).

    Raises:
        ValueError: if ``assignments`` has no points or holds no real numbers.

    Example:
        >>> is_canonical(torch.tensor([[0, 1, 0], [0, 2, 1]])).tolist()
        [True, False]
    """
    check_label_vectors("assignments", assignments)
    # One more than the largest label of a short type is a negative number.
    labels = assignments if assignments.is_floating_point() else assignments.long()
    running = labels.cummax(-1).values
    steps = (labels[..., 1:] <= running[..., :-1] + 1).all(-1)
    canonical = steps & (labels >= 0).all(-1) & (labels[..., 0] == 0)
    return canonical & (labels.round() == labels).all(-1) if labels.is_floating_point() else canonical


def as_partitions(name: str, assignments: Tensor, *, num_points: int | None = None) -> Tensor:
    """Return canonical label vectors of any type as int64, and refuse all others."""
    if num_points is not None:
        check_num_points(name, assignments, num_points)
    check_label_vectors(name, assignments)
    if not bool(is_canonical(assignments).all()):
        raise ValueError(
            f"{name} holds label vectors that are not canonical, expected clusters numbered 0, 1, 2, ... in "
            "order of first appearance; call pyroclust.partitions.canonical on it first"
        )
    return assignments.long()


def check_num_points(name: str, assignments: Tensor, num_points: int) -> None:
    """Refuse what are not label vectors of so many points, whatever the labels."""
    if not isinstance(assignments, Tensor) or assignments.shape[-1:] != (num_points,):
        _refuse_shape(name, assignments, num_points)


def check_label_vectors(name: str, assignments: Tensor) -> None:
    """Refuse what is no dense tensor of real numbers with points."""
    if not isinstance(assignments, Tensor) or assignments.dim() == 0 or assignments.shape[-1] == 0:
        _refuse_shape(name, assignments, None)
    if assignments.is_complex() or assignments.layout != torch.strided:
        raise ValueError(
            f"{name} is a tensor of {assignments.dtype} and layout {assignments.layout}, expected a dense "
            "one of integers, the labels of clusters"
        )


def _refuse_shape(name: str, assignments: Tensor, num_points: int | None) -> NoReturn:
    if not isinstance(assignments, Tensor):
        raise ValueError(
            f"{name} is of type {type(assignments).__name__}, expected a tensor of labels; "
            "call torch.as_tensor on it first"
        )
    wanted = "(..., N) with at least one point" if num_points is None else f"(..., {num_points})"
    raise ValueError(f"{name} has shape {tuple(assignments.shape)}, expected {wanted}")


def num_clusters(assignments: Tensor) -> Tensor:
    """Count the clusters of canonical label vectors, ``(..., N) -> (...)`` int64.

    Raises:
        ValueError: if a vector is not canonical.

    Example:
        >>> num_clusters(torch.tensor([0, 0, 1, 2])).item()
        3
    """
    return label_range(as_partitions("assignments", assignments))


def label_range(assignments: Tensor) -> Tensor:
    """Return one more than the largest label of each vector: the clusters, where they are canonical."""
    return assignments.amax(-1).long() + 1


def most_clusters(assignments: Tensor) -> int:
    """Return the largest number of clusters among canonical label vectors, 0 where there are none."""
    return int(assignments.max()) + 1 if assignments.numel() else 0


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
    """List every partition of ``num_points`` points once, as canonical label vectors, in lexicographic order.

    There are Bell(N) rows: Bell(8) = 4140, Bell(10) = 115975.

    Shape:
        output: ``(Bell(N), N)`` int64, a fresh copy.

    Raises:
        ValueError: if ``num_points`` is not between 1 and 10.

    Example:
        >>> enumerate_partitions(3).tolist()
        [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    grows = "the number of partitions grows faster than exponentially; use MCMC for more points"
    num_points = check_count("num_points", num_points, at_most=MAX_ENUMERATED_POINTS, hint=grows)
    return _enumerated(num_points).clone()


def bell_number(num_points: int) -> int:
    """Count the partitions of ``num_points`` points by the Bell triangle, in O(N^2).

    Raises:
        ValueError: if ``num_points`` is not a whole number from 0 to 10,000.

    Example:
        >>> [bell_number(n) for n in (1, 2, 3, 8)]
        [1, 2, 5, 4140]
    """
    num_points = check_count(
        "num_points", num_points, at_least=0, at_most=_MAX_COUNTED_POINTS, hint="larger ones take minutes"
    )
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
        return is_canonical(value)


partition = PartitionConstraint()
