"""Tables as people have them: units, names, one-hot columns, codes for missing, heaps, rows of one unit."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyroclust import read_table
from pyroclust.data.datasets import read_new_rows
from pyroclust.data.kinds import Kind
from pyroclust.data.notes import doubts_of
from pyroclust.data.numerals import quantities

ROWS = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=ROWS).round(3)


def read(tmp_path, text, name="table.csv", **beside):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_table(path, kinds=beside.pop("kinds", {}), **beside)


def csv(**columns):
    return pd.DataFrame(columns).to_csv(index=False)


@pytest.mark.parametrize(
    ("cells", "unit", "numbers"),
    [
        (["12%", "7.5 %", ""], "%", ["12", "7.5", ""]),
        (["$1,200", "-$950"], "$", ["1,200", "-950"]),
        (["1.200,50 EUR", "3 EUR"], "EUR", ["1.200,50", "3"]),
        (["12 kg", "7kg"], "kg", ["12", "7"]),
        (["1.5 m²", "2 m²"], "m²", ["1.5", "2"]),
        (["5 years", "1 year"], "years", ["5", "1"]),
        (["−3", "4"], "", ["-3", "4"]),
        (["08:30", "17:00"], "hours", ["8.5", "17"]),
        (["31.12.2020", "01.02.2021"], "days since 2020-12-31", ["0", "32"]),
        (["12 Jan 2020", "3 Feb 2020"], "days since 2020-01-12", ["0", "22"]),
        (["03/24/2020", "05/06/2020"], "days since 2020-03-24", ["0", "43"]),
        (["2020-03-01 18:00:00", "2020-03-02"], "days since 2020-03-01", ["0.75", "1"]),
        (["2020-03-01T07:00+01:00", "2020-03-01T11:00-01:00"], "days since 2020-03-01 UTC", ["0.25", "0.5"]),
        (["26:15:00", "3:00:00"], "hours", ["26.25", "3"]),
        (["٥٢", "٥٣"], "", ["52", "53"]),
    ],
)
def test_numbers_in_disguise(cells, unit, numbers):
    found = quantities(cells)
    assert (found.unit, found.cells) == (unit, numbers)


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2"],
        ["12 kg", "9 lb"],
        ["12", "7%"],
        ["1a", "2a"],
        ["A1", "B1"],
        ["early", "late"],
        ["03/04/2020", "05/06/2020"],
        ["2020-03-01 18:00Z", "2020-03-02 18:00"],
        ["2020-13-01", "2020-02-30"],
        ["3/24/2020 6:00 PM", "3/24/2020 12:00 AM"],
        ["31.12.20", "01.02.21"],
    ],
)
def test_other_text_stays_text(cells):
    assert quantities(cells) is None


def test_a_table_in_per_cent_is_the_table_in_numbers(tmp_path):
    share, amount = (RNG.random(ROWS) * 100).round(1), RNG.integers(100_000, 400_000, ROWS)
    plain = read(tmp_path, csv(share=share, amount=amount))
    written = read(tmp_path, csv(share=[f"{s}%" for s in share], amount=[f"${a:,}" for a in amount]))
    assert np.array_equal(plain.data, written.data)
    assert written.units == ("%", "$")
    assert any("'share' in %" in note for note in written.notes)


def test_new_rows_need_the_unit_and_move_dates(tmp_path):
    old = read(tmp_path, csv(day=["2020-01-01", "2020-01-31"] * 30, share=[f"{i}%" for i in range(ROWS)]))
    assert old.units == ("days since 2020-01-01", "%")
    new = pd.DataFrame({"day": ["2020-02-10"], "share": ["5%"]})
    assert read_new_rows(new, old).data.tolist() == [[40.0, 5.0]]
    assert read_new_rows(old, old).data.tolist() == old.data.tolist()
    frame = pd.DataFrame({"x": X, "day": pd.date_range("2021-03-01", periods=ROWS)})
    assert read_table(frame, kinds={}).units == ("", "days since 2021-03-01")
    with pytest.raises(ValueError, match=r"'day' has numbers in days since 2020-02-10 UTC, .* 2020-01-01"):
        read_new_rows(new.assign(day=["2020-02-10T06:00Z"]), old)
    with pytest.raises(ValueError, match=r"'share' has numbers without a unit, .* in %"):
        read_new_rows(new.assign(share=[0.05]), old)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient_id", RNG.permutation(ROWS) * 7 + 3),
        ("KundenNr", np.repeat(np.arange(20) + 5, 3)),
        ("Kunde", RNG.permutation(np.arange(ROWS) % 25) + 17_000),
        ("numéro", RNG.permutation(np.arange(ROWS) % 40)),
        ("serial", RNG.choice(900_000, ROWS, replace=False) + 100_003),
        ("row", np.arange(ROWS)),
    ],
)
def test_names_are_no_measurements(name, values):
    table = read_table(pd.DataFrame({"x": X, name: values}), kinds={}, aggregate="none")
    assert table.columns == ("x",)
    assert any(f"'{name}'" in note and "Left out" in note for note in table.notes)
    told = read_table(pd.DataFrame({"x": X, name: values}), kinds={name: "number"}, aggregate="none")
    assert name in told.columns


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", RNG.integers(20, 80, ROWS)),
        ("price", RNG.choice(900_000, ROWS, replace=False) + 100_003),
        ("home_value", RNG.choice(9000, ROWS, replace=False) * 100 + 100_000),
        ("number_of_rooms", RNG.integers(1, 14, ROWS)),
        ("items", RNG.integers(0, 15, ROWS)),
        ("year", RNG.integers(1950, 2020, ROWS)),
    ],
)
def test_measurements_are_no_names(name, values):
    assert name in read_table(pd.DataFrame({"x": X, name: values}), kinds={}).columns


def test_rows_of_one_unit_are_refused_or_made_one(tmp_path):
    frame = pd.DataFrame(
        {"patient_id": np.repeat(np.arange(20) + 1001, 3), "sbp": X, "ward": ["a", "a", "b"] * 20}
    )
    with pytest.raises(ValueError, match=r"60 rows of 20 'patient_id'.*--aggregate patient_id"):
        read_table(frame, kinds={})
    assert read_table(frame, kinds={}, aggregate="none").columns == ("sbp", "ward")
    table = read_table(frame, kinds={}, aggregate="patient_id")
    assert table.row_names[0] == "1001"
    assert np.allclose(table.data[:, 0], X.reshape(20, 3).mean(1))


def test_one_hot_columns_are_one_category():
    color = np.array(["red", "green", "blue"])[RNG.integers(0, 3, 4 * ROWS)]
    whole = pd.DataFrame({"x": np.tile(X, 4), "color": color})
    parts = pd.get_dummies(whole, columns=["color"], dtype=int)
    for frame in (parts, parts.drop(columns="color_blue")):
        table = read_table(frame, kinds={})
        assert table.columns == ("x", "color")
        assert table.kinds[1] is Kind.CATEGORY
        assert "are one category, 'color'. To keep one apart, name it in --kinds." in table.notes[0]
        assert not table.doubts
    told = read_table(parts, kinds=dict.fromkeys(parts.columns[1:], "yes/no"))
    assert set(told.columns) == set(parts.columns)
    (doubt,) = [one for one in told.doubts if "from_dummies" in one]
    assert doubt.startswith("'color_blue', 'color_green', 'color_red' hold one category")
    assert not any("as a total" in one for one in told.doubts)


@given(
    st.lists(st.sampled_from(["red", "new_york", "a b", "Ä", "x=1"]), min_size=2, max_size=40),
    st.sampled_from(["color", "my_color", "c"]),
    st.sampled_from(["_", ".", "="]),
    st.booleans(),
)
def test_one_category_is_read_alike_in_both_encodings(levels, name, mark, is_reversed):
    assume(len(set(levels)) > 1)
    whole = pd.DataFrame({"x": RNG.normal(size=len(levels)), name: levels})
    dummies = pd.get_dummies(whole[name], prefix=name, prefix_sep=mark, dtype=int)
    parts = whole[["x"]].join(dummies[dummies.columns[:: -1 if is_reversed else 1]])
    one, other = read_table(whole, kinds={}), read_table(parts, kinds={})
    np.testing.assert_array_equal(one.data, other.data)
    assert one.kinds == other.kinds
    assert one.doubts == other.doubts
    for old in (one, other):
        for new in (whole, parts):
            np.testing.assert_array_equal(read_new_rows(new.iloc[1:], old).data, one.data[1:])


def test_answers_that_may_meet_stay_apart():
    frame = pd.DataFrame(RNG.integers(0, 2, (ROWS, 3)), columns=["has_a", "has_b", "has_c"]).assign(x=X)
    assert len(read_table(frame, kinds={}).columns) == 4
    assert not read_table(frame, kinds={}).doubts


def test_codes_for_missing_answers():
    answers = RNG.integers(1, 6, (ROWS, 3))
    answers[:5, 0], answers[:4, 1] = 99, 0
    frame = pd.DataFrame(answers, columns=["q1", "q2", "q3"]).assign(x=X)
    said = " ".join(read_table(frame, kinds={}).notes)
    assert "99 (5 in 'q1')" in said
    assert "0 (4 in 'q2')" in said
    table = read_table(frame, kinds={}, missing=["99", "q1..q3=0"])
    assert np.isnan(table.data).sum() == 9
    with pytest.raises(ValueError, match="no cell holds it"):
        read_table(frame, kinds={}, missing=["-5"])
    with pytest.raises(ValueError, match="missing: unknown column 'q9'"):
        read_table(frame, kinds={}, missing=["q9=1"])


@pytest.mark.parametrize("form", ["frame", "file"])
def test_kinds_of_columns_from_one_to_another(form, tmp_path):
    answers = np.random.default_rng(1).integers(1, 6, (ROWS, 4))
    source = pd.DataFrame(answers, columns=["q1", "q2", "q3", "b..c"]).assign(x=X)
    if form == "file":
        source.to_parquet(tmp_path / "answers.parquet")
        source = tmp_path / "answers.parquet"
    table = read_table(source, kinds={"q1..q3": "ordered", "q2": "number", "b..c": "number"})
    kinds = dict(zip(table.columns, table.kinds, strict=True))
    assert kinds == {"q1": "ordered", "q2": "number", "q3": "ordered", "b..c": "number", "x": "number"}
    # Of those that are clustered.
    some = read_table(source, columns=["q2", "x"], kinds={"q1..q3": "ordered"})
    assert dict(zip(some.columns, some.kinds, strict=True)) == {"q2": "ordered", "x": "number"}
    with pytest.raises(ValueError, match=r"of q3\.\.q1 'q1' stands before 'q3'"):
        read_table(source, kinds={"q3..q1": "ordered"})
    with pytest.raises(ValueError, match="unknown column 'q9'"):
        read_table(source, kinds={"q1..q9": "ordered"})
    with pytest.raises(ValueError, match="'q2', which is not clustered"):
        read_table(source, leave_out=["q2"], kinds={"q2": "ordered"})


def test_doubts():
    score = np.minimum(RNG.normal(95, 10, 300), 100).round(2)
    steps = np.arange(300) % 7 / 3.7 - 1.2
    far = np.where(np.arange(300) == 7, 1e6, RNG.normal(size=300))
    data = pd.DataFrame({"score": score, "steps": steps, "far": far, "a": RNG.normal(size=300)})
    table = read_table(data.assign(b=data.a * 2.54 + 3), kinds={})
    said = " ".join(table.doubts)
    for part in (
        "have 100 in 'score', its largest",
        "'steps' has 7 different values",
        "row 8 has 1e+06",
        "'a' and 'b'",
    ):
        assert part in said
    assert read_table(pd.DataFrame({"x": X, "y": RNG.normal(size=ROWS)}), kinds={}).doubts == ()


def test_columns_can_be_left_out_and_tables_turned():
    frame = pd.DataFrame({"x": X, "y": X**2, "z": X**3})
    assert read_table(frame, kinds={}, leave_out=["y"]).columns == ("x", "z")
    with pytest.raises(ValueError, match="columns and leave_out"):
        read_table(frame, kinds={}, leave_out=["y"], columns=["x"])
    turned = read_table(
        pd.DataFrame({"gene": ["p", "q"], "s1": [1.0, 2.0], "s2": [3.0, 5.0]}), transpose=True
    )
    assert turned.columns == ("p", "q")
    assert turned.row_names == ("s1", "s2")


def test_marks_among_numbers_are_missing_and_labels_stay(tmp_path):
    text = "x,y,k\n" + "1.5,?,1\n2.5,3,?\n4,5,1\n" * 20
    table = read(tmp_path, text, label="k")
    assert np.isnan(table.data).sum() == 20
    assert "“?” in 'y'. To cluster such a column as a category" in " ".join(table.notes)
    (row,) = read_new_rows(pd.DataFrame({"x": [1.5], "y": ["?"]}), table, refuses_unseen=True).data
    assert np.isnan(row).sum() == 1
    told = read(tmp_path, text, label="k", kinds={"y": "category"})
    assert told.levels[told.columns.index("y")] == ("3", "5", "?")
    assert not any("as missing among numbers" in note for note in told.notes)
    assert sorted(set(table.labels)) == ["1", "?"]


def test_titles_above_the_names_are_left_out_or_named(tmp_path):
    table = read(tmp_path, "Report 2020,,\n,,\na,b,c\n1.5,2,3\n3,5,1\n2,2,5\n")
    assert table.columns == ("a", "b", "c")
    assert "“Report 2020” was left out" in " ".join(table.notes)
    with pytest.raises(ValueError, match="line 1 has 1 cell, expected 2 as in line 2: if it is a title"):
        read(tmp_path, "Report 2020\na,b\n1.5,2\n3,5\n")


def test_features_in_rows_are_said():
    wide = pd.DataFrame(RNG.normal(size=(6, 60)), index=list("abcdef"))
    assert "give --transpose" in read_table(wide, kinds={}).notes[0]
    assert not read_table(wide.reset_index(drop=True), kinds={}).notes


def test_new_rows_have_the_codes_and_the_one_hot_columns_of_the_old():
    color = np.array(["red", "green", "blue"])[RNG.integers(0, 3, ROWS)]
    age = np.where(np.arange(ROWS) % 9 == 0, 99.0, RNG.normal(40, 5, ROWS).round(1))
    frame = pd.get_dummies(pd.DataFrame({"age": age, "color": color}), columns=["color"], dtype=int)
    old = read_table(frame, kinds={}, missing=["age=99"])
    again = read_new_rows(frame, old)
    np.testing.assert_array_equal(again.data, old.data)
    with pytest.raises(ValueError, match="unknown column 'color'"):
        read_new_rows(frame.drop(columns="color_red"), old)
    for value, what in ((0, "none"), (1, "several")):
        new = frame.assign(color_red=value, color_green=value, color_blue=value)
        rows = read_new_rows(new, old)
        assert np.isnan(rows.data[:, old.columns.index("color")]).all()
        assert f"'{what} of these', which no row had" in rows.notes[0]
        with pytest.raises(ValueError, match=f"holds '{what} of these'"):
            read_new_rows(new, old, refuses_unseen=True)


def test_built_in_tables_take_the_options_of_others():
    sepals = read_table("iris", leave_out=["petal_length_cm", "petal_width_cm"])
    assert sepals.columns == ("sepal_length_cm", "sepal_width_cm")
    with pytest.raises(ValueError, match="galaxies has 1 row"):
        read_table("galaxies", transpose=True)
    with pytest.raises(ValueError, match="no column of numbers"):
        read_table(pd.DataFrame({"gene": ["p", "q"]}), transpose=True)


def test_thousands_of_columns_take_the_memory_of_the_table_and_not_that_of_all_pairs():
    columns = {f"g{place}": RNG.normal(size=ROWS) for place in range(5000)}
    columns["inches"] = columns["g17"] / -2.54 + 3
    columns["feet"] = (columns["g4999"] / 12).round(9)
    tracemalloc.start()
    (said,) = doubts_of(columns, [], groups={})
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said.startswith("'g17' and 'inches', 'g4999' and 'feet' hold the same numbers")
    assert used < 50e6


def _beside_numbers(name, cells, others_empty=0):
    numbers = np.random.default_rng(0).normal(size=(len(cells), 2))
    numbers[:others_empty, 1] = np.nan
    return pd.DataFrame(numbers, columns=["x", "y"]).assign(**{name: cells})


@pytest.mark.parametrize(
    ("name", "empty", "others_empty", "is_said"),
    [
        ("z_class", 50, 0, True),
        ("z_class", 20, 10, True),
        ("z_class", 50, 30, False),
        ("z_class", 10, 0, False),
        ("CellType", 95, 0, True),
        ("smoker", 50, 0, True),
        ("smoker", 50, 1, False),
        ("smoker", 25, 0, False),
    ],
)
def test_classes_that_are_known_of_some_rows_are_hinted_at(name, empty, others_empty, is_said):
    cells = np.where(np.arange(100) < 100 - empty, np.resize(["a", "b"], 100), None)
    table = read_table(_beside_numbers(name, cells, others_empty), kinds={})
    said = [note for note in table.notes if "--partial-labels" in note]
    assert bool(said) == is_said
    if is_said:
        assert f"'{name}' is empty in {empty} of 100 rows" in said[0]
        told = read_table(_beside_numbers(name, cells, others_empty), kinds={}, partial_labels=name)
        assert not any("give --partial-labels" in note for note in told.notes)


def test_numbers_and_heaps_with_empty_cells_are_no_classes():
    numbers = _beside_numbers("group", np.where(np.arange(100) % 2, np.nan, np.arange(100) / 7))
    rain = _beside_numbers("class", np.maximum(0, np.arange(100) - 70) / 7)
    for frame in (numbers, rain):
        notes = read_table(frame, kinds={}, masses_apart=True).notes
        assert not any("--partial-labels" in note for note in notes)
