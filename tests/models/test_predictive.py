"""New points and replicated data: exact identities by enumeration, and the law of the draws."""

import re

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch
from pyro import poutine
from pyro.infer import Predictive
from scipy import stats

from pyroclust import compare, predict
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
    Product,
    PyroComponent,
    student_t,
)
from pyroclust.infer import exact_posterior, log_evidence
from pyroclust.infer.mcmc.parameters import parameters_of_draws
from pyroclust.models import (
    Mixture,
    PosteriorPredictive,
    Replicated,
    SampledPredictive,
    nig_mixture,
    predictive,
)
from pyroclust.partitions import enumerate_partitions

MODELS = {
    "chinese_restaurant": Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(1, 3.0)),
    "gamma_concentration": Mixture(
        GammaConcentration(2.0, 4.0), NormalInverseGamma(1, 0.2, shape=2.0, rate=0.5)
    ),
    "pitman_yor": Mixture(PitmanYorPrior(0.4, 0.3), NormalIndependent(0.5, 4.0, shape=2.0, rate=0.5)),
    "finite_mixtures": Mixture(FiniteMixturesPrior(0.6, dist.Poisson(1.5)), NormalKnownVariance(1, 3.0)),
    "two_components": Mixture(
        DirichletMultinomialPrior(2, 0.8), NormalInverseWishart(1, 0.2, dof=3.0, scale=1.0)
    ),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
RANDOM = Mixture(
    ChineseRestaurantPrior(dist.Gamma(2.0, 4.0)), NormalKnownVariance(1, 3.0, scale=dist.Gamma(20.0, 20.0))
)
TWO = Mixture(
    ChineseRestaurantPrior(1.0),
    NormalKnownVariance(1, mean=dist.Normal(0.0, 1.0), scale=dist.Gamma(2.0, 2.0)),
)


def extensions(labels):
    """Return every way of seating one more point."""
    clusters = int(labels.max()) + 2
    return torch.cat([labels.expand(clusters, -1), torch.arange(clusters).unsqueeze(-1)], -1)


@every_model
def test_a_new_point_has_the_density_of_the_joint(model):
    """For every partition: sums over clusters, and single clusters, are ratios of joint densities."""
    torch.manual_seed(1)
    data, new = 2 * torch.randn(5, 1, dtype=torch.float64), torch.tensor([0.8], dtype=torch.float64)
    longer = torch.cat([data, new.unsqueeze(0)])
    for labels in enumerate_partitions(5):
        if not model.prior.log_prob(labels).isfinite():
            continue
        law = PosteriorPredictive(model, data, labels)
        joint = model.log_joint(longer, extensions(labels)) - model.log_joint(data, labels)
        assert law.log_prob(new).item() == pytest.approx(joint.logsumexp(0).item(), abs=1e-9)
        assert torch.allclose(law.log_cluster_probs(new)[0].exp(), joint.softmax(0), atol=1e-9)


@every_model
def test_average_over_the_exact_posterior_is_a_ratio_of_evidences(model):
    torch.manual_seed(2)
    data, new = 2 * torch.randn(6, 1, dtype=torch.float64), torch.tensor([-0.5], dtype=torch.float64)
    partitions, log_probs = exact_posterior(model, data)
    possible = log_probs.isfinite()
    each = torch.stack([PosteriorPredictive(model, data, one).log_prob(new) for one in partitions[possible]])
    evidence = log_evidence(model, torch.cat([data, new.unsqueeze(0)])) - log_evidence(model, data)
    assert (each + log_probs[possible]).logsumexp(0).item() == pytest.approx(evidence.item(), abs=1e-9)


