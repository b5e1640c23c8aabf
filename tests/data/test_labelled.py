"""Folders of labelled tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyroclust.data.datasets import read_labelled_folder
from pyroclust.models.labelled.labelled_tables import LabelledTables


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


def test_arrays_name_their_label_by_number(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.array([[0.1, 0], [0.2, 0], [5.0, 1], [5.1, 1], [5.2, 1]]))
    table = read_labelled_folder(str(tmp_path), label="x2")[0]
    assert table.columns == ("x1",)
    assert len(set(table.labels)) == 2


def write(folder: Path, **tables: pd.DataFrame) -> None:
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)


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
    write(tmp_path, **tables)
    with pytest.raises(ValueError, match=message):
        read_labelled_folder(tmp_path, label="kind")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no folder"):
        read_labelled_folder(tmp_path / "nowhere", label="kind")
