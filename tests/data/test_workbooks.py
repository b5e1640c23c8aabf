"""Workbooks of Excel: what is read, what is said, and what is refused."""

import csv
import datetime
import re
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclust import read_table
from pyroclust.data import reading
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


def test_what_is_no_table_is_refused_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "cut.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(ValueError, match=r"cut\.xlsx' is not a readable \.xlsx file"):
        read_table(tmp_path / "cut.xlsx")
    empty = written(tmp_path, none=pd.DataFrame({"x": []}))
    with pytest.raises(ValueError, match="has no rows in its first sheet 'none'"):
        read_table(empty)
    days = pd.DataFrame({"x": [0.5, 1.5], "day": [datetime.datetime(2020, 1, day) for day in (30, 31)]})
    assert read_table(written(tmp_path, days=days)).data[:, 1].tolist() == [0, 1]
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"needs the package openpyxl: pip install 'pyroclust\[excel\]'"):
        read_table(empty)


def test_formulas_that_nobody_computed_are_refused_by_their_cells(tmp_path):
    book = openpyxl.Workbook()
    for row in (["x", "y", "z"], [1.5, "=A2*2", None], [2.5, 3.0, "=A3"], [4.0, 7.0, 1.0]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(
        ValueError, match=r"2 formula\(s\) without a value in its first sheet .* \(B2, C3\): open"
    ):
        read_table(tmp_path / "t.xlsx", kinds={})
    # As Excel stores them: a number, and an empty text.
    with zipfile.ZipFile(tmp_path / "t.xlsx") as old, zipfile.ZipFile(tmp_path / "u.xlsx", "w") as new:
        for name in old.namelist():
            text = old.read(name).replace(b'r="C3"', b'r="C3" t="str"')
            new.writestr(name, re.sub(rb"(A2\*2</f>)<v */>|(A2\*2</f>)<v></v>", rb"A2*2</f><v>3</v>", text))
    found = read_table(tmp_path / "u.xlsx", kinds={}, columns=["x", "y"])
    assert found.data.tolist() == [[1.5, 3.0], [2.5, 3.0], [4.0, 7.0]]


CELLS = st.sampled_from(
    ["01", "1", "2", "NA", "yes", "Yes", "no", "A", "a", "", "1.5", "-0.25", "n/a", "x y"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=9)
    )
)
def test_a_sheet_is_read_as_the_same_text(tmp_path, rows):
    # A sheet does not say that it ends with empty rows.
    rows = [*rows, ["last"] * len(rows[0])]
    rows = [[f"c{place}" for place in range(len(rows[0]))], *rows]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "t.csv", index=False, header=False, quoting=csv.QUOTE_ALL)
    frame.to_excel(tmp_path / "t.xlsx", index=False, header=False)
    found = []
    for suffix in ("csv", "xlsx"):
        try:
            table = read_table(tmp_path / f"t.{suffix}", kinds={})
        except ValueError as error:
            found.append(str(error))
        else:
            found.append(
                (table.columns, table.kinds, table.levels, np.nan_to_num(table.data, nan=-9).tolist())
            )
    said = [one.replace("t.xlsx", "t.csv") if isinstance(one, str) else one for one in found]
    assert said[0] == said[1]
