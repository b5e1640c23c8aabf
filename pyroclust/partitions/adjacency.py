"""Undirected graphs as adjacency matrices: read from what users have, checked, and their eigenvectors."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.machine import check_memory

# Of entries whose mean square is 1.
_ROUNDING = 1e-6
_BYTES_AN_ENTRY = 16


def as_adjacency(graph: Any, *, name: str = "adjacency") -> Tensor:
    """Return graphs as symmetric matrices of zeros and ones with an empty diagonal, float64."""
    if isinstance(graph, Tensor):
        matrix = graph.detach().to_dense() if graph.layout != torch.strided else graph.detach()
    elif hasattr(graph, "toarray"):
        _check_size(int(graph.shape[0]), name)
        matrix = torch.from_numpy(np.asarray(graph.toarray(), dtype=np.float64))
    elif hasattr(graph, "adjacency") and hasattr(graph, "nodes"):
        matrix = _of_networkx(graph, name)
    else:
        try:
            array = np.asarray(graph)
            matrix = torch.from_numpy(array if array.dtype.kind == "c" else array.astype(np.float64))
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} is of type {type(graph).__name__}, expected an adjacency matrix (N, N) of zeros and "
                "ones, or a graph of networkx"
            ) from None
    if matrix.is_complex():
        raise ValueError(f"{name} holds complex numbers, expected zeros and ones")
    matrix = matrix.to(torch.float64)
    check_adjacency(matrix, name=name)
    return matrix


def check_adjacency(graphs: Tensor, *, name: str = "adjacency") -> None:
    """Refuse what are no matrices of undirected graphs without loops, at least one node each."""
    if graphs.dim() < 2 or graphs.shape[-1] != graphs.shape[-2] or 0 in graphs.shape:
        raise ValueError(
            f"{name} has shape {tuple(graphs.shape)}, expected (..., N, N), a row and a column a node"
        )
    if not bool(((graphs == 0) | (graphs == 1)).all()):
        raise ValueError(
            f"{name} holds other numbers than 0 and 1, expected a graph without weights: take a threshold, "
            "as adjacency > 0.5"
        )
    if not torch.equal(graphs, graphs.mT):
        raise ValueError(f"{name} is not symmetric, expected an undirected graph: take (a + a.T) > 0")
    if bool(graphs.diagonal(dim1=-2, dim2=-1).any()):
        raise ValueError(f"{name} has loops, expected none: set its diagonal to 0")


def check_graph(adjacency: Tensor, *, name: str = "data") -> None:
    """Refuse anything but one graph of at least two nodes."""
    check_adjacency(adjacency, name=name)
    if adjacency.dim() != 2 or len(adjacency) < 2:
        raise ValueError(
            f"{name} has shape {tuple(adjacency.shape)}, expected one graph (N, N) of two nodes or more: run "
            "graphs one by one"
        )


def in_order(matrices: Tensor, order: Tensor) -> Tensor:
    """Renumber the nodes of graphs: bring rows and columns into an order."""
    rows = matrices.gather(1, order.unsqueeze(-1).expand(matrices.shape))
    return rows.gather(2, order.unsqueeze(-2).expand(matrices.shape))


def profile_correlations(adjacency: Tensor) -> Tensor:
    """Return correlations of rows of graphs, and correlations of these, ``(B, N, N) -> (B, 2, N, N)``.

    Nodes of one block have correlated rows; the second correlations see it where the edges of two nodes are
    few.
    """
    first = _correlations(adjacency)
    return torch.stack([first, _correlations(first)], 1)


def _correlations(rows: Tensor) -> Tensor:
    centred = rows - rows.mean(-1, keepdim=True)
    length = centred.norm(dim=-1, keepdim=True)
    unit = torch.where(length > 1e-6, centred / length.clamp(min=1e-6), 0.0)
    return unit @ unit.mT


def linked_neighbours(graphs: Tensor) -> Tensor:
    """Return the share of pairs of a node's neighbours that are linked, 0 for fewer than two, in O(N^3)."""
    degree = graphs.sum(-1)
    return ((graphs @ graphs) * graphs).sum(-1) / (degree * (degree - 1)).clamp(min=1)


def node_summaries(adjacency: Tensor) -> Tensor:
    """Return a node's share of links, its share of linked neighbours, and their mean share of links."""
    graphs = adjacency.double()
    degree = graphs.sum(-1)
    around = (graphs @ degree.unsqueeze(-1)).squeeze(-1) / degree.clamp(min=1)
    others = max(1, graphs.shape[-1] - 1)
    return torch.stack([degree / others, linked_neighbours(graphs), around / others], -1)


def leading_eigenvectors(adjacency: Tensor, count: int) -> Tensor:
    """Return the eigenvectors of the largest eigenvalues of the normalised adjacency, the first left out.

    Of entries with a mean square of 1, and a positive sum of cubes, or where that is zero a positive first
    one. A graph of fewer nodes has columns of zeros.

    Shape:
        adjacency: ``(*batch, N, N)``; output: ``(*batch, N, count)``, float64.
    """
    graphs = adjacency.detach().double()
    scale = graphs.sum(-1).clamp(min=1).rsqrt()
    _, vectors = torch.linalg.eigh(scale.unsqueeze(-1) * graphs * scale.unsqueeze(-2))
    nodes = graphs.shape[-1]
    leading = vectors.flip(-1)[..., 1 : count + 1] * nodes**0.5
    cubes = leading.pow(3).sum(-2, keepdim=True)
    # Where these cancel, rounding would decide: there the first entry that is not zero does.
    first = (leading.abs() > _ROUNDING).to(torch.uint8).argmax(-2, keepdim=True)
    side = torch.where(cubes.abs() > _ROUNDING, cubes, leading.gather(-2, first))
    leading = torch.where(side < 0, -leading, leading)
    return torch.nn.functional.pad(leading, (0, count - leading.shape[-1]))


def _check_size(num_nodes: int, name: str) -> None:
    check_memory(
        _BYTES_AN_ENTRY * num_nodes**2,
        f"{name} has {num_nodes:,} nodes: the entries of its matrix",
        remedy="take a part of the graph",
    )


def _of_networkx(graph: Any, name: str) -> Tensor:
    for kind, remedy in (("is_directed", "to_undirected()"), ("is_multigraph", "networkx.Graph(graph)")):
        if getattr(graph, kind)():
            word = kind.removeprefix("is_").replace("multigraph", "a multigraph")
            raise ValueError(f"{name} is {word}, expected a simple undirected graph: take {remedy}")
    _check_size(graph.number_of_nodes(), name)
    places = {node: place for place, node in enumerate(graph.nodes)}
    matrix = torch.zeros(len(places), len(places), dtype=torch.float64)
    ends = torch.tensor([[places[one], places[other]] for one, other in graph.edges]).view(-1, 2)
    matrix[ends[:, 0], ends[:, 1]] = 1
    matrix[ends[:, 1], ends[:, 0]] = 1
    return matrix
