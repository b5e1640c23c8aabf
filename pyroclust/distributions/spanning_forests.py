"""Heavy spanning forests of perturbed similarities, free or constrained, many at once, in compiled code."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled
from pyroclust.partitions.constraints import Constraints


class Forests(NamedTuple):
    """Spanning forests of one similarity, a row each."""

    edges: Tensor  # the ends of the edges of the spanning tree, (M, n - 1, 2) int32
    weights: Tensor  # their perturbed similarities, (M, n - 1)
    # which of them the forest has, (M, n - 1): the heaviest n - k of a forest of k components
    kept: Tensor
    labels: Tensor  # its components, canonical, (M, n) int64


@compiled(allocates=False)
def perturb(similarity, noise, scale, total):  # type: ignore[no-untyped-def]
    """Write the perturbed weights of all pairs; noise has a number for each u > v, row by row."""
    edge = 0
    for u in range(len(similarity)):
        for v in range(u):
            weight = similarity[u, v] + scale * noise[edge + v]
            total[u, v] = weight
            total[v, u] = weight
        edge += u


@compiled(allocates=False)
def root_of(parent, g):  # type: ignore[no-untyped-def]
    """Return the root of a tree, every second step of the way being cut off."""
    while parent[g] != g:
        parent[g] = parent[parent[g]]
        g = parent[g]
    return g


@compiled(allocates=False)
def spanning_tree(similarity, noise, scale, total, key, near, closed, edges, weights):  # type: ignore[no-untyped-def]
    """Find one maximum spanning tree by Prim's algorithm, O(n^2); noise has a number an edge u > v."""
    n = len(similarity)
    perturb(similarity, noise, scale, total)
    for v in range(n):
        total[v, v] = -np.inf
        near[v] = 0
        closed[v] = 0
    # Of the type of the matrix.
    lowest = total[0, 0]
    key[:n] = lowest
    u = 0
    closed[0] = lowest
    for step in range(n - 1):
        row = total[u]
        # Three loops without branches, which the compiler turns into vector code.
        for v in range(n):
            better = row[v] > key[v]
            key[v] = row[v] if better else key[v]
            near[v] = u if better else near[v]
        best = lowest
        for v in range(n):
            best = max(best, key[v] + closed[v])
        for v in range(n):
            if closed[v] == 0 and key[v] == best:
                u = v
                break
        closed[u] = lowest
        edges[step, 0] = near[u]
        edges[step, 1] = u
        weights[step] = best


@compiled(allocates=False)
def spanning_trees(  # type: ignore[no-untyped-def]
    similarity, noise, scales, total, key, near, closed, edges, weights
):
    """Find a tree for every row of noise and every scale: row ``len(scales) * d + s`` of the output."""
    for draw in range(len(noise)):
        for sign in range(len(scales)):
            row = len(scales) * draw + sign
            spanning_tree(
                similarity, noise[draw], scales[sign], total, key, near, closed, edges[row], weights[row]
            )


@compiled(allocates=False)
def name_points(groups, parent, name, labels):  # type: ignore[no-untyped-def]
    """Write canonical labels of points, given which group every group was joined to."""
    for g in range(len(parent)):
        name[g] = -1
    found = 0
    for v in range(len(labels)):
        g = root_of(parent, groups[v])
        if name[g] < 0:
            name[g] = found
            found += 1
        labels[v] = name[g]
    return found


@compiled(allocates=False)
def components(edges, kept, points, root, name, labels):  # type: ignore[no-untyped-def]
    """Write canonical labels of the components of every forest, by union and find."""
    for row in range(len(labels)):
        for v in range(len(points)):
            root[v] = v
        for edge in range(len(points) - 1):
            if kept[row, edge]:
                u, v = root_of(root, edges[row, edge, 0]), root_of(root, edges[row, edge, 1])
                root[max(u, v)] = min(u, v)
        name_points(points, root, name, labels[row])


@compiled(allocates=False)
def add_edges(edges, kept, factor, adjacency):  # type: ignore[no-untyped-def]
    """Add to the entries u > v of a matrix the factor of every forest that has this edge, O(M n)."""
    for row in range(len(edges)):
        for edge in range(edges.shape[1]):
            if kept[row, edge]:
                u, v = edges[row, edge, 0], edges[row, edge, 1]
                adjacency[max(u, v), min(u, v)] += factor[row]


@compiled(allocates=False)
def add_pairs(labels, factor, together):  # type: ignore[no-untyped-def]
    """Add to the entries u > v the factor of every forest that has both in one component, O(M n^2)."""
    for row in range(len(labels)):
        for u in range(labels.shape[1]):
            for v in range(u):
                together[u, v] += factor[row] * (labels[row, u] == labels[row, v])


