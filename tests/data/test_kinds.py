"""Kinds of columns: what is found out, what is told, what is left out, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest

from pyroclust import read_table, standardise
from pyroclust.data.datasets import read_new_rows
from pyroclust.data.kinds import Kind
from pyroclust.data.tables import as_vectors, indicator_names, indicators, principal_components

ROWS = 24
EVERY = np.arange(ROWS)


def table(kinds=None, **columns):
    columns.setdefault("x", EVERY / 7)
    return read_table(pd.DataFrame(columns), kinds={} if kinds is None else kinds)


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        (EVERY / 7 % 3, Kind.NUMBER, ()),
        (EVERY % 12 * 25 + 2700, Kind.NUMBER, ()),  # whole, none of them 0
        (EVERY % 2, Kind.YES_NO, ("0", "1")),
        (EVERY % 2 == 0, Kind.YES_NO, ("false", "true")),
        (np.array(["yes", "No"])[EVERY % 2], Kind.YES_NO, ("No", "yes")),
        (EVERY % 2 + 1, Kind.CATEGORY, ("1", "2")),
        (EVERY % 5 + 3, Kind.CATEGORY, ("3", "4", "5", "6", "7")),
        (np.array(["b", "a", "c"])[EVERY % 3], Kind.CATEGORY, ("a", "b", "c")),
        (pd.Categorical(np.array(["b", "a"])[EVERY % 2], ["b", "a", "none"]), Kind.CATEGORY, ("b", "a")),
        (
            np.repeat([0, 1, 2, 3, 9, 10, 11, 14], 3),
            Kind.CATEGORY,
            ("0", "1", "2", "3", "9", "10", "11", "14"),
        ),
    ],
)
def test_kinds_are_found_out(values, kind, levels):
    found = table(y=values)
    place = found.columns.index("y")
    assert (found.kinds[place], found.levels[place]) == (kind, levels)


def test_counts_are_whole_from_zero_and_small_and_their_columns_rise_in_the_mean():
    rng = np.random.default_rng(0)
    many, few, large = rng.poisson(6, 300), rng.poisson(1.5, 300), rng.poisson(60, 300)
    many[0] = 0
    frame = pd.DataFrame({"many": many, "few": np.where(few > 4, 15 + few, few), "large": large})
    found = read_table(frame.assign(few=np.arange(300) % 12), kinds={})
    assert found.columns == ("large", "few", "many")
    assert found.kinds == (Kind.NUMBER, Kind.COUNT, Kind.COUNT)
    assert "counts: 'few', 'many'" in " ".join(found.notes)


def test_identifiers_and_columns_of_one_value_are_left_out_and_said():
    names = [f"row {i}" for i in EVERY]
    found = table(id=EVERY + 1, name=names, same=np.ones(ROWS), empty=[None] * ROWS)
    assert found.columns == ("x",)
    said = " ".join(found.notes)
    for name in ("id", "name", "same", "empty"):
        assert f"'{name}': " in said
    assert "name it in --columns" in said
    kept = read_table(pd.DataFrame({"x": EVERY / 7, "id": EVERY + 1}), columns=["x", "id"], kinds={})
    assert kept.columns == ("x", "id")


def test_numbers_with_zeros_before_them_are_no_measurements(tmp_path):
    path = tmp_path / "codes.csv"
    rows = "".join(f"{i / 7:.3f},00{i % 3},{i:05}\n" for i in EVERY)
    path.write_text(f"x,ward,zip\n{rows}")
    found = read_table(path, kinds={})
    assert (found.columns, found.levels) == (("x", "ward"), ((), ("000", "001", "002")))
    assert any("'zip': its numbers begin with zeros" in note for note in found.notes)
    assert read_table(path, kinds={"zip": "number"}).columns == ("x", "zip", "ward")


def test_what_is_told_holds():
    codes = EVERY % 3 + 1
    assert table({"y": "number"}, y=codes).are_numbers
    assert table({"y": "count"}, y=codes).kinds[1] is Kind.COUNT
    assert table({"y": "category"}, y=codes / 2).levels[1] == ("0.5", "1", "1.5")
    assert table({"y": "yes/no"}, y=np.array(["sick", "well"])[EVERY % 2]).levels[1] == ("sick", "well")
    assert (
        read_table(np.stack([EVERY / 7, EVERY % 3], -1), kinds={"x2": "category"}).kinds[1] is Kind.CATEGORY
    )


@pytest.mark.parametrize(
    ("values", "kinds", "sentence"),
    [
        ([f"{i % 12 + 1:02}/03/2020" for i in EVERY], {}, "'y' holds dates such as 01/03/2020, of which day"),
        (20200101 + EVERY, {}, "'y' holds dates such as 20200101"),
        (["1.5", "2.5", "three", "4.5"] * 6, {}, "'y' holds 'three', not only real numbers"),
        ([1.0, np.inf] * 12, {}, "'y' holds 12 infinite values"),
        (EVERY / 2 - 3, {"y": "count"}, "'y' is told to be counts, but holds -3, expected whole numbers"),
        (EVERY % 3, {"y": "yes/no"}, "'y' is told to be yes/no, but holds 3 values (0, 1, 2)"),
        (["one"] * ROWS, {"y": "category"}, "'y' has 1 category, expected at least 2"),
        (EVERY % 3, {"y": "colour"}, "column 'y': unknown kind 'colour'"),
        (EVERY % 3, {"z": "number"}, "unknown column 'z'"),
        (EVERY % 3, ["y"], "kinds is of type list, expected kinds by names of columns"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(values, kinds, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_table(pd.DataFrame({"x": EVERY / 7, "y": values}), kinds=kinds)


def test_missing_cells_are_nan_said_and_no_part_of_the_scale():
    gaps = np.where(EVERY % 4 == 0, np.nan, EVERY / 7)
    words = [None if i % 5 == 0 else "abc"[i % 3] for i in EVERY]
    found = table(gaps=gaps, words=words)
    assert found.has_missing
    assert "11 of 72 cells are missing (6 in 'gaps', 5 in 'words')" in " ".join(found.notes)
    scaled = standardise(found)
    column = scaled.data[:, 1]
    np.testing.assert_allclose([np.nanmean(column), np.nanstd(column)], [0, 1], atol=1e-12)
    np.testing.assert_array_equal(np.isnan(scaled.data), np.isnan(found.data))
    np.testing.assert_array_equal(scaled.data[:, 2], found.data[:, 2])
    with pytest.raises(ValueError, match="cells are missing, and principal components need all"):
        principal_components(scaled, 1)
    with pytest.raises(ValueError, match="holds missing values"):
        read_table(pd.DataFrame({"gaps": gaps}))


def test_new_rows_are_read_as_the_old_ones_were():
    old = table(answer=np.array(["no", "yes"])[EVERY % 2], kind=np.array(["a", "b", "c"])[EVERY % 3])
    new = pd.DataFrame({"kind": ["c", "", "a"], "x": [1.0, None, 2.0], "answer": ["YES", "no", None]})
    found = read_new_rows(new, old).data
    np.testing.assert_array_equal(found, [[1.0, 1, 2], [np.nan, 0, np.nan], [2.0, np.nan, 0]])
    with pytest.raises(ValueError, match="'kind' holds 'd', which no row had that was clustered"):
        read_new_rows(new.assign(kind="d"), old, refuses_unseen=True)
    again = read_new_rows(old, old)
    np.testing.assert_array_equal(again.data, old.data)
    told = table({"y": "category"}, y=np.array(["Yes", "no", "yes"])[EVERY % 3])
    new = pd.DataFrame({"x": [0.0] * 3, "y": ["Yes", "no", "yes"]})
    assert read_new_rows(new, told).data[:, 1].tolist() == [0.0, 1.0, 2.0]


def test_vectors_for_pictures_weigh_a_category_as_one_column():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=300), "answer": rng.choice(["no", "yes"], 300)})
    like = read_table(frame.assign(kind=rng.choice(list("abc"), 300)), kinds={})
    data = like.data.copy()
    vectors = as_vectors(data, like)
    np.testing.assert_allclose(
        vectors.var(0).round(6), [data[:, 0].var().round(6), 1, *[1 / 3] * 3], atol=1e-6
    )
    data[0], wide = np.nan, indicators(data, like)
    assert wide.shape == (300, 5)
    assert indicator_names(like) == ("x", "answer = yes", "kind = a", "kind = b", "kind = c")
    assert np.isfinite(as_vectors(data, like)).all()
