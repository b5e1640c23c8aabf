"""What a user knows of a partition: points that belong together, and points that do not."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy
import torch
from torch import Tensor

from pyroclust.counts import check_count
from pyroclust.partitions import canonical

__all__ = ["Constraints", "Pairs"]

Pairs: TypeAlias = Tensor | np.ndarray | Sequence[Sequence[int]]
"""Pairs of points, ``(P, 2)``, counted from 0."""

# Offending pairs that an error spells out.
_SPELLED = 3


@dataclass(frozen=True, eq=False)
class Constraints:
    r"""Pairs of points that are in one cluster, and pairs that are not.

    Pairs that must be together make groups: the components of the graph that they form. Groups are apart
    where a pair of their points must be. A partition is allowed if no group is divided and no two groups that
    are apart share a cluster.

    Make one by :meth:`of`. Memory O(N + P) for P pairs.

    Attributes:
        groups: the group of each point, canonical, ``(N,)`` int64; most points are a group of their own.
        apart: pairs of groups that are apart, the smaller first, each once and in order, ``(P, 2)`` int64.
        is_open: whether more points may follow, of which nothing is known.

    Example:
        >>> known = Constraints.of(5, must_link=[(0, 1), (1, 4)], cannot_link=[(0, 3)])
        >>> known
        Constraints(5 points, 3 in 1 group, 1 pair apart)
        >>> known.allows(torch.tensor([[0, 0, 1, 1, 0], [0, 0, 1, 0, 0], [0, 1, 2, 3, 1]]))
        tensor([ True, False, False])
    """

    groups: Tensor
    apart: Tensor
    is_open: bool = False

    @classmethod
    def of(
        cls,
        num_points: int | None = None,
        *,
        must_link: Pairs | None = None,
        cannot_link: Pairs | None = None,
        labels: Tensor | np.ndarray | Sequence[int] | None = None,
    ) -> "Constraints":
        """Close what is known under "together with", and check that it does not contradict itself.

        Args:
            num_points: N; None where labels tell it, or where more points than those in pairs may follow.
            must_link: pairs of points that are in one cluster.
            cannot_link: pairs of points that are in different clusters.
            labels: ``(N,)`` integers, negative where nothing is known: points of equal labels are together,
                points of different labels apart.

        Raises:
            ValueError: if there are no such points, a point is apart from itself, or points that must be
                together must also be apart; the pairs are named.

        Example:
            >>> Constraints.of(3, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
            Traceback (most recent call last):
            ValueError: cannot_link has the pair (0, 2), and these points must be together by (0, 1)...
        """
        is_open = num_points is None and labels is None
        numbers = None if labels is None else _numbers_of(labels, num_points)
        if num_points is None:
            num_points = _least_points(must_link, cannot_link) if numbers is None else len(numbers)
        num_points = check_count("num_points", num_points)
        linked = _pairs("must_link", must_link, num_points)
        severed = _pairs("cannot_link", cannot_link, num_points)
        same = severed[:, 0] == severed[:, 1]
        if same.any():
            point = int(severed[same][0, 0])
            raise ValueError(f"cannot_link has the pair ({point}, {point}), expected two different points")
        first_of, own = _first_of_label(numbers)
        if own is not None:
            known = np.flatnonzero(own >= 0)
            linked = np.concatenate([linked, np.stack([first_of[own[known]], known], -1)])
        graph = _graph(linked, num_points)
        _, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
        groups = canonical(torch.from_numpy(component.astype(np.int64)))
        pairs = groups[torch.from_numpy(severed)]
        _refuse_contradictions(severed[(pairs[:, 0] == pairs[:, 1]).numpy()], graph)
        if own is not None:
            pairs = torch.cat([pairs, _apart_by_label(groups, first_of, graph)])
        apart = pairs.sort(-1).values.unique(dim=0) if len(pairs) else pairs
        return cls(groups, apart, is_open)

    def __repr__(self) -> str:
        """Return the sizes."""
        sizes = self.sizes
        larger, pairs = int((sizes > 1).sum()), len(self.apart)
        points = int(sizes[sizes > 1].sum())
        return (
            f"Constraints({self.num_points} points, {points} in {larger} group{'s' * (larger != 1)}, "
            f"{pairs} pair{'s' * (pairs != 1)} apart)"
        )

    def __eq__(self, other: object) -> bool:
        """Two are the same if they allow the same partitions of the points that they name."""
        if not isinstance(other, Constraints):
            return NotImplemented
        return torch.equal(self.groups, other.groups) and torch.equal(self.apart, other.apart)

    def __hash__(self) -> int:
        """Hash the groups."""
        return hash(tuple(self.groups.tolist()))

    @property
    def num_points(self) -> int:
        """N."""
        return len(self.groups)

    @property
    def num_groups(self) -> int:
        """G, points that are free counted as a group each."""
        return int(self.groups.max()) + 1

    @cached_property
    def sizes(self) -> Tensor:
        """Points of each group, ``(G,)`` int64."""
        return torch.bincount(self.groups)

    @cached_property
    def first(self) -> Tensor:
        """The first point of each group, ``(G,)`` int64, ascending."""
        place = torch.arange(self.num_points)
        return torch.full((self.num_groups,), self.num_points).scatter_reduce(0, self.groups, place, "amin")

    @cached_property
    def degrees(self) -> Tensor:
        """From how many groups each group is apart, ``(G,)`` int64."""
        return torch.bincount(self.apart.flatten(), minlength=self.num_groups)

    @cached_property
    def bound(self) -> Tensor:
        """The groups of more than one point or apart from another, ascending, ``(B,)`` int64."""
        return ((self.sizes > 1) | (self.degrees > 0)).nonzero().squeeze(-1)

    @property
    def bound_points(self) -> Tensor:
        """The points that something is known of, ascending, ``(M,)`` int64."""
        return torch.isin(self.groups, self.bound).nonzero().squeeze(-1)

    def over(self, num_points: int) -> "Constraints":
        """Return what is known of a data set of so many points.

        Raises:
            ValueError: if that is another number of points, and no more may follow.
        """
        more = num_points - self.num_points
        if more < 0 or (more > 0 and not self.is_open):
            least = "at least " if self.is_open else ""
            raise ValueError(
                f"data has {num_points} points, and the constraints name points of a data set of {least}"
                f"{self.num_points}: they belong to one data set"
            )
        if not self.is_open:
            return self
        new = self.num_groups + torch.arange(more)
        return Constraints(torch.cat([self.groups, new]), self.apart)

    def joined(self, other: "Constraints") -> "Constraints":
        """Return all that two say together.

        Raises:
            ValueError: if they contradict one another, or name points of other data sets.
        """
        num_points = max(self.num_points, other.num_points)
        both = self.over(num_points), other.over(num_points)
        place = torch.arange(num_points)
        found = Constraints.of(
            num_points,
            must_link=torch.cat([torch.stack([one.first[one.groups], place], -1) for one in both]),
            cannot_link=torch.cat([one.first[one.apart] for one in both]),
        )
        return Constraints(found.groups, found.apart, self.is_open and other.is_open)

    def of_bound(self) -> tuple[Tensor, Tensor]:
        """Return the place of each point's group among those that are bound, and which of these are apart.

        Shape:
            output: ``(N,)`` int64, -1 for free points; and ``(B, B)`` bool, with B at least 1.
        """
        place = torch.full((self.num_groups,), -1)
        place[self.bound] = torch.arange(len(self.bound))
        width = max(1, len(self.bound))
        apart = torch.zeros(width, width, dtype=torch.bool)
        first, second = place[self.apart].unbind(-1)
        apart[first, second] = apart[second, first] = True
        return place[self.groups], apart

    def allows(self, assignments: Tensor) -> Tensor:
        """Say which partitions have all that is known, O(N + P) each.

        Shape:
            assignments: ``(..., N)`` labels; output: ``(...)`` bool.

        Raises:
            ValueError: if they are partitions of another number of points.
        """
        if assignments.shape[-1] != self.num_points:
            return self.over(assignments.shape[-1]).allows(assignments)
        of_group = assignments[..., self.first]
        together = (assignments == of_group[..., self.groups]).all(-1)
        return together & (of_group[..., self.apart[:, 0]] != of_group[..., self.apart[:, 1]]).all(-1)

    def repaired(self, assignments: Tensor) -> Tensor:
        """Return allowed partitions that are near given ones.

        Every group takes the label of its first point. One that is apart from a group before it in the same
        cluster moves to the first label that is free of such groups: at most D + 1 labels are needed, with D
        the largest number of groups that one is apart from. Cost O(N + B D) a partition.

        Shape:
            assignments: ``(..., N)`` labels; output: ``(..., N)`` int64, canonical.

        Example:
            >>> known = Constraints.of(4, must_link=[(0, 1)], cannot_link=[(1, 2)])
            >>> known.repaired(torch.tensor([[0, 1, 0, 0], [0, 0, 1, 1]])).tolist()
            [[0, 0, 1, 0], [0, 0, 1, 1]]
        """
        if assignments.shape[-1] != self.num_points:
            return self.over(assignments.shape[-1]).repaired(assignments)
        of_group = canonical(assignments)[..., self.first]
        for group in (self.degrees > 0).nonzero().squeeze(-1).tolist():
            before = self.neighbours(group)
            before = before[before < group]
            taken, own = of_group[..., before], of_group[..., group]
            candidates = torch.arange(len(before) + 1)
            free = (taken.unsqueeze(-1) != candidates).all(-2)
            clash = (taken == own.unsqueeze(-1)).any(-1)
            of_group[..., group] = torch.where(clash, free.int().argmax(-1), own)
        return canonical(of_group[..., self.groups])

    def neighbours(self, group: int) -> Tensor:
        """Return the groups that one is apart from, ascending."""
        begin, found = self._neighbours
        return found[begin[group] : begin[group + 1]]

    @cached_property
    def _neighbours(self) -> tuple[Tensor, Tensor]:
        both = torch.cat([self.apart, self.apart.flip(-1)])
        key = (both[:, 0] * self.num_groups + both[:, 1]).sort().values
        begin = torch.cat([torch.zeros(1, dtype=torch.int64), self.degrees.cumsum(0)])
        return begin, key % self.num_groups

    def on(self, points: Tensor) -> "Constraints":
        """Return what is known of some of the points, numbered as they come.

        Args:
            points: indices, ``(M,)``.
        """
        groups = self.groups[points]
        names, place = groups.unique(return_inverse=True)
        kept = torch.isin(self.apart, names).all(-1)
        new = canonical(place)
        to_new = torch.empty(self.num_groups, dtype=torch.int64)
        to_new[groups] = new
        apart = to_new[self.apart[kept]].sort(-1).values
        return Constraints(new, apart.unique(dim=0) if len(apart) else apart)


def _least_points(*pairs: Any) -> int:
    sizes = [np.asarray(one) for one in pairs if one is not None]
    largest = [int(one.max()) for one in sizes if one.size and np.issubdtype(one.dtype, np.integer)]
    return max(largest, default=0) + 1


def _pairs(name: str, pairs: Any, num_points: int) -> np.ndarray:
    if pairs is None:
        return np.empty((0, 2), np.int64)
    try:
        found = np.asarray(pairs)
    except ValueError:
        found = np.empty(0, dtype=object)
    if not found.size:
        return np.empty((0, 2), np.int64)
    if found.ndim != 2 or found.shape[1] != 2 or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"{name} has shape {found.shape} and type {found.dtype}, expected pairs of points, (P, 2) "
            "integers"
        )
    outside = ((found < 0) | (found >= num_points)).any(-1)
    if outside.any():
        pair = tuple(found[outside][0].tolist())
        raise ValueError(
            f"{name} has the pair {pair}, expected points from 0 to {num_points - 1}: they count from 0"
        )
    return found.astype(np.int64)


def _numbers_of(labels: Any, num_points: int | None) -> np.ndarray:
    try:
        found = np.asarray(labels)
    except (TypeError, ValueError, RuntimeError):
        found = np.empty((), dtype=object)
    fits = found.ndim == 1 and len(found) > 0 and num_points in (None, len(found))
    if not fits or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"labels has shape {found.shape} and type {found.dtype}, expected "
            f"({'N' if num_points is None else num_points},) integers, negative where nothing is known"
        )
    return found


def _first_of_label(found: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the first point of each label, and labels that count from 0, negative where unknown."""
    if found is None:
        return np.empty(0, np.int64), None
    known = found >= 0
    own = np.full(len(found), -1)
    _, first, own[known] = np.unique(found[known], return_index=True, return_inverse=True)
    return np.flatnonzero(known)[first], own


def _graph(pairs: np.ndarray, num_points: int) -> "scipy.sparse.csr_array":
    ones = np.ones(len(pairs), np.int32)
    return scipy.sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(num_points, num_points))


