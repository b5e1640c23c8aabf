"""What known labels say of a partition, and classes of shares and features."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, silhouette_score

from pyroclust.baselines import feature_scores
from pyroclust.baselines.scores import (
    adjusted_rand_where_known,
    labels_found,
    partition_scores,
    scores_where_known,
)


def test_labels_are_found_by_clusters():
    labels = np.array(["star"] * 4 + ["other"] * 3 + [None], dtype=object)
    rows = labels_found(labels, np.array([1, 1, 1, 0, 0, 0, 1, 1]))
    assert [(one.label, one.points, one.cluster) for one in rows] == [("star", 4, 1), ("other", 3, 0)]
    assert [one.share_found for one in rows] == [0.75, pytest.approx(2 / 3)]
    assert [one.share_of_cluster for one in rows] == [0.75, pytest.approx(2 / 3)]


SHARES = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.6, 0.4], [0.1, 0.9]])
TRUTH = np.array(["a", "a", "b", "b", "b", "b"])
MASK = np.array([True, False, True, False, False, False])


def test_scores_by_hand() -> None:
    features = np.array([[0.0], [0.1], [5.0], [5.2], [0.3], [5.1]])
    found = feature_scores(SHARES, TRUTH, validation=MASK, features=features, num_neighbours=(1, 2))
    # Of four points one, the fifth, is in the cluster of the other class.
    assert found.accuracy == found.accuracy_of_most_confident == 0.75
    assert found.neighbour_errors[1] == 0.25
    assert found.sureness == pytest.approx((0.7 + 0.6 + 0.6 + 0.9) / 4)
    assert found.silhouette == pytest.approx(silhouette_score(features[~MASK], [0, 1, 0, 1]))
    # Entropies of 1/4 and 1/2: I = log 4 / 4 + ... by the table [[1, 0], [1, 2]].
    table = np.array([[1, 0], [1, 2]]) / 4
    rows, columns = table.sum(1), table.sum(0)
    terms = [
        table[i, j] * np.log(table[i, j] / rows[i] / columns[j])
        for i in (0, 1)
        for j in (0, 1)
        if table[i, j]
    ]
    entropies = [-(one * np.log(one)).sum() for one in (rows, columns)]
    assert found.normalised_mutual_information_arithmetic == pytest.approx(sum(terms) / np.mean(entropies))
    assert found.normalised_mutual_information_geometric == pytest.approx(
        sum(terms) / np.sqrt(np.prod(entropies))
    )


def test_two_clusters_may_have_the_class_of_their_surest_points() -> None:
    shares = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    truth = ["a", "a", "b", "a", "a", "b"]
    found = feature_scores(shares, truth, validation=np.array([True] * 3 + [False] * 3))
    assert found.accuracy_of_most_confident == 1.0
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.neighbour_errors == {}
    assert np.isnan(found.silhouette)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"validation": np.ones(6, bool)}, "expected some and not all"),
        ({"validation": np.zeros(6, bool)}, "expected some and not all"),
        ({"validation": np.zeros(6, int)}, "true or false"),
        ({"validation": MASK[1:]}, "have shapes"),
        ({"features": np.zeros((5, 2))}, "features has shape"),
        ({"shares": SHARES[0]}, "have shapes"),
    ],
)
def test_wrong_arguments_are_named(told: dict, words: str) -> None:
    call = {"shares": SHARES, "truth": TRUTH, "validation": MASK} | told
    with pytest.raises(ValueError, match=words):
        feature_scores(call.pop("shares"), call.pop("truth"), **call)


def test_equal_partitions_have_perfect_scores_whatever_their_names():
    scores = partition_scores(["b", "b", "a", "c"], [7, 7, -1, 3])
    assert scores.adjusted_rand == 1.0
    assert scores.adjusted_mutual_information == pytest.approx(1.0)
    assert scores.normalised_mutual_information_arithmetic == pytest.approx(1.0)
    assert scores.accuracy == 1.0
    assert scores.num_clusters_error == 0
    assert scores.variation_of_information == 0.0


def test_hand_computed_scores():
    # Two classes of two points; the second class is cut in half.
    scores = partition_scores([0, 0, 1, 1], [0, 0, 1, 2])
    assert scores.adjusted_rand == pytest.approx(4 / 7)
    # Entropies are 1 and 1.5 bits, their mutual information is 1 bit.
    assert scores.normalised_mutual_information_arithmetic == pytest.approx(1 / 1.25)
    assert scores.variation_of_information == pytest.approx(0.5)
    assert scores.accuracy == 0.75
    assert scores.num_clusters_error == 1


def test_accuracy_matches_each_cluster_with_one_class_at_most():
    # Both clusters are mostly class 0: only one may be matched with it, the other takes class 1.
    truth = [0, 0, 0, 0, 0, 1, 1]
    found = [0, 0, 0, 1, 1, 1, 0]
    assert partition_scores(truth, found).accuracy == pytest.approx(4 / 7)
    assert partition_scores([0, 1, 2], [0, 0, 0]).num_clusters_error == 2
    assert partition_scores([0, 0, 0], [0, 1, 2]).num_clusters_error == 2


def test_agrees_with_scikit_learn_on_random_partitions():
    rng = np.random.default_rng(0)
    truth, found = rng.integers(5, size=60), rng.integers(4, size=60)
    scores = partition_scores(truth, found)
    assert scores.adjusted_rand == pytest.approx(adjusted_rand_score(truth, found))
    assert scores.adjusted_mutual_information == pytest.approx(adjusted_mutual_info_score(truth, found))
    assert scores.adjusted_rand != pytest.approx(scores.adjusted_mutual_information, abs=1e-6)


@pytest.mark.parametrize(
    ("truth", "found", "message"),
    [
        ([0, 1], [0, 1, 2], r"assignments has shape \(3,\), expected \(2,\)"),
        ([[0, 1]], [0, 1], r"truth has shape \(1, 2\), expected \(N,\)"),
        ([], [], "truth has shape"),
        (["a", None], [0, 1], r"truth has 1 missing label\(s\)"),
        ([0.0, 1.0], [0.0, float("nan")], r"assignments has 1 missing label\(s\)"),
    ],
)
def test_bad_labels_are_refused(truth, found, message):
    with pytest.raises(ValueError, match=message):
        partition_scores(np.array(truth), np.array(found))


def test_the_adjusted_rand_index_alone_is_that_of_all_scores():
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array(["a", "b", "c", None], dtype=object), 60)
    found, times = rng.integers(0, 4, 60), rng.integers(1, 4, 60)
    for weights in (None, times):
        wanted = scores_where_known(truth, found, row_weights=weights).adjusted_rand
        assert adjusted_rand_where_known(truth, found, row_weights=weights) == pytest.approx(wanted)
    assert adjusted_rand_where_known(None, found) is None