@every_model
def test_density_integrates_to_one(model, monkeypatch):
    torch.manual_seed(3)
    data = 2 * torch.randn(6, 1, dtype=torch.float64)
    draws = model.prior.partition(6).expand((3, 4)).sample()
    law = PosteriorPredictive(model, data, draws)
    angle = torch.linspace(-torch.pi / 2, torch.pi / 2, 3001, dtype=torch.float64)[1:-1]
    points, weight = 3 * angle.tan().unsqueeze(-1), 3 * (angle[1] - angle[0]) / angle.cos().square()
    density = law.log_prob(points).exp()
    assert (density * weight).sum().item() == pytest.approx(1, abs=1e-4)
    singles = [
        PosteriorPredictive(model, data, one).log_prob(points[1400:1450]) for one in draws.reshape(12, 6)
    ]
    assert torch.allclose(torch.stack(singles).exp().mean(0), density[1400:1450])
    monkeypatch.setattr(predictive, "MAX_ENTRIES", 500)
    new = [PosteriorPredictive(model, data, one) for one in draws.reshape(12, 6)]
    both = [
        (one.log_prob(points[1400:1450]) + one.log_new_cluster_prob(points[1400:1450])).exp() for one in new
    ]
    together = torch.stack(both).mean(0) / density[1400:1450]
    assert torch.allclose(law.log_new_cluster_prob(points[1400:1450]).exp(), together)
    columns = [one.log_cluster_probs(points[1400:1450])[:, 0, -1] for one in new]
    assert all(
        torch.allclose(one.log_new_cluster_prob(points[1400:1450]), last)
        for one, last in zip(new, columns, strict=True)
    )
    assert torch.allclose(
        law.log_prob(points[1400:1499].reshape(33, 3, 1)), density[1400:1499].log().reshape(33, 3)
    )


def assert_sampled(law):
    """Compare draws with the integral of the density."""
    grid = torch.linspace(-200, 200, 200_001, dtype=torch.float64)
    distribution = law.log_prob(grid.unsqueeze(-1)).exp().cumsum(0) * (grid[1] - grid[0])
    draws = law.sample((4000,)).squeeze(-1).double()
    uniform = distribution[torch.searchsorted(grid, draws).clamp(max=len(grid) - 1)]
    assert stats.kstest(uniform.numpy(), "uniform").pvalue > 1e-3


def test_samples_follow_the_density():
    torch.manual_seed(4)
    data = torch.tensor([[-3.0], [-2.5], [0.0], [3.0], [3.5]])
    model = MODELS["gamma_concentration"]
    law = PosteriorPredictive(model, data, enumerate_partitions(5)[[5, 20, 33, 51]])
    assert_sampled(law)


def test_hyperparameters_belong_to_their_draws():
    torch.manual_seed(5)
    data = torch.randn(4, 1)
    draws = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 2], [0, 0, 0, 0]])
    hyper = {"concentration": torch.tensor([0.2, 1.0, 3.0]), "scale": torch.tensor([0.1, 1.0, 5.0])}
    new = torch.tensor([[0.3], [9.0]])
    together = PosteriorPredictive(RANDOM, data, draws, hyperparameters=hyper)
    each = []
    for index, labels in enumerate(draws):
        known = RANDOM.given({name: one[index] for name, one in hyper.items()})
        each.append(PosteriorPredictive(known, data, labels).log_prob(new))
    assert torch.allclose(together.log_prob(new).exp(), torch.stack(each).exp().mean(0))
    assert_sampled(together)


def test_it_is_a_distribution_of_pyro():
    law = PosteriorPredictive(MODELS["chinese_restaurant"], torch.zeros(3, 1), torch.tensor([0, 0, 1]))

    def program():
        with pyro.plate("points", 5):
            return pyro.sample("new", law)

    trace = poutine.trace(program).get_trace()
    assert trace.nodes["new"]["value"].shape == (5, 1)
    trace.compute_log_prob()
    assert torch.allclose(trace.nodes["new"]["log_prob"], law.log_prob(trace.nodes["new"]["value"]))


def test_mixed_columns_have_clusters():
    family = Product([NormalKnownVariance(1, 5.0), PoissonGamma(1, 1.0, rate=0.2)])
    model = Mixture(ChineseRestaurantPrior(1.0), family)
    data = torch.tensor([[0.0, 1.0], [0.2, 0.0], [8.0, 20.0], [8.1, 24.0]])
    law = PosteriorPredictive(model, data, torch.tensor([0, 0, 1, 1]))
    assert law.log_cluster_probs(torch.tensor([[0.1, 0.0], [8.0, 22.0], [50.0, 90.0]])).argmax(
        -1
    ).flatten().tolist() == [0, 1, 2]
    assert law.support.check(law.sample((50,))).all()
    with pytest.raises(ValueError, match="counts"):
        law.log_prob(torch.tensor([0.1, 0.5]))


