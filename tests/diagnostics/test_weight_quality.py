"""What a guide's weights witness: exact p-values on made-up weights, their level, and what they see."""

import numpy as np
import pytest

from pyroclust.diagnostics.simulations.weight_quality import weight_quality


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


def test_better_than_every_simulation_is_no_warning():
    assert weight_quality(of_two_draws(np.r_[0.0, np.arange(1, 31) / 10]), num_points=7).p_value == 1


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


def test_the_efficiency_does_not_know_the_orders():
    log_weights = np.random.default_rng(1).normal(size=(50, 4, 8))
    four = weight_quality(log_weights, num_points=7)
    one = weight_quality(log_weights.reshape(50, 1, 32), num_points=7)
    assert len(four.rows) == 2
    assert one.rows == four.rows[:1]


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
