import arviz
import numpy as np
import pytest
import torch
from pyro.distributions import Gamma
from pyro.infer import MCMC

from pyroclust import from_pyro
from pyroclust.data.draws.pointwise import pointwise_log_likelihood
from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseGamma
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, SliceHyperparameters, SplitMerge, assignments
from pyroclust.models import Mixture, gaussian2d

DATA = torch.tensor([[0.0, 0.0], [0.1, 0.0], [0.2, 0.1], [3.0, 0.0], [3.1, 0.2]])


def run(kernel, *, num_chains: int) -> MCMC:
    mcmc = MCMC(
        kernel,
        num_samples=12,
        warmup_steps=3,
        num_chains=num_chains,
        disable_progbar=True,
    )
    mcmc.run(DATA)
    return mcmc


@pytest.fixture(scope="module")
def gibbs() -> MCMC:
    torch.manual_seed(0)
    return run(CollapsedGibbs(gaussian2d()), num_chains=1)


@pytest.fixture(scope="module")
def sampled() -> MCMC:
    """A run that samples hyperparameters of prior and family."""
    torch.manual_seed(0)
    model = Mixture(
        ChineseRestaurantPrior(Gamma(2.0, 4.0)), NormalInverseGamma(2, 0.1, shape=2.0, rate=Gamma(2.0, 10.0))
    )
    return run(Compose([CollapsedGibbs(model), SliceHyperparameters(model)]), num_chains=1)


def test_labels_come_back_as_integers_and_other_sites_as_floats(gibbs):
    posterior = from_pyro(gibbs)["posterior"]
    names = {"num_clusters", "entropy", "largest_share", "distance_to_reference", "log_joint"}
    assert set(posterior.data_vars) == names
    assert all(values.dtype == np.float64 for values in posterior.data_vars.values())
    samples = gibbs.get_samples(group_by_chain=True)
    np.testing.assert_array_equal(posterior["log_joint"], samples["log_joint"])
    labels = posterior["assignments"]
    assert labels.dims == ("chain", "draw", "point")
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, assignments(gibbs))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_arviz_summarises_it(sampled):
    summary = arviz.summary(from_pyro(sampled, data=DATA))
    assert {"log_joint", "concentration", "rate", "entropy"} <= set(summary.index)
    assert not [name for name in summary.index if name.startswith("assignments")]


def test_sample_stats(gibbs, monkeypatch):
    stats = from_pyro(gibbs)["sample_stats"]
    np.testing.assert_array_equal(stats["lp"], gibbs.get_samples(group_by_chain=True)["log_joint"])
    assert stats["diverging"].dtype == bool
    assert stats["diverging"].shape == (1, 12)
    assert not stats["diverging"].any()
    monkeypatch.setattr(gibbs, "_diagnostics", [{"divergences": [1, 4], "acceptance rate": 0.75}])
    stats = from_pyro(gibbs)["sample_stats"]
    assert np.flatnonzero(stats["diverging"].values[0]).tolist() == [1, 4]
    assert stats["acceptance_rate"].item() == 0.75


def test_numbers_of_whole_chains():
    mcmc = run(SplitMerge(gaussian2d()), num_chains=1)
    stats = from_pyro(mcmc)["sample_stats"]
    assert stats["splits_accepted"].dims == ("chain",)
    assert stats["splits_accepted"].item() == mcmc._diagnostics[0]["splits accepted"]


# Pyro says so where there are too few processors, and runs chains one after the other.
@pytest.mark.filterwarnings("ignore:num_chains=2 is more than available_cpu")
def test_two_chains():
    tree = from_pyro(run(CollapsedGibbs(gaussian2d()), num_chains=2))
    assert tree["posterior"]["assignments"].shape == (2, 12, 5)
    assert tree["sample_stats"]["diverging"].shape == (2, 12)
    assert tree["sample_stats"]["lp"].shape == (2, 12)


def test_observed_data_reference_and_names(gibbs):
    tree = from_pyro(gibbs, data=DATA, reference=np.array([0, 0, 0, 1, 1]), point_names=list("abcde"))
    np.testing.assert_array_equal(tree["observed_data"]["data"], DATA)
    assert tree["observed_data"]["point"].values.tolist() == list("abcde")
    assert tree["constant_data"]["reference"].values.tolist() == [0, 0, 0, 1, 1]
    assert "observed_data" not in from_pyro(gibbs).groups()


def test_log_likelihood_uses_the_hyperparameters_of_each_draw(sampled):
    model = sampled.kernel.model
    found = from_pyro(sampled, data=DATA, model=model)["log_likelihood"]["data"].values
    samples = sampled.get_samples(group_by_chain=True)
    for draw in range(12):
        values = {name: float(samples[name][0, draw]) for name in ("concentration", "rate")}
        expected = pointwise_log_likelihood(
            model.given(values), DATA, assignments(sampled)[0, draw : draw + 1]
        )
        np.testing.assert_allclose(found[0, draw], expected[0], rtol=1e-6)


def test_random_hyperparameters_must_be_given(sampled):
    with pytest.raises(
        ValueError, match="model has the random hyperparameter 'concentration', expected its value"
    ):
        pointwise_log_likelihood(sampled.kernel.model, DATA, assignments(sampled)[0])
    with pytest.raises(ValueError, match=r"values of 'rate' have shape \(3,\), expected \(12,\)"):
        pointwise_log_likelihood(
            sampled.kernel.model,
            DATA,
            assignments(sampled)[0],
            values={"concentration": torch.ones(12), "rate": torch.ones(3)},
        )


def test_bad_arguments_are_refused(gibbs):
    with pytest.raises(ValueError, match=r"data has shape \(4, 2\), expected \(5, D\)"):
        from_pyro(gibbs, data=DATA[:4])
    with pytest.raises(ValueError, match="there are 2 names of points, expected 5"):
        from_pyro(gibbs, point_names=["a", "b"])
    with pytest.raises(ValueError, match="expected 'assignments'"):
        from_pyro(MCMC(CollapsedGibbs(gaussian2d()), num_samples=1, warmup_steps=1))
