"""Graphs, images and waveforms as tables: what is read, taken for what, and refused."""

from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from PIL import Image
from scipy.sparse import csr_array, save_npz

from pyroclust.data import read_table
from pyroclust.data.tables import Images, Waveforms
from pyroclust.partitions.graph_spectra import node_positions

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_graphs_by_name_come_with_their_names_and_labels():
    karate, novel = read_table("karate"), read_table("les-miserables")
    assert repr(karate) == "Table('karate': 34 nodes of a graph, 2 reference labels)"
    assert karate.data.sum() == 2 * 78
    assert novel.data.sum() == 2 * 254
    assert "Valjean" in novel.row_names
    assert novel.labels is None
    assert any("weights of edges were left out" in note for note in novel.notes)


def test_all_forms_of_one_graph_are_the_same(tmp_path):
    graph = networkx.from_numpy_array(PATH)
    networkx.write_graphml(graph, tmp_path / "path.graphml")
    save_npz(tmp_path / "sparse.npz", csr_array(PATH))
    np.savez(tmp_path / "dense.npz", matrix=PATH)
    (tmp_path / "edges.csv").write_text("0,1\n1,2\n")
    files = [tmp_path / name for name in ("path.graphml", "sparse.npz", "dense.npz")]
    found = [read_table(one) for one in (graph, csr_array(PATH), *files)]
    found.append(read_table(tmp_path / "edges.csv", edges=True, header=False))
    assert not read_table(networkx.empty_graph(4)).data.any()
    for table in found:
        assert np.array_equal(table.data, PATH)
        assert table.row_names == ("0", "1", "2")
        assert str(table.shape) == "nodes of a graph"
        assert np.array_equal(table.shape.adjacency, PATH)


def edges(folder: Path, text: str, **told) -> object:
    (folder / "e.csv").write_text(text)
    return read_table(folder / "e.csv", edges=True, **told)


@pytest.mark.parametrize("name", ["--5", "²", "9" * 5000])
def test_names_that_look_like_numbers_stay_names(tmp_path, name):
    table = edges(tmp_path, f"a,b\n{name},7\n7,1\n", header=True)
    assert table.row_names[1:] == ("7", "1")


def test_edges_keep_names_and_lose_loops_and_repeats(tmp_path):
    table = edges(tmp_path, "from,to\nBob,Ann\nAnn,Bob\nBob,Bob\nAnn,Cid\n", header=True)
    assert table.row_names == ("Bob", "Ann", "Cid")
    assert table.data.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    notes = " ".join(table.notes)
    assert "1 edge(s) from a node to itself were left out" in notes
    assert "1 edge(s) that come again were left out" in notes
    numbers = edges(tmp_path, "10,9\n9,-1\n", header=False)
    assert numbers.row_names == ("-1", "9", "10")
    chosen = edges(tmp_path, "a,w,b\nx,2,y\ny,3,z\n", columns=["a", "b"], header=True)
    assert chosen.row_names == ("x", "y", "z")
    for text, told, sentence in (
        ("a,b,c\nx,y,z\n", {"header": True}, "has the columns a, b, c, expected two, the ends of an edge"),
        ("a,b\nx,\n", {"header": True}, "has no node at an end of edge 1: fill it, or drop the line"),
        ("a,b\nx,y\n", {"columns": ["a", "q"], "header": True}, "unknown column 'q'"),
        ("a,b\nx,y\n", {"label": "a"}, "edges is true, but a file of edges has no labels: leave label out"),
    ):
        with pytest.raises(ValueError, match=sentence):
            edges(tmp_path, text, **told)


