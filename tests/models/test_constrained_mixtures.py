"""Mixtures under constraints: prior and draws against enumeration, evidence, what is refused."""

import pytest
import torch
from cases import POSTERIOR_FAMILIES, POSTERIOR_PRIORS
from partition_laws import check_frequencies, partition_index
from pyro import poutine
from pyro.distributions import Gamma

from pyroclust import save_guide
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    ConstrainedPartition,
    DirichletMultinomialPrior,
    DynamicMixturesPrior,
    NormalKnownVariance,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import (
    annealed_log_evidence,
    exact_posterior,
    log_evidence,
    sequential_monte_carlo,
    simulate,
)
from pyroclust.models import Mixture, companion, gaussian2d, overlap2d
from pyroclust.partitions import enumerate_partitions
from pyroclust.partitions.constraints import Constraints

EVERY = enumerate_partitions(6)
KNOWN = Constraints.of(6, must_link=[(1, 4)], cannot_link=[(1, 3), (3, 5)])
FIXED = {
    name: one
    for name, one in POSTERIOR_PRIORS.items()
    if not one.hyperpriors and not isinstance(one, DynamicMixturesPrior)
}


LINKS = {"must_link": [(1, 4)], "cannot_link": [(1, 3)]}
KNOWN_OF_SIX = [
    KNOWN,
    *(Constraints.of(6, clusters=limits) for limits in ((1, 1), (2, 2), (2, 4), (5, 6))),
    *(Constraints.of(6, clusters=limits, **LINKS) for limits in ((2, 2), (2, 4))),
]


@pytest.mark.parametrize("known", KNOWN_OF_SIX, ids=str)
@pytest.mark.parametrize("name", FIXED)
def test_the_prior_given_constraints_is_that_of_enumeration(name, known) -> None:
    prior, allowed = FIXED[name], known.allows(EVERY)
    every = prior.log_prob(EVERY)
    if (every[allowed] == -torch.inf).all():
        return
    law = ConstrainedPartition(prior, known)
    torch.testing.assert_close(law.log_normaliser, every[allowed].logsumexp(0))
    expected = torch.where(allowed, every - every[allowed].logsumexp(0), -torch.inf)
    torch.testing.assert_close(law.log_prob(EVERY), expected)
    torch.manual_seed(0)
    draws = law.sample((20_000 if known is KNOWN else 8000,))
    assert known.allows(draws).all()
    if allowed.sum() > 1:
        check_frequencies(partition_index(EVERY, draws).view(40, -1), expected)


def test_a_prior_that_is_not_of_gibbs_type_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of Gibbs type"):
        ConstrainedPartition(POSTERIOR_PRIORS["dynamic_mixtures"], KNOWN)


def test_links_allow_what_they_say() -> None:
    allowed = [c[1] == c[4] and c[1] != c[3] and c[3] != c[5] for c in EVERY.tolist()]
    assert KNOWN.allows(EVERY).tolist() == allowed


def test_priors_may_be_batches_and_groups_many_where_few_partitions_are_allowed() -> None:
    prior = ChineseRestaurantPrior(torch.tensor([0.5, 3.0]))
    law = ConstrainedPartition(prior, KNOWN)
    for place, one in enumerate((0.5, 3.0)):
        alone = ConstrainedPartition(ChineseRestaurantPrior(one), KNOWN)
        torch.testing.assert_close(law.log_normaliser[place], alone.log_normaliser)
    torch.manual_seed(0)
    draws = law.sample((4000,))
    assert draws.shape == (4000, 2, 6)
    assert (draws.amax(-1) + 1.0).mean(0).diff() > 0.3
    assert law.expand((3, 2)).sample().shape == (3, 2, 6)
    labels = torch.arange(30) % 15
    assert ConstrainedPartition(ChineseRestaurantPrior(1.0), Constraints.of(labels=labels)).log_normaliser < 0
    pairs = [(2 * place, 2 * place + 1) for place in range(15)]
    with pytest.raises(ValueError, match="allow more than 262144 partitions of the 30 groups"):
        ConstrainedPartition(ChineseRestaurantPrior(1.0), Constraints.of(cannot_link=pairs))


