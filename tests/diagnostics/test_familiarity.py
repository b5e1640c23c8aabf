"""Whether a data set looks like simulations: uniform under the model, small where it does not hold."""

import numpy as np
import pytest
from scipy import stats

from pyroclust.diagnostics import familiarity


def worlds(rng: np.random.Generator, number: int, points: int = 40) -> np.ndarray:
    """Simulate data sets of two clusters at random places."""
    centres = 4 * rng.standard_normal((number, 2, 2))
    which = rng.integers(2, size=(number, points))
    return centres[np.arange(number)[:, None], which] + 0.5 * rng.standard_normal((number, points, 2))


def test_p_values_are_uniform_under_the_model():
    rng = np.random.default_rng(0)
    p = [familiarity(*_split(worlds(rng, 60))).p_value for _ in range(150)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


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


def test_moving_the_rows_changes_nothing():
    rng = np.random.default_rng(2)
    own, simulations = _split(worlds(rng, 40))
    assert familiarity(own[::-1], simulations).distance == pytest.approx(
        familiarity(own, simulations).distance
    )


def test_many_rows_are_looked_at_in_part():
    rng = np.random.default_rng(3)
    simulations = worlds(rng, 30, points=300)
    assert familiarity(worlds(rng, 1, points=2000)[0], simulations).p_value > 0.05
    one = familiarity(worlds(rng, 1, points=1)[0], worlds(rng, 30, points=1))
    assert 0 < one.p_value <= 1


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


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="at least 20 data sets of 5 points in 2 dimensions"):
        familiarity(np.zeros((5, 2)), np.zeros((19, 5, 2)))
    with pytest.raises(ValueError, match=r"shape \(30, 4, 2\)"):
        familiarity(np.zeros((5, 2)), np.zeros((30, 4, 2)))