def test_replicates_follow_the_predictive_of_their_cluster():
    torch.manual_seed(6)
    model, data = nig_mixture(1), torch.tensor([[-2.0], [-1.5], [-1.8], [1.0]])
    labels = torch.tensor([0, 0, 0, 1])
    check = Predictive(
        Replicated(model, data), posterior_samples={"assignments": labels.expand(4000, 4)}, parallel=True
    )
    found = check()
    assert list(found) == ["replicated"]
    replicates = found["replicated"]
    assert replicates.shape == (4000, 4, 1)
    family = model.component
    grid = torch.linspace(-300, 300, 300_001, dtype=torch.float64)
    for block, point in (([0, 1, 2], 1), ([3], 3)):
        moments = family.moments(data[block]).sum(0)
        packed = family.predictive_parameters(torch.tensor(float(len(block))), moments)
        distribution = family.log_predictive(grid.unsqueeze(-1), packed).exp().cumsum(0) * (grid[1] - grid[0])
        draws = replicates[:, point, 0].double().contiguous()
        uniform = distribution[torch.searchsorted(grid, draws).clamp(max=len(grid) - 1)]
        assert stats.kstest(uniform.numpy(), "uniform").pvalue > 1e-3
    together = torch.corrcoef(replicates[:, :2, 0].T.clamp(-5, 2))[0, 1]
    assert together > 0.1


@pytest.mark.parametrize("parallel", [False, True])
def test_replicates_of_many_data_sets_with_hyperparameters(parallel):
    torch.manual_seed(7)
    data = torch.randn(2, 5, 1) + torch.tensor([0.0, 100.0]).view(2, 1, 1)
    draws = {
        "assignments": RANDOM.given({"concentration": 1.0}).prior.partition(5).expand((6, 2)).sample(),
        "scale": torch.full((6, 2), 1e-3),
    }
    found = Predictive(Replicated(RANDOM, data), posterior_samples=draws, parallel=parallel)()
    assert set(found) == {"replicated"}
    assert found["replicated"].shape == (6, 2, 5, 1)
    centre = data.new_zeros(6, 2, 5)
    for s, b in torch.cartesian_prod(torch.arange(6), torch.arange(2)).tolist():
        labels = draws["assignments"][s, b]
        same = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
        centre[s, b] = (same @ data[b, :, 0]) / same.sum(-1)
    assert torch.allclose(found["replicated"].squeeze(-1), centre, atol=0.02)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("shape", [(6, 1), (3, 6, 1)], ids=["one", "three"])
@pytest.mark.parametrize("model", [*MODELS.values(), RANDOM], ids=[*MODELS, "random"])
def test_prior_predictive(model, shape, parallel):
    found = Predictive(poutine.uncondition(model), num_samples=5, parallel=parallel)(torch.empty(shape))
    assert found["data"].shape == (5, *shape)
    assert found["data"].isfinite().all()
    assert found["assignments"].shape == (5, *shape[:-1])
    for name in model.hyperpriors:
        assert (
            found[name].reshape(-1).unique().numel()
            == found[name].numel()
            == 5 * torch.Size(shape[:-2]).numel()
        )


LABELS, STUDENT = torch.zeros(2, 3).long(), Mixture(ChineseRestaurantPrior(1.0), student_t())


@pytest.mark.parametrize(
    ("model", "hyper", "message"),
    [
        (TWO, {}, "hyperparameters lacks mean, scale"),
        (RANDOM, {"scale": torch.ones(2)}, "concentration is random"),
        (RANDOM, {"scale": torch.ones(3)}, "expected one value a draw"),
        (STUDENT, {}, "conjugate"),
    ],
)
def test_hyperparameters_and_families_that_do_not_fit_are_refused(model, hyper, message):
    with pytest.raises(ValueError, match=message):
        PosteriorPredictive(model, torch.zeros(3, 1), LABELS, hyperparameters=hyper)


