"""Built-in tables, files, arrays and folders as tables, and their scale."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyroclust.data.datasets import read_labelled_folder, read_table
from pyroclust.data.tables import Table, principal_components, standardise
from pyroclust.models.training_data.labelled_tables import LabelledTables

GOOD = pd.DataFrame({"width": [1.0, 2.0, 4.0, 2.0], "height": [3, 1, 1, 1], "kind": list("aabb")})


def csv(folder: Path, text: str) -> Path:
    path = folder / "points.csv"
    path.write_text(text)
    return path


def test_iris_clusters_petals_by_default_and_any_columns_on_request():
    assert read_table("iris").columns == ("petal_length_cm", "petal_width_cm")
    assert read_table("iris", label="petal_length_cm").columns == ("petal_width_cm",)
    assert read_table("iris", aggregate="species").row_names == ("setosa", "versicolor", "virginica")
    table = read_table("iris", columns=["sepal_width_cm"])
    assert table.data.shape == (150, 1)
    assert set(table.labels) == {"setosa", "versicolor", "virginica"}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_files_give_the_same_table(tmp_path, suffix):
    path = tmp_path / f"boxes{suffix}"
    if suffix == ".parquet":
        GOOD.to_parquet(path)
    else:
        GOOD.to_csv(path, sep="\t" if suffix == ".tsv" else ",", index=False)
    table = read_table(path, label="kind")
    assert table.name == "boxes"
    assert table.columns == ("width", "height")
    np.testing.assert_array_equal(table.data, GOOD[["width", "height"]])
    assert table.labels.tolist() == list("aabb")
    assert table.row_names == ("1", "2", "3", "4")


def test_arrays_and_npy_files_get_numbered_columns(tmp_path):
    array = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "a.npy", array)
    for table in (read_table(array), read_table(tmp_path / "a.npy")):
        assert table.columns == ("x1", "x2")
        np.testing.assert_array_equal(table.data, array)
    assert read_table(np.arange(4)).data.shape == (4, 1)


def test_header_may_be_missing_and_an_unnamed_first_column_names_the_rows(tmp_path):
    table = read_table(csv(tmp_path, "1.5,2\n1.5,3\n"))
    assert table.columns == ("x1", "x2")
    assert table.data.shape == (2, 2)
    GOOD.set_index(pd.Index(list("pqrs"))).to_csv(tmp_path / "named.csv")
    named = read_table(tmp_path / "named.csv", label="kind")
    assert named.row_names == ("p", "q", "r", "s")
    assert named.columns == ("width", "height")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n", "has 0 row"),
        ("a,b\n1,2\n", "has 1 row"),
        ("a,b\n1,2\n?x,3\n", "column 'a' holds '?x'"),
        ("a,when\n1,early\n2,late\n", "--label when"),
    ],
)
def test_bad_csv_is_one_sentence(tmp_path, text, expected):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        read_table(csv(tmp_path, text))
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("galaxy", "did you mean 'galaxies'"),
        ("there/is/none.csv", "no file 'there/is/none.csv'"),
        ("points.ods", "suffix is '.ods'"),
        (np.zeros((2, 2, 2, 2)), "shape (2, 2, 2, 2)"),
        ([[1.0, 2.0], [3.0]], "of type list with rows of unequal lengths"),
        (3.5, "shape ()"),
        (np.zeros((3, 2)) * 1j, "not only real numbers"),
    ],
)
def test_bad_source_says_what_to_do(source, expected):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_table(source)
    assert expected in str(caught.value)


def test_damaged_files_and_pickled_arrays_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    for name in ("points.npy", "points.parquet"):
        (tmp_path / name).write_bytes(b"PAR1 not really")
    for name in ("points.npy", "points.parquet", "objects.npy"):
        with pytest.raises(ValueError, match="not a readable"):
            read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"columns": ["widht"]}, "did you mean 'width'"),
        ({"label": "kin"}, "did you mean 'kind'"),
        ({"columns": ["width", "width"]}, "appears twice"),
        ({"columns": ["width", "kind"], "label": "kind"}, "'kind' is the label and cannot be clustered too"),
    ],
)
def test_columns_that_cannot_be_chosen(told, expected):
    with pytest.raises(ValueError, match=expected):
        read_table(GOOD, **told)


def test_standardised_columns_return_to_their_units():
    table = read_table("iris")
    points = standardise(table)
    np.testing.assert_allclose(points.data.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(points.data.var(0), 1)
    np.testing.assert_allclose(points.data * points.scale + points.location, table.data)


@pytest.mark.parametrize(
    ("column", "expected"), [([5.1] * 3, "constant"), ([0.0, 1e300, -1e300], "too large")]
)
def test_columns_that_have_no_scale(column, expected):
    table = Table("t", np.array(column)[:, None], ("c",), None, ("1", "2", "3"))
    with pytest.raises(ValueError, match=f"column 'c' is {expected}"):
        standardise(table)


def test_principal_components_keep_the_proportions_of_distances():
    points = standardise(read_table("iris", columns=["sepal_length_cm", "petal_length_cm", "petal_width_cm"]))
    whole = principal_components(points, 3).data
    distances = [np.linalg.norm(x[:, None] - x, axis=-1) for x in (points.data, whole)]
    np.testing.assert_allclose(
        distances[0], distances[1] * distances[0].max() / distances[1].max(), atol=1e-9
    )
    np.testing.assert_allclose(whole.var(0).mean(), 1)
    assert "of the variance" in principal_components(points, 2).notes[0]
    with pytest.raises(ValueError, match="expected 1 to 3"):
        principal_components(points, 4)


class OtherFrame:
    """A frame of another library, as those of polars: it turns into one of pandas."""

    def __init__(self, frame):
        self._frame, self.columns = frame, list(frame.columns)

    def to_pandas(self):
        return self._frame


def test_frames_of_other_libraries_are_read_by_way_of_pandas():
    frame = pd.DataFrame({"width": [1.0, 2.0], "height": [0.5, 0.1]})
    table = read_table(OtherFrame(frame))
    assert table.columns == ("width", "height")
    np.testing.assert_array_equal(table.data, frame.to_numpy())
    other = OtherFrame(frame)
    other.to_pandas = lambda: 1 / 0
    with pytest.raises(ValueError, match="source is a OtherFrame that does not turn into a data frame"):
        read_table(other)


def frame(rows: int = 6, **columns: object) -> pd.DataFrame:
    width = np.arange(rows) + 0.5
    return pd.DataFrame({"width": width, "height": width**2, "kind": ["a", "b"] * (rows // 2)}).assign(
        **columns
    )


def test_every_kind_of_file_is_read_in_order_and_others_are_passed_over(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "c.csv", index=False)
    frame(8).to_csv(tmp_path / "b.tsv", index=False, sep="\t")
    frame(10).to_parquet(tmp_path / "a.parquet")
    (tmp_path / "readme.txt").write_text("not a table")
    (tmp_path / "folder.csv").mkdir()
    found = read_labelled_folder(tmp_path, label="kind")
    assert [(table.name, len(table.data)) for table in found] == [("a", 10), ("b", 8), ("c", 6)]
    assert all(table.columns == ("width", "height") for table in found)
    assert found[2].labels.tolist() == ["a", "b"] * 3
    model = LabelledTables([(table.data, table.labels) for table in found])
    assert model.dim == 2


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "holds no table, expected at least one .csv"),
        ({"one": frame().rename(columns={"kind": "kinds"})}, "unknown column 'kind', did you mean 'kinds'"),
        ({"one": frame(), "two": frame(depth=1.0)}, "two has columns width, height, depth, expected width"),
        ({"one": frame(width=[1, 2, np.nan, 4, 5, 6])}, "holds missing values"),
        ({"one": frame(kind=["a", None, "b", "b", "a", "a"])}, "column 'kind' has 1 missing"),
        ({"one": frame(kind=list("abcdef"))}, "gives every row a class of its own"),
        ({"one": frame(4)}, "one has 4 row.*expected at least 5"),
    ],
)
def test_bad_folders(tmp_path: Path, tables: dict[str, pd.DataFrame], message: str) -> None:
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(ValueError, match=message):
        read_labelled_folder(tmp_path, label="kind")
