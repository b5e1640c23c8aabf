import math

import numpy as np
import pytest

from pyroclust.diagnostics import (
    effective_draws,
    importance_efficiency,
    importance_log_evidence,
    importance_weights,
    pareto_k,
)


@pytest.mark.parametrize("k", [0.2, 0.5, 0.9])
def test_pareto_k_of_a_pareto_tail(k):
    weights = (1 - np.random.default_rng(0).random(40_000)) ** -k
    assert pareto_k(np.log(weights)) == pytest.approx(k, abs=0.12)


def test_weights_rise_with_log_weights():
    log_weights = 2 * np.random.default_rng(0).standard_normal(1000)
    weights = importance_weights(log_weights)
    assert weights.sum() == pytest.approx(1)
    order = np.argsort(log_weights)
    assert (np.diff(weights[order]) >= -1e-15).all()
    body = order[:800]
    np.testing.assert_allclose(np.ptp(np.log(weights[body]) - log_weights[body]), 0, atol=1e-9)


@pytest.mark.parametrize("num_draws", [1, 3, 9, 50, 1000])
def test_equal_weights(num_draws):
    flat = np.full(num_draws, -750.0)
    np.testing.assert_allclose(importance_weights(flat), 1 / num_draws)
    assert pareto_k(flat) == -math.inf
    assert importance_efficiency(flat) == pytest.approx(1)
    assert importance_log_evidence(flat)[0] == pytest.approx(-750)


def test_ties_of_discrete_draws():
    rng = np.random.default_rng(0)
    atoms = np.sort(rng.standard_normal(40))
    tied = rng.choice(atoms, 1000, p=np.arange(40, 0, -1) / 820)
    assert np.isfinite(pareto_k(tied))
    assert importance_weights(tied).sum() == pytest.approx(1)
    two = np.repeat([0.0, 1.0], [900, 100])
    assert pareto_k(two) == -math.inf
    few = np.r_[np.zeros(997), 1.0, 2.0, 3.0]
    assert math.isnan(pareto_k(few))
    np.testing.assert_allclose(importance_weights(few), np.exp(few) / np.exp(few).sum())
    heavy = np.r_[np.zeros(990), np.full(10, 4.0)]
    assert pareto_k(heavy) == -math.inf


@pytest.mark.parametrize(("k", "num_heavy"), [(0.2, 40), (0.9, 40), (0.9, 60)])
def test_a_tie_at_the_cutoff_does_not_hide_the_tail(k, num_heavy):
    # psislw alone takes the tied draws for exceedances of 0 and finds k = 0.05 whatever the tail.
    heavy = 1 + ((1 - np.random.default_rng(0).random(num_heavy)) ** -k - 1) / k
    log_weights = np.r_[np.zeros(1000 - num_heavy), np.log(heavy)]
    assert pareto_k(log_weights) == pytest.approx(k, abs=0.2)
    assert np.ptp(importance_weights(log_weights)[: 1000 - num_heavy]) == 0


def test_efficiency_and_evidence_by_hand():
    log_weights = np.log([1.0, 1.0, 4.0])
    assert importance_efficiency(log_weights) == pytest.approx(36 / 18 / 3)
    estimate, error = importance_log_evidence(log_weights)
    assert estimate == pytest.approx(math.log(2))
    assert error == pytest.approx(math.sqrt(3) / math.sqrt(3) / 2)
    assert effective_draws(np.array([1 / 6, 1 / 6, 4 / 6])) == pytest.approx(2)


def test_infinite_weights_are_refused():
    with pytest.raises(ValueError, match="finite"):
        pareto_k(np.array([0.0, np.inf]))
