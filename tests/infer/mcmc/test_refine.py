import numpy as np
import pytest
import torch
from exact_guides import EnumeratedGuide
from pyro.distributions import Gamma

from pyroclust.diagnostics.importance import evidence_by_order
from pyroclust.diagnostics.short_chains import start_memory
from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseGamma, NormalKnownVariance, student_t
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior, log_evidence, refine
from pyroclust.infer.importance import shared_log_prob
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.infer.mcmc.refine import ConvergenceMonitor
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.models import Mixture, gaussian2d, overlap2d, warped_clusters
from pyroclust.partitions import enumerate_partitions

POINTS = torch.tensor([[0.0, 0.0], [1.5, 0.5], [3.0, 0.0], [4.0, 1.0], [0.5, -2.0], [2.0, 2.0]])
CENTRED = POINTS - POINTS.mean(0)


def distance_to_exact(model, draws):
    """Total variation between the frequencies of draws and the exact posterior."""
    partitions, log_probs = exact_posterior(model, CENTRED.double())
    same = (torch.from_numpy(draws).unsqueeze(1) == partitions).all(-1)
    assert bool(same.any(1).all())
    return float((same.double().mean(0) - log_probs.exp()).abs().sum() / 2)


class Worst:
    """A guide that puts nearly all mass on one cluster."""

    conditions, mixes_orders = (), False

    def __init__(self, model):
        self.model = model

    def posterior(self, data):
        return ChineseRestaurantPrior(1e-3).partition(data.shape[-2])


class Everything:
    """A guide of the prior."""

    conditions, mixes_orders = (), False

    def __init__(self, model):
        self.model = model

    def posterior(self, data):
        return self.model.prior.partition(data.shape[-2])


def test_weights_alone_reach_the_exact_posterior():
    model = overlap2d()
    draws, found = refine(model, Everything(model), CENTRED, num_draws=4000, proposals=10, sweeps=0, seed=0)
    assert distance_to_exact(model, draws.flat) < 0.08
    assert np.array_equal(draws.flat, found.proposals.flat[found.ancestors])
    assert not found.settled


def test_sums_of_one_partition_in_another_order_remember_no_start():
    """All chains are at one partition, whose log joint each start added up along another way."""
    ancestors = np.repeat(np.arange(10), 20)
    log_joint = -3000.0 + 5e-13 * torch.from_numpy(ancestors).double()
    assert start_memory(log_joint.numpy(), ancestors).rhat > 2
    states = ChainStates(torch.tensor([[0, 0, 1]]).repeat(200, 1), {}, log_joint)
    found = ConvergenceMonitor(states, ancestors=ancestors, seed=0).look_again(states, sweeps=1)
    assert not found.remembers
    assert found.effective_draws == 200


def test_sweeps_alone_reach_the_exact_posterior():
    model = overlap2d()
    # All proposals are alike, so that resampling mends nothing.
    draws, found = refine(model, Worst(model), CENTRED, num_draws=4000, proposals=1, seed=0)
    assert distance_to_exact(model, found.proposals.flat[found.ancestors]) > 0.5
    assert distance_to_exact(model, draws.flat) < 0.06
    assert found.settled


def test_a_law_that_still_moves_has_not_settled():
    model = overlap2d()
    lazy = CollapsedGibbs(model)
    _, found = refine(
        model, Worst(model), CENTRED.repeat(20, 1), num_draws=300, kernel=lazy, sweeps=2, seed=0
    )
    assert not found.settled
    assert found.rounds[-1].p_value < 0.05


def test_evidence_is_that_of_enumeration():
    model = overlap2d()
    _, found = refine(model, PredictiveFilter(model), CENTRED, num_draws=2000, seed=0)
    exact = log_evidence(model, CENTRED.double()).item()
    assert len(found.evidences) == 3
    for one in found.evidences:
        assert abs(one.estimate - exact) < 5 * one.error + 1e-3
    orders = evidence_by_order(found.proposals.log_ratios[0], num_orders=found.num_orders, seed=0)
    assert orders.by_order.shape == (8,)
    assert np.abs(orders.by_order - exact).max() < 0.2


def test_each_posterior_scores_its_share():
    guide = PredictiveFilter(overlap2d())
    torch.manual_seed(0)
    posteriors = [guide.posterior(CENTRED.double()) for _ in range(3)]
    draws = torch.cat([one.sample((3,)) for one in posteriors])[:8]
    found = shared_log_prob(posteriors, draws)
    own = torch.stack([posteriors[place % 3].log_prob(draw) for place, draw in enumerate(draws)])
    torch.testing.assert_close(found, own.double())
    assert not torch.allclose(found, posteriors[0].log_prob(draws).double())
    assert shared_log_prob(posteriors, draws[:2]).shape == (2,)


def test_the_guide_that_is_exact_has_equal_weights():
    model = gaussian2d()
    draws, found = refine(model, EnumeratedGuide(model), CENTRED.double(), num_draws=200, sweeps=1, seed=0)
    assert found.efficiency == pytest.approx(1.0)
    log_joint = model.log_joint(CENTRED.double(), torch.from_numpy(draws.assignments))
    assert draws.log_joint == pytest.approx(log_joint.numpy())


def test_families_without_conjugacy_keep_their_parameters():
    model = Mixture(ChineseRestaurantPrior(1.0), student_t())
    data = torch.tensor([[0.0], [0.1], [30.0], [30.1]])
    draws, found = refine(model, Everything(model), data, num_draws=40, sweeps=30, seed=0)
    assert found.proposals.log_joint is None
    assert found.ancestors.tolist() == list(range(40))
    assert np.isnan(found.pareto_k)
    together = (draws.assignments == [0, 0, 1, 1]).all(-1).mean()
    assert together > 0.5


