"""Maximum spanning trees of perturbed similarities, many at once, in compiled code."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled


class Forests(NamedTuple):
    """Spanning forests of one similarity, a row each."""

    edges: Tensor  # the ends of the edges of the spanning tree, (M, n - 1, 2) int32
    weights: Tensor  # their perturbed similarities, (M, n - 1)
    # which of them the forest has, (M, n - 1): the heaviest n - k of a forest of k components
    kept: Tensor
    labels: Tensor  # its components, canonical, (M, n) int64


@compiled(allocates=False)
def spanning_tree(similarity, noise, scale, total, key, near, closed, edges, weights):  # type: ignore[no-untyped-def]
    """Find one maximum spanning tree by Prim's algorithm, O(n^2); noise has a number an edge u > v."""
    n = len(similarity)
    edge = 0
    for u in range(n):
        for v in range(u):
            weight = similarity[u, v] + scale * noise[edge + v]
            total[u, v] = weight
            total[v, u] = weight
        edge += u
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
def components(edges, kept, root, name, labels):  # type: ignore[no-untyped-def]
    """Write canonical labels of the components of every forest, by union and find."""
    n = labels.shape[1]
    for row in range(len(labels)):
        for v in range(n):
            root[v] = v
            name[v] = -1
        for edge in range(n - 1):
            if kept[row, edge]:
                u, v = edges[row, edge, 0], edges[row, edge, 1]
                while root[u] != u:
                    root[u] = root[root[u]]
                    u = root[u]
                while root[v] != v:
                    root[v] = root[root[v]]
                    v = root[v]
                root[max(u, v)] = min(u, v)
        found = 0
        for v in range(n):
            u = v
            while root[u] != u:
                root[u] = root[root[u]]
                u = root[u]
            if name[u] < 0:
                name[u] = found
                found += 1
            labels[row, v] = name[u]


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

    That of k components is the maximum spanning tree without its k - 1 lightest edges. The diagonal is not
    looked at.

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
    return forests_of(edges, weights, rank < n - num_components.unsqueeze(-1))


def forests_of(edges: Tensor, weights: Tensor, kept: Tensor) -> Forests:
    """Return forests with the labels of their components, O(M n)."""
    rows, n = len(edges), edges.shape[1] + 1
    labels = torch.empty(rows, n, dtype=torch.int64)
    components(edges.numpy(), kept.numpy(), np.empty(n, np.int64), np.empty(n, np.int64), labels.numpy())
    return Forests(edges, weights, kept, labels)
