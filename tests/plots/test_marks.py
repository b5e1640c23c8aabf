"""Where points lie, how clusters look, and that they keep their look from panel to panel; names."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.markers import MarkerStyle

from pyroclust import plots
from pyroclust.plots import new_figure, plot_clustering, plot_num_clusters, png_bytes
from pyroclust.plots.marks import (
    cluster_colour,
    cluster_marker,
    draw_panels,
    fade,
    mark_clusters,
    matched_labels,
    place_points,
    text_colour,
)


def test_relabelled_partitions_are_matched_back():
    rng = np.random.default_rng(0)
    reference = np.repeat(np.arange(6), 10)
    others = np.array([rng.permutation(6)[reference] for _ in range(20)])
    assert (matched_labels(others, reference=reference) == reference).all()


def test_matching_keeps_the_partition_and_never_merges():
    partitions = np.random.default_rng(1).integers(5, size=(30, 25))
    matched = matched_labels(partitions)
    for before, after in zip(partitions, matched, strict=True):
        assert ((before[:, None] == before) == (after[:, None] == after)).all()


def test_overlaps_are_shared_out_for_the_best_total():
    # Greedy matching gives cluster 0 (3 points of old 0, 2 of old 1) to old 0, and loses in total.
    reference = np.array([0, 0, 0, 1, 1, 0, 0])
    partition = np.array([0, 0, 0, 0, 0, 1, 1])
    assert matched_labels(partition[None], reference=reference)[0].tolist() == [1, 1, 1, 1, 1, 0, 0]


def test_a_cluster_that_comes_back_after_a_draw_without_it_has_its_colour_again():
    split, joined = np.array([0, 0, 0, 1, 1]), np.zeros(5, dtype=int)
    matched = matched_labels(np.array([split, joined, split]))
    assert matched[0].tolist() == matched[2].tolist() == [0, 0, 0, 1, 1]


def test_a_cluster_without_overlap_takes_no_old_label():
    matched = matched_labels(np.array([[0, 0, 0, 1, 0]]), reference=np.array([0, 0, 0, 0, 1]))
    assert matched[0].tolist() == [0, 0, 0, 2, 0]


def test_one_column_is_stacked_in_order_of_values():
    values = np.array([5.0, 0.0, 0.001, 0.002, 10.0])
    places = place_points(values[:, None])
    assert places.stacked
    assert places.points[:, 1].tolist() == [0, 0, 1, 2, 0]
    assert np.abs(places.points[:, 0] - values).max() <= 10 / 70


def test_two_columns_are_themselves_and_more_are_projected():
    data = np.random.default_rng(0).standard_normal((40, 4)) * [9, 1, 3, 0.1]
    np.testing.assert_array_equal(place_points(data[:, :2]).points, data[:, :2])
    found = place_points(data)
    _, _, axes = np.linalg.svd(data - data.mean(0))
    np.testing.assert_allclose(np.abs(found.points), np.abs((data - data.mean(0)) @ axes[:2].T), atol=1e-9)
    assert found.labels[0].startswith("principal component 1 (")


def test_names_and_shapes_are_checked():
    with pytest.raises(ValueError, match="columns has 1 names"):
        place_points(np.zeros((3, 2)), columns=["a"])


def test_marks_have_the_look_of_their_label():
    ax = plots.new_figure(3, 3).subplots()
    mark_clusters(np.arange(6.0).reshape(3, 2), np.array([2, 2, 9]), ax=ax, size=30)
    first, second = ax.collections
    assert first.get_offsets().tolist() == [[0, 1], [2, 3]]
    np.testing.assert_allclose(first.get_facecolors()[0, :3], fade(cluster_colour(2), np.zeros(1))[0])
    assert cluster_colour(9) == cluster_colour(1)
    assert cluster_marker(9) != cluster_marker(1)
    outlines = [MarkerStyle(cluster_marker(label)) for label in (2, 9)]
    for marks, outline in zip((first, second), outlines, strict=True):
        expected = outline.get_path().transformed(outline.get_transform()).vertices
        np.testing.assert_allclose(marks.get_paths()[0].vertices, expected)
    assert second.get_offsets().tolist() == [[4, 5]]


def test_words_on_colours_have_contrast():
    def luminance(rgb: np.ndarray) -> float:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for colour in plots.CYCLE:
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        bright = luminance(rgb)
        ratio = (bright + 0.05) / 0.05 if text_colour(colour) == "black" else 1.05 / (bright + 0.05)
        assert ratio >= 4.5, colour


def test_panels_match_colours_and_name_only_the_outer_axes():
    axes = plots.new_figure(6, 4).subplots(2, 2)
    data = np.random.default_rng(0).standard_normal((6, 2))
    same = np.array([0, 0, 0, 1, 1, 1])
    partitions = np.array([same, 1 - same, same, 1 - same])
    flat = draw_panels(data, partitions, list("abcd"), axes=axes, columns=["u", "v"])
    for ax in flat:
        np.testing.assert_allclose(ax.collections[0].get_offsets(), data[:3])
    assert [ax.get_xlabel() for ax in flat] == ["", "", "u", "u"]
    assert [ax.get_ylabel() for ax in flat] == ["v", "", "v", ""]


def test_panels_want_one_axes_a_partition():
    axes = plots.new_figure(6, 4).subplots(1, 2)
    with pytest.raises(ValueError, match="axes has 2 Axes, expected 3"):
        draw_panels(np.zeros((4, 2)), np.zeros((3, 4), dtype=int), list("abc"), axes=axes)
    with pytest.raises(ValueError, match="expected \\(N, D\\) and \\(M, N\\)"):
        draw_panels(np.zeros((4, 2)), np.zeros((2, 5), dtype=int), list("ab"), axes=axes)


def test_style_leaves_the_world_alone():
    before = dict(mpl.rcParams)
    with plots.style():
        assert mpl.rcParams["axes.spines.top"] is False
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", [r"a$\frac", "$", "$x$", "a\0b", "a\nb\x1b[31m", "身長", "_hidden"])
def test_any_name_is_drawn_as_it_is(name: str) -> None:
    figure = new_figure(4, 3)
    left, right = figure.subplots(1, 2)
    plot_clustering(
        np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1]), np.zeros(4), ax=left, columns=(name, "b")
    )
    plot_num_clusters(np.array([1, 2]), {name: np.array([0.5, 0.5])}, ax=right)
    assert png_bytes(figure, dpi=40)[1:4] == b"PNG"
