import numpy as np
import pytest

from pyroclust.diagnostics import (
    Binder,
    VariationOfInformation,
    credible_ball,
    point_estimate,
)
from pyroclust.diagnostics.frequencies import count_clusters
from pyroclust.partitions import enumerate_partitions
from pyroclust.partitions.raw_labels import renumbered

CENTRE = [0, 0, 1, 1]


@pytest.fixture
def draws():
    return renumbered(np.random.default_rng(0).integers(3, size=(80, 7)))


def test_a_ball_by_hand():
    # Binder losses from the centre: 0 (five times), 6/16, 8/16, 4/16, 8/16
    draws = np.array([CENTRE] * 5 + [[0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 0, 1]])
    ball = credible_ball(draws, np.array(CENTRE), level=0.6, loss=Binder())
    np.testing.assert_allclose(ball.distances * 16, [0] * 5 + [6, 8, 4, 8])
    assert ball.radius == pytest.approx(4 / 16)
    assert ball.coverage == pytest.approx(6 / 9)
    assert ball.horizontal.tolist() == ball.lower.tolist() == [[0, 1, 2, 3]]
    assert ball.upper.tolist() == [CENTRE]
    assert (ball.level, ball.estimate.tolist()) == (0.6, CENTRE)
    # A level that a ball holds exactly.
    assert credible_ball(draws, np.array(CENTRE), level=5 / 9, loss=Binder()).radius == 0
    whole = credible_ball(draws, np.array(CENTRE), level=1.0, loss=Binder())
    assert (whole.radius, whole.coverage) == (pytest.approx(0.5), pytest.approx(1.0))
    assert sorted(whole.horizontal.tolist()) == [[0, 0, 0, 0], [0, 1, 0, 1]]
    assert whole.upper.tolist() == [[0, 0, 0, 0]]
    assert whole.lower.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.95, 1.0])
@pytest.mark.parametrize("loss", [VariationOfInformation(), Binder()])
def test_the_ball_against_its_definition(draws, level, loss):
    weights = np.random.default_rng(1).random(80)
    estimate = point_estimate(draws, seed=0, weights=weights)
    ball = credible_ball(draws, estimate, level=level, loss=loss, weights=weights)
    away = loss(estimate, draws).round(9)
    share = weights / weights.sum()
    radii = np.unique(away)
    held = np.array([share[away <= radius].sum() for radius in radii])
    radius = radii[held >= level - 1e-9][0]
    inside = away <= radius
    np.testing.assert_allclose(ball.distances, away, atol=1e-8)
    assert ball.radius == pytest.approx(radius, abs=1e-8)
    assert ball.coverage == pytest.approx(share[inside].sum())
    clusters = count_clusters(draws)
    same(ball.horizontal, draws[inside & (away == radius)])
    for rows, number in ((ball.upper, clusters[inside].min()), (ball.lower, clusters[inside].max())):
        chosen = inside & (clusters == number)
        same(rows, draws[chosen & (away == away[chosen].max())])


def same(found, expected):
    assert {tuple(row) for row in found} == {tuple(row) for row in expected}
    assert len({tuple(row) for row in found}) == len(found)


def test_draws_without_weight_are_no_bounds():
    draws = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
    ball = credible_ball(draws, np.array([0, 0, 0]), level=1.0, weights=np.array([0.5, 0.5, 0]))
    assert ball.horizontal.tolist() == [[0, 0, 1]]
    assert ball.coverage == pytest.approx(1.0)


def test_the_loss_takes_the_estimate_first():
    every = enumerate_partitions(4).numpy()
    loss = VariationOfInformation(weight=0.2)
    ball = credible_ball(every, every[5], loss=loss)
    np.testing.assert_allclose(ball.distances, loss(every[5], every), atol=1e-12)
    assert not np.allclose(ball.distances, loss(every, every[5]))
