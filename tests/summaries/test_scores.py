import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from pyroclust.baselines.scores import adjusted_rand_where_known, partition_scores, scores_where_known


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


def test_too_few_clusters_is_an_error_without_sign():
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
