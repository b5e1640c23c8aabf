from itertools import combinations

import numpy as np
import pytest
from scipy.stats import entropy

from pyroclust.diagnostics import (
    informative_pairs,
    most_informative_pairs,
    partition_entropy,
)
from pyroclust.partitions import enumerate_partitions

EVERY = enumerate_partitions(6).numpy()
PAIRS = np.array(list(combinations(range(6), 2)))
ANSWERS = EVERY[:, PAIRS[:, 0]] == EVERY[:, PAIRS[:, 1]]


def posterior(seed, spread=0.05):
    return np.random.default_rng(seed).dirichlet(np.full(len(EVERY), spread))


def told(mass, questions):
    """Entropy of the answers to some questions together, in bits."""
    _, pattern = np.unique(ANSWERS[:, questions], axis=0, return_inverse=True)
    return entropy(np.bincount(pattern.reshape(-1), weights=mass), base=2)


def left(mass, question):
    """Expected entropy of the partition after an answer, in bits."""
    yes = ANSWERS[:, question]
    return sum(mass[one].sum() * entropy(mass[one], base=2) for one in (yes, ~yes) if mass[one].sum() > 0)


def in_doubt(mass):
    """Sum of the variances of all answers."""
    together = mass @ ANSWERS / mass.sum()
    return (together * (1 - together)).sum()


def settled(mass, question, before=()):
    """Expected drop of the sum of variances."""

    def mean(questions):
        _, pattern = np.unique(ANSWERS[:, questions], axis=0, return_inverse=True)
        parts = [mass * (pattern.reshape(-1) == one) for one in range(pattern.max() + 1)]
        return sum(part.sum() * in_doubt(part) for part in parts if part.sum() > 0)

    start = mean([*before]) if before else in_doubt(mass)
    return start - mean([*before, question])


def places(found):
    return [int(np.flatnonzero((pair == PAIRS).all(1))[0]) for pair in found.pairs]


@pytest.mark.parametrize("seed", range(5))
def test_the_first_pair_leaves_the_least_entropy(seed):
    mass = posterior(seed)
    expected = np.array([left(mass, question) for question in range(len(PAIRS))])
    found = most_informative_pairs(EVERY, weights=mass, tolerance=0)
    assert places(found) == [int(expected.argmin())]
    assert found.information[0] == pytest.approx(entropy(mass, base=2) - expected.min())
    assert found.probability[0] == pytest.approx(mass @ ANSWERS[:, places(found)[0]])
    assert np.abs(mass @ ANSWERS - 0.5).argmin() == places(found)[0]


@pytest.mark.parametrize("seed", range(5))
def test_two_pairs_against_brute_force(seed):
    mass = posterior(seed)
    found = most_informative_pairs(EVERY, weights=mass, number=2, tolerance=0)
    first, second = places(found)
    joint = np.array([told(mass, [first, question]) for question in range(len(PAIRS))])
    assert second == int(joint.argmax())
    assert found.information == pytest.approx([told(mass, [first]), joint.max() - told(mass, [first])])
    best = max(told(mass, list(two)) for two in combinations(range(len(PAIRS)), 2))
    assert found.information.sum() >= 0.75 * best
    assert found.information.sum() <= best + 1e-9


def test_the_joint_entropy_is_not_that_of_products_of_marginals():
    # Points 0, 1 and 2, 3 move together: two questions of one bit that are the same question.
    draws = np.array([[0, 1, 0, 1, 2, 2], [0, 0, 0, 0, 2, 1], [0, 1, 0, 1, 2, 1], [0, 0, 0, 0, 2, 2]])
    found = most_informative_pairs(draws, number=9)
    assert sorted(map(tuple, found.pairs.tolist())) == [(0, 1), (4, 5)]
    assert found.information.tolist() == [1, 1]


@pytest.mark.parametrize(("seed", "tolerance"), [(0, 0.05), (1, 0.3), (2, 0.3)])
def test_among_close_pairs_the_most_useful_is_taken(seed, tolerance):
    mass = posterior(seed)
    found = most_informative_pairs(EVERY, weights=mass, number=3, tolerance=tolerance)
    chosen = places(found)
    for number, place in enumerate(chosen):
        before = chosen[:number]
        start = told(mass, before) if before else 0.0
        gains = np.array([told(mass, [*before, question]) - start for question in range(len(PAIRS))])
        close = np.flatnonzero(gains >= gains.max() - tolerance)
        useful = np.array([settled(mass, question, before) for question in close])
        assert place == close[useful.argmax()]
        assert found.information[number] == pytest.approx(gains[place])


def test_a_question_between_clusters_goes_before_one_about_a_single_point():
    rng = np.random.default_rng(0)
    draws = np.tile(np.repeat([0, 1, 2], [10, 10, 5]), (400, 1))
    draws[rng.random(400) < 0.5, :20] = 0
    draws[:200, 24] = 3
    draws = draws[rng.permutation(400)]
    found = most_informative_pairs(draws, number=2)
    assert found.pairs.tolist() == [[0, 10], [20, 24]]
    # The lone point alone is nearer to one half.
    assert most_informative_pairs(draws, tolerance=0).pairs.tolist() == [[20, 24]]


