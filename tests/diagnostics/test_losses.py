import numpy as np
import pytest
from sklearn.metrics import mutual_info_score, rand_score

from pyroclust.diagnostics import binder, expected_vi, variation_of_information


def entropy_bits(labels):
    share = np.bincount(labels) / len(labels)
    share = share[share > 0]
    return -(share * np.log2(share)).sum()


def test_values_by_hand():
    a, b = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])
    assert variation_of_information(a, a) == 0
    assert variation_of_information(a, np.array([0, 1, 2, 3])) == pytest.approx(1.0)
    # H(a) = 1, H(b) = H(1/4) = 0.811278, joint shares 1/2, 1/4, 1/4: H = 1.5
    assert variation_of_information(a, b) == pytest.approx(3.0 - 1.0 - 0.8112781244591328)
    # ordered pairs that disagree: (0,2), (1,2), (2,3) and their mirror images
    assert binder(a, b) == pytest.approx(6 / 16)


def test_against_scikit_learn_and_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.integers(4, size=(3, 7, 30)), rng.integers(6, size=(7, 30))
    monkeypatch.setattr("pyroclust.diagnostics.draws.contingency._POINTS_A_THREAD", 30)
    vi, loss = variation_of_information(a, b), binder(a, b)
    assert vi.shape == loss.shape == (3, 7)
    for i, j in np.ndindex(3, 7):
        mutual = mutual_info_score(a[i, j], b[j]) / np.log(2)
        assert vi[i, j] == pytest.approx(entropy_bits(a[i, j]) + entropy_bits(b[j]) - 2 * mutual)
        assert loss[i, j] == pytest.approx((1 - rand_score(a[i, j], b[j])) * 29 / 30)


def test_renaming_changes_nothing():
    rng = np.random.default_rng(1)
    a, b = rng.integers(5, size=20), rng.integers(5, size=20)
    renamed = rng.permutation(5)[a]
    assert variation_of_information(renamed, b) == pytest.approx(variation_of_information(a, b))
    assert variation_of_information(renamed, a) == 0


def test_expected_vi_is_the_weighted_mean():
    rng = np.random.default_rng(2)
    candidates, draws = rng.integers(4, size=(5, 12)), rng.integers(6, size=(2, 9, 12))
    weights = rng.random((2, 9))
    table = variation_of_information(candidates[:, None], draws.reshape(1, 18, 12))
    np.testing.assert_allclose(expected_vi(candidates, draws), table.mean(1), atol=1e-12)
    expected = table @ weights.ravel() / weights.sum()
    np.testing.assert_allclose(expected_vi(candidates, draws, weights=weights), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("a", "message"),
    [
        (np.array([0.0, 1.0]), "expected integers"),
        (np.array([0, 5]), "labels from 0 to 5, expected 0 to 1"),
        (np.array([0, 0, 1]), "3 and 2 points"),
        (np.array([], dtype=int), "at least one"),
    ],
)
def test_bad_labels(a, message):
    with pytest.raises(ValueError, match=message):
        variation_of_information(a, np.array([0, 1]))
