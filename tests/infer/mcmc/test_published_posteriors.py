"""Posteriors of the number of components and of clusters that others have published."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch
from pyro.distributions import Gamma

from pyroclust.diagnostics import importance_weights
from pyroclust.distributions import FiniteMixturesPrior, NormalIndependent
from pyroclust.infer import exact_posterior, log_evidence
from pyroclust.models import Mixture

# Of a mean of batches: Student's t with 39 degrees of freedom is beyond this once in 100,000 times.
DEVIATIONS = 5.0


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    return importlib.import_module("published_posteriors")


# The reference of the eyes made 100,000 sweeps: it has a Monte Carlo error, too.
@pytest.mark.parametrize(
    ("name", "their_sweeps", "num_draws"),
    [
        ("eyes", 100_000, 400),
        pytest.param("eyes", 100_000, 5000, marks=pytest.mark.prove),
        pytest.param("galaxies", np.inf, 5000, marks=pytest.mark.prove),
    ],
)
def test_published_figures_come_out(script, name, their_sweeps, num_draws):
    published = script.PUBLISHED[name]
    model, data = published.build()
    draws = script.draw(model, data, num_draws=num_draws, seed=1)
    means, errors = script.batch_means(published.figures(model, draws))
    errors *= np.sqrt(1 + draws.assignments[..., 0].size * script.SWEEPS / their_sweeps)
    rounding = np.where(np.array(published.values) > 1, 0.005, 0.0005)
    assert (abs(means - published.values) < DEVIATIONS * errors + rounding).all()


def weighted_means(figures, weights):
    """Return weighted means of figures (draws, F), and their standard errors from 40 batches."""
    share = weights / weights.mean()
    batches = (share[:, None] * figures).reshape(40, -1, figures.shape[-1]).mean(1)
    means = batches.mean(0)
    off = batches - share.reshape(40, -1).mean(1, keepdims=True) * means
    return means, off.std(0, ddof=1) / 40**0.5


@pytest.mark.prove
def test_a_random_scale_matrix_of_one_column_is_a_random_rate(script):
    """In one column the integral over the mean and a sum over both random numbers are exact."""
    points = torch.tensor([[-0.42], [-0.35], [-0.3], [0.05], [0.1], [0.5]], dtype=torch.float64)
    family = NormalIndependent(0.0, 1.0, shape=2.5, rate=Gamma(0.5, 20.0))
    log_joint = []
    for node, weight in zip(*np.polynomial.laguerre.laggauss(20), strict=True):
        prior = FiniteMixturesPrior(node / 20, script.beta_negative_binomial())
        model = Mixture(prior, family)
        partitions, log_probs = exact_posterior(model, points)
        log_joint.append(log_probs + log_evidence(model, points) + np.log(weight))
    exact = torch.stack(log_joint).logsumexp(0).softmax(-1).numpy()
    numbers = np.arange(1, 5)
    expected = exact @ (partitions.amax(-1).numpy()[:, None] + 1 == numbers)

    draws = script.thyroid_draws(points, num_draws=10_000, seed=0)
    weights = importance_weights(draws.log_weights[0])
    means, errors = weighted_means(draws.num_clusters[0][:, None] == numbers, weights)
    assert (abs(means - expected) < DEVIATIONS * errors).all()
    assert errors[0] < 0.015


@pytest.mark.prove
def test_the_thyroid_table_has_three_clusters(script):
    pytest.importorskip("pyreadr")
    if not (script.LIBRARY / "mclust").exists():
        pytest.skip("r-cran-mclust is not installed")
    table = script.thyroid_table()
    draws = script.thyroid_draws(script.thyroid_points(table), num_draws=2000, seed=0)
    row = script.thyroid_figures(draws, table["Diagnosis"].cat.codes.to_numpy())
    assert row["quartiles of K"] == [3, 3, 3]
    # Two rows more or less of 215.
    assert row["adjusted Rand"] == pytest.approx(0.878, abs=0.02)
    assert row["misclassified"] == pytest.approx(0.037, abs=0.01)
