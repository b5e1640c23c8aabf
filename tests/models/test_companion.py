"""The companion program against its mixture: law of the labels, density, Pyro's algorithms."""

import itertools

import pyro
import pyro.distributions as dist
import pytest
import torch
from cases import some_of
from partition_laws import assert_counts_fit, partition_counts
from pyro import poutine
from pyro.infer import Predictive, TraceEnum_ELBO, infer_discrete
from pyro.infer.autoguide import AutoDelta, AutoNormal
from pyro.infer.mcmc.util import initialize_model
from scipy import stats

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartitionPrior,
    PitmanYorPrior,
    PoissonGamma,
    Product,
    PyroComponent,
    student_t,
    von_mises,
)
from pyroclust.models import Mixture, companion, gaussian2d
from pyroclust.partitions import canonical, enumerate_partitions

PRIORS = {
    "chinese_restaurant": (ChineseRestaurantPrior(0.8), 30),
    "gamma_concentration": (GammaConcentration(2.0, 4.0), 40),
    "random_concentration": (ChineseRestaurantPrior(dist.Gamma(2.0, 4.0)), 40),
    "pitman_yor": (PitmanYorPrior(0.25, 0.5), 100),
    "dirichlet_multinomial": (DirichletMultinomialPrior(3, 0.7), 3),
    "finite_mixtures": (FiniteMixturesPrior(0.6, dist.Poisson(1.5)), 12),
    "uniform_to_three": (FiniteMixturesPrior(1.3, dist.Categorical(torch.ones(3))), 4),
    "random_weights": (DirichletMultinomialPrior(4, dist.Gamma(3.0, 2.0)), 4),
}
every_prior = pytest.mark.parametrize(("prior", "num_components"), PRIORS.values(), ids=PRIORS)


def _laplace_parameters():
    return {
        "loc": pyro.sample("loc", dist.Normal(0.0, 3.0)),
        "scale": pyro.sample("scale", dist.LogNormal(0.0, 0.5)),
    }


def _laplace(parameters):
    return dist.Laplace(parameters["loc"].unsqueeze(-1), parameters["scale"].unsqueeze(-1)).to_event(1)


COMPONENTS = {
    "known_variance": NormalKnownVariance(2, 2.0),
    "random_scale": NormalKnownVariance(1, dist.Gamma(2.0, 1.0)),
    "inverse_gamma": NormalInverseGamma(2, 0.5, shape=2.0, rate=0.5),
    "inverse_wishart": NormalInverseWishart(2, 0.5, dof=4.0, scale=1.0),
    "product": Product(
        [NormalKnownVariance(1, dist.Gamma(2.0, 1.0)), PoissonGamma(1, 2.0, rate=dist.Gamma(2.0, 1.0))]
    ),
    "independent": NormalIndependent(0.5, 4.0, shape=2.0, rate=0.5),
    "student_t": student_t(2, dof=3.0),
    "von_mises": von_mises(),
    "laplace": PyroComponent(_laplace_parameters, _laplace, typical_scale=1.4),
}


def points(component):
    """Six points in the support of any of the families above."""
    data = torch.randn(6, component.dim, dtype=torch.float64)
    return torch.cat([data[:, :1], data[:, 1:].abs().round()], -1) if isinstance(component, Product) else data


def simulate(program, num_points, draws):
    """Run the program on templates, all at once, in a plate of our own."""
    template = torch.empty(num_points, program.mixture.component.dim)
    with pyro.plate("draws", draws, dim=-2):
        return poutine.trace(poutine.uncondition(program)).get_trace(template)


def log_prior_of_partitions(prior, partitions):
    """Average over draws of the hyperparameters where these are random; they have a small error."""
    if not prior.hyperpriors or isinstance(prior, GammaConcentration):
        return prior.log_prob(partitions)
    values = {name: one.sample((20_000, 1)).double() for name, one in prior.hyperpriors.items()}
    return prior.given(values).log_prob(partitions).logsumexp(0) - torch.tensor(20_000.0).log()


@every_prior
def test_labels_have_the_prior_of_the_partition(prior: PartitionPrior, num_components):
    program = companion(Mixture(prior, NormalKnownVariance(1)), num_components)
    labels = canonical(simulate(program, 5, 20_000).nodes["labels"]["value"])
    expected = log_prior_of_partitions(prior, enumerate_partitions(5)).exp()
    assert_counts_fit(partition_counts(labels), expected)


def truncated_law(prior, num_components, partitions):
    """Add up the exact probabilities of all label vectors of a truncated stick-breaking process."""
    discount, concentration = prior.block_discount, prior.value("concentration")
    labels = torch.tensor(list(itertools.product(range(num_components), repeat=partitions.shape[-1])))
    total = torch.zeros(len(labels), dtype=torch.float64)
    for k in range(num_components - 1):
        here, later = (labels == k).sum(-1).double(), (labels > k).sum(-1).double()
        first, second = 1 - discount, concentration + (k + 1) * discount
        before = first.lgamma() + second.lgamma() - (first + second).lgamma()
        total += (
            (first + here).lgamma()
            + (second + later).lgamma()
            - (first + second + here + later).lgamma()
            - before
        )
    match = (canonical(labels).unsqueeze(1) == partitions).all(-1)
    return (match * total.exp().unsqueeze(-1)).sum(0)


