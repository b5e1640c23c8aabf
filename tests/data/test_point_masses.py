"""Columns that are mostly one value: divided in two, whole again for people, and with an exact law."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import betaln
from scipy.stats import t as student

from pyroclust import compare, missing_cells, predict, read_table, standardise, update
from pyroclust.analysis.picking import model_by_name
from pyroclust.data.datasets import read_new_rows
from pyroclust.data.kinds import Kind
from pyroclust.data.tables import ColumnsOfTable

NAN = np.nan
ROWS = 30
QUICK = {"guide": "none", "mcmc_draws": 50, "num_chains": 2, "warmup": 50}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    rain = np.where(np.arange(ROWS) < 18, 0.0, rng.normal(5, 1, ROWS))
    rain[[3, 20]] = NAN
    return pd.DataFrame({"rain": rain, "wind": rng.normal(0, 1, ROWS)})


@pytest.fixture(scope="module")
def table(frame):
    return read_table(frame, kinds={}, masses_apart=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("masses") / "out"


@pytest.fixture(scope="module")
def found(frame, folder):
    return compare(frame, **QUICK, out=folder)


def test_it_is_divided_and_said(frame, table):
    assert table.columns == ("rain", "wind", "rain is 0")
    assert table.kinds == (Kind.NUMBER, Kind.NUMBER, Kind.YES_NO)
    assert table.levels[2] == ("no", "yes")
    rain = frame["rain"].to_numpy()
    np.testing.assert_array_equal(table.data[:, 0], np.where(rain == 0, NAN, rain))
    np.testing.assert_array_equal(table.data[:, 2], np.where(np.isnan(rain), NAN, rain == 0))
    assert any("one value in 'rain' (0: 17 of 28). Such a column is divided" in one for one in table.notes)
    assert any("2 of 60 cells are missing (2 in 'rain')" in one for one in table.notes)
    np.testing.assert_array_equal(table.missing[:, 0], np.isnan(rain))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, {"kinds": {"rain": "number"}}),
        ({}, {"kinds": {}, "masses_apart": False}),
        ({"rain is 0": np.arange(ROWS) / 7}, {"kinds": {}}),
        ({"rain": np.where(np.arange(ROWS) < 15, 0.0, np.arange(ROWS) / 7)}, {"kinds": {}}),
        ({"rain": np.where(np.arange(ROWS) < 20, 1 / 3, np.arange(ROWS) / 7)}, {"kinds": {}}),
        ({"rain": np.where(np.arange(ROWS) < 20, 0.0, 0.5 + np.arange(ROWS) % 1)}, {"kinds": {}}),
    ],
    ids=["told", "not asked", "a name is taken", "half", "a value that no name holds", "two values"],
)
def test_it_stays_whole(frame, change, told):
    found = read_table(frame.assign(**change), **{"masses_apart": True, **told})
    assert found.columns[0] == "rain"
    assert (found.data[:, 0] == frame.assign(**change)["rain"]).sum() >= 28


def test_new_rows_have_it_whole_or_in_two(frame, table):
    wanted = table.data[[0, 3, 29]]
    for new in (frame.iloc[[0, 3, 29]], frame.iloc[[0, 3, 29]].to_numpy()):
        np.testing.assert_array_equal(read_new_rows(new, table).data, wanted)
    np.testing.assert_array_equal(read_new_rows(table, table).data, table.data)
    with pytest.raises(ValueError, match="new has 1 column"):
        read_new_rows(np.zeros((3, 1)), table)
    with pytest.raises(ValueError, match="unknown column 'rain'"):
        read_new_rows(frame[["wind"]], table)


def by_hand(values):
    """Return the log density of cells of one cluster: how many are zeros, and the others one by one."""
    kappa, shape, rate, a = 0.08, 2.0, 0.2, 0.5
    there = values[~np.isnan(values)]
    zeros, seen = (there == 0).sum(), []
    total = betaln(a + zeros, a + len(there) - zeros) - betaln(a, a)
    for one in there[there != 0]:
        n, past = len(seen), np.array(seen)
        mean = past.sum() / (kappa + n)
        spread = ((past - past.mean()) ** 2).sum() + kappa * n / (kappa + n) * past.mean() ** 2 if n else 0.0
        b = rate + spread / 2
        scale = np.sqrt(b * (kappa + n + 1) / ((shape + n / 2) * (kappa + n)))
        total += student.logpdf(one, 2 * shape + n, mean, scale)
        seen.append(one)
    return total


def test_its_law_is_a_share_of_the_value_and_a_density_of_the_others(frame):
    table = read_table(frame[["rain"]], kinds={}, masses_apart=True)
    points = standardise(table)
    names = {"family": "nig", "prior": "gamma-crp"}
    model = model_by_name(2, ROWS, columns=ColumnsOfTable.of(table, points), **names)
    labels = np.arange(ROWS) % 3
    data = torch.from_numpy(points.data)
    density = model.log_joint(data, torch.from_numpy(labels)) - model.log_joint(
        torch.full_like(data, NAN), torch.from_numpy(labels)
    )
    rain = frame["rain"].to_numpy()
    scaled = np.where(rain == 0, 0.0, (rain - points.location[0]) / points.scale[0])
    wanted = sum(by_hand(scaled[labels == k]) for k in range(3))
    assert density.item() == pytest.approx(wanted, rel=1e-6)


def test_only_missing_cells_are_drawn(found, frame):
    cells = missing_cells(found)
    assert {one.name: one.rows.tolist() for one in cells.columns} == {"rain": [3, 20], "rain is 0": [3, 20]}
    whole = compare(frame.dropna(), **QUICK)
    assert "missing" not in whole.results
    assert not any("cells are missing" in one for one in whole.notes)
    with pytest.raises(ValueError, match="no missing cell"):
        missing_cells(whole)


def test_new_rows_are_predicted(found, folder, frame):
    prediction = predict(found, frame)
    np.testing.assert_array_equal(predict(folder, frame).log_density, prediction.log_density)
    assert len(update(folder, frame.tail(3), num_draws=20).frame()) == ROWS + 3
    assert prediction.warning is None
    np.testing.assert_allclose(prediction.probabilities.sum(1), 1)
    cents = frame.assign(rain=frame["rain"] * 100)
    other = predict(compare(cents, **QUICK), cents)
    rain = frame["rain"].to_numpy()
    shift = np.where(np.isnan(rain) | (rain == 0), 0.0, np.log(100))
    np.testing.assert_allclose(prediction.log_density - other.log_density, shift, atol=0.02)


def test_full_covariances_need_whole_columns(frame):
    whole = compare(frame.dropna(), family="niw", **QUICK)
    assert whole.data.points.columns == ("rain", "wind")
    assert any("Divide such a column in two" in one for one in whole.notes)


def test_rows_and_pictures_have_it_whole(found, folder, frame):
    rain = frame["rain"].to_numpy()
    rows = dict(found.data.clustered.written())
    np.testing.assert_allclose(rows["rain"], rain)
    np.testing.assert_allclose(pd.read_csv(folder / "assignments.csv")["rain"], rain)
    assert [rows["rain is 0"][at] for at in (0, 3, 29)] == ["yes", None, "no"]
    drawn = found.data.complete[:, 0]
    scaled = (rain - found.data.points.location[0]) / found.data.points.scale[0]
    there = ~np.isnan(rain)
    np.testing.assert_allclose(drawn[there], scaled[there])


def test_names_alone_divide_nothing():
    own = pd.DataFrame({"x": [None, 1.5, 2.5, 4.5] * 6, "x is 5": ["yes", "no", "no", "no"] * 6})
    table = read_table(own, kinds={}, masses_apart=True)
    assert (table.parts, table.missing.sum()) == ((), 6)
    assert np.isnan(dict(table.written())["x"]).sum() == 6
    rows = pd.DataFrame(np.repeat([[5.0, 1.0]], 3, 0), columns=["x", "x is 5"])
    found = read_new_rows(rows, read_table(rows))
    np.testing.assert_array_equal(found.data, rows)
    assert not found.missing.any()
