"""Communities of graphs by spectral clustering, Louvain's method and graph-tool."""

import sys

import networkx
import numpy as np
import pytest

from pyroclust.baselines import (
    GRAPH_BASELINES,
    GraphTool,
    Louvain,
    SpectralCommunities,
    partition_scores,
    run_baselines,
)
from pyroclust.partitions.graph_spectra import leading_eigenpairs


def blocks(sizes, within=0.6, between=0.05, seed=0):
    rates = between + (within - between) * np.eye(len(sizes))
    graph = networkx.stochastic_block_model(sizes, rates, seed=seed)
    return networkx.to_numpy_array(graph), np.repeat(np.arange(len(sizes)), sizes)


def test_all_find_planted_blocks_and_their_number():
    graph, truth = blocks([20, 25, 30])
    for found in run_baselines(graph, seed=0, baselines=GRAPH_BASELINES):
        assert found.num_clusters == 3
        assert partition_scores(truth, found.assignments).adjusted_rand > 0.95


def test_a_graph_in_pieces_has_spectral_communities():
    graph = np.kron(np.eye(3), np.ones((5, 5))) - np.eye(15)
    assert SpectralCommunities().partition(graph, seed=0).num_clusters == 3
    assert SpectralCommunities(1).partition(graph, seed=0).num_clusters == 1
    assert SpectralCommunities(15).partition(graph, seed=0).num_clusters == 15


def test_a_higher_resolution_has_more_communities():
    graph, _ = blocks([20, 20, 20], within=0.4, between=0.1)
    few, many = (Louvain(one).partition(graph, seed=0).num_clusters for one in (0.5, 4.0))
    assert few < many


def test_nodes_without_edges_are_communities_of_their_own():
    graph = np.zeros((6, 6))
    graph[:3, :3] = 1 - np.eye(3)
    assert Louvain().partition(graph, seed=0).assignments.tolist() == [0, 0, 0, 1, 2, 3]


@pytest.mark.parametrize("sizes", [[100, 120], [200, 250, 250]])
def test_leading_eigenpairs_are_those_of_all(sizes):
    graph, _ = blocks(sizes, within=0.3, between=0.02)
    scale = graph.sum(1) ** -0.5
    normalised = scale[:, None] * graph * scale
    values, vectors = leading_eigenpairs(graph, 4)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(normalised)[::-1][:4], atol=1e-9)
    np.testing.assert_allclose(normalised @ vectors, values * vectors, atol=1e-9)
    again = leading_eigenpairs(graph, 4)[1]
    np.testing.assert_array_equal(vectors, again)


def test_a_graph_without_edges_has_eigenvectors():
    values, vectors = leading_eigenpairs(np.zeros((450, 450)), 3)
    assert values.tolist() == [0, 0, 0]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("method", GRAPH_BASELINES)
def test_tables_are_refused(method):
    with pytest.raises(ValueError, match="expected the symmetric matrix of a graph"):
        method.partition(np.arange(12.0).reshape(4, 3), seed=0)


def test_without_graph_tool_an_error_says_how_to_get_it():
    graph, _ = blocks([5, 5])
    with pytest.raises(ValueError, match=r"cannot be run .*: apt install python3-graph-tool"):
        GraphTool(python="/nowhere/python3").partition(graph, seed=0)
    with pytest.raises(ValueError, match="No module named 'graph_tool'"):
        GraphTool(python=sys.executable).partition(graph, seed=0)


def test_what_graph_tool_is_told_and_says(tmp_path):
    # A stand-in for the interpreter: it labels the nodes of the first edge.
    program = tmp_path / "python"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\ngiven = json.load(sys.stdin)\n"
        "one, two = given['edges'][0]\n"
        "print([int(node in (one, two)) for node in range(given['nodes'])])\n"
    )
    program.chmod(0o755)
    graph = np.zeros((4, 4))
    graph[1, 3] = graph[3, 1] = 1
    found = GraphTool(python=str(program)).partition(graph, seed=0)
    assert found.assignments.tolist() == [0, 1, 0, 1]
    assert "3 searches" in found.about