@pytest.mark.parametrize("num_components", [2, 3, 4, 6])
@pytest.mark.parametrize(
    "prior",
    [ChineseRestaurantPrior(0.3), ChineseRestaurantPrior(1.5), PitmanYorPrior(0.4, 0.2)],
    ids=["few", "many", "py"],
)
def test_truncation_error_bounds_the_exact_total_variation(prior, num_components):
    partitions = enumerate_partitions(5)
    law = truncated_law(prior, num_components, partitions)
    assert law.sum().item() == pytest.approx(1, abs=1e-12)
    distance = 0.5 * (law - prior.log_prob(partitions).exp()).abs().sum()
    bound = companion(Mixture(prior, NormalKnownVariance(1)), num_components).truncation_error(5)
    assert distance <= bound + 1e-12
    assert bound < 12 * distance


def test_truncation_error_of_other_priors():
    def error(prior, num_components=None):
        program = companion(Mixture(prior, NormalKnownVariance(1)), num_components)
        return program.truncation_error(50).item()

    assert error(DirichletMultinomialPrior(5, 1.0)) == 0
    assert error(FiniteMixturesPrior(1.0, dist.Categorical(torch.ones(3))), 3) == 0
    assert error(FiniteMixturesPrior(1.0, dist.Categorical(torch.ones(4))), 3) == pytest.approx(0.25)
    # Quantiles in the middle of 200 equal shares: nearer to the mean than 4,000 draws.
    values = stats.gamma(2.0, scale=1 / 4.0).ppf((torch.arange(200).double() + 0.5) / 200).tolist()
    mean = torch.tensor([error(ChineseRestaurantPrior(one), 8) for one in values]).mean().item()
    assert error(GammaConcentration(2.0, 4.0), 8) == pytest.approx(mean, rel=0.1)


def potential_and_reference(program, data):
    """Evaluate NUTS' potential at its start, and the same from the formula, labels summed out one by one."""
    params, potential, transforms, _ = initialize_model(program, (data,), max_plate_nesting=1)
    values = {name: transforms[name].inv(one) for name, one in params.items()}
    jacobian = sum(
        transforms[name].log_abs_det_jacobian(values[name], one).sum() for name, one in params.items()
    )
    terms = []
    numbers = range(program.num_components) if "gammas" in values else [None]
    for extra in numbers:
        more = {} if extra is None else {"extra_components": torch.tensor(extra)}
        likelihood = []
        for label in range(program.num_components):
            labels = {"labels": torch.full((len(data),), label)}
            trace = poutine.trace(pyro.condition(program, data={**values, **more, **labels})).get_trace(data)
            trace.compute_log_prob()
            likelihood.append(trace.nodes["labels"]["log_prob"] + trace.nodes["data"]["log_prob"])
        others = sum(
            node["log_prob_sum"]
            for name, node in trace.nodes.items()
            if node["type"] == "sample" and name in (*values, "extra_components")
        )
        terms.append(others + torch.stack(likelihood).logsumexp(0).sum())
    reference = torch.stack(terms).logsumexp(0)
    return potential(params), jacobian - reference, params, potential


EVERY_PAIR = list(itertools.product(PRIORS, COMPONENTS))
# Every prior and every family, the product and the one with a random scale with each.
FIRST_PAIRS = [
    (prior, component)
    for place, (prior, component) in enumerate(EVERY_PAIR)
    if component in ("random_scale", "product") or place % 8 == 0
]


@pytest.mark.parametrize(("prior", "component"), some_of(EVERY_PAIR, FIRST_PAIRS))
def test_nuts_sees_the_density_with_labels_summed_out(prior, component):
    law, num_components = PRIORS[prior]
    program = companion(Mixture(law, COMPONENTS[component]), min(num_components, 4))
    data = points(COMPONENTS[component])
    found, reference, params, potential = potential_and_reference(program, data)
    assert found.item() == pytest.approx(reference.item(), rel=1e-5)
    leaves = {name: one.clone().requires_grad_() for name, one in params.items()}
    gradients = torch.autograd.grad(potential(leaves), list(leaves.values()))
    assert all(one.isfinite().all() for one in gradients)
    assert any(one.abs().max() > 0 for one in gradients)


@pytest.mark.parametrize("extreme", [-2000.0, 2000.0, torch.nan])
def test_diverging_trajectories_do_not_raise(extreme):
    """Hyperparameters outside their range, of a product too, give no finite energy and no error."""
    model = Mixture(PRIORS["random_concentration"][0], COMPONENTS["product"])
    data = points(model.component)
    with pyro.validation_enabled(False):
        params, potential, _, _ = initialize_model(companion(model, 4), (data,), max_plate_nesting=1)
        for name in model.hyperpriors:
            assert not potential({**params, name: torch.tensor(extreme, dtype=torch.float64)}).isfinite()