def test_replicates_need_a_conjugate_family():
    with pytest.raises(ValueError, match="conjugate"):
        Replicated(STUDENT, torch.zeros(3, 1))


@pytest.fixture(scope="module")
def case():
    torch.manual_seed(0)
    exact = nig_mixture(2)
    family = exact.component
    assert isinstance(family, NormalInverseGamma)
    free = PyroComponent(family.parameters, family.likelihood, dim=2, typical_scale=family.typical_scale)
    sampled = Mixture(exact.prior, free)
    data = torch.cat([torch.randn(12, 2) * 0.3 - 1, torch.randn(9, 2) * 0.3 + 1]).double()
    draws = torch.tensor([[0] * 12 + [1] * 9, [0] * 12 + [1] * 8 + [2], [0] * 21]).repeat_interleave(75, 0)
    closed = PosteriorPredictive(exact, data, draws[::75])
    found = parameters_of_draws(sampled, data, draws, generator=np.random.default_rng(0))
    return closed, SampledPredictive(sampled, data, draws, parameters=found, num_prior=20_000), data


POINTS = torch.tensor([[-1.0, -1.0], [1.0, 1.2], [0.0, 0.0], [3.0, -3.0]], dtype=torch.float64)


def test_densities_and_clusters_are_those_of_the_closed_form(case):
    closed, sampled, _ = case
    torch.testing.assert_close(sampled.log_prob(POINTS), closed.log_prob(POINTS), atol=0.15, rtol=0)
    partition = torch.tensor([0] * 12 + [1] * 9)
    found = sampled.cluster_probs(POINTS, partition)
    torch.testing.assert_close(found, closed.cluster_probs(POINTS, partition), atol=0.06, rtol=0)
    torch.testing.assert_close(found.sum(-1), torch.ones(4, dtype=torch.float64))


def test_points_left_out_have_the_density_that_evidences_say(case):
    closed, sampled, _ = case
    data = torch.tensor([[0.0, 0.1], [0.2, 0.0], [-0.2, 0.2], [2.0, 2.0], [2.2, 1.9], [-1.0, 1.0]]).double()
    every, log_probs = exact_posterior(closed.model, data)
    torch.manual_seed(1)
    draws = every[torch.multinomial(log_probs.exp(), 800, replacement=True)]
    found = parameters_of_draws(sampled.model, data, draws, generator=np.random.default_rng(1))
    law = SampledPredictive(sampled.model, data, draws, parameters=found, num_prior=20_000)
    rows = torch.arange(len(data))
    others = torch.stack([data[rows != row] for row in rows])
    exact = log_evidence(closed.model, data) - log_evidence(closed.model, others)
    torch.testing.assert_close(law.log_prob_left_out(rows), exact, atol=0.2, rtol=0)


def test_a_comparison_with_heavy_tails_predicts_new_rows():
    rng = np.random.default_rng(0)
    old = np.concatenate([rng.normal(-3, 1, 20), rng.normal(3, 1, 20)])
    found = compare(old, family="student-t", guide="none", mcmc_draws=20, num_chains=2, warmup=40)
    prediction = predict(found, [-3.0, 3.0])
    assert prediction.clusters.tolist() == [0, 1]
    np.testing.assert_allclose(prediction.probabilities.sum(1), 1)
    same = predict(found, [-3.0, 3.0])
    np.testing.assert_array_equal(same.log_density, prediction.log_density)
    assert predict(found, old + 9).warning is not None


def test_parameters_of_other_draws_are_refused(case):
    _, sampled, data = case
    draws = torch.zeros(3, len(data), dtype=torch.int64)
    with pytest.raises(ValueError, match=re.escape("'loc' of shape (2, 1, 2), expected (3, 1, ...)")):
        SampledPredictive(sampled.model, data, draws, parameters={"loc": torch.zeros(2, 1, 2)})
