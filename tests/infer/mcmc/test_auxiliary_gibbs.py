"""AuxiliaryGibbs as a kernel: seeds, bookkeeping, log joint, parameters, and what it refuses."""

import math

import numpy as np
import pyro.distributions as dist
import pytest
import torch
from partition_laws import check_log_joint
from pyro import sample

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    NormalInverseGamma,
    NormalKnownVariance,
    PyroComponent,
    student_t,
)
from pyroclust.infer.mcmc import (
    AuxiliaryGibbs,
    CollapsedGibbs,
    Compose,
    ExactParameters,
    OneCluster,
    Singletons,
    SliceHyperparameters,
    SliceParameters,
    SplitMerge,
    auxiliary_gibbs,
)
from pyroclust.infer.mcmc.named_kernels import has_kernel
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.models import Mixture, warped_clusters
from pyroclust.partitions import canonical, is_canonical

PRIOR = ChineseRestaurantPrior(1.0)
RANDOM = ChineseRestaurantPrior(dist.Gamma(2.0, 2.0))
CONJUGATE = Mixture(PRIOR, NormalInverseGamma(2, 0.2, shape=2.0, rate=0.5))
STUDENT = Mixture(PRIOR, student_t(2, prior_scale=4.0))
every_model = pytest.mark.parametrize("model", [CONJUGATE, STUDENT], ids=["conjugate", "student"])


def points(num_points=30):
    torch.manual_seed(1)
    return torch.randn(num_points, 2) + 4.0 * torch.randint(-1, 2, (num_points, 1))


def start(num_chains=3, num_points=30):
    labels = torch.arange(num_points).remainder(4).repeat(num_chains, 1)
    return ChainStates(labels, {}, torch.zeros(num_chains, dtype=torch.float64))


def bound(kernel, data, states=None):
    torch.manual_seed(2)
    return kernel.bind(data, start() if states is None else states, np.random.default_rng(2))


@every_model
def test_draws_do_not_depend_on_how_they_are_grouped(model):
    whole = bound(AuxiliaryGibbs(model), points()).advance(start(), 100)
    transition, states = bound(AuxiliaryGibbs(model), points()), start()
    for _ in range(100):
        states = transition.step(states)
    assert torch.equal(whole.assignments[:, -1], states.assignments)
    assert torch.allclose(whole.log_joint[:, -1], states.log_joint)


@every_model
def test_every_so_many_th_sweep_is_a_draw(model):
    thinned = bound(AuxiliaryGibbs(model), points()).advance(start(), 5, every=4)
    every = bound(AuxiliaryGibbs(model), points()).advance(start(), 20)
    assert torch.equal(thinned.assignments, every.assignments[:, 3::4])


@every_model
@pytest.mark.parametrize("entries", [1 << 22, 700])
def test_parameters_and_log_joint_belong_to_the_draw(model, entries, monkeypatch):
    """The log joint of kept parameters, from the parameters of the points alone."""
    monkeypatch.setattr(auxiliary_gibbs, "_MAX_ENTRIES", entries)
    kernel = AuxiliaryGibbs(model, parameter_updates=SliceParameters(), init=Singletons())
    data = points()
    draws = kernel.run(data, num_draws=25, num_chains=3, seed=3)
    for chain in range(3):
        labels = torch.from_numpy(draws.assignments[chain, -1])
        own = {name: value[chain] for name, value in kernel.parameters.items()}
        _, first = np.unique(labels.numpy(), return_index=True)
        clusters = {name: value[torch.from_numpy(first)] for name, value in own.items()}
        assert all(torch.equal(value[labels], own[name]) for name, value in clusters.items())
        assert len(clusters["loc"][:, 0].unique()) == len(first)
        log_joint = PRIOR.log_prob(labels) + model.component.log_prior(clusters).sum()
        log_joint += model.component.likelihood(own).log_prob(data.double()).sum()
        assert draws.log_joint[chain, -1] == pytest.approx(float(log_joint))


