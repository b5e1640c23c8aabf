"""Tables whose rows have weights: what is found, written, read back and refused."""

import numpy as np
import pandas as pd
import pytest

import pyroclust
from pyroclust.data.datasets import read_table
from pyroclust.data.standardise import standardise

SHORT = {"mcmc_draws": 50, "num_chains": 2, "warmup": 50}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 2)) + np.repeat([[0.0], [7.0]], 6, 0)
    return pd.DataFrame(values, columns=["a", "b"]).assign(times=[3, 1, 2, 1, 1, 2] * 2)


def test_columns_are_put_on_the_scale_of_the_repeated_table(frame):
    frame.loc[[2, 7], "b"] = np.nan
    found = standardise(read_table(frame, weight="times", kinds={}))
    repeated = frame.loc[frame.index.repeat(frame["times"])][["a", "b"]]
    np.testing.assert_allclose(found.location, repeated.mean())
    np.testing.assert_allclose(found.scale, repeated.std(ddof=0))
    assert found.columns == ("a", "b")


def test_what_is_found_is_written_and_read_back(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    found = pyroclust.cluster(path, weight="times", out=tmp_path / "found", **SHORT)
    assert "12 rows of a, b, which stand for 20." in found.introduction
    assert any("Rows are weighted: 12 rows stand for 20" in note for note in found.notes)
    clusters = found.clusters()
    assert clusters["weight"].sum() == 20
    np.testing.assert_allclose(clusters["share"], clusters["weight"] / 20)
    assert found.in_words.sizes == tuple(clusters["weight"])
    draws = found.draws["mcmc"].assignments.repeat(frame["times"], axis=-1)
    every = pyroclust.diagnostics.point_estimate(draws, seed=found.seed)
    np.testing.assert_array_equal(found.reference.assignments.repeat(frame["times"]), every)
    assert pd.read_csv(tmp_path / "found" / "assignments.csv")["weight"].tolist() == frame["times"].tolist()
    assert "--weight times" in found.repeat.command
    back = pyroclust.Analysis.read(tmp_path / "found")
    np.testing.assert_array_equal(back.data.table.weights, frame["times"])
    pd.testing.assert_frame_equal(
        pyroclust.predict(back, frame[:3]).frame(), pyroclust.predict(found, frame[:3]).frame()
    )
    other = pyroclust.cluster(frame[["a", "b"]], weight=[1] * 12, **SHORT)
    assert other.repeat.run != pyroclust.cluster(frame[["a", "b"]], **SHORT).repeat.run


def test_constraints_and_missing_cells_go_with_weights(frame):
    frame.loc[3, "b"] = np.nan
    found = pyroclust.compare(frame, weight="times", must_link=[(0, 11)], also=["evidence"], **SHORT)
    assert found.guide is None
    assert (found.draws["mcmc"].assignments[..., 0] == found.draws["mcmc"].assignments[..., 11]).all()
    assert not found.failures


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"guide": "filter-niw2d"}, "guide 'filter-niw2d' does not count by"),
        ({"family": "student-t"}, "expected a conjugate family"),
        ({"pca": 1}, "components do not count"),
        ({"columns": ["a", "times"]}, "column 'times' has the weights and cannot be clustered too"),
        ({"weight": "many"}, "many"),
        (
            {"weight": "a"},
            "column 'a' has .* expected whole numbers of at least 1, how often each row counts",
        ),
        ({"weight": [1, 2]}, r"weight has shape \(2,\), expected \(12,\)"),
    ],
)
def test_what_does_not_count_by_weights_is_refused(frame, options, told):
    with pytest.raises(ValueError, match=told):
        pyroclust.compare(frame, **{"weight": "times", **options}, **SHORT)


def test_weights_of_graphs_and_updates_are_refused(frame):
    with pytest.raises(ValueError, match="not columns of a table: leave it out"):
        pyroclust.cluster("karate", weight="times")
    found = pyroclust.cluster(frame, weight="times", **SHORT)
    with pytest.raises(ValueError, match="rows with weights"):
        pyroclust.update(found, frame[:2])
