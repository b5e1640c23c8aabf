"""Questions that users of other software asked in public: the quick ones are answered, or said to be open."""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cases import some_of
from sklearn.metrics import adjusted_rand_score

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from public_reports import REPORTS, by_bic, judged, measure, normals, parallel

from pyroclust import cluster

FEW = {"mcmc_draws": 100, "num_chains": 2, "warmup": 100}
RIGHT = [
    *("two points", "two points, any numbers", "ten points", "minmax", "predictions", "five rows", "outlier"),
    *("equal values", "variants", "purchasers", "gaps"),
]
UNSURE = ["zeros", "petals", "one question", "whole numbers"]


@pytest.mark.parametrize("name", RIGHT)
def test_reports_are_answered(name):
    assert measure(REPORTS[name], **FEW)["judged"] == "right"


@pytest.mark.parametrize("name", UNSURE)
def test_what_cannot_be_told_has_a_right_number_in_its_interval(name):
    low, high = measure(REPORTS[name], **FEW)["interval"]
    assert any(low <= number <= high for number in REPORTS[name].numbers)


@pytest.mark.parametrize("name", ["ten rows", "few rows", "curves"])
def test_few_rows_of_many_columns_are_answered_with_reserve(name):
    row = measure(REPORTS[name], **FEW)
    assert row["judged"] != "silently wrong"
    assert "rows are few for covariances" in row["said"]
    right = measure(REPORTS[name], family="diagonal", **FEW)
    assert right["judged"] == "right" or right["said"].startswith("Not yet")


def test_one_repeated_point_is_refused_in_a_sentence():
    row = measure(REPORTS["one point"], **FEW)
    assert row["judged"] == "refused"
    assert "constant" in row["said"]


@pytest.mark.parametrize(
    ("ratio", "angle"), some_of(product([10, 30, 100], [0, 30]), [(10, 30), (30, 0), (100, 30)])
)
def test_parallel_long_clusters_are_told_apart_where_bic_is_wrong(ratio, angle):
    row = measure(REPORTS[f"parallel {ratio}:1, {angle} degrees"], **FEW)
    assert row["how many"].startswith("2 clusters")
    assert row["ARI"] > 0.95
    assert row["seconds"] < 20
    assert by_bic(parallel(ratio, angle)[0]) != 2


@pytest.mark.parametrize(
    ("number", "interval", "rely", "judgement"),
    [
        (2, (2, 3), "Yes: MCMC converged.", "right"),
        (2, (1, 96), "Not yet: MCMC has not converged.", "not sure"),
        (3, (2, 4), "Yes: MCMC converged.", "not sure"),
        (4, (3, 5), "With care: MCMC converged. But ...", "not sure"),
        (4, (3, 5), "Yes: MCMC converged.", "silently wrong"),
    ],
)
def test_a_wrong_answer_that_is_sure_is_silently_wrong(number, interval, rely, judgement):
    found = SimpleNamespace(in_words=SimpleNamespace(num_clusters=number, interval=interval, rely=rely))
    report = replace(REPORTS["two points"], numbers=(2,), least=0)
    assert judged(report, found, None, "") == judgement
    assert judged(report, found, None, "other labels") == "silently wrong"


@pytest.mark.parametrize(("rows", "few"), [(20, True), (21, False)])
def test_fewer_rows_than_entries_of_a_covariance_are_a_doubt(rows, few):
    table, _ = normals([rows], [[0] * 6], [[1] * 6])
    found = cluster(table, **FEW)
    assert (
        "20 rows are few for covariances of 6 columns, which have 21 entries" in found.in_words.rely
    ) == few
    assert any("--family diagonal" in note for note in found.notes) == few
    assert "are few" not in cluster(table, family="diagonal", **FEW).in_words.rely


def three_groups(rows, apart, common):
    """Draw three groups in ten columns, which a common cause may hold together."""
    means = np.random.default_rng(5).normal(0, apart, (3, 10))
    table, groups = normals([rows] * 3, means, np.ones((3, 10)))
    return table + common * np.random.default_rng(6).normal(size=(3 * rows, 1)), groups


@pytest.mark.parametrize(("apart", "common", "doubts"), [(1.2, 0.0, True), (3.6, 2.0, False)])
def test_independent_columns_are_a_second_look_where_rows_are_few(apart, common, doubts):
    table, groups = three_groups(20, apart, common)
    found = cluster(table, **FEW)
    said = "60 rows are few for covariances of 10 columns: with columns that are independent in a cluster"
    assert (said in found.in_words.rely) == doubts
    assert (found.results["independent_columns"]["gain"] > 5) == doubts
    assert (found.in_words.num_clusters == 3) != doubts
    if doubts:
        assert "there would be 3 clusters, and the rows would be likelier" in found.in_words.rely
        right = cluster(table, family="diagonal", **FEW)
        assert adjusted_rand_score(groups, right.reference.estimate.assignments) > 0.9


def test_many_rows_have_no_second_look():
    found = cluster(three_groups(80, 1.2, 0.0)[0], **FEW)
    assert "independent_columns" in found.not_asked
    assert "few for covariances" not in found.in_words.rely


@pytest.mark.parametrize("times", [20, 100, 500])
def test_two_repeated_points_are_two_clusters(times):
    rows = np.repeat([[1.5, 2.25], [3.7, 9.1]], times, 0)
    assert cluster(rows, **FEW).in_words.sizes == (times, times)
