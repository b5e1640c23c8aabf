import pyro
import pyro.poutine as poutine
import pytest
import torch
from cases import FAMILIES
from pyro.distributions import Gamma, Normal
from scipy import stats

from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    ConjugateComponent,
    GammaConcentration,
    MultinomialDirichlet,
    NormalInverseGamma,
    student_t,
)
from pyroclust.models import Mixture, few_components, gaussian2d, nig_mixture, niw_mixture, overlap2d
from pyroclust.partitions import canonical, enumerate_partitions, num_clusters

MODELS = [
    gaussian2d(),
    gaussian2d(1),
    overlap2d(),
    nig_mixture(1),
    nig_mixture(2),
    niw_mixture(2),
    niw_mixture(3),
    few_components(2),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.name}_{m.component.dim}")


@pytest.mark.parametrize("model", [gaussian2d(), overlap2d(), gaussian2d(1)])
def test_trace_log_prob_is_the_log_joint(model):
    torch.manual_seed(1)
    data = torch.randn(4, 8, model.component.dim)
    labels = poutine.trace(model).get_trace(data).nodes["assignments"]["value"]
    trace = poutine.trace(pyro.condition(model, data={"assignments": labels})).get_trace(data)
    assert trace.log_prob_sum().item() == pytest.approx(model.log_joint(data, labels).sum().item(), rel=1e-6)


def test_random_concentration_is_integrated_out_of_the_log_joint():
    """Averaging the traced density over the prior of the concentration gives the log joint."""
    torch.manual_seed(2)
    model, data, labels = nig_mixture(1), torch.randn(6, 1), torch.tensor([0, 0, 1, 0, 2, 2])
    concentration = torch.distributions.Gamma(model.prior.shape, model.prior.rate).sample((20_000,))
    law = model.prior.partition(6).expand((20_000,))
    law.concentration = concentration
    prior = law.log_prob(labels).exp()
    likelihood = model.log_joint(data, labels) - model.prior.log_prob(labels)
    difference = (likelihood.exp() * prior).mean() - model.log_joint(data, labels).exp()
    assert difference.abs() < 4 * likelihood.exp() * prior.std() / 20_000**0.5


@every_model
def test_log_joint_broadcasts(model):
    torch.manual_seed(3)
    data = torch.randn(3, 5, model.component.dim)
    labels = enumerate_partitions(5)
    batched = model.log_joint(data.unsqueeze(1), labels)
    assert batched.shape == (3, 52)
    assert batched.dtype == torch.float64
    for i in (0, 51):
        assert torch.allclose(batched[:, i], torch.stack([model.log_joint(one, labels[i]) for one in data]))


@every_model
def test_log_joint_is_exchangeable(model):
    torch.manual_seed(4)
    data, labels, order = (
        torch.randn(7, model.component.dim),
        enumerate_partitions(7)[100:120],
        torch.randperm(7),
    )
    shuffled = model.log_joint(data[order], canonical(labels[:, order]))
    assert torch.allclose(shuffled, model.log_joint(data, labels), atol=1e-9)


@every_model
def test_evidence_obeys_the_product_rule(model):
    """The joint of one point more is the joint without it, the prior's seat and the family's predictive."""
    torch.manual_seed(5)
    dim = model.component.dim
    data = torch.randn(4, dim, dtype=torch.float64)
    partitions = enumerate_partitions(4)
    for labels in partitions[[0, 7, 14]]:
        others = data[:3][labels[:3] == labels[3]]
        counts = torch.tensor(float(len(others)), dtype=torch.float64)
        parameters = model.component.predictive_parameters(counts, model.component.moments(others).sum(0))
        prior = model.prior.log_prob(labels) - model.prior.log_prob(labels[:3])
        step = model.component.log_predictive(data[3], parameters) + prior
        difference = model.log_joint(data, labels) - model.log_joint(data[:3], labels[:3])
        assert difference.item() == pytest.approx(step.item(), abs=1e-9)


def random_mixture():
    component = NormalInverseGamma(2, 0.5, shape=4.0, rate=Gamma(2.0, 1.0), mean=Normal(0.0, 5.0))
    return Mixture(ChineseRestaurantPrior(Gamma(2.0, 2.0)), component)


