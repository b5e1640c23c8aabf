"""Pictures of graphs: nodes by block, the sorted matrix, and what is refused."""

import numpy as np
import pytest

from pyroclust import plots
from pyroclust.plots.images_and_graphs import MOST_EDGES

LABELS = np.array([0] * 3 + [1] * 7 + [2] * 5)

GRAPH = (LABELS[:, None] == LABELS[None]).astype(float)

np.fill_diagonal(GRAPH, 0)

GRAPH[0, 14] = GRAPH[14, 0] = 1


def test_edges_are_one_collection_darker_within_blocks(ax):
    plots.plot_graph(GRAPH, LABELS, np.zeros(15), ax=ax, names=[f"n{k}" for k in range(15)])
    edges = ax.collections[0]
    assert len(edges.get_segments()) == 3 + 21 + 10 + 1
    shades = edges.get_colors()[:, 3]
    assert np.count_nonzero(shades < shades.max()) == 1
    assert len(ax.collections) == 1 + 3
    assert [text.get_text() for text in ax.texts][:2] == ["n0", "n1"]
    assert plots.png_bytes(ax.figure).startswith(b"\x89PNG")


def test_of_many_edges_some_are_drawn_and_the_same_every_time(ax):
    many = np.ones((250, 250)) - np.eye(250)
    places = np.random.default_rng(0).normal(size=(250, 2))
    for _ in range(2):
        plots.plot_graph(many, np.zeros(250, dtype=int), np.zeros(250), ax=ax, positions=places)
    first, second = (np.array(one.get_segments()) for one in ax.collections if hasattr(one, "get_segments"))
    assert len(first) == MOST_EDGES < 250 * 249 / 2
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(first.reshape(len(first), -1), axis=0)) == MOST_EDGES


def test_places_are_those_that_were_given(ax):
    places = np.arange(30.0).reshape(15, 2)
    plots.plot_graph(GRAPH, LABELS, np.ones(15), ax=ax, positions=places)
    np.testing.assert_allclose(ax.collections[1].get_offsets(), places[:3])
    assert not ax.texts


def test_the_matrix_is_sorted_by_blocks_the_largest_first(ax):
    moved = np.random.default_rng(0).permutation(15)
    labels = LABELS[moved]
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    own = np.argsort(np.argsort(first))[codes]
    plots.plot_block_matrix(GRAPH[np.ix_(moved, moved)], own, ax=ax)
    shown = np.asarray(ax.images[0].get_array())
    for begin, size in ((0, 7), (7, 5), (12, 3)):
        block = shown[begin : begin + size, begin : begin + size]
        np.testing.assert_array_equal(block, 1 - np.eye(size))
    assert shown.sum() == GRAPH.sum()
    assert [patch.get_width() for patch in ax.patches] == [7, 5, 3]
    assert [label.get_text().split(": ")[1] for label in ax.get_yticklabels()] == ["7", "5", "3"]


def test_what_does_not_fit_is_refused(ax):
    with pytest.raises(ValueError, match=r"adjacency has shape \(3, 2\), expected \(N, N\)"):
        plots.plot_graph(np.zeros((3, 2)), [0, 0, 0], np.zeros(3), ax=ax)
    with pytest.raises(ValueError, match="assignments"):
        plots.plot_block_matrix(GRAPH, [0, 1], ax=ax)
    with pytest.raises(ValueError, match=r"positions has shape \(15, 3\), expected \(15, 2\)"):
        plots.plot_graph(GRAPH, LABELS, np.zeros(15), ax=ax, positions=np.zeros((15, 3)))
    with pytest.raises(ValueError, match="names has 2 entries, expected 15"):
        plots.plot_graph(GRAPH, LABELS, np.zeros(15), ax=ax, names=["a", "b"])