def law_by_quadrature(model, data):
    """Probabilities of all partitions under Student-t clusters of one column, on a grid."""
    loc, log_precision = torch.linspace(-12, 12, 1201).double(), torch.linspace(-12, 7, 951).double()
    parameters = {
        "loc": loc.unsqueeze(-1).expand(-1, len(log_precision)).unsqueeze(-1),
        "precision": log_precision.exp().expand(len(loc), -1).unsqueeze(-1),
    }
    volume = log_precision + (loc[1] - loc[0]).log() + (log_precision[1] - log_precision[0]).log()
    log_prior = model.component.log_prior(parameters) + volume
    assert float(log_prior.logsumexp((0, 1))) == pytest.approx(0.0, abs=1e-3)
    of_points = torch.stack([model.component.likelihood(parameters).log_prob(point) for point in data])
    partitions = enumerate_partitions(len(data))
    members = torch.stack([partitions == cluster for cluster in range(len(data))], 1)
    subsets, places = members.flatten(0, 1).unique(dim=0, return_inverse=True)
    marginals = torch.stack([(of_points[subset].sum(0) + log_prior).logsumexp((0, 1)) for subset in subsets])
    evidence = torch.where(members.any(-1), marginals[places].view(members.shape[:2]), 0.0).sum(-1)
    return partitions, (model.prior.log_prob(partitions) + evidence).softmax(0)


@pytest.mark.prove
def test_refined_draws_of_a_family_without_conjugacy_have_the_law_by_quadrature():
    model = Mixture(ChineseRestaurantPrior(1.0), student_t())
    data = torch.tensor([[-1.5], [-1.3], [0.0], [0.4], [1.6], [4.0]], dtype=torch.float64)
    draws, found = refine(model, Worst(model), data, num_draws=2000, seed=0)
    assert found.settled
    partitions, law = law_by_quadrature(model, data)

    def apart(draws):
        shares = (torch.from_numpy(draws).unsqueeze(1) == partitions).all(-1).double().mean(0)
        return float((shares - law).abs().sum() / 2)

    assert apart(found.proposals.flat[found.ancestors]) > 0.5
    # Of 2,000 independent draws the distance is .08.
    assert apart(draws.flat) < 0.1
    assert np.isfinite(draws.log_joint).all()
    assert found.proposals.log_ratios is None


def test_the_first_look_never_ends_the_sweeps():
    """The guide's own draws are what it compares with: here they are the posterior's already."""
    model = gaussian2d()
    _, found = refine(model, EnumeratedGuide(model), CENTRED.double(), num_draws=200, seed=0)
    assert found.rounds[0].has_settled
    assert [one.sweeps for one in found.rounds][:2] == [10, 20]


def test_random_hyperparameters_are_drawn_along():
    model = Mixture(ChineseRestaurantPrior(1.0), NormalInverseGamma(2, 0.1, shape=2.0, rate=Gamma(2.0, 2.0)))
    draws, _ = refine(model, Everything(model), CENTRED, num_draws=40, sweeps=10, seed=0)
    assert draws.parameters["rate"].shape == (1, 40)
    assert (draws.parameters["rate"] > 0).all()


def test_the_same_seed_gives_the_same_draws():
    model = overlap2d()
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, again, other = (
        refine(model, PredictiveFilter(model), CENTRED, num_draws=70, seed=seed) for seed in (3, 3, 4)
    )
    assert np.array_equal(first[0].assignments, again[0].assignments)
    assert not np.array_equal(first[1].ancestors, other[1].ancestors)
    assert torch.equal(before, torch.get_rng_state())


def test_ancestors_are_the_proposals_that_the_draws_came_from():
    model = overlap2d()
    _, found = refine(model, PredictiveFilter(model), CENTRED, num_draws=100, sweeps=4, seed=0)
    assert found.ancestors.shape == (100,)
    assert found.num_ancestors == len(set(found.ancestors.tolist()))
    assert found.proposals.num_draws == 500
    assert [one.sweeps for one in found.rounds] == [2, 4]


def test_there_is_no_log_q():
    model = overlap2d()
    draws, found = refine(model, PredictiveFilter(model), CENTRED, num_draws=20, sweeps=1, seed=0)
    assert draws.log_prob is None
    assert repr(draws).startswith("Draws(the refined draws: 1 chain of 20 draws, 6 points")
    assert repr(found).startswith("Refinement(20 draws from ")


def test_what_cannot_be_refined_is_refused():
    model = overlap2d()
    guide = PredictiveFilter(model)
    with pytest.raises(ValueError, match="have no density that could be evaluated"):
        refine(warped_clusters(), guide, CENTRED)
    with pytest.raises(ValueError, match="model is a str that can only be simulated"):
        refine("overlap2d", guide, CENTRED)
    other = CollapsedGibbs(Mixture(ChineseRestaurantPrior(2.0), NormalKnownVariance(2, 1.0)))
    with pytest.raises(ValueError, match="kernel belongs to the model"):
        refine(model, guide, CENTRED, kernel=other)
    with pytest.raises(ValueError, match="num_draws is 0"):
        refine(model, guide, CENTRED, num_draws=0)
    with pytest.raises(ValueError, match="sweeps is -1"):
        refine(model, guide, CENTRED, sweeps=-1)
    with pytest.raises(ValueError, match="of memory"):
        refine(model, guide, CENTRED, num_draws=10**12)
