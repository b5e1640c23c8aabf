"""Guides under constraints: laws over the allowed partitions, and everything that weighs them."""

import pytest
import torch
from partition_laws import check_frequencies, partition_index

from pyroclust import load_guide
from pyroclust.diagnostics import importance_efficiency, importance_evidence
from pyroclust.distributions import ChineseRestaurantPrior, DirichletMultinomialPrior, NormalKnownVariance
from pyroclust.guides import (
    BlockFilter,
    DeepAmortizedClustering,
    PredictiveFilter,
    filtering_network_for,
)
from pyroclust.infer import (
    annealed_log_evidence,
    exact_posterior,
    importance_sample,
    log_evidence,
    refine,
    sequential_monte_carlo,
)
from pyroclust.models import Mixture, StochasticBlockModel, filtering_clusters, overlap2d
from pyroclust.partitions import enumerate_partitions
from pyroclust.partitions.constraints import Constraints

KNOWN = Constraints.of(6, must_link=[(0, 1), (1, 5)], cannot_link=[(0, 2), (2, 3)])
EVERY = enumerate_partitions(6)
GUIDES = {
    "filter": lambda: PredictiveFilter(overlap2d()),
    "filter, orders mixed": lambda: PredictiveFilter(overlap2d(), num_orders=4),
    "filter of two clusters": lambda: PredictiveFilter(
        Mixture(DirichletMultinomialPrior(3, 1.0), NormalKnownVariance(2))
    ),
    "pointwise": lambda: load_guide("ncp-overlap2d"),
    "warped": lambda: load_guide("ncp-warped2d"),
    "clusterwise": lambda: load_guide("ccx-gaussian2d"),
    "one cluster after the other": lambda: small_filtering(),
}


def small_filtering() -> DeepAmortizedClustering:
    torch.manual_seed(1)
    model = filtering_clusters(4)
    network = filtering_network_for(model, width=8, num_blocks=1, num_inducing=4)
    return DeepAmortizedClustering(model, network=network)


def six_points() -> torch.Tensor:
    torch.manual_seed(3)
    return 2.5 * torch.randn(6, 2)


@pytest.mark.parametrize("name", GUIDES)
def test_probabilities_of_allowed_partitions_sum_to_one_and_are_those_of_draws(name) -> None:
    guide = GUIDES[name]().under(KNOWN)
    with torch.no_grad():
        posterior = guide.posterior(six_points())
        log_q = posterior.log_prob(EVERY).double()
        draws, log_prob = posterior.sample_and_log_prob((8000,))
        torch.testing.assert_close(log_q.exp().sum().item(), 1.0, rtol=0, atol=1e-5)
        assert (log_q[~KNOWN.allows(EVERY)] == -torch.inf).all()
        assert KNOWN.allows(draws).all()
        torch.testing.assert_close(posterior.log_prob(draws), log_prob, rtol=0, atol=1e-4)
        assert KNOWN.allows(posterior.map_partition())
    assert posterior.is_exact
    assert "Constraints(6 points" in repr(guide)
    check_frequencies(partition_index(EVERY, draws).view(40, -1), log_q)


def test_all_estimates_agree_with_the_enumerated_evidence() -> None:
    model, data = overlap2d().under(KNOWN), six_points()
    exact = log_evidence(model, data).item()
    guide = load_guide("ncp-overlap2d")
    torch.manual_seed(0)
    weighted = importance_sample(model, guide.under(KNOWN), data, num_draws=4000)
    assert importance_efficiency(weighted.log_weights) > 0.5
    draws, particles = sequential_monte_carlo(model, guide, data, num_particles=4000)
    assert KNOWN.allows(torch.from_numpy(draws.assignments)).all()
    for found in (importance_evidence(weighted.log_weights), particles.evidence):
        assert abs(found.estimate - exact) < 4.5 * found.error
    annealed = annealed_log_evidence(model, data, repetitions=20, seed=0)
    assert annealed.error < 0.05
    assert abs(annealed.estimate - exact) < 4.5 * annealed.error


def test_refining_inherits_constraints() -> None:
    model, data = overlap2d().under(KNOWN), six_points()
    draws, refinement = refine(model, PredictiveFilter(overlap2d()), data, num_draws=2000, seed=0)
    refined = torch.from_numpy(draws.flat)
    assert KNOWN.allows(refined).all()
    partitions, log_probs = exact_posterior(model, data)

    def together(labels):
        return (labels.unsqueeze(-1) == labels.unsqueeze(-2)).double()

    exact = (log_probs.exp().view(-1, 1, 1) * together(partitions)).sum(0)
    error = (exact * (1 - exact) / 2000).sqrt()
    assert ((together(refined).mean(0) - exact).abs() <= 6 * error + 1e-9).all()
    assert all(abs(one.estimate - log_evidence(model, data)) < 5 * one.error for one in refinement.evidences)


def test_points_that_something_is_known_of_are_visited_first() -> None:
    known = Constraints.of(8, must_link=[(6, 7)], cannot_link=[(6, 2)])
    posterior = PredictiveFilter(overlap2d()).under(known).posterior(torch.randn(5, 8, 2))
    assert (posterior.order[:, :3].sort(-1).values == torch.tensor([2, 6, 7])).all()


def test_guides_that_cannot_be_held_say_why() -> None:
    for name, why in (
        ("ccp-gaussian2d", "its latents are continuous"),
        ("settransformer-mog4", "its partitions are not made of decisions"),
    ):
        with pytest.raises(ValueError, match=f"cannot be held to constraints: {why}"):
            load_guide(name).under(KNOWN)
    with pytest.raises(ValueError, match="graphs have no constraints"):
        BlockFilter(StochasticBlockModel()).under(KNOWN)
    with pytest.raises(ValueError, match="which filtering does not look at"):
        small_filtering().under(KNOWN).filtering(six_points())
    model = Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(2, 3.0)).under(KNOWN)
    other = PredictiveFilter(overlap2d()).constrained(must_link=[(0, 1)])
    with pytest.raises(ValueError, match=r"expected the same: call guide\.under"):
        refine(model, other, six_points())
    with pytest.raises(ValueError, match="data has 5 points, and the constraints"):
        PredictiveFilter(overlap2d()).under(KNOWN).posterior(torch.zeros(5, 2))
