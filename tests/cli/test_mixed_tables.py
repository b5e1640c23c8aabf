"""`pyroclust compare` and `predict` of tables with columns of every kind and missing cells."""

import json

import numpy as np
import pandas as pd
import pytest
from faults.cases import run_command

from pyroclust import cluster, missing_cells, predict
from pyroclust.sklearn import PartitionPosterior

QUICK = {"mcmc_draws": 100, "num_chains": 2, "warmup": 100}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    frame = pd.DataFrame(
        {
            "name": [f"patient {i}" for i in range(60)],
            "age": rng.normal(np.array([30, 60])[truth], 4),
            "visits": rng.poisson(np.array([1, 9])[truth]).astype(float),
            "smoker": np.array(["no", "yes"])[(rng.random(60) < np.array([0.1, 0.9])[truth]).astype(int)],
            "stage": np.array(["early", "mid", "late"])[np.where(truth, 2, rng.integers(0, 2, 60))],
            "truth": truth,
        }
    )
    for column in ("age", "visits", "smoker", "stage"):
        frame.loc[rng.random(60) < 0.15, column] = None
    return frame


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    place = tmp_path_factory.mktemp("mixed")
    frame.to_csv(place / "clinic.csv", index=False)
    options = "--label truth --draws 30 --mcmc-draws 100 --chains 2 --warmup 100 --quiet --json"
    command = ["compare", str(place / "clinic.csv"), "--out", str(place / "out"), *options.split()]
    assert run_command(command)[0] == 0
    return place / "out"


def test_a_csv_with_categories_and_gaps_ends_in_clusters_that_are_right(folder):
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    assert summary["model"] == "table"
    assert summary["columns"] == ["age", "visits", "smoker", "stage"]
    assert not summary.get("failures")
    rows = pd.read_csv(folder / "assignments.csv")
    assert rows["stage"].dropna().isin(["early", "mid", "late"]).all()
    both = pd.crosstab(rows["cluster"], rows["label"]).to_numpy()
    assert both.max(1).sum() >= 57
    page = (folder / "report.html").read_text("utf-8")
    for said in (
        "'name': every row has a text of its own",
        "are integrated out",
        "What the missing cells may hold",
    ):
        assert said in page.replace("&#39;", "'").replace("&#x27;", "'")


def test_missing_cells_are_drawn_near_the_cells_of_their_cluster(folder, frame):
    found = missing_cells(folder)
    assert sum(len(one.rows) for one in found.columns) == int(frame.drop(columns="truth").isna().sum().sum())
    age = next(one for one in found.columns if one.name == "age")
    centre = np.where(frame["truth"].to_numpy()[age.rows], 60, 30)
    assert np.abs(age.centre - centre).max() < 10
    cells = found.frame()
    assert set(cells["column"]) == {"age", "visits", "smoker", "stage"}
    assert cells["probability"].dropna().between(1 / 3, 1).all()


def test_new_rows_with_gaps_are_predicted_and_strange_ones_warn(folder, frame):
    new = frame.drop(columns=["truth", "name"])
    same = predict(folder, new)
    np.testing.assert_allclose(same.probabilities.sum(1), 1)
    assert same.warning is None
    strange = predict(folder, new.assign(age=new["age"] + 40))
    assert strange.warning is not None
    gone = predict(folder, new.assign(stage="gone"))
    assert "'gone', which no row had" in " ".join(gone.notes)
    with pytest.raises(ValueError, match="'stage' holds 'gone', which no row had"):
        predict(folder, new.assign(stage="gone"), refuse_unseen=True)


def test_the_density_of_a_row_is_that_of_its_cells_in_the_units_of_the_columns(frame):
    rows = frame[["age"]].assign(height=np.arange(60.0) % 7)
    cents = rows.assign(age=rows["age"] * 100)
    one, other = (predict(cluster(table, **QUICK), table).log_density for table in (rows, cents))
    shift = np.where(rows["age"].isna(), 0.0, np.log(100))
    np.testing.assert_allclose(one - other, shift, atol=0.02)


def test_an_estimator_takes_a_data_frame_as_it_is(frame):
    table = frame.drop(columns=["truth", "name"]).astype({"stage": "category"})
    found = PartitionPosterior(**QUICK, random_state=0).fit(table)
    assert found.predict_proba(table.head(4)).shape == (4, found.labels_.max() + 2)
    assert found.result_.model.name == "table"
    told = PartitionPosterior(**QUICK, kinds={"smoker": "category"}, random_state=0).fit(table)
    assert told.result_.data.table.kinds[2] == "category"
    gaps = PartitionPosterior(**QUICK, random_state=0).fit(frame[["age", "visits"]].to_numpy())
    assert np.isfinite(gaps.score_samples([[np.nan, 2.0]])).all()
