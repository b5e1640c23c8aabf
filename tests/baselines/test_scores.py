"""What known labels say of a partition, and classes of shares and features."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from pyroclust.baselines import feature_scores
from pyroclust.baselines.scores import labels_found


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
