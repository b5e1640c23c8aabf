"""Whether a guide does as well on data as on simulations of its model: level, and a wrong guide."""

import numpy as np
import pytest
import torch
from cases import short_and_long, some_of

from pyroclust import load_guide
from pyroclust.calibration import simulations
from pyroclust.calibration.simulations import simulate_datasets
from pyroclust.diagnostics import co_assignment
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import refine, simulate
from pyroclust.models import nig_mixture


# Of twelve points some are weighed, or all.
@short_and_long("num_datasets", 40, 80)
@pytest.mark.parametrize("points_weighed", some_of([(8,), (12,)], [(8,)]))
def test_p_values_of_data_of_the_model_keep_their_level(monkeypatch, points_weighed, num_datasets):
    monkeypatch.setattr(simulations, "_SIMULATIONS", 39)
    monkeypatch.setattr(simulations, "_POINTS_WEIGHED", points_weighed)
    model = nig_mixture()
    guide, found = PredictiveFilter(model), []
    torch.manual_seed(3)
    sets, _ = simulate(model, torch.empty(num_datasets, 12, 1))
    for seed, data in enumerate(sets):
        simulated = simulate_datasets(guide, data.double(), max_points=None, seed=seed)
        assert simulated.log_weights.shape == (40, 4, 8)
        assert simulated.weight_quality().num_points == points_weighed
        found.append(simulated.weight_quality().p_value)
    # Above a half p-values are one where the data are better than half of the simulations by every figure.
    for level in (0.1, 0.2, 0.3, 0.4):
        error = np.sqrt(level * (1 - level) / num_datasets)
        assert abs(np.mean(np.array(found) <= level) - level) < 3 * error


def test_a_guide_that_is_wrong_on_a_lattice_is_seen(monkeypatch):
    monkeypatch.setattr(simulations, "_SIMULATIONS", 39)
    side = np.linspace(-1, 1, 8) / np.sqrt(3 / 7)
    data = 5 * torch.from_numpy(np.stack(np.meshgrid(side, side), -1).reshape(64, 2))
    guide = load_guide("ncp-gaussian2d")
    draws, refinement = refine(guide.model, guide, data, num_draws=300, seed=0)
    gaps = np.abs(co_assignment(draws) - co_assignment(refinement.proposals.flat[::5]))
    assert refinement.settled
    assert gaps.max() > 0.15
    assert simulate_datasets(guide, data, max_points=None, seed=0).weight_quality().p_value <= 0.05


def test_visiting_orders_are_asked_where_a_guide_has_several():
    data = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    one = simulate_datasets(load_guide("ncp-niw2d"), data, max_points=None, seed=0)
    assert one.log_weights.shape == (200, 1, 32)
    assert [row.name for row in one.weight_quality().rows] == ["the efficiency of the weights"]


def test_no_weights_no_quality():
    simulated = simulate_datasets(load_guide("ccp-gaussian2d"), torch.zeros(5, 2), max_points=None, seed=0)
    assert simulated.log_weights is None
    assert simulated.weight_quality() is None
    assert simulated.failures == ()
