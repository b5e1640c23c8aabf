import math

import numpy as np
import pytest

from pyroclust.diagnostics import convergence, ess, max_rhat, min_ess, rhat


def test_good_and_bad_chains():
    rng = np.random.default_rng(0)
    good = rng.standard_normal((4, 1000))
    assert rhat(good) < 1.01
    assert 3000 < ess(good) < 5500
    assert rhat(good + 3 * np.arange(4)[:, None]) > 1.5
    assert ess(good + 3 * np.arange(4)[:, None]) < 20
    drifting = good + np.linspace(0, 5, 1000)
    assert rhat(drifting) > 1.3


def test_autocorrelation_costs_draws():
    rng = np.random.default_rng(1)
    x, noise = np.zeros((4, 4000)), rng.standard_normal((4, 4000))
    for t in range(1, 4000):
        x[:, t] = 0.9 * x[:, t - 1] + noise[:, t]
    # ESS of AR(1) is n (1 - a) / (1 + a) = 842.
    assert 500 < ess(x) < 1300


def test_constant_is_said_to_be_constant():
    row, moving = convergence({"K": np.full((4, 50), 3.0), "L": np.random.default_rng(0).random((4, 50))})
    assert row.constant
    assert (row.mean, row.sd) == (3, 0)
    assert math.isnan(row.rhat)
    assert math.isnan(row.ess_bulk)
    assert not moving.constant
    assert max_rhat([row, moving]) == moving.rhat
    assert min_ess([row, moving]) == moving.ess_bulk
    assert (max_rhat([row]), min_ess([row])) == (1, math.inf)


def test_chains_that_stand_still_apart():
    x = np.repeat([[1.0], [1.0], [2.0], [2.0]], 100, axis=1)
    assert rhat(x) == math.inf
    (row,) = convergence({"K": x})
    assert not row.constant
    assert max_rhat([row]) == math.inf


def test_one_chain_whose_halves_stand_still_has_no_rhat():
    halves = np.repeat([[0.0, 1.0]], 10, axis=1)
    assert np.isnan(rhat(halves))
    assert max_rhat(convergence({"num_clusters": halves})) == np.inf


def test_a_fair_coin_has_an_rhat():
    coin = np.random.default_rng(0).integers(2, size=(4, 400)).astype(float)
    assert rhat(coin) < 1.02
    assert ess(coin) > 1000


def test_bad_shapes():
    with pytest.raises(ValueError, match="expected \\(chains, draws\\)"):
        rhat(np.zeros(5))
    with pytest.raises(ValueError, match="not finite"):
        ess(np.full((2, 5), np.nan))
    assert math.isnan(rhat(np.arange(6.0).reshape(2, 3)))