def test_many_clusters_open_in_one_sweep():
    """More than there were slots for; every cluster has parameters of its own."""
    data = 1000.0 * torch.arange(400.0).unsqueeze(-1)
    model = Mixture(ChineseRestaurantPrior(1.0), NormalKnownVariance(1, 2e5))
    kernel = AuxiliaryGibbs(model, num_auxiliary=2, init=OneCluster())
    draws = kernel.run(data, num_draws=1, num_chains=3, seed=4)
    assert draws.num_clusters.sum() > 2 * auxiliary_gibbs._SPARE_SLOTS + 6
    check_log_joint(model, data, draws)
    assert all(
        len(one.unique()) == draws.num_clusters[c, 0] for c, one in enumerate(kernel.parameters["loc"])
    )


def test_log_joint_beside_a_random_concentration():
    model = Mixture(RANDOM, student_t(2, prior_scale=4.0))
    gibbs = AuxiliaryGibbs(model)
    data = points()
    draws = Compose([gibbs, SliceHyperparameters(model)]).run(data, num_draws=20, num_chains=2, seed=5)
    clusters = gibbs.bound.clusters
    score = gibbs.bound.log_prior_of_parameters()
    score += model.component.likelihood(clusters.of_points()).log_prob(data.double()).sum(-1)
    alpha = torch.from_numpy(draws.parameters["concentration"][:, -1])
    score += model.given({"concentration": alpha}).prior.log_prob(clusters.labels)
    score += model.prior.concentration.log_prob(alpha.float())
    assert draws.log_joint[:, -1] == pytest.approx(score.numpy())
    assert draws.parameters["concentration"].std() > 0


def test_single_precision_components_run():
    """A likelihood that mixes its parameters with float32 matrices cannot take float64."""
    component = PyroComponent(
        lambda: {"loc": sample("loc", dist.Normal(0.0, 5.0).expand([2]).to_event(1))},
        lambda parameters: dist.Normal(parameters["loc"] @ torch.eye(2), 1.0).to_event(1),
        dim=2,
    )
    kernel = AuxiliaryGibbs(Mixture(PRIOR, component))
    assert np.isfinite(kernel.run(points(), num_draws=5, num_chains=2, seed=6).log_joint).all()
    assert kernel.parameters["loc"].dtype == torch.float32


def test_slice_parameters_far_from_the_prior():
    """A centre a hundred prior deviations away, and one a thousandth as wide as the prior."""
    data = 100.0 + torch.randn(40, 1)
    for prior_scale, rounds in ((1.0, 100), (1000.0, 30)):
        component = NormalKnownVariance(1, prior_scale)
        updates = {"parameter_updates": SliceParameters(rounds=rounds), "init": OneCluster()}
        kernel = AuxiliaryGibbs(Mixture(ChineseRestaurantPrior(1e-30), component), **updates)
        kernel.run(data, num_draws=1, num_chains=80, seed=7)
        variance = 1 / (40 + prior_scale**-2)
        score = (kernel.parameters["loc"][:, 0, 0] - variance * data.sum()) / variance**0.5
        assert score.mean().abs() < 0.5
        assert 0.7 < score.std() < 1.3


@pytest.mark.parametrize("other", [CollapsedGibbs, SplitMerge, AuxiliaryGibbs])
def test_nothing_else_moves_points_beside_kept_parameters(other):
    keeper, mover = AuxiliaryGibbs(CONJUGATE, parameter_updates=SliceParameters()), other(CONJUGATE)
    with pytest.raises(ValueError, match="keeps cluster parameters, and 2 kernels that move points"):
        Compose([keeper, mover])
    with pytest.raises(ValueError, match="Compose, which keeps cluster parameters"):
        Compose([mover, Compose([keeper])])
    with pytest.raises(ValueError, match="keeps cluster parameters"):
        Compose([AuxiliaryGibbs(STUDENT), AuxiliaryGibbs(STUDENT)])
    assert not Compose([AuxiliaryGibbs(CONJUGATE), mover]).keeps_parameters


def test_a_foreign_partition_is_refused_or_taken():
    transition = bound(AuxiliaryGibbs(STUDENT), points())
    states = transition.step(start())
    with pytest.raises(ValueError, match="assignments are not those of the kernel's latest draw"):
        transition.step(start())
    transition.step(states)
    exact = bound(AuxiliaryGibbs(CONJUGATE), points())
    exact.step(start())
    foreign = ChainStates(canonical(torch.randint(3, (3, 30))), {}, torch.zeros(3))
    assert is_canonical(exact.step(foreign).assignments).all()


