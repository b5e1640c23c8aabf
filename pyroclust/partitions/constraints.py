"""Constraints on a partition: points that belong together, points that do not, how many clusters."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy
import torch
from torch import Tensor

from pyroclust.core.messages import range_in_words
from pyroclust.core.numbers import check_count, check_range
from pyroclust.partitions import canonical

__all__ = ["Constraints", "Pairs"]

Pairs: TypeAlias = Tensor | np.ndarray | Sequence[Sequence[int]]
"""Pairs of points, ``(P, 2)``, counted from 0."""

# Offending pairs that an error spells out.
_SPELLED = 3


@dataclass(frozen=True, eq=False)
class Constraints:
    """Pairs of points that are in one cluster, pairs that are not, and between which numbers of clusters.

    Pairs that must be together make groups: the components of the graph that they form. A partition is
    allowed if no group is divided, no two groups that are apart share a cluster, and it has as many clusters
    as it may. Make one by :meth:`of`. Memory O(N + P) for P pairs.

    Attributes:
        groups: the group of each point, canonical, ``(N,)`` int64; most points are a group of their own.
        apart: pairs of groups that are apart, the smaller first, each once and in order, ``(P, 2)`` int64.
        is_open: whether more points may follow, of which nothing is known.
        clusters: the fewest and the most clusters that all points may have; None for any number.

    Example:
        >>> known = Constraints.of(5, must_link=[(0, 1), (1, 4)], cannot_link=[(0, 3)])
        >>> known.allows(torch.tensor([[0, 0, 1, 1, 0], [0, 0, 1, 0, 0], [0, 1, 2, 3, 1]]))
        tensor([ True, False, False])
    """

    groups: Tensor
    apart: Tensor
    is_open: bool = False
    clusters: tuple[int, int] | None = None

    @classmethod
    def of(
        cls,
        num_points: int | None = None,
        *,
        must_link: Pairs | None = None,
        cannot_link: Pairs | None = None,
        labels: Tensor | np.ndarray | Sequence[int] | None = None,
        clusters: int | tuple[int, int] | None = None,
    ) -> "Constraints":
        """Close constraints under "together with", and check that they do not contradict one another.

        Args:
            num_points: N; None where labels tell it, or where more points than those in pairs may follow.
            must_link: pairs of points that are in one cluster.
            cannot_link: pairs of points that are in different clusters.
            labels: ``(N,)`` integers, negative where nothing is known: points of equal labels are together,
                points of different labels apart.
            clusters: how many clusters there are, a number or ``(fewest, most)``.

        Raises:
            ValueError: if there are no such points, a point is apart from itself, points that must be
                together must also be apart, the pairs being named, or there cannot be so many clusters.
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
        limits = None if clusters is None else check_range("clusters", clusters)
        return cls(groups, apart, is_open, limits)._possible()

    def __repr__(self) -> str:
        sizes = self.sizes
        larger, pairs = int((sizes > 1).sum()), len(self.apart)
        points = int(sizes[sizes > 1].sum())
        limits = "" if self.clusters is None else f", {range_in_words(self.clusters)}"
        return (
            f"Constraints({self.num_points} points, {points} in {larger} group{'s' * (larger != 1)}, "
            f"{pairs} pair{'s' * (pairs != 1)} apart{limits})"
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Constraints)
            and torch.equal(self.groups, other.groups)
            and torch.equal(self.apart, other.apart)
            and self.clusters == other.clusters
        )

    def __hash__(self) -> int:
        return hash(tuple(self.groups.tolist()))

    @property
    def num_points(self) -> int:
        """N."""
        return len(self.groups)

    @property
    def of_points(self) -> "Constraints | None":
        """Those on points, without the number of clusters; None where there are none."""
        return replace(self, clusters=None) if len(self.bound) else None

    @property
    def has_one_number(self) -> bool:
        """Whether the number of clusters is known."""
        return self.clusters is not None and self.clusters[0] == self.clusters[1]

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
        """The points that constraints name, ascending, ``(M,)`` int64."""
        return torch.isin(self.groups, self.bound).nonzero().squeeze(-1)

    def over(self, num_points: int) -> "Constraints":
        """Return the constraints on a data set of so many points.

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
        return Constraints(torch.cat([self.groups, new]), self.apart, clusters=self.clusters)._possible()

    def joined(self, other: "Constraints") -> "Constraints":
        """Return the constraints of both.

        Raises:
            ValueError: if they contradict one another, or name points of other data sets.
        """
        num_points = max(self.num_points, other.num_points)
        both = [replace(one, clusters=None).over(num_points) for one in (self, other)]
        place = torch.arange(num_points)
        found = Constraints.of(
            num_points,
            must_link=torch.cat([torch.stack([one.first[one.groups], place], -1) for one in both]),
            cannot_link=torch.cat([one.first[one.apart] for one in both]),
        )
        is_open = self.is_open and other.is_open
        return Constraints(found.groups, found.apart, is_open, self._common(other))._possible()

    @cached_property
    def bound_tables(self) -> tuple[Tensor, Tensor]:
        """The place of each point's group among the bound ones, -1 for free points, and which are apart.

        Shape:
            output: ``(N,)`` int64, and ``(B, B)`` bool, with B at least 1.
        """
        place = torch.full((self.num_groups,), -1)
        place[self.bound] = torch.arange(len(self.bound))
        width = max(1, len(self.bound))
        apart = torch.zeros(width, width, dtype=torch.bool)
        first, second = place[self.apart].unbind(-1)
        apart[first, second] = apart[second, first] = True
        return place[self.groups], apart

    def allows(self, assignments: Tensor) -> Tensor:
        """Say which partitions keep all constraints, O(N + P) each, ``(..., N) -> (...)``."""
        if assignments.shape[-1] != self.num_points:
            return self.over(assignments.shape[-1]).allows(assignments)
        of_group = assignments[..., self.first]
        together = (assignments == of_group[..., self.groups]).all(-1)
        together &= self.is_inside(assignments)
        return together & (of_group[..., self.apart[:, 0]] != of_group[..., self.apart[:, 1]]).all(-1)

    def is_inside(self, assignments: Tensor) -> Tensor:
        """Say which partitions have as many clusters as they may, ``(..., N) -> (...)``."""
        if self.clusters is None:
            return torch.ones(assignments.shape[:-1], dtype=torch.bool, device=assignments.device)
        number = canonical(assignments).amax(-1) + 1
        return (number >= self.clusters[0]) & (number <= self.clusters[1])

    def repaired(self, assignments: Tensor) -> Tensor:
        """Return allowed partitions that are near given ones, ``(..., N)``, canonical.

        Every group takes the label of its first point; one that is apart from a group before it in the same
        cluster moves to the first label that is free. Where clusters are more than there may be, the smallest
        join the others; where they are fewer, the largest are halved. Cost O(N + B D), D the most groups that
        one is apart from.

        Example:
            >>> known = Constraints.of(4, must_link=[(0, 1)], cannot_link=[(1, 2)])
            >>> known.repaired(torch.tensor([[0, 1, 0, 0], [0, 0, 1, 1]])).tolist()
            [[0, 0, 1, 0], [0, 0, 1, 1]]
        """
        if assignments.shape[-1] != self.num_points:
            return self.over(assignments.shape[-1]).repaired(assignments)
        of_group = canonical(assignments)[..., self.first]
        if self.clusters is not None:
            rows = [self._brought_inside(row) for row in of_group.reshape(-1, self.num_groups).cpu().numpy()]
            inside = torch.from_numpy(np.stack(rows)).reshape(of_group.shape)
            return canonical(inside[..., self.groups])
        for group in (self.degrees > 0).nonzero().squeeze(-1).tolist():
            before = self.neighbours(group)
            before = before[before < group]
            taken, own = of_group[..., before], of_group[..., group]
            candidates = torch.arange(len(before) + 1)
            free = (taken.unsqueeze(-1) != candidates).all(-2)
            clash = (taken == own.unsqueeze(-1)).any(-1)
            of_group[..., group] = torch.where(clash, free.int().argmax(-1), own)
        return canonical(of_group[..., self.groups])

    def _brought_inside(self, labels: np.ndarray) -> np.ndarray:
        """Return labels of the groups that are apart where they must be, of as many clusters as may be."""
        assert self.clusters is not None
        fewest, most = self.clusters
        _, place, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        rank = np.empty(len(sizes), dtype=np.int64)
        rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
        labels = rank[place] % most
        settled: set[int] = set()
        for group in self._smallest_last[0]:
            taken = {labels[one] for one in self.neighbours(group).tolist() if one in settled}
            if labels[group] in taken:
                labels[group] = next(one for one in range(most) if one not in taken)
            settled.add(group)
        _, labels = np.unique(labels, return_inverse=True)
        for new in range(labels.max() + 1, fewest):
            labels[np.flatnonzero(labels == np.bincount(labels).argmax())[1::2]] = new
        return labels

    def _possible(self) -> "Constraints":
        """Return the same, unless there cannot be as many clusters as there may be."""
        if self.clusters is None:
            return self
        fewest, most = self.clusters
        if not self.is_open and fewest > self.num_groups:
            rows = f"there are {self.num_points} points"
            if self.num_groups < self.num_points:
                rows = f"what must be together makes {self.num_groups} groups of the {self.num_points} points"
            raise ValueError(
                f"clusters asks for at least {fewest}, and {rows}: expected at most {self.num_groups}"
            )
        _, needed, number = self._smallest_last
        if needed > most:
            which = f"are all apart from one another, which takes {needed} clusters"
            if number > needed:
                which = (
                    f"are each apart from at least {needed - 1} of these, which may take {needed} clusters"
                )
            raise ValueError(
                f"clusters asks for at most {most}, and cannot_link or labels has {number} points or groups "
                f"that {which}: expected at least {needed}"
            )
        return self

    def _common(self, other: "Constraints") -> tuple[int, int] | None:
        """Return the numbers of clusters that two allow."""
        if self.clusters is None or other.clusters is None:
            return self.clusters or other.clusters
        (low, high), (least, most) = self.clusters, other.clusters
        if low > most or least > high:
            raise ValueError(
                f"clusters asks for {range_in_words(other.clusters)}, and {range_in_words(self.clusters)} "
                "are known: leave one of them out"
            )
        return max(low, least), min(high, most)

    @cached_property
    def _smallest_last(self) -> tuple[list[int], int, int]:
        """Order groups so that each is apart from few before it; with how many clusters are enough for them.

        The last number is that of groups each of which is apart from so many of these, less one. See Matula
        and Beck (1983), Smallest-last ordering and clustering and graph coloring algorithms,
        https://doi.org/10.1145/2402.322385.
        """
        left = dict(enumerate(self.degrees.tolist()))
        left = {group: degree for group, degree in left.items() if degree}
        heap = [(degree, group) for group, degree in left.items()]
        heapq.heapify(heap)
        order: list[int] = []
        most = core = 0
        while heap:
            degree, group = heapq.heappop(heap)
            if left.get(group) != degree:
                continue
            if degree > most:
                most, core = degree, len(left)
            del left[group]
            order.append(group)
            for other in self.neighbours(group).tolist():
                if other in left:
                    left[other] -= 1
                    heapq.heappush(heap, (left[other], other))
        return order[::-1], most + 1, core

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
        """Return those on some points, ``(M,)``, numbered as they come, whatever the others may do."""
        groups = self.groups[points]
        names, place = groups.unique(return_inverse=True)
        kept = torch.isin(self.apart, names).all(-1)
        new = canonical(place)
        to_new = torch.empty(self.num_groups, dtype=torch.int64)
        to_new[groups] = new
        apart = to_new[self.apart[kept]].sort(-1).values
        limits = None
        if self.clusters is not None:
            fewest, most = self.clusters
            limits = max(1, fewest - (self.num_groups - len(names))), most
        return Constraints(new, apart.unique(dim=0) if len(apart) else apart, clusters=limits)


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