def test_the_joint_density_is_restricted_and_evidence_tells_what_data_say_of_constraints() -> None:
    torch.manual_seed(0)
    model, data = overlap2d(), torch.randn(6, 2)
    known = model.under(KNOWN)
    allowed = KNOWN.allows(EVERY)
    joint = model.log_joint(data, EVERY)
    assert torch.equal(known.log_joint(data, EVERY), torch.where(allowed, joint, -torch.inf))
    partitions, log_probs = exact_posterior(model, data)
    told = log_probs[KNOWN.allows(partitions)].logsumexp(0)
    torch.testing.assert_close(log_evidence(known, data) - log_evidence(model, data), told)
    prior = model.prior.log_prob(EVERY)[allowed].logsumexp(0)
    torch.testing.assert_close(known.log_prob_constraints(), prior)
    assert model.log_prob_constraints() == 0
    torch.testing.assert_close(exact_posterior(known, data)[1].logsumexp(0).item(), 0.0)


def test_constraints_add_up_belong_to_the_model_and_can_be_taken_away() -> None:
    model = gaussian2d()
    known = model.constrained(must_link=[(0, 1)])
    assert known != model
    assert known.given({"concentration": 2.0}).constraints is known.constraints
    more = known.constrained(cannot_link=[(1, 2)])
    assert more == model.constrained(must_link=[(0, 1)], cannot_link=[(0, 2)])
    assert more.under(None) == model
    assert "Constraints(3 points" in repr(more)


@pytest.mark.parametrize("family", ["known_variance", "bernoulli"])
def test_the_program_draws_allowed_partitions(family) -> None:
    model = Mixture(ChineseRestaurantPrior(1.0), POSTERIOR_FAMILIES[family]).under(KNOWN)
    _, assignments = simulate(model, torch.empty(50, 6, model.component.dim))
    assert KNOWN.allows(assignments).all()
    trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(6, model.component.dim))
    assert trace.log_prob_sum().isfinite()


def test_what_cannot_be_held_to_constraints_says_so(tmp_path) -> None:
    component = NormalKnownVariance(2)
    random = Mixture(ChineseRestaurantPrior(Gamma(1.0, 1.0)), component).under(KNOWN)
    with pytest.raises(ValueError, match="concentration is random and the model has constraints"):
        simulate(random, torch.empty(2, 6, 2))
    two = Mixture(DirichletMultinomialPrior(2, 1.0), component)
    with pytest.raises(ValueError, match="apart from 2 others, and the prior allows fewer than 3 clusters"):
        two.constrained(labels=[0, 1, 2])
    assert two.constrained(labels=[0, 1, 0]).constraints is not None
    known = gaussian2d().under(KNOWN)
    with pytest.raises(ValueError, match="data has 5 points, and the constraints"):
        simulate(known, torch.empty(2, 5, 2))
    with pytest.raises(ValueError, match="model has constraints, which belong to one data set"):
        save_guide(PredictiveFilter(known), tmp_path / "guide")
    with pytest.raises(ValueError, match="mixture has constraints"):
        companion(known, num_components=5)


def test_a_bounded_prior_is_that_of_the_number_of_clusters_for_many_points_and_batches() -> None:
    prior = ChineseRestaurantPrior(torch.tensor([0.5, 3.0]))
    law = ConstrainedPartition(prior, Constraints.of(40, clusters=(2, 4)))
    torch.testing.assert_close(law.log_normaliser, prior.log_prob_num_clusters(40)[:, 1:4].logsumexp(-1))
    assert law.expand((3, 2)).sample().shape == (3, 2, 40)
    with pytest.raises(ValueError, match="more points may follow"):
        ConstrainedPartition(prior, Constraints.of(clusters=2))


def test_programs_evidence_and_populations_keep_to_a_number_of_clusters() -> None:
    torch.manual_seed(0)
    model, data = overlap2d(), torch.randn(8, 2).double()
    for known in ({"clusters": 2}, {"clusters": (3, 4), "must_link": [(0, 1)], "cannot_link": [(0, 2)]}):
        held = model.constrained(**known)
        _, assignments = simulate(held, torch.empty(50, 8, 2))
        assert held.constraints.allows(assignments).all()
        exact = float(log_evidence(held, data))
        found = annealed_log_evidence(held, data, num_particles=200, repetitions=10, seed=0)
        assert found.estimate == pytest.approx(exact, abs=4 * found.error)
        draws, particles = sequential_monte_carlo(held, PredictiveFilter(model), data, num_particles=4000)
        assert particles.evidence.estimate == pytest.approx(exact, abs=4 * particles.evidence.error)
        lost = draws.log_weights == -torch.inf
        assert (lost == ~held.constraints.allows(torch.from_numpy(draws.assignments)).numpy()).all()
    with pytest.raises(ValueError, match="clusters asks for at least 3, and the prior allows fewer"):
        Mixture(DirichletMultinomialPrior(2, 1.0), NormalKnownVariance(2)).constrained(clusters=3)