def component_of(program):
    return Mixture(PRIOR, PyroComponent(program, _normal))


def _normal(parameters):
    shape = next(iter(parameters.values())).shape
    loc = torch.zeros(shape[:-1] if "direction" in parameters else shape)
    return dist.Normal(loc.unsqueeze(-1), 1.0).to_event(1)


def _dependent():
    low = sample("low", dist.Uniform(0.0, 1.0))
    return {"low": low, "high": sample("high", dist.Uniform(low, 2.0, validate_args=False))}


@pytest.mark.parametrize(
    ("program", "match"),
    [
        (lambda: {"kind": sample("kind", dist.Bernoulli(0.5))}, "discrete site 'kind'"),
        (_dependent, "'high' whose support depends on other parameters"),
        (
            lambda: {"direction": sample("direction", dist.ProjectedNormal(torch.zeros(3)))},
            "'direction' with the support",
        ),
    ],
)
def test_sites_that_slices_cannot_move(program, match):
    with pytest.raises(ValueError, match=match):
        AuxiliaryGibbs(component_of(program)).run(torch.randn(5, 1), num_draws=1)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert not has_kernel(component_of(program))
    assert torch.equal(before, torch.get_rng_state())


def test_which_models_have_a_kernel():
    assert has_kernel(CONJUGATE)
    assert has_kernel(STUDENT)
    assert has_kernel(Mixture(RANDOM, student_t()))
    assert has_kernel(Mixture(PRIOR, NormalInverseGamma(1, 0.2, shape=2.0, rate=dist.Gamma(2.0, 2.0))))
    assert not has_kernel(warped_clusters())

    class RandomScale(PyroComponent):
        @property
        def hyperpriors(self):
            return {"scale": dist.Gamma(2.0, 2.0)}

    component = RandomScale(lambda: {"loc": sample("loc", dist.Normal(0.0, 1.0))}, _normal)
    assert not has_kernel(Mixture(PRIOR, component))


def test_points_that_no_parameters_allow():
    """A start where points share a cluster that nothing in the prior can hold."""

    def narrow(parameters):
        low = parameters["low"].unsqueeze(-1)
        return dist.Uniform(low, low + 0.1, validate_args=False).to_event(1)

    component = PyroComponent(lambda: {"low": sample("low", dist.Uniform(0.0, 1.0))}, narrow)
    data = torch.tensor([[0.15], [0.55], [0.56]])
    with pytest.raises(ValueError, match="start with init=Singletons"):
        AuxiliaryGibbs(Mixture(PRIOR, component), init=OneCluster()).run(data, num_draws=1)
    kernel = AuxiliaryGibbs(Mixture(PRIOR, component), init=Singletons())
    draws = kernel.run(data, num_draws=400, num_chains=2, seed=8)
    assert (draws.assignments[..., 0] != draws.assignments[..., 1]).all()
    assert 0.1 < (draws.assignments[..., 1] == draws.assignments[..., 2]).mean() < 1.0


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: AuxiliaryGibbs(STUDENT, num_auxiliary=0), "num_auxiliary is 0, expected at least 1"),
        (lambda: AuxiliaryGibbs(STUDENT, thin=0), "thin is 0"),
        (lambda: SliceParameters(rounds=0), "rounds is 0"),
        (lambda: SliceParameters(width=math.nan), "width is nan"),
        (lambda: AuxiliaryGibbs(STUDENT).parameters, "the kernel has no draws"),
        (
            lambda: AuxiliaryGibbs(STUDENT, parameter_updates=ExactParameters()).run(points(), num_draws=1),
            "expected a conjugate family: use parameter_updates=SliceParameters",
        ),
        (lambda: AuxiliaryGibbs(Mixture(RANDOM, student_t(2))).run(points(), num_draws=1), "'concentration'"),
        (
            lambda: AuxiliaryGibbs(
                Mixture(PRIOR, NormalKnownVariance(2, dist.Gamma(2.0, 2.0))),
                parameter_updates=SliceParameters(),
            ),
            r"random hyperparameters \['prior_scale'\]",
        ),
    ],
)
def test_errors_say_what_to_do(make, match):
    with pytest.raises(ValueError, match=match):
        make()