NAMES = ["chinese_restaurant", "gamma_concentration", "finite_mixtures", "random_weights"]


@pytest.mark.parametrize(
    ("component", "name"),
    [(one, NAMES[place % 4]) for place, one in enumerate(COMPONENTS.values())],
    ids=COMPONENTS,
)
@pytest.mark.parametrize("guide", [AutoNormal, AutoDelta])
def test_enumeration_elbo_has_gradients(component, name, guide):
    program = companion(Mixture(PRIORS[name][0], component), 4)
    data = points(component).float()
    with pyro.get_param_store().scope():
        own = guide(poutine.block(program, hide=list(program.discrete_sites)))
        own(data)
        TraceEnum_ELBO(max_plate_nesting=1).loss_and_grads(program, own, data)
        gradients = [p.grad for p in own.parameters()]
        assert all(g is not None and g.isfinite().all() for g in gradients)


@pytest.mark.parametrize(
    ("component", "name"),
    list(zip(("random_scale", "inverse_wishart", "product", "student_t"), NAMES, strict=True)),
)
def test_particles_in_a_plate_are_particles_in_a_loop(component, name):
    family = COMPONENTS[component]
    program = companion(Mixture(PRIORS[name][0], family), 4)
    data = points(family)
    with pyro.get_param_store().scope():
        own = AutoNormal(poutine.block(program, hide=list(program.discrete_sites)), init_scale=0.02)
        own(data)
        one = TraceEnum_ELBO(max_plate_nesting=1)
        many = TraceEnum_ELBO(num_particles=200, vectorize_particles=True, max_plate_nesting=1)
        losses = torch.tensor([one.loss(program, own, data) for _ in range(50)])
        error = losses.std() * (1 / 50 + 1 / 200) ** 0.5
        assert abs(many.loss(program, own, data) - losses.mean()) < 4 * error


def test_infer_discrete_follows_the_posterior_of_the_labels():
    program = companion(gaussian2d(), 3)
    values = {"sticks": torch.tensor([0.5, 0.4]), "loc": torch.tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 3.0]])}
    data = torch.tensor([[0.4, 0.0], [2.0, 1.5]])
    weights = torch.tensor([0.5, 0.2, 0.3])
    log_p = weights.log() - 0.5 * (data.unsqueeze(1) - values["loc"]).square().sum(-1)
    sample = infer_discrete(pyro.condition(program, data=values), first_available_dim=-2)
    draws = torch.stack([poutine.trace(sample).get_trace(data).nodes["labels"]["value"] for _ in range(400)])
    frequency = torch.stack([(draws == k).float().mean(0) for k in range(3)], -1)
    probability = log_p.softmax(-1)
    assert ((frequency - probability).abs() < 4 * (probability * (1 - probability) / 400).sqrt()).all()


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "component", [COMPONENTS["random_scale"], COMPONENTS["inverse_wishart"]], ids=["scale", "wishart"]
)
def test_predictive_draws_data_sets(name, parallel, component):
    program = companion(Mixture(PRIORS[name][0], component), 4)
    draws = Predictive(poutine.uncondition(program), num_samples=7, parallel=parallel)(
        torch.empty(9, component.dim)
    )
    assert draws["data"].shape == (7, 9, component.dim)
    assert draws["data"].isfinite().all()
    assert draws["labels"].reshape(7, 9).unique(dim=0).shape[0] > 1


@pytest.mark.parametrize(
    ("prior", "num_components", "message"),
    [
        (ChineseRestaurantPrior(1.0), 1, "num_components is 1, expected at least 2"),
        (ChineseRestaurantPrior(1.0), None, "num_components is missing"),
        (DirichletMultinomialPrior(3, 1.0), 4, "num_components is 4, expected 3"),
        (FiniteMixturesPrior(1.0, dist.Poisson(torch.ones(3))), 4, r"extra_components has shape \(3,\)"),
        (ChineseRestaurantPrior(torch.ones(3)), 4, r"concentration has shape \(3,\), expected a number"),
    ],
)
def test_errors(prior, num_components, message):
    with pytest.raises(ValueError, match=message):
        companion(Mixture(prior, NormalKnownVariance(1)), num_components)


def test_data_are_one_data_set():
    with pytest.raises(ValueError, match=r"data has shape \(3, 5, 2\), expected one data set \(N, 2\)"):
        companion(gaussian2d(), 4)(torch.zeros(3, 5, 2))


def test_truncation_error_asks_for_known_hyperparameters():
    program = companion(Mixture(ChineseRestaurantPrior(dist.Gamma(1.0, 1.0)), NormalKnownVariance(1)), 5)
    with pytest.raises(ValueError, match="concentration is random"):
        program.truncation_error(10)