def test_every_data_set_has_its_own_hyperparameters():
    """One call simulates 4096 data sets, and each follows its own concentration, mean and rate."""
    torch.manual_seed(6)
    model = random_mixture()
    assert list(model.hyperpriors) == ["concentration", "mean", "rate"]
    trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(4096, 40, 2))
    values = {name: trace.nodes[name]["value"] for name in model.hyperpriors}
    for name, prior in model.hyperpriors.items():
        assert values[name].shape == (4096,)
        assert (
            stats.kstest(values[name].numpy(), lambda x, p=prior: p.cdf(torch.as_tensor(x)).numpy()).pvalue
            > 1e-3
        )
    labels, data = trace.nodes["assignments"]["value"], trace.nodes["data"]["value"].double()
    # Given the concentration a, E[K] = sum_n a / (a + n).
    concentration = values["concentration"].unsqueeze(-1).double()
    expected = (concentration / (concentration + torch.arange(40))).sum(-1)
    gap = num_clusters(labels) - expected
    for few in gap[values["concentration"].argsort()].split(1024):
        assert abs(few.mean()) < 4 * few.std() / 32
    # Given mean m and rate b, E x = m, and within a cluster E (x_i - x_j)^2 = 2 b / (a - 1).
    centred = data[:, 0] - values["mean"].unsqueeze(-1).double()
    assert (centred.mean(0).abs() < 4 * centred.std(0) / 64).all()
    same = labels[:, 1] == 0
    square = (data[:, 0] - data[:, 1]).square().mean(-1)[same] / values["rate"][same]
    for few in square[values["rate"][same].argsort()].split(int(same.sum()) // 4 + 1):
        assert abs(few.mean() - 2 / 3) < 4 * few.std() / len(few) ** 0.5


def test_traced_density_with_random_hyperparameters():
    """The program's log-probability is the priors' plus the log joint given all values."""
    torch.manual_seed(7)
    model, data = random_mixture(), torch.randn(3, 8, 2)
    trace = poutine.trace(pyro.condition(model, data={"data": data})).get_trace(data)
    trace.compute_log_prob()
    values = {name: trace.nodes[name]["value"] for name in model.hyperpriors}
    labels = trace.nodes["assignments"]["value"]
    priors = sum(prior.log_prob(values[name]) for name, prior in model.hyperpriors.items())
    total = sum(trace.nodes[name]["log_prob"] for name in trace.stochastic_nodes if name != "datasets")
    total = total + (trace.nodes["data"]["log_prob"] if "data" not in trace.stochastic_nodes else 0.0)
    assert torch.allclose(total.double(), priors + model.given(values).log_joint(data, labels), rtol=1e-5)


def test_batches_of_hyperparameters():
    """Data sets with their own hyperparameters, in one call: the same as one by one."""
    torch.manual_seed(8)
    values = {"concentration": torch.tensor([0.5, 2.0]), "rate": torch.tensor([1.0, 3.0]), "mean": 1.0}
    model, data, labels = random_mixture(), torch.randn(2, 5, 2), enumerate_partitions(5)
    for i in range(2):
        one = {
            name: float(value[i]) if isinstance(value, torch.Tensor) else value
            for name, value in values.items()
        }
        expected = model.given(one).log_joint(data[i], labels)
        known = model.given({name: torch.as_tensor(value).unsqueeze(-1) for name, value in values.items()})
        assert torch.allclose(known.log_joint(data.unsqueeze(1), labels)[i], expected, atol=1e-9)


@pytest.mark.parametrize("component", FAMILIES.values(), ids=FAMILIES)
def test_every_family_simulates(component):
    model = Mixture(GammaConcentration(2.0, 4.0), component)
    trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(3, 2, 10, component.dim))
    component.check(trace.nodes["data"]["value"])
    assert trace.nodes["assignments"]["value"].shape == (3, 2, 10)
    if isinstance(component, ConjugateComponent):
        data, labels = trace.nodes["data"]["value"], trace.nodes["assignments"]["value"]
        assert model.log_joint(data, labels).shape == (3, 2)


def test_given_leaves_the_model_alone():
    model = random_mixture()
    known = model.given({"concentration": 0.7, "rate": 2.0, "mean": 0.0})
    assert not known.hyperpriors
    assert len(model.hyperpriors) == 3
    assert known.name == model.name
    assert model.given({"kappa": 0.25}).component.kappa == 0.25


def test_a_shared_name_goes_where_it_is_random():
    """Both the Chinese restaurant and the Dirichlet have a concentration."""
    random = Mixture(ChineseRestaurantPrior(1.0), MultinomialDirichlet(3, Gamma(1.0, 1.0)))
    known = random.given({"concentration": 0.5})
    assert (known.component.concentration, known.prior.concentration) == (0.5, 1.0)
    with pytest.raises(ValueError, match="values has the name 'concentration' of both prior and component"):
        known.given({"concentration": 0.5})
    with pytest.raises(ValueError, match="concentration is random in both prior and component"):
        Mixture(ChineseRestaurantPrior(Gamma(1.0, 1.0)), MultinomialDirichlet(3, Gamma(1.0, 1.0)))
    with pytest.raises(ValueError, match="values has the name 'nothing', expected some of concentration"):
        random.given({"nothing": 0.5})


def test_log_joint_asks_for_known_hyperparameters():
    data, labels = torch.randn(4, 2), torch.tensor([0, 0, 1, 1])
    with pytest.raises(ValueError, match="concentration is random, expected a number"):
        random_mixture().log_joint(data, labels)
    with pytest.raises(ValueError, match="mean is random, expected a number"):
        random_mixture().given({"concentration": 1.0}).log_joint(data, labels)
    # One number of the component integrates out.
    assert random_mixture().given({"concentration": 1.0, "mean": 0.0}).log_joint(data, labels).isfinite()
    with pytest.raises(ValueError, match="component is a PyroComponent, expected a conjugate family"):
        Mixture(ChineseRestaurantPrior(1.0), student_t(2)).log_joint(data, labels)
    with pytest.raises(ValueError, match="expected 0 or 1 in every column for BernoulliBeta"):
        Mixture(ChineseRestaurantPrior(1.0), BernoulliBeta(2)).log_joint(data, labels)