def _apart_by_label(groups: Tensor, first_of: np.ndarray, graph: "scipy.sparse.csr_array") -> Tensor:
    """Return the groups of all pairs of labels, which have to differ."""
    of_label = groups[torch.from_numpy(first_of)].numpy()
    if len(np.unique(of_label)) < len(of_label):
        _, where = np.unique(of_label, return_inverse=True)
        twice = np.flatnonzero(np.bincount(where)[where] > 1)
        one, other = (int(first_of[place]) for place in twice[where[twice] == where[twice[0]]][:2])
        raise ValueError(
            f"labels has different labels for {one} and {other}, and these points must be together by "
            f"{_path(graph, one, other)}: leave one of them out"
        )
    return torch.from_numpy(of_label[np.stack(np.triu_indices(len(of_label), 1), -1)])


def _refuse_contradictions(pairs: np.ndarray, graph: "scipy.sparse.csr_array") -> None:
    if len(pairs):
        one, other = pairs[0].tolist()
        more = f" (and {len(pairs) - 1} more pairs)" if len(pairs) > 1 else ""
        raise ValueError(
            f"cannot_link has the pair ({one}, {other}){more}, and these points must be together by "
            f"{_path(graph, one, other)}: leave one of them out"
        )


def _path(graph: "scipy.sparse.csr_array", one: int, other: int) -> str:
    """Spell the shortest chain of pairs between two points."""
    _, before = scipy.sparse.csgraph.breadth_first_order(graph, one, directed=False)
    spelled: list[str] = []
    while other != one:
        nearer = int(before[other])
        spelled.append(f"({min(nearer, other)}, {max(nearer, other)})")
        other = nearer
    spelled.reverse()
    if len(spelled) > 2 * _SPELLED:
        spelled[_SPELLED:-_SPELLED] = ["..."]
    return ", ".join(spelled)