def test_attributes_are_labels_and_directions_are_left_out(tmp_path):
    graph = networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")])
    networkx.set_node_attributes(graph, {"a": "red", "b": "blue"}, "side")
    networkx.write_graphml(graph, tmp_path / "g.graphml")
    for source in (graph, tmp_path / "g.graphml"):
        table = read_table(source, label="side")
        assert table.labels.tolist() == ["red", "blue", None]
        assert table.notes == (
            "The directions of edges were left out.",
            "1 edge(s) that come again were left out.",
        )
    assert "weights" in read_table(csr_array(2 * PATH)).notes[0]
    assert "directions" in read_table(csr_array(np.triu(PATH))).notes[0]
    twice = read_table(networkx.MultiGraph([(0, 1), (0, 1)]))
    assert twice.notes == ("1 edge(s) that come again were left out.",)


def test_a_matrix_that_is_read_as_a_table_is_said_to_be_a_graph(tmp_path):
    matrix = networkx.to_numpy_array(networkx.karate_club_graph(), weight=None)
    np.save(tmp_path / "karate.npy", matrix)
    np.savetxt(tmp_path / "karate.csv", matrix, fmt="%d", delimiter=",")
    for source in (matrix, tmp_path / "karate.npy", tmp_path / "karate.csv"):
        told = {"header": False} if str(source).endswith("csv") else {}
        table = read_table(source, **told)
        assert table.notes[0].startswith("The columns are a matrix of pairs of rows, as of edges")
    assert not any("graph" in note for note in read_table(np.triu(matrix)[:, 1:]).notes)


def test_other_things_are_refused_in_a_sentence(tmp_path):
    np.savez(tmp_path / "two.npz", a=PATH, b=PATH)
    np.savez(tmp_path / "wide.npz", a=PATH[:2])
    np.savez(tmp_path / "text.npz", a=np.array([["x", "y"], ["y", "x"]]))
    np.savez(tmp_path / "objects.npz", a=np.array([[None, 1], [1, None]], dtype=object))
    np.savez(tmp_path / "none.npz")
    (tmp_path / "no.npz").write_text("no archive")
    (tmp_path / "no.graphml").write_text("<graph")
    cases = [
        (tmp_path / "two.npz", {}, "it holds the arrays a, b, expected one matrix"),
        (tmp_path / "wide.npz", {}, r"wide has shape \(2, 3\), expected a row and a column a node"),
        (tmp_path / "text.npz", {}, "its entries are no numbers, expected zeros and ones"),
        (tmp_path / "objects.npz", {}, "holds Python objects"),
        (tmp_path / "none.npz", {}, "it holds no array, expected one matrix"),
        (tmp_path / "no.npz", {}, "no.npz"),
        (tmp_path / "no.graphml", {}, "no.graphml"),
        (tmp_path / "absent.npz", {}, "absent.npz"),
        (networkx.empty_graph(1), {}, r"graph has 1 node\(s\), expected at least 2 to cluster"),
        (csr_array(PATH), {"label": "x"}, "label is 'x', but graph is a matrix without attributes"),
        (csr_array([[0.0, np.nan], [np.nan, 0.0]]), {}, "holds entries that are no finite numbers"),
        (csr_array(-PATH), {}, "holds numbers below 0, or one for every two nodes"),
        (csr_array(np.full((4, 4), 0.3)), {}, "one for every two nodes, expected zeros where"),
        ("karate", {"label": "age"}, "label is 'age', but no node of karate has it, expected one of: club"),
        ("karate", {"columns": ["a"]}, "columns is given, but source has nodes of a graph, not columns"),
        ("karate", {"edges": True}, "edges is true, but source is no file: leave edges out"),
        (PATH, {"edges": True}, "edges is true, but source is no file: leave edges out"),
    ]
    for source, told, sentence in cases:
        with pytest.raises(ValueError, match=sentence):
            read_table(source, **told)


