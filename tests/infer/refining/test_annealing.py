import numpy as np
import pytest
import torch

from pyroclust.data.datasets import read_table
from pyroclust.data.standardise import standardise
from pyroclust.distributions import GammaConcentration
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import annealed_log_evidence, log_evidence, refine
from pyroclust.models import Mixture, gaussian2d, nig_mixture, normal_mixture, warped_clusters
from pyroclust.partitions.constraints import Constraints


@pytest.fixture(scope="module")
def eight():
    return torch.randn(8, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 3


def test_equals_enumeration(eight):
    exact = log_evidence(gaussian2d(), eight).item()
    found = [annealed_log_evidence(gaussian2d(), eight, num_particles=200, seed=seed) for seed in range(12)]
    estimates = np.array([one.estimate for one in found])
    assert abs(estimates.mean() - exact) < 4 * estimates.std() / 12**0.5 < 0.05
    z = (estimates - exact) / [one.error for one in found]
    # Student's t with five degrees of freedom: six repetitions each.
    assert np.abs(z).max() < 12


def test_a_random_concentration_is_integrated_out(eight):
    model = Mixture(GammaConcentration(2.0, 1.0), gaussian2d().component)
    exact = log_evidence(model, eight).item()
    found = annealed_log_evidence(model, eight, num_particles=300, seed=0)
    assert abs(found.estimate - exact) < max(6 * found.error, 0.02)


@pytest.mark.parametrize("known", [None, Constraints.of(8, must_link=[(0, 2)], cannot_link=[(0, 1)])])
def test_a_random_scale_is_integrated_out(eight, known):
    model = normal_mixture(2) if known is None else normal_mixture(2).under(known)
    exact = log_evidence(model, eight / 3).item()
    found = annealed_log_evidence(model, eight / 3, num_particles=1000, seed=0)
    assert abs(found.estimate - exact) < max(6 * found.error, 0.02) < 0.15


def test_galaxies_as_by_the_bridge():
    """The truth is of the predictive decomposition, by python benchmarks/evidence.py --only galaxies."""
    data = torch.from_numpy(standardise(read_table("galaxies")).data)
    model = nig_mixture()
    annealed = annealed_log_evidence(model, data, seed=0)
    assert annealed.is_reliable
    assert abs(annealed.estimate + 100.37) < 4 * np.hypot(annealed.error, 0.04)
    stated = refine(model, PredictiveFilter(model), data, num_draws=500, seed=0)[1].log_evidence
    assert abs(stated.estimate + 100.37) < 4 * np.hypot(stated.error, 0.04)
    assert stated.error < 0.1


def test_same_seed_same_estimate(eight):
    def once():
        return annealed_log_evidence(gaussian2d(), eight, num_particles=20, repetitions=2, seed=5)

    state = torch.get_rng_state()
    assert once() == once()
    assert torch.equal(state, torch.get_rng_state())


def test_models_that_it_cannot_serve(eight):
    with pytest.raises(ValueError, match="conjugate"):
        annealed_log_evidence(warped_clusters(), eight)
    with pytest.raises(ValueError, match="repetitions is 1"):
        annealed_log_evidence(gaussian2d(), eight, repetitions=1)
