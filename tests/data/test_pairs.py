"""Pairs of rows from files, by the names that rows have, and from Python, counted from 0."""

import numpy as np
import pytest
import torch

from pyroclust.data import read_table
from pyroclust.data.delimited_text import read_pairs

NAMES = tuple("12345")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,2\n3,4\n", [[0, 1], [2, 3]]),
        ("1,2\n", [[0, 1]]),
        ("first,second\n1,2\n", [[0, 1]]),
        ("1;2\n3;4\n", [[0, 1], [2, 3]]),
        ("1\t2\n\n3\t4\n", [[0, 1], [2, 3]]),
        ('"5", 1\n', [[4, 0]]),
    ],
)
def test_a_file_names_rows(tmp_path, text, found):
    (tmp_path / "pairs.csv").write_text(text)
    assert read_pairs(tmp_path / "pairs.csv", name="must_link", row_names=NAMES).tolist() == found


@pytest.mark.parametrize("text", ["1,200\n", "1,200\n2,130\n", "1;200\n"])
def test_a_pair_is_no_number_with_a_mark_in_it(tmp_path, text):
    (tmp_path / "pairs.csv").write_text(text)
    names = tuple(map(str, range(1, 201)))
    assert read_pairs(tmp_path / "pairs.csv", name="must_link", row_names=names)[0].tolist() == [0, 199]


def test_rows_with_names_are_named(tmp_path):
    (tmp_path / "pairs.csv").write_text("one,other\nana,bo\n")
    names = ("bo", "cy", "ana")
    assert read_pairs(tmp_path / "pairs.csv", name="must_link", row_names=names).tolist() == [[2, 0]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("1,2,3\n", "has 3 columns, expected two"),
        ("5\n", "has 1 column, expected two"),
        ("1,2\n3\n", "line 2 has 1 cell"),
        ("0,1\n", "names the row '0', expected rows from 1 to 5, as in the column 'row' of assignments.csv"),
        ("0,9\n1,2\n", "names the row '0'"),
        ("1,6\n", "names the row '6'"),
        ("1,2\nfoo,3\n", "names the row 'foo'"),
        ("a,b\n", "names the row 'a'"),
    ],
)
def test_other_files_are_refused_in_a_sentence(tmp_path, text, said):
    (tmp_path / "pairs.csv").write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        read_pairs(tmp_path / "pairs.csv", name="must_link", row_names=NAMES)
    assert "\n" not in str(error.value)


def test_names_of_rows_and_files_that_cannot_be_are_refused(tmp_path):
    (tmp_path / "pairs.csv").write_text("a,b\n")
    for file, names, said in (
        ("pairs.csv", ("a", "a", "b"), "names the row 'a', a name that several rows have"),
        ("pairs.csv", ("x", "y", "z"), "one of x, y, z, as in the column"),
        ("pairs.npy", NAMES, r"its suffix is '\.npy', expected one of \.csv, \.tsv"),
        ("absent.csv", NAMES, "there is no file"),
    ):
        with pytest.raises(ValueError, match=said):
            read_pairs(tmp_path / file, name="must_link", row_names=names)


@pytest.mark.parametrize("pairs", [[(0, 4)], np.array([[0, 4]]), torch.tensor([[0, 4]]), ([0, 4],)])
def test_pairs_in_python_count_from_0(pairs):
    assert read_pairs(pairs, name="must_link", row_names=NAMES).tolist() == [[0, 4]]
    assert read_pairs([], name="must_link", row_names=NAMES).shape == (0, 2)
    with pytest.raises(ValueError, match=r"the pair \(0, 5\), expected points from 0 to 4"):
        read_pairs([(0, 5)], name="cannot_link", row_names=NAMES)


@pytest.mark.parametrize("pairs", [[(0, 1, 2)], [(0.5, 1.0)], [(1,), (2, 3)], [0, 1]])
def test_what_is_no_pairs_is_refused(pairs):
    with pytest.raises(ValueError, match=r"expected a file, or pairs of points, \(P, 2\) integers"):
        read_pairs(pairs, name="must_link", row_names=NAMES)


def test_partial_labels_are_kept_and_not_clustered(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,known\n1,2,x\n2,5,\n4,1,y\n7,3,\n")
    iris = read_table("iris", partial_labels="species")
    assert iris.labels is None
    assert set(iris.partial_labels) == {"setosa", "versicolor", "virginica"}
    table = read_table(path, partial_labels="known")
    assert table.columns == ("a", "b")
    assert table.partial_labels.tolist() == ["x", None, "y", None]
    assert table.labels is None
    with pytest.raises(ValueError, match="give partial_labels to read_table"):
        read_table(table, partial_labels="known")
