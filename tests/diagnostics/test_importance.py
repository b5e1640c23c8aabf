import math

import numpy as np
import pytest

from pyroclust.diagnostics import (
    effective_draws,
    importance_efficiency,
    importance_weights,
    pareto_k,
    weighted_expectation,
)
from pyroclust.diagnostics.importance import (
    importance_log_evidence,
    smooth_log_weights,
    stratified_draws,
)


@pytest.mark.parametrize("k", [0.2, 0.5, 0.9])
def test_pareto_k_of_a_pareto_tail(k):
    weights = (1 - np.random.default_rng(0).random(40_000)) ** -k
    assert pareto_k(np.log(weights)) == pytest.approx(k, abs=0.12)


@pytest.mark.parametrize("num_draws", [1, 3, 9, 50, 1000])
def test_equal_weights(num_draws):
    flat = np.full(num_draws, -750.0)
    np.testing.assert_allclose(importance_weights(flat), 1 / num_draws)
    assert pareto_k(flat) == -math.inf
    assert importance_efficiency(flat) == pytest.approx(1)
    assert importance_log_evidence(flat)[0] == pytest.approx(-750)


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


def plain_smoothing(log_weights):
    """Smooth tied weights as the paper and our rule for ties say it, draw by draw and without any library."""
    weights = [math.exp(one - max(log_weights)) for one in log_weights]
    total = sum(weights)
    order = sorted(range(len(weights)), key=lambda i: log_weights[i])
    longest = int(3 * math.sqrt(len(weights))) if len(weights) > 225 else len(weights) // 5
    cutoff = log_weights[order[len(weights) - longest - 1]]
    tail = [i for i in order if log_weights[i] - cutoff > 1e-4]
    tied = sum(max(log_weights) - one <= 1e-4 for one in log_weights)
    if tied == len(weights) or tied >= max(5, len(tail)):
        return [one / total for one in weights], -math.inf
    if len(tail) < 5:
        return [one / total for one in weights], math.nan
    start = weights[order[len(weights) - len(tail) - 1]]
    over = [weights[i] - start for i in tail]
    n, grid = len(over), 30 + int(math.sqrt(len(over)))
    quarter = over[int(n / 4 + 0.5) - 1]
    # The fit is that of Zhang and Stephens (2009).
    b = [1 / over[-1] + (1 - math.sqrt(grid / (j - 0.5))) / (3 * quarter) for j in range(1, grid + 1)]
    k = [sum(math.log1p(-one * x) for x in over) / n for one in b]
    likelihood = [n * (math.log(-one / shape) - shape - 1) for one, shape in zip(b, k, strict=True)]
    share = [1 / sum(math.exp(other - one) for other in likelihood) for one in likelihood]
    mean = sum(s * one for s, one in zip(share, b, strict=True)) / sum(share)
    shape = sum(math.log1p(-mean * x) for x in over) / n
    sigma, shape = -shape / mean, (n * shape + 5) / (n + 10)
    for place, i in enumerate(tail):
        quantile = start + sigma * math.expm1(-shape * math.log1p(-(place + 0.5) / n)) / shape
        weights[i] = min(1.0, quantile)
    total = sum(weights)
    return [one / total for one in weights], shape


def test_random_tied_weights_agree_with_a_plain_reference():
    rng = np.random.default_rng(3)
    kinds = []
    for _ in range(400):
        size, atoms = int(rng.integers(1, 400)), int(rng.integers(1, 60))
        values = np.sort(rng.choice([0.3, 1.0, 3.0]) * rng.standard_normal(atoms))
        common = rng.dirichlet(np.full(atoms, 0.5))
        drawn = rng.choice(values, size, p=common) + rng.uniform(-4e-5, 4e-5, size) * rng.integers(2)
        expected, shape = plain_smoothing(drawn.tolist())
        found, k = smooth_log_weights(drawn)
        assert k == pytest.approx(shape, abs=1e-6, nan_ok=True)
        # Equal weights of the tail may change places.
        order = np.lexsort((expected, drawn))
        again = np.lexsort((found, drawn))
        np.testing.assert_allclose(np.exp(found)[again], np.array(expected)[order], rtol=1e-6, atol=1e-12)
        kinds.append("none" if math.isnan(k) else "bounded" if math.isinf(k) else "fitted")
    assert min(kinds.count(kind) for kind in ("none", "bounded", "fitted")) > 20


def test_one_large_weight_above_equal_ones_is_not_bounded():
    """Nothing says where the tail of a single draw ends."""
    assert math.isnan(pareto_k(np.r_[np.zeros(999), 9.0]))
    assert math.isnan(pareto_k(np.r_[np.zeros(996), np.full(4, 9.0)]))
    assert pareto_k(np.r_[np.zeros(995), np.full(5, 9.0)]) == -math.inf


def test_draws_of_weight_zero_keep_it():
    log_weights = np.r_[np.full(50, -np.inf), np.random.default_rng(0).pareto(2.0, 450)]
    weights = importance_weights(log_weights)
    assert (weights[:50] == 0).all()
    assert weights.sum() == pytest.approx(1)
    assert math.isfinite(pareto_k(log_weights))
    assert importance_efficiency(np.array([0.0, -np.inf])) == 0.5
    assert importance_log_evidence(np.array([0.0, -np.inf]))[0] == pytest.approx(-math.log(2))
    with pytest.raises(ValueError, match="2 numbers, 0 of them finite"):
        importance_weights(np.full(2, -np.inf))


def test_stratified_draws_are_expected_as_often_as_their_weights_say():
    rng = np.random.default_rng(0)
    weights = np.array([0.03, 0.0, 0.57, 0.2, 0.2])
    found = np.stack(
        [np.bincount(stratified_draws(weights, rng.random(7)), minlength=5) for _ in range(4000)]
    )
    assert found.mean(0) == pytest.approx(7 * weights, abs=0.04)
    # Independent draws would have the variance 7 w (1 - w) = 1.72 for the third.
    assert found.var(0)[2] < 0.5


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0)])
def test_stratified_draws_take_none_of_weight_zero(uniform):
    found = stratified_draws(np.array([0.0, 0.1, 0.2, 0.7, 0.0]), np.full(1000, uniform))
    assert set(found.tolist()) == {1, 2, 3}


@pytest.mark.parametrize("level", [1e8, -1e8, 1e154, 1e308])
def test_the_level_of_log_weights_costs_no_digits(level):
    np.testing.assert_allclose(importance_weights(np.full(3, level)), 1 / 3, rtol=1e-12)
    assert weighted_expectation(np.ones(3), np.full(3, level))[0] == pytest.approx(1, rel=1e-12)
