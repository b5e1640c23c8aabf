"""Graphs from what users have, and the eigenvectors of their Laplacians."""

import networkx
import numpy as np
import pytest
import torch
from scipy import sparse

from pyroclust.partitions.adjacency import as_adjacency, leading_eigenvectors, node_summaries

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    "graph",
    [
        PATH,
        PATH.tolist(),
        PATH.astype(bool),
        torch.tensor(PATH),
        torch.tensor(PATH).to_sparse(),
        sparse.csr_array(PATH),
        sparse.coo_matrix(PATH),
        networkx.path_graph(3),
    ],
)
def test_graphs_of_all_kinds_are_one_matrix(graph):
    found = as_adjacency(graph)
    assert found.dtype == torch.float64
    np.testing.assert_array_equal(found.numpy(), PATH)


def test_nodes_of_networkx_keep_their_order():
    graph = networkx.Graph([("b", "a"), ("a", "c")])
    graph.add_node("alone")
    expected = networkx.to_numpy_array(graph)
    np.testing.assert_array_equal(as_adjacency(graph).numpy(), expected)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (networkx.DiGraph([(0, 1)]), "is directed, expected a simple undirected graph"),
        (networkx.MultiGraph([(0, 1), (0, 1)]), "is a multigraph, expected"),
        (networkx.Graph([(0, 0), (0, 1)]), "has loops"),
        (2 * PATH, "other numbers than 0 and 1"),
        (np.triu(PATH), "is not symmetric"),
        (PATH[:2], r"has shape \(2, 3\)"),
        (np.zeros((0, 0)), r"has shape \(0, 0\)"),
        (PATH * 1j, "holds complex numbers"),
        ("karate", "is of type str"),
        (torch.tensor(PATH) * 1j, "complex"),
    ],
)
def test_what_is_no_simple_graph_is_refused_in_one_sentence(graph, expected):
    with pytest.raises(ValueError, match=expected) as caught:
        as_adjacency(graph)
    assert "\n" not in str(caught.value)


def test_summaries_of_nodes_are_those_of_networkx():
    graph = networkx.karate_club_graph()
    graph.add_node("alone")
    nodes = len(graph)
    found = node_summaries(as_adjacency(graph)).T.numpy()
    degrees = np.array([graph.degree(one) for one in graph])
    np.testing.assert_allclose(found[0], degrees / (nodes - 1))
    np.testing.assert_allclose(found[1], list(networkx.clustering(graph).values()))
    around = np.array([networkx.average_neighbor_degree(graph)[one] for one in graph])
    np.testing.assert_allclose(found[2], around / (nodes - 1))


def test_eigenvectors_are_those_of_the_normalised_laplacian():
    torch.manual_seed(0)
    upper = (torch.rand(2, 12, 12) < 0.4).triu(1).double()
    graphs = upper + upper.mT
    vectors = leading_eigenvectors(graphs, 4)
    assert vectors.shape == (2, 12, 4)
    torch.testing.assert_close(vectors.square().mean(-2), torch.ones(2, 4, dtype=torch.float64))
    assert (vectors.pow(3).sum(-2) >= 0).all()
    for graph, found in zip(graphs, vectors, strict=True):
        scale = graph.sum(-1).clamp(min=1).rsqrt()
        normalised = torch.eye(12) - scale[:, None] * graph * scale
        values = torch.linalg.eigvalsh(normalised)[1:5]
        torch.testing.assert_close(normalised @ found, found * values, atol=1e-9, rtol=0)


def test_two_parts_have_opposite_signs_and_small_graphs_columns_of_zeros():
    block = torch.ones(5, 5) - torch.eye(5)
    graph = torch.block_diag(block, block)
    graph[0, 5] = graph[5, 0] = 1
    first = leading_eigenvectors(graph, 1)[:, 0].sign()
    assert (first[:5] == -first[5:]).all()
    assert torch.equal(leading_eigenvectors(torch.zeros(2, 2), 4)[:, 1:], torch.zeros(2, 3).double())


def test_renamed_nodes_have_renamed_eigenvectors():
    torch.manual_seed(0)
    upper = (torch.rand(9, 9) < 0.5).triu(1).double()
    graph, order = upper + upper.T, torch.randperm(9)
    turned = leading_eigenvectors(graph[order][:, order], 3)
    torch.testing.assert_close(turned, leading_eigenvectors(graph, 3)[order])