def test_a_layout_is_the_same_every_time_and_longer_across():
    graph = networkx.to_numpy_array(networkx.path_graph(30))
    places = node_positions(graph)
    assert np.array_equal(places, node_positions(graph))
    assert places[:, 0].std() > places[:, 1].std()
    assert node_positions(np.zeros((700, 700))).shape == (700, 2)


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("array", "shape"),
    [
        (RANDOM.random((5, 8, 9)), Images(8, 9)),
        (RANDOM.integers(256, size=(5, 8, 8)), Images(8, 8)),
        (RANDOM.random((5, 8, 8)) > 0.5, Images(8, 8)),
        (RANDOM.normal(size=(5, 7, 32)), Waveforms(7, 32)),
        (2 * RANDOM.random((5, 7, 32)), Waveforms(7, 32)),
        (torch.rand(5, 8, 8), Images(8, 8)),
        (256 * RANDOM.random((5, 8, 8)), Waveforms(8, 8)),
        (RANDOM.integers(1000, size=(5, 8, 8)), Waveforms(8, 8)),
    ],
)
def test_arrays_of_three_dimensions(array, shape, tmp_path) -> None:
    np.save(tmp_path / "points.npy", array)
    np.testing.assert_array_equal(read_table(tmp_path / "points.npy").data, read_table(array).data)
    table = read_table(array)
    assert table.shape == shape
    assert table.data.shape == (5, np.prod(shape.event_shape))
    assert str(shape) in table.notes[0]
    assert str(shape) in repr(table)
    if isinstance(shape, Images):
        assert table.data.max() <= 1


@pytest.mark.parametrize(
    ("largest", "white", "kind"),
    [(1, 1, np.uint8), (2, 16, np.int64), (16, 16, np.float32), (17, 255, np.int64), (255, 255, np.uint8)],
)
def test_whole_pixels_are_divided_by_their_white(largest: int, white: int, kind: type) -> None:
    pixels = RANDOM.integers(largest + 1, size=(5, 8, 8)).astype(kind)
    pixels[0, 0, 0] = largest
    table = read_table(pixels)
    assert table.shape == Images(8, 8)
    np.testing.assert_allclose(table.data, pixels.reshape(5, 64) / white)
    assert (f"divided by {white}" in table.notes[0]) == (white > 1)


@pytest.mark.parametrize(
    ("size", "asked", "expected"), [(8, None, 8), (28, None, 28), (20, None, 28), (20, 8, 8), (8, 12, 12)]
)
def test_folders_have_the_size_of_a_guide(
    tmp_path: Path, size: int, asked: int | None, expected: int
) -> None:
    for place in range(3):
        (tmp_path / "ab"[place % 2]).mkdir(exist_ok=True)
        pixels = RANDOM.integers(256, size=(size, size)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "ab"[place % 2] / f"{place}.png")
    table = read_table(tmp_path, image_size=asked)
    assert table.shape == Images(expected, expected)
    assert table.labels is not None
    assert table.labels.tolist() == ["a", "a", "b"]
    assert table.row_names == ("a/0.png", "a/2.png", "b/1.png")


@pytest.mark.parametrize(
    ("source", "options", "expected"),
    [
        (np.full((3, 4, 4), np.nan), {}, "holds 48 missing or infinite values"),
        (np.zeros((1, 4, 4)), {}, "has 1 point"),
        (np.zeros((0, 4, 4)), {}, "shape .0, 4, 4."),
        (np.zeros((3, 4, 4, 3)), {}, "shape .3, 4, 4, 3., expected .* make images in colours grey first"),
        (np.zeros((3, 4, 4), dtype=complex), {}, "expected real numbers"),
        (np.zeros((3, 4, 4)), {"columns": ["x1"]}, "columns is given, but source has images of 4 x 4 pixels"),
        (np.zeros((3, 4, 4)), {"label": "x1"}, "label is given"),
        (np.zeros((3, 4)), {"image_size": 8}, "image_size is 8, but source is no folder of images"),
    ],
)
def test_bad_points_are_refused_in_one_sentence(source, options, expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as caught:
        read_table(source, **options)
    assert "\n" not in str(caught.value)
