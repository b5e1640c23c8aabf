import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import kstest

from pyroclust.diagnostics.weights.orders import order_spread


def test_the_evidence_of_an_order_is_the_mean_weight_of_its_share():
    weights = 3 * np.random.default_rng(0).standard_normal(10) - 900
    found = order_spread(weights, num_orders=3, seed=0)
    shares = np.split(weights, [4, 7])
    assert found.log_evidence == pytest.approx([logsumexp(one) - np.log(len(one)) for one in shares])
    assert found.spread == pytest.approx(found.log_evidence.std())


def test_p_values_are_uniform_where_orders_do_not_matter():
    runs = (np.random.default_rng(seed).standard_normal(60) for seed in range(200))
    found = [order_spread(2 * one, num_orders=5, seed=0, num_permutations=199).p_value for one in runs]
    assert kstest(found, "uniform").pvalue > 0.001


def test_an_order_without_weight_is_far_below():
    weights = np.repeat([0.0, -2000.0], 50)
    found = order_spread(weights, num_orders=2, seed=0)
    assert found.log_evidence[0] == 0
    assert -720 < found.log_evidence[1] < -700
    assert found.p_value == 0.001


@pytest.mark.parametrize(("num_draws", "num_orders"), [(100, 1), (9, 5)])
def test_few_orders_or_draws_say_nothing(num_draws, num_orders):
    assert order_spread(np.zeros(num_draws), num_orders=num_orders, seed=0) is None
