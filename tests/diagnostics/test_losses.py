import numpy as np
import pytest
from sklearn.metrics import mutual_info_score, rand_score

from pyroclust.diagnostics import Binder, variation_of_information


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
    assert Binder()(a, b) == pytest.approx(6 / 16)


def test_against_scikit_learn_and_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.integers(4, size=(3, 7, 30)), rng.integers(6, size=(7, 30))
    monkeypatch.setattr("pyroclust.diagnostics.draws.contingency._POINTS_A_THREAD", 30)
    vi, loss = variation_of_information(a, b), Binder()(a, b)
    assert vi.shape == loss.shape == (3, 7)
    for i, j in np.ndindex(3, 7):
        mutual = mutual_info_score(a[i, j], b[j]) / np.log(2)
        assert vi[i, j] == pytest.approx(entropy_bits(a[i, j]) + entropy_bits(b[j]) - 2 * mutual)
        assert loss[i, j] == pytest.approx((1 - rand_score(a[i, j], b[j])) * 29 / 30)


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