@compiled(allocates=False)
def edge_sums(edges, kept, values, sums):  # type: ignore[no-untyped-def]
    """Sum the entries u > v of a matrix over the edges of every forest, O(M n)."""
    for row in range(len(edges)):
        total = 0.0
        for edge in range(edges.shape[1]):
            if kept[row, edge]:
                u, v = edges[row, edge, 0], edges[row, edge, 1]
                total += values[max(u, v), min(u, v)]
        sums[row] = total


@compiled(allocates=False)
def pair_sums(labels, values, sums):  # type: ignore[no-untyped-def]
    """Sum the entries u > v of a matrix over the pairs that every forest has in one component, O(M n^2)."""
    for row in range(len(labels)):
        total = 0.0
        for u in range(labels.shape[1]):
            for v in range(u):
                total += values[u, v] * (labels[row, u] == labels[row, v])
        sums[row] = total


def spanning_forests(similarity: Tensor, noise: Tensor, scales: Tensor, num_components: Tensor) -> Forests:
    """Find the heaviest forest of so many components for every row of noise and every scale, O(n^2) each.

    That of k components is the maximum spanning tree without its k - 1 lightest edges.

    Shape:
        similarity: symmetric, ``(n, n)``; noise: a number for each pair u > v, row by row,
            ``(D, n (n - 1) / 2)``; scales: ``(S,)``; num_components: ``(D * S,)``.
    """
    n, rows = len(similarity), len(noise) * len(scales)
    edges = torch.empty(rows, n - 1, 2, dtype=torch.int32)
    weights = similarity.new_empty(rows, n - 1)
    spanning_trees(
        similarity.detach().contiguous().numpy(),
        noise.numpy(),
        scales.to(similarity.dtype).numpy(),
        np.empty((n, n), weights.numpy().dtype),
        np.empty(n, weights.numpy().dtype),
        np.empty(n, np.int32),
        np.empty(n, weights.numpy().dtype),
        edges.numpy(),
        weights.numpy(),
    )
    rank = weights.argsort(dim=-1, descending=True, stable=True).argsort(-1)
    kept = rank < n - num_components.unsqueeze(-1)
    labels = torch.empty(rows, n, dtype=torch.int64)
    root, name = np.empty((2, n), np.int64)
    components(edges.numpy(), kept.numpy(), np.arange(n), root, name, labels.numpy())
    return Forests(edges, weights, kept, labels)


@compiled(allocates=False)
def fill(similarity, noise, scale, groups, apart, total, link):  # type: ignore[no-untyped-def]
    """Write the perturbed weights of all pairs, and the heaviest edge between groups, lowest where apart."""
    n = len(similarity)
    lowest = total[0, 0]
    for g in range(len(link)):
        for h in range(len(link)):
            link[g, h] = lowest
    perturb(similarity, noise, scale, total)
    if len(link) == n:
        for u in range(n):
            for v in range(n):
                link[u, v] = lowest if apart[u, v] or u == v else total[u, v]
        return
    for u in range(n):
        g = groups[u]
        for v in range(u):
            h = groups[v]
            if g != h and not apart[g, h]:
                heavier = max(link[g, h], total[u, v])
                link[g, h] = heavier
                link[h, g] = heavier


@compiled(allocates=False)
def look_again(row, size, lowest):  # type: ignore[no-untyped-def]
    """Return the heaviest of a row and its place, 0 where there is none."""
    best = lowest
    # Two loops: the first becomes vector code.
    for h in range(size):
        best = max(best, row[h])
    if best > lowest:
        for h in range(size):
            if row[h] == best:
                return best, h
    return best, 0


@compiled(allocates=False)
def join(link, key, near, group, parent, lowest, k):  # type: ignore[no-untyped-def]
    """Join groups along the heaviest edges that are allowed until k are left; parent[g] is g for these."""
    size = len(link)
    for g in range(size):
        parent[g] = group[g] = g
        key[g], near[g] = look_again(link[g], size, lowest)
    while size > k:
        best = lowest
        for h in range(size):
            best = max(best, key[h])
        if best == lowest:
            return
        one = 0
        while key[one] != best:
            one += 1
        # It comes later: the edge is the heaviest of both, and the first of them was found.
        other = near[one]
        parent[group[other]] = group[one]
        row, gone = link[one], link[other]
        for h in range(size):
            a, b = row[h], gone[h]
            # The lowest is for what is apart from one of both, and for these themselves.
            row[h] = lowest if min(a, b) == lowest else max(a, b)
        for h in range(size):
            link[h, one] = row[h]
        # The last takes the place of the one that is gone, so that all loops become shorter.
        size -= 1
        moved = link[size]
        for h in range(size):
            gone[h] = moved[h]
            link[h, other] = moved[h]
        link[other, other] = lowest
        group[other], key[other], near[other] = group[size], key[size], near[size]
        for h in range(size):
            if key[h] > lowest and h != one:
                if near[h] == one or near[h] == other:
                    if row[h] > lowest:
                        # Of both the heavier, which it had been.
                        near[h] = one
                    else:
                        key[h], near[h] = look_again(link[h], size, lowest)
                elif near[h] == size:
                    near[h] = other
        key[one], near[one] = look_again(row, size, lowest)


