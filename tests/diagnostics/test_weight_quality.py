"""What a guide's weights say beside simulations, and by visiting order."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import kstest

from pyroclust.diagnostics.importance import evidence_by_order, mean_by_order
from pyroclust.diagnostics.likeness import weight_quality


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
            for _ in range(500)
        ]
    )
    for level in (0.05, 0.1, 0.5):
        # Three standard errors of 500 data sets.
        assert abs((found <= level).mean() - level) < 3 * np.sqrt(level * (1 - level) / 500)


@pytest.mark.parametrize("shape", [(20, 2, 3), (30, 6), (30, 0, 3)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"expected \(S \+ 1, M, R\)"):
        weight_quality(np.zeros(shape), num_points=7)


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
