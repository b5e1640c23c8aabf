"""Sheets of images, waveforms and graphs: what is shown, in which order, and what is refused."""

import numpy as np
import pytest

from pyroclust import plots
from pyroclust.plots.images_and_graphs import MOST_EDGES

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.random((30, 6, 5))
LABELS = np.array([0] * 4 + [1] * 20 + [2] * 6)


def names(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_clusters_are_rows_from_large_to_small_and_from_sure_to_unsure(ax):
    uncertainty = np.linspace(1, 0, 30)
    plots.plot_contact_sheet(IMAGES, LABELS, uncertainty, ax=ax, most_images=8)
    assert names(ax) == ["cluster 2: 20", "cluster 3: 6", "cluster 1: 4"]
    sheet = np.asarray(ax.images[0].get_array())
    assert sheet.shape == (3 * 7, 8 * 6)
    np.testing.assert_array_equal(sheet[:6, :5], IMAGES[23])
    np.testing.assert_array_equal(sheet[:6, 42:47], IMAGES[4])
    np.testing.assert_array_equal(sheet[14:20, :5], IMAGES[3])
    assert np.isnan(sheet[14:, 24:]).all()
    assert len(ax.images) == 1
    assert plots.png_bytes(ax.figure).startswith(b"\x89PNG")


def test_small_clusters_that_do_not_fit_are_counted(ax):
    plots.plot_contact_sheet(IMAGES, LABELS, np.zeros(30), ax=ax, most_clusters=1)
    assert names(ax) == ["cluster 2: 20"]
    assert ax.get_xlabel() == "sure to unsure; 2 smaller clusters are not shown"


def test_waveforms_of_small_clusters_that_do_not_fit_are_counted(ax):
    plots.plot_waveforms(IMAGES, LABELS, ax=ax, most_clusters=2)
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["cluster 2: 20", "cluster 3: 6"]
    assert ax.get_xlabel() == "sample; 1 smaller cluster is not shown"
    ax.clear()
    plots.plot_waveforms(IMAGES, LABELS, ax=ax)
    assert ax.get_xlabel() == "sample"


def test_the_least_sure_images_come_first(ax):
    uncertainty = RANDOM.permutation(30) / 30
    plots.plot_uncertain_images(IMAGES, uncertainty, ax=ax, most_images=5, columns=3)
    worst = np.argsort(-uncertainty)
    sheet = np.asarray(ax.images[0].get_array())
    np.testing.assert_array_equal(sheet[:6, :5], IMAGES[worst[0]])
    np.testing.assert_array_equal(sheet[7:13, 6:11], IMAGES[worst[4]])
    assert names(ax) == ["0.97 to 0.90", "0.87 to 0.83"]
    ax.clear()
    plots.plot_uncertain_images(IMAGES, uncertainty / 1000, ax=ax, most_images=2)
    assert names(ax) == ["0.00"]


def test_mean_waveforms_lie_above_one_another_on_one_scale(ax):
    waves = np.zeros((4, 2, 10))
    waves[:2, 0, 3], waves[2:, 1, 6] = -2.0, -1.0
    plots.plot_waveforms(waves, np.array([0, 0, 1, 1]), ax=ax)
    assert names(ax) == ["channel 1", "channel 2"]
    first, second = (line.get_ydata() for line in ax.lines)
    top, bottom = ax.get_yticks()
    assert first[3] == pytest.approx(top - 1)
    assert second[11 + 6] == pytest.approx(bottom - 0.5)
    assert np.isnan(first[10])
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["cluster 1: 2", "cluster 2: 2"]


def test_generated_images_stand_in_rows_of_clusters(ax):
    images = np.zeros((2, 3, 4, 4))
    images[1, 2] = 1.0
    plots.plot_generated(images, ax=ax)
    sheet = ax.get_images()[0].get_array()
    assert sheet.shape == (10, 15)
    assert np.nansum(sheet) == np.nansum(sheet[5:9, 10:14]) == 16
    assert [one.get_text() for one in ax.get_yticklabels()] == ["1", "2"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda ax: plots.plot_contact_sheet(IMAGES[0], LABELS, np.zeros(30), ax=ax), "images has shape"),
        (lambda ax: plots.plot_contact_sheet(2 * IMAGES, LABELS, np.zeros(30), ax=ax), "expected numbers in"),
        (lambda ax: plots.plot_contact_sheet(IMAGES, LABELS[1:], np.zeros(30), ax=ax), "assignments has"),
        (lambda ax: plots.plot_contact_sheet(IMAGES, LABELS, np.ones(3), ax=ax), "uncertainty has shape"),
        (
            lambda ax: plots.plot_contact_sheet(IMAGES, LABELS, np.zeros(30), ax=ax, most_images=0),
            "most_images is 0",
        ),
        (lambda ax: plots.plot_uncertain_images(IMAGES, np.ones(3), ax=ax), "uncertainty has shape"),
        (lambda ax: plots.plot_generated(IMAGES, ax=ax), "clusters and styles"),
        (lambda ax: plots.plot_generated(2 * IMAGES.reshape(5, 6, *IMAGES.shape[1:]), ax=ax), "numbers in"),
        (lambda ax: plots.plot_waveforms(IMAGES[0], LABELS, ax=ax), "waveforms has shape"),
        (lambda ax: plots.plot_waveforms(np.full((2, 2, 2), np.nan), [0, 0], ax=ax), "waveforms"),
    ],
)
def test_bad_points_are_refused(ax, call, expected):
    with pytest.raises(ValueError, match=expected):
        call(ax)


BLOCKS = np.array([0] * 3 + [1] * 7 + [2] * 5)

GRAPH = (BLOCKS[:, None] == BLOCKS[None]).astype(float)

np.fill_diagonal(GRAPH, 0)

GRAPH[0, 14] = GRAPH[14, 0] = 1


def test_edges_are_one_collection_darker_within_blocks(ax):
    plots.plot_graph(GRAPH, BLOCKS, np.zeros(15), ax=ax, names=[f"n{k}" for k in range(15)])
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


def test_the_matrix_is_sorted_by_blocks_the_largest_first(ax):
    moved = np.random.default_rng(0).permutation(15)
    labels = BLOCKS[moved]
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
        plots.plot_graph(GRAPH, BLOCKS, np.zeros(15), ax=ax, positions=np.zeros((15, 3)))
    with pytest.raises(ValueError, match="names has 2 entries, expected 15"):
        plots.plot_graph(GRAPH, BLOCKS, np.zeros(15), ax=ax, names=["a", "b"])
