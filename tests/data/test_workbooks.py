"""Workbooks of Excel: what is read, what is said, and what is refused."""

import datetime

import numpy as np
import pandas as pd
import pytest

from pyroclust import read_table
from pyroclust.data import workbooks
from pyroclust.data.kinds import Kind


def written(tmp_path, **sheets):
    path = tmp_path / "table.xlsx"
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        for name, frame in sheets.items():
            frame.to_excel(book, sheet_name=name, index=False)
    return path


def test_a_sheet_is_read_with_its_kinds_and_gaps(tmp_path):
    rows = np.arange(12)
    frame = pd.DataFrame({"x": rows / 7, "stage": np.array(["a", "b"])[rows % 2], "ok": rows % 3 == 0})
    frame.loc[3, ["x", "stage"]] = None
    found = read_table(written(tmp_path, data=frame, notes=frame), kinds={})
    assert found.kinds == (Kind.NUMBER, Kind.YES_NO, Kind.CATEGORY)
    assert np.isnan(found.data).sum() == 2
    np.testing.assert_allclose(found.data[4, 0], 4 / 7)
    assert any("The first of 2 sheets was read, 'data'" in note for note in found.notes)


def test_numbers_alone_are_read_as_from_csv(tmp_path):
    frame = pd.DataFrame({"x": [1, 2, 4], "y": [0.5, 1.5, 2.5]})
    np.testing.assert_array_equal(read_table(written(tmp_path, only=frame)).data, frame.to_numpy(float))


def test_what_is_no_table_is_refused_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "cut.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(ValueError, match=r"cut\.xlsx' is not a readable \.xlsx file"):
        read_table(tmp_path / "cut.xlsx")
    empty = written(tmp_path, none=pd.DataFrame({"x": []}))
    with pytest.raises(ValueError, match="has no rows in its first sheet 'none'"):
        read_table(empty)
    days = pd.DataFrame({"x": [0.5, 1.5], "day": [datetime.datetime(2020, 1, day) for day in (30, 31)]})
    assert read_table(written(tmp_path, days=days)).data[:, 1].tolist() == [0, 1]
    monkeypatch.setattr(workbooks, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"needs the package openpyxl: pip install 'pyroclust\[excel\]'"):
        read_table(empty)
