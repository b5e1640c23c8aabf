"""Starts with few clusters: they are reached from many, and what follows has the law of the posterior."""

import pytest
import torch
from scipy.stats import chisquare
from sklearn.datasets import load_wine

from pyroclust.distributions import DirichletMultinomialPrior, NormalKnownVariance, student_t
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc.chains import Chains, coarse_starts
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.models import Mixture, niw_mixture, overlap2d

DATA = torch.tensor([[0.0, 0.0], [1.5, 0.5], [3.0, 0.0], [4.0, 1.0], [0.5, -2.0]], dtype=torch.float64)


def wine():
    points = load_wine().data
    return torch.tensor((points - points.mean(0)) / points.std(0))


def test_wine_has_no_small_clusters_left():
    model, data = niw_mixture(13), wine()
    starts, seconds = coarse_starts(model, data, num_chains=4, seed=0)
    assert seconds > 0
    assert starts.draws.shape == (4, 178)
    assert int(starts.draws.max()) < 5
    # Draws of the exact filter stay below -2,960 for thousands of sweeps; the posterior is at -2,941.
    kernel = default_kernel(model)
    kernel.init = starts
    log_joint = Chains(kernel, data, 4, seed=0).draw(100, warmup=200).log_joint
    assert log_joint.mean(1) == pytest.approx([-2941.0] * 4, abs=6.0)


def test_the_model_and_the_law_of_its_chains_stay():
    model = overlap2d()
    prior = model.prior
    kernel = default_kernel(model)
    kernel.init, _ = coarse_starts(model, DATA, num_chains=40, seed=0)
    assert model.prior is prior
    draws = Chains(kernel, DATA, 40, seed=0).draw(100, warmup=20, every=10).assignments
    partitions, log_probs = exact_posterior(model, DATA)
    found = (draws.reshape(-1, 1, 5) == partitions.numpy()).all(-1).sum(0)
    assert chisquare(found, 4000 * log_probs.exp()).pvalue > 0.001


@pytest.mark.parametrize(
    "model",
    [
        Mixture(DirichletMultinomialPrior(2, 0.5), NormalKnownVariance(2, 2.0)),
        Mixture(DirichletMultinomialPrior(2, 0.5), student_t()),
    ],
)
def test_any_prior_and_family(model):
    starts, _ = coarse_starts(model, DATA[:, : model.component.dim], num_chains=3, seed=0)
    assert starts.draws.shape == (3, 5)
    assert int(starts.draws.max()) < 2