@compiled(allocates=False)
def trees_inside(total, labels, count, key, near, members, edges, weights, kept):  # type: ignore[no-untyped-def]
    """Find the maximum spanning tree of every component, by Prim's algorithm; edges that follow are none."""
    edge = 0
    for label in range(count):
        size = 0
        for v in range(len(labels)):
            if labels[v] == label:
                members[size] = v
                size += 1
        for place in range(1, size):
            near[place] = members[0]
            key[place] = total[members[place], members[0]]
        # Those whose place is below done are in the tree.
        for done in range(1, size):
            best = done
            for place in range(done + 1, size):
                if key[place] > key[best]:
                    best = place
            u = members[best]
            edges[edge, 0], edges[edge, 1] = near[best], u
            weights[edge], kept[edge] = key[best], True
            edge += 1
            members[best], key[best], near[best] = members[done], key[done], near[done]
            for place in range(done + 1, size):
                weight = total[members[place], u]
                if weight > key[place]:
                    key[place] = weight
                    near[place] = u
    for rest in range(edge, len(edges)):
        edges[rest, 0] = edges[rest, 1] = 0
        weights[rest], kept[rest] = 0, False


@compiled(allocates=False)
def many(  # type: ignore[no-untyped-def]
    similarity,
    noise,
    scales,
    k,
    groups,
    apart,
    total,
    link,
    key,
    near,
    own,
    parent,
    edges,
    weights,
    kept,
    labels,
):
    """Find a forest for every row of noise and every scale: row ``len(scales) * d + s`` of the output."""
    lowest = total[0, 0]
    for draw in range(len(noise)):
        for sign in range(len(scales)):
            row = len(scales) * draw + sign
            fill(similarity, noise[draw], scales[sign], groups, apart, total, link)
            join(link, key, near, own, parent, lowest, k[row])
            count = name_points(groups, parent[: len(link)], near, labels[row])
            trees_inside(total, labels[row], count, key, near, parent, edges[row], weights[row], kept[row])


def constrained_forests(
    similarity: Tensor, noise: Tensor, scales: Tensor, num_components: Tensor, constraints: Constraints
) -> Forests:
    """Find heavy forests whose components keep constraints, one for every row of noise and every scale.

    The greedy algorithm of Kruskal: groups begin as one component each, and components are joined along the
    heaviest edge until so many are left, passing over edges between components that must be apart. Then the
    maximum spanning tree of every component is taken. Where all that are left must be apart, more components
    stay than asked for.

    The components are those of the heaviest forest with a spanning tree inside of every group whenever the
    groups that are apart from any are all apart from one another: such forests are the independent sets of a
    matroid.

    Instead of sorting edges each component keeps its heaviest edge to another: O(n^2) a forest, and up to
    O(n^3) where partners are lost at every join.
    """
    n, rows, size = len(similarity), len(noise) * len(scales), constraints.num_groups
    apart = np.zeros((size, size), np.bool_)
    one, other = constraints.apart.numpy().T
    apart[one, other] = apart[other, one] = True
    edges = torch.empty(rows, n - 1, 2, dtype=torch.int32)
    weights = similarity.new_empty(rows, n - 1)
    kept = torch.empty(rows, n - 1, dtype=torch.bool)
    labels = torch.empty(rows, n, dtype=torch.int64)
    dtype = weights.numpy().dtype
    many(
        similarity.detach().contiguous().numpy(),
        noise.numpy(),
        scales.to(similarity.dtype).numpy(),
        num_components.numpy(),
        constraints.groups.numpy(),
        apart,
        np.full((n, n), -np.inf, dtype),
        np.empty((size, size), dtype),
        np.empty(n, dtype),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        edges.numpy(),
        weights.numpy(),
        kept.numpy(),
        labels.numpy(),
    )
    return Forests(edges, weights, kept, labels)
