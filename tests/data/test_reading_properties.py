"""Any table of text is read as it was written, or refused in one sentence."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclust.data.datasets import read_table
from pyroclust.data.numerals import Cells, NumberFormat, find_number_format
from pyroclust.results.files import csv_parts

NUMBERS = st.floats(-1e12, 1e12, allow_subnormal=False)
NAMES = st.from_regex(r"[a-z]{1,8}( [a-z]{1,5})?", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[float]]]:
    """Names, and at least three rows of which none is whole in all cells."""
    names = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    row = st.lists(NUMBERS, min_size=len(names), max_size=len(names))
    return names, draw(st.lists(row, min_size=3, max_size=8))


@ONE_FOLDER
@given(tables(), st.sampled_from([",", ";", "\t", "|"]), st.sampled_from(["utf-8-sig", "utf-16", "latin-1"]))
def test_every_delimiter_and_encoding_gives_the_numbers_back(
    tmp_path: Path, table, delimiter, encoding
) -> None:
    names, rows = table
    text = "\n".join(delimiter.join(row) for row in [names, *([repr(x) for x in row] for row in rows)])
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    found = read_table(path)
    assert found.columns == tuple(names)
    np.testing.assert_array_equal(found.data, rows)
    path.write_text("\n".join(";".join(repr(x).replace(".", ",") for x in row) for row in rows))
    np.testing.assert_array_equal(read_table(path, decimal=",", header=False).data, rows)


@ONE_FOLDER
@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_labels_come_back_as_they_are_written(tmp_path: Path, labels: list[str]) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(
        [["x", "k"], *((i + 0.5, one) for i, one in enumerate(labels))]
    )
    path = tmp_path / "t.csv"
    path.write_bytes(stream.getvalue().encode())
    if any(ord(one) < 32 and one not in "\t\n\v\f\r" for one in "".join(labels)):
        with pytest.raises(ValueError, match="bytes that are no text"):
            read_table(path, label="k")
        return
    wanted = [one if one.strip() else None for one in labels]
    if not any(wanted):
        with pytest.raises(ValueError, match="holds no label"):
            read_table(path, label="k")
        return
    assert read_table(path, label="k").labels.tolist() == wanted


@ONE_FOLDER
@given(st.text(st.sampled_from('ab01.,;\t|"\n\r -e#='), max_size=60) | st.binary(max_size=60).map(repr))
def test_any_text_is_a_table_or_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    try:
        found, said = read_table(path), ""
    except ValueError as error:
        found, said = None, str(error)
    assert said.isprintable()
    assert len(said) < 700 + len(str(tmp_path))
    if found is not None:
        assert np.isfinite(found.data).all()
        assert len(found.data) == len(found.row_names) >= 2
        assert len(found.columns) == found.data.shape[1] == len(set(found.columns))


@ONE_FOLDER
@given(st.binary(max_size=200), st.sampled_from([".csv", ".tsv", ".npy", ".parquet"]))
def test_any_bytes_are_a_table_or_one_sentence(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    said = ""
    try:
        read_table(path)
    except ValueError as error:
        said = str(error)
    assert said.isprintable()


@given(NUMBERS, st.sampled_from([(".", ","), (",", "."), (".", "'"), (".", " ")]))
def test_marks_of_thousands_are_left_out(number: float, marks: tuple[str, str]) -> None:
    decimal, thousands = marks
    text = f"{number:,.4f}".replace(",", "T").replace(".", decimal).replace("T", thousands)
    values, is_text = NumberFormat(decimal, thousands).numbers([text])
    assert not is_text.any()
    assert values[0] == float(f"{number:.4f}")


@given(st.lists(NUMBERS.map(lambda x: f"{x:,.4f}"), min_size=1, max_size=5))
def test_four_decimals_leave_no_doubt(cells: list[str]) -> None:
    assert find_number_format([cells], delimiter=",").decimal == "."
    swapped = [cell.translate(str.maketrans(",.", ".,")) for cell in cells]
    assert find_number_format([swapped], delimiter=";").decimal == ","


@given(st.lists(st.tuples(NUMBERS, TEXTS), min_size=1, max_size=6))
def test_what_is_written_is_read_back(rows: list[tuple[float, str]]) -> None:
    frame = pd.DataFrame(
        {"x": [row[0] for row in rows], "k": pd.Series([row[1] for row in rows], dtype=object)}
    )
    (header, *read) = csv.reader(io.StringIO("".join(csv_parts(frame)), newline=""))
    assert header == ["x", "k"]
    good = frame[["x"]].assign(n=range(len(rows)), lost=np.nan)
    assert "".join(csv_parts(good)) == good.to_csv(index=False)
    assert [float(row[0]) for row in read] == [row[0] for row in rows]
    assert len(pd.read_csv(io.StringIO("".join(csv_parts(frame)), newline=""))) == len(rows)


@given(st.lists(st.text(st.sampled_from("0123456789.,-+eE"), max_size=6), min_size=1, max_size=5))
def test_plain_numbers_are_those_of_single_cells(cells: list[str]) -> None:
    plain = Cells(cells).plain
    if plain is None:
        return
    # A cell of white space is not plain, so that each of these is looked at alone.
    values, is_text = NumberFormat(plain.mark or ".").numbers([*cells, " "])
    np.testing.assert_array_equal(values[:-1], plain.values)
    assert not is_text.any()