def test_pairs_that_tell_equally_much_up_to_rounding_are_close():
    pair_and_blocks = np.repeat([0, 1, 2, 3], [1, 1, 5, 5])
    draws = np.array([[0, 0, 1, 2], [0, 0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 3]])[:, pair_and_blocks]
    # In the first pair's favour by 1e-16 bits.
    found = most_informative_pairs(draws, weights=[2, 7, 9, 7], tolerance=0)
    assert found.pairs.tolist() == [[2, 7]]


def test_only_candidates_are_asked():
    mass = posterior(0)
    found = most_informative_pairs(EVERY, weights=mass, candidates=[[5, 0], [3, 2]], number=4, tolerance=0)
    assert sorted(map(tuple, found.pairs.tolist())) == [(0, 5), (2, 3)]
    assert found.information.sum() == pytest.approx(told(mass, [4, 9]))
    every = most_informative_pairs(EVERY, weights=mass, candidates=PAIRS, number=3)
    np.testing.assert_array_equal(every.pairs, most_informative_pairs(EVERY, weights=mass, number=3).pairs)
    assert not len(most_informative_pairs(EVERY, weights=mass, candidates=np.empty((0, 2))).pairs)


@pytest.mark.parametrize(
    "draws", [np.zeros((5, 4), int), np.tile([0, 1, 1], (3, 1)), np.zeros((1, 1), int), [[2, 0, 2]]]
)
def test_where_draws_agree_there_is_nothing_to_ask(draws):
    found = most_informative_pairs(draws, number=3)
    assert found.pairs.shape == (0, 2)
    assert found.information.shape == found.probability.shape == (0,)
    assert repr(found) == "InformativePairs(none: the draws leave nothing to ask)"


def test_no_more_is_asked_than_tells_the_draws_apart():
    draws = np.random.default_rng(4).integers(4, size=(8, 6))
    found = most_informative_pairs(draws, number=100)
    assert len(found.pairs) < 8
    assert found.information.sum() == pytest.approx(partition_entropy(draws).plug_in)
    assert (found.information > 0).all()
    assert most_informative_pairs(draws, number=2).pairs.tolist() == found.pairs[:2].tolist()


def clustered(num_points, num_draws, *, seed=0):
    """Draws of five clusters with doubtful points, two of them one cluster in half of the draws."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(5, size=num_points)
    noisy = rng.random((num_draws, num_points)) < 0.05
    draws = np.where(noisy, rng.integers(5, size=noisy.shape), truth)
    one = rng.random((num_draws, 1)) < 0.5
    return np.where((draws == 4) & one, 3, draws), truth


def test_many_points_are_asked_about_by_some_of_them(monkeypatch):
    draws, truth = clustered(400, 50)
    whole = most_informative_pairs(draws, tolerance=0.05)
    monkeypatch.setattr(informative_pairs, "MAX_PAIRED_POINTS", 60)
    monkeypatch.setattr(informative_pairs, "_CLOSE_PAIRS", 100)
    monkeypatch.setattr(informative_pairs, "paired_draws", lambda points: 20)
    some = most_informative_pairs(draws, tolerance=0.05)
    for found in (whole, some):
        assert sorted(truth[found.pairs[0]]) == [3, 4]
        assert found.information[0] > 0.9
    np.testing.assert_array_equal(some.pairs, most_informative_pairs(draws, tolerance=0.05).pairs)


@pytest.mark.parametrize(("seed", "tolerance"), [(0, 0), (1, 0.1), (2, 0.1)])
def test_pairs_that_cannot_be_the_best_need_not_be_looked_at(monkeypatch, seed, tolerance):
    mass = posterior(seed, 0.3)
    whole = most_informative_pairs(EVERY, weights=mass, number=6, tolerance=tolerance)
    monkeypatch.setattr(informative_pairs, "_BLOCK", 2)
    found = most_informative_pairs(EVERY, weights=mass, number=6, tolerance=tolerance)
    np.testing.assert_array_equal(found.pairs, whole.pairs)


def test_points_that_always_go_together_are_one():
    blocks = np.repeat(np.arange(6), 1000)
    mass = posterior(1)
    found = most_informative_pairs(EVERY[:, blocks], weights=mass, number=2, tolerance=0)
    small = most_informative_pairs(EVERY, weights=mass, number=2, tolerance=0)
    assert (found.pairs // 1000).tolist() == small.pairs.tolist()
    assert found.information == pytest.approx(small.information)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"candidates": [0, 1]}, r"candidates has shape \(2,\), expected pairs of points, \(P, 2\)"),
        ({"candidates": [[0, 4]]}, r"candidates has the pair \(0, 4\), expected points from 0 to 3"),
        ({"candidates": [[0, 1], [2, 2]]}, r"candidates has the pair \(2, 2\), expected two different"),
    ],
)
def test_errors_say_what_to_do(arguments, said):
    with pytest.raises(ValueError, match=said):
        most_informative_pairs(**{"draws": np.array([[0, 0, 1, 1]] * 3)} | arguments)
