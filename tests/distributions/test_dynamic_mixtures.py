"""Mixtures whose weights depend on the number of components: the sum over that number."""

import pytest
import torch
from pyro.distributions import Categorical, Gamma, Geometric, Poisson

from pyroclust.distributions import DirichletMultinomialPrior, DynamicMixturesPrior, NormalKnownVariance
from pyroclust.distributions.priors.component_numbers import log_component_numbers
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, SliceHyperparameters
from pyroclust.models import Mixture
from pyroclust.partitions import enumerate_partitions

LAWS = {
    "geometric": Geometric(torch.tensor(0.1).double()),
    "power": Categorical(
        ((torch.arange(4096).double() + 3).lgamma() - (torch.arange(4096).double() + 8).lgamma()).exp()
    ),
    "gaps": Categorical(torch.tensor([0.5, 0.0, 0.0, 0.3, 0.0, 0.2])),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def log_terms(concentration, law, labels):
    """Return log p(M) p(c | M), of the Dirichlet-multinomial prior for each M."""
    log_p = log_component_numbers(law)
    components = torch.arange(1, len(log_p) + 1)
    given = DirichletMultinomialPrior(
        components, torch.as_tensor(concentration, dtype=torch.float64) / components
    )
    return log_p + given.log_prob(labels.unsqueeze(-2))


@every_law
@pytest.mark.parametrize("concentration", [0.05, 1.0, 20.0])
def test_it_is_the_mixture_of_dirichlet_multinomial_priors(law, concentration):
    labels = enumerate_partitions(7)[::20]
    terms = log_terms(concentration, law, labels)
    prior = DynamicMixturesPrior(concentration, law)
    torch.testing.assert_close(prior.log_prob(labels), terms.logsumexp(-1), rtol=0, atol=1e-12)
    possible = terms.amax(-1) > -torch.inf
    found = prior.log_components(labels[possible]).exp()
    expected = terms[possible].softmax(-1)
    assert found.shape[-1] <= expected.shape[-1]
    torch.testing.assert_close(found, expected[:, : found.shape[-1]], rtol=0, atol=1e-12)
    assert expected[:, found.shape[-1] :].sum(-1).max() < 1e-12


def test_batches_of_concentrations_and_weights_of_rows():
    numbers, labels = torch.tensor([0.3, 2.0]).double(), enumerate_partitions(4)
    prior = DynamicMixturesPrior(numbers, LAWS["geometric"])
    weights = torch.tensor([2, 1, 3, 1])
    found = prior.log_prob(labels.unsqueeze(1), weights=weights)
    assert found.shape == (15, 2)
    for column, number in zip(found.T, numbers, strict=True):
        repeated = labels.repeat_interleave(weights, -1)
        expected = log_terms(number, LAWS["geometric"], repeated).logsumexp(-1)
        torch.testing.assert_close(column, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(
        prior.expected_num_clusters(9)[0], prior.given({"concentration": 0.3}).expected_num_clusters(9)
    )


def test_drawn_components_have_their_law():
    prior, labels = DynamicMixturesPrior(1.0, LAWS["gaps"]), torch.tensor([0, 0, 1, 0, 2])
    drawn = prior.sample_components(labels.expand(20_000, -1))
    seen = torch.bincount(drawn, minlength=7)[1:] / len(drawn)
    expected = prior.log_components(labels).exp()
    assert ((seen - expected).abs() <= 4.5 * (expected * (1 - expected) / len(drawn)).sqrt()).all()


def test_what_it_has_not_is_said():
    prior = DynamicMixturesPrior(1.0, Poisson(2.0))
    for use in (lambda: prior.block_discount, lambda: prior.log_v(5, torch.tensor(2))):
        with pytest.raises(
            ValueError, match="weights depend on the number of components, expected one of Gibbs"
        ):
            use()
    with pytest.raises(ValueError, match="assignments have 3 clusters, expected at most as many"):
        DynamicMixturesPrior(1.0, Categorical(torch.ones(2))).log_components(torch.tensor([0, 1, 2]))
    with pytest.raises(ValueError, match=r"extra_components has shape \(2,\)"):
        DynamicMixturesPrior(1.0, Poisson(torch.ones(2)))
    with pytest.raises(ValueError, match="extra_components is 3, expected a Pyro distribution"):
        DynamicMixturesPrior(1.0, 3)
    two = Mixture(DynamicMixturesPrior(1.0, Categorical(torch.ones(2))), NormalKnownVariance(1))
    with pytest.raises(ValueError, match="the prior allows fewer than 3 clusters"):
        two.constrained(labels=[0, 1, 2])


def test_chains_have_the_log_joint_of_the_model_and_start_anywhere():
    """Starts may have more clusters than there are components."""
    law, data = Categorical(torch.ones(3)), torch.randn(12, 1).double()
    model = Mixture(
        DynamicMixturesPrior(Gamma(2.0, 2.0), law), NormalKnownVariance(1, 2.0, scale=Gamma(3.0, 3.0))
    )
    kernel = Compose([CollapsedGibbs(model), SliceHyperparameters(model)])
    draws = kernel.run(data, num_draws=50, warmup=50, num_chains=4, seed=0)
    assert draws.num_clusters.max() <= 3
    hyper = {name: torch.from_numpy(values) for name, values in draws.parameters.items()}
    expected = model.given(hyper).log_joint(data, torch.from_numpy(draws.assignments))
    expected += sum(p.log_prob(hyper[n].float()) for n, p in model.hyperpriors.items())
    assert draws.log_joint == pytest.approx(expected.numpy(), abs=1e-5)
