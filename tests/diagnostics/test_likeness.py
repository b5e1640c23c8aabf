"""Data and weights beside simulations: uniform under the model, small where it does not hold."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from scipy.stats import kstest

from pyroclust.diagnostics import Familiarity, familiarity
from pyroclust.diagnostics.importance import evidence_by_order, mean_by_order
from pyroclust.diagnostics.likeness import weight_quality


def worlds(rng: np.random.Generator, number: int, points: int = 40) -> np.ndarray:
    """Simulate data sets of two clusters at random places."""
    centres = 4 * rng.standard_normal((number, 2, 2))
    which = rng.integers(2, size=(number, points))
    return centres[np.arange(number)[:, None], which] + 0.5 * rng.standard_normal((number, points, 2))


@pytest.fixture(scope="module")
def under_the_model() -> list[Familiarity]:
    rng = np.random.default_rng(0)
    return [familiarity(*_split(worlds(rng, 60))) for _ in range(100)]


def test_p_values_are_uniform_under_the_model(under_the_model):
    for p in ([one.p_value for one in under_the_model], [one.overall for one in under_the_model]):
        assert stats.kstest(p, "uniform").pvalue > 0.01
        for level in (0.02, 0.1, 0.5):
            assert np.less_equal(p, level).sum() <= stats.binom.ppf(0.999, len(p), level)


def test_each_row_has_its_level(under_the_model):
    for place in range(len(under_the_model[0].rows)):
        p = np.array([one.rows[place].p_value for one in under_the_model])
        assert stats.kstest(p, "uniform").pvalue > 0.001


def _split(sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return sets[0], sets[1:]


@pytest.mark.parametrize("change", ["shrunk", "far out", "repeated"])
def test_unlike_data_are_found(change):
    rng = np.random.default_rng(1)
    own, *_ = (simulations := worlds(rng, 200))
    changed = {
        "shrunk": 0.1 * own,
        "far out": np.concatenate([own[:-1], [[900.0, 900.0]]]),
        "repeated": np.repeat(own[:2], 20, axis=0),
    }[change]
    found = familiarity(changed, simulations[1:])
    assert found.p_value == pytest.approx(1 / 200)
    assert found.distance > 2 * found.median_distance
    assert found.num_simulations == 199


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda own: own * np.array([30.0, 1.0]), "the spread of column 1 is larger than in 300 of 300"),
        (lambda own: own * np.array([1.0, 1e-3]), "the spread of column 2 is smaller than in 300 of 300"),
        (lambda own: own + np.array([0.0, 60.0]), "the mean of column 2 is larger than in 300 of 300"),
        (lambda own: own - np.array([60.0, 0.0]), "the mean of column 1 is smaller than in 300 of 300"),
        (
            lambda own: np.round(own / 4) * 4,
            "the distances between points are more unusual than in 300 of 300",
        ),
    ],
    ids=["wide", "narrow", "above", "below", "rounded"],
)
def test_warnings_name_what_is_unusual(change, words):
    own, simulations = _split(worlds(np.random.default_rng(10), 301))
    found = familiarity(change(own), simulations)
    assert found.warning.startswith("The data are outside the training world (p = 0.00332): ")
    assert found.overall == pytest.approx(1 / 301)
    assert words in found.warning
    named = found.warning.split(": ")[1].split("; ")
    general = ["distances" in one or "embedding" in one for one in named]
    assert general == sorted(general)
    assert 1 <= len(named) <= 3


def test_rows_by_hand():
    sets = worlds(np.random.default_rng(12), 41)
    found = familiarity(sets[0], sets[1:])
    assert [row.name for row in found.rows] == [
        "the distances between points",
        "the embedding of the points",
        "the mean of column 1",
        "the spread of column 1",
        "the mean of column 2",
        "the spread of column 2",
    ]
    assert found.p_value == found.rows[0].p_value
    assert (found.distance, found.median_distance) == (found.rows[0].value, found.rows[0].median)
    row, values = found.rows[5], np.log(sets[:, :, 1].std(1))
    assert row.value == pytest.approx(values[0], abs=1e-6)
    assert (row.num_below, row.num_above) == ((values[1:] < values[0]).sum(), (values[1:] > values[0]).sum())
    assert row.num_below + row.num_above == 40
    low, median, high = np.quantile(values[1:], (0.05, 0.5, 0.95))
    assert (row.low, row.median, row.high) == pytest.approx((low, median, high), abs=1e-6)
    share = min((values >= values[0]).mean(), (values <= values[0]).mean())
    assert row.p_value == pytest.approx(min(1, 2 * share))
    low, median, high = np.quantile(values, (0.05, 0.5, 0.95))
    expected = max((values[0] - median) / (high - median), (median - values[0]) / (median - low))
    assert row.unusualness == pytest.approx(expected, abs=1e-6)


def test_sizes_outside_the_training_range_are_warned_of():
    own, simulations = _split(worlds(np.random.default_rng(24), 100))
    for training in (None, (1, 40), (40, 90)):
        found = familiarity(own, simulations, training_points=training)
        assert found.warning is None
        assert (found.num_points, found.training_points) == (40, training)
    for training in ((1, 39), (41, 90)):
        found = familiarity(own, simulations, training_points=training)
        assert found.warning == (
            "The data are outside the training world: the data have 40 points, those of training had "
            f"{training[0]} to {training[1]}."
        )
        assert found.overall > 0.01
    both = familiarity(50 * own, simulations, training_points=(1, 39))
    assert "have 40 points" in both.warning
    assert "the spread of column" in both.warning


def test_another_dimension_is_warned_of():
    found = familiarity(np.zeros((40, 3)), worlds(np.random.default_rng(15), 30))
    assert (found.p_value, found.overall, found.rows) == (0.0, 0.0, ())
    assert found.warning == (
        "The data are outside the training world: the data have 3 columns, the simulations 2."
    )


def test_log_evidence_has_a_row_of_its_own():
    rng = np.random.default_rng(16)
    own, simulations = _split(worlds(rng, 200))
    evidence = rng.normal(-100, 5, size=199)
    usual = familiarity(own, simulations, log_evidence=-101.0, simulated_log_evidence=evidence)
    assert usual.rows[-1].name == "the log evidence"
    assert usual.rows[-1].p_value > 0.05
    assert usual.warning is None
    low = familiarity(own, simulations, log_evidence=-190.0, simulated_log_evidence=evidence)
    assert low.overall == pytest.approx(1 / 200)
    assert "the log evidence is smaller than in 199 of 199 simulations" in low.warning
    with pytest.raises(ValueError, match=r"log_evidence is -1.0 .* \(199,\), one a simulation"):
        familiarity(own, simulations, log_evidence=-1.0)
    with pytest.raises(ValueError, match=r"has shape \(198,\)"):
        familiarity(own, simulations, log_evidence=-1.0, simulated_log_evidence=evidence[1:])


def test_the_embedding_sees_what_means_and_spreads_do_not():
    """Two clusters of equal mean and spread, at the corners of one diagonal or of the other."""
    rng = np.random.default_rng(17)
    sign = rng.choice([-1.0, 1.0], size=(200, 60, 1))
    sets = 3 * sign * np.array([1.0, 1.0]) + 0.3 * rng.standard_normal((200, 60, 2))
    found = familiarity(sets[0] * np.array([1.0, -1.0]), sets[1:])
    assert found.rows[1].num_below == 199
    assert found.overall == pytest.approx(1 / 200)
    assert found.rows[0].p_value > 0.01
    assert "the embedding of the points is farther from the average than in 199 of 199" in found.warning
    assert familiarity(sets[0], sets[1:]).warning is None
    skewed = rng.exponential(size=(200, 60, 1)) - 1
    assert familiarity(-skewed[0], skewed[1:]).rows[1].num_below == 199


def test_of_many_rows_random_ones_are_looked_at():
    """The first 300 rows of a sorted table are one cluster of it."""
    rng = np.random.default_rng(19)
    simulations = worlds(rng, 100, points=300)
    own = np.concatenate([worlds(rng, 1, points=1000)[0] * 0.02, worlds(rng, 1, points=1000)[0]])
    half = familiarity(own, simulations)
    assert half.rows[3].value > familiarity(own[:1000], simulations).rows[3].value + 1
    assert half.distance != familiarity(own, simulations, seed=1).distance


def test_columns_without_spread_in_any_data_set_are_not_unusual():
    sets = worlds(np.random.default_rng(18), 60)
    sets[..., 1] = 2.0
    found = familiarity(*_split(sets))
    assert found.rows[5].unusualness == 0.0
    assert found.rows[5].p_value == 1.0
    moved = sets[0] + np.array([0.0, 1e-3])
    assert familiarity(moved, sets[1:]).overall == pytest.approx(1 / 60)


def test_distances_by_hand():
    """Mean and covariance of the summaries are over all data sets, the one looked at included."""
    sets = worlds(np.random.default_rng(4), 30, points=12)
    rows = np.stack([_summaries(one) for one in sets])
    gaps = rows - rows.mean(0)
    inverse = np.linalg.inv(np.cov(rows.T, bias=True) + 1e-6 * np.eye(rows.shape[1]))
    distances = np.sqrt(np.einsum("si,ij,sj->s", gaps, inverse, gaps))
    found = familiarity(*_split(sets))
    assert found.distance == pytest.approx(distances[0])
    assert found.median_distance == pytest.approx(np.median(distances[1:]))
    assert found.p_value == pytest.approx((distances >= distances[0]).mean())


def _summaries(points: np.ndarray) -> np.ndarray:
    apart = np.array([[np.hypot(*(a - b)) for b in points] for a in points])
    ranked = np.sort(apart, axis=1)
    near = [np.median(ranked[:, k]) for k in (1, 3, 8)]
    every = np.quantile(ranked[:, 1:], (0.05, 0.25, 0.5, 0.75, 1.0))
    return np.log(np.array([np.sqrt((points**2).mean()), *near, *every]) + 1e-9)


def of_two_draws(distances: np.ndarray) -> np.ndarray:
    """Return two log weights a data set, so far apart: the farther, the less efficient."""
    return np.stack([np.zeros_like(distances), distances], -1)[:, None]


def test_p_values_count_the_data_sets_that_are_as_bad():
    distances = np.r_[1.75, np.arange(20) / 10]
    found = weight_quality(of_two_draws(distances), num_points=7)
    (row,) = found.rows
    assert row.num_worse == 2
    assert row.p_value == found.p_value == pytest.approx(3 / 21)
    assert row.value == pytest.approx((1 + np.exp(1.75)) ** 2 / 2 / (1 + np.exp(3.5)))
    assert row.bad < row.median < 1
    assert (found.num_simulations, found.num_draws, found.num_points) == (20, 2, 7)


def test_ties_count_as_bad():
    assert weight_quality(np.zeros((31, 2, 3)), num_points=7).p_value == 1


def test_orders_are_told_apart_where_the_weights_are_even():
    rng = np.random.default_rng(0)
    log_weights = rng.normal(scale=0.01, size=(100, 2, 16))
    log_weights[0, 1] += 0.2
    efficiency, orders = weight_quality(log_weights, num_points=7).rows
    assert orders.value == pytest.approx(0.1, abs=0.01)
    assert orders.p_value == 0.01
    shuffled = log_weights.copy()
    rng.shuffle(shuffled[0].reshape(-1))
    again = weight_quality(shuffled, num_points=7).rows
    assert again[0].value == pytest.approx(efficiency.value)
    assert again[1].value < orders.value


def test_both_together_keep_their_level():
    rng = np.random.default_rng(2)
    found = np.array(
        [
            weight_quality(rng.gamma(1, size=(40, 1, 1)) * rng.normal(size=(40, 4, 4)), num_points=7).p_value
            for _ in range(250)
        ]
    )
    for level in (0.05, 0.1, 0.5):
        # Three standard errors of 250 data sets.
        assert abs((found <= level).mean() - level) < 3 * np.sqrt(level * (1 - level) / 250)


def test_weights_that_all_vanish_are_refused():
    log_weights = np.zeros((30, 2, 3))
    log_weights[4] = -np.inf
    with pytest.raises(ValueError, match="finite"):
        weight_quality(log_weights, num_points=7)


def test_the_evidence_of_an_order_is_the_mean_weight_of_its_share():
    weights = 3 * np.random.default_rng(0).standard_normal(10) - 900
    found = evidence_by_order(weights, num_orders=3, seed=0)
    shares = np.split(weights, [4, 7])
    assert found.by_order == pytest.approx([logsumexp(one) - np.log(len(one)) for one in shares])
    assert found.spread == pytest.approx(found.by_order.std())


def test_p_values_are_uniform_where_orders_do_not_matter():
    runs = (np.random.default_rng(seed).standard_normal(60) for seed in range(200))
    found = [evidence_by_order(2 * one, num_orders=5, seed=0, num_permutations=199).p_value for one in runs]
    assert kstest(found, "uniform").pvalue > 0.001


def test_an_order_without_weight_is_far_below():
    weights = np.repeat([0.0, -2000.0], 50)
    found = evidence_by_order(weights, num_orders=2, seed=0)
    assert found.by_order[0] == 0
    assert -720 < found.by_order[1] < -700
    assert found.p_value == 0.001


@pytest.mark.parametrize(("num_draws", "num_orders"), [(100, 1), (9, 5)])
def test_few_orders_or_draws_say_nothing(num_draws, num_orders):
    assert evidence_by_order(np.zeros(num_draws), num_orders=num_orders, seed=0) is None


def test_the_mean_of_an_order_is_that_of_its_share():
    values = np.random.default_rng(0).integers(1, 9, size=10)
    found = mean_by_order(values, num_orders=3, seed=0)
    assert found.by_order == pytest.approx([values[:4].mean(), values[4:7].mean(), values[7:].mean()])
