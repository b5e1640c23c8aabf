import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import kstest

from pyroclust.diagnostics.weights.orders import evidence_by_order, mean_by_order


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


def test_means_that_differ_by_order_are_no_chance():
    rng = np.random.default_rng(0)
    values = rng.integers(1, 9, size=800)
    assert mean_by_order(values, num_orders=8, seed=0).p_value > 0.01
    shifted = values + 2 * (np.arange(800) < 100)
    assert mean_by_order(shifted, num_orders=8, seed=0).p_value < 0.01
