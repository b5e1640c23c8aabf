"""What every partition prior promises, and priors that are chosen by the number of clusters they expect."""

import math
from collections.abc import Callable

import pytest
import torch
from cases import OTHER_LAWS, PRIORS, RANDOM
from partition_laws import assert_counts_fit, partition_counts, simulate_prior
from pyro.distributions import Geometric, Poisson
from torch import Tensor

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    PartitionPrior,
    PitmanYorPrior,
    elicit,
)
from pyroclust.distributions.priors.prior import block_sizes
from pyroclust.partitions import enumerate_partitions, is_canonical, num_clusters

every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
LAWS = PRIORS | OTHER_LAWS
every_law = pytest.mark.parametrize("prior", LAWS.values(), ids=LAWS)
every_random = pytest.mark.parametrize("prior", RANDOM.values(), ids=RANDOM)


def clusters_up_to(num_points: int) -> Tensor:
    return torch.arange(1, num_points + 1)


@every_law
def test_probabilities_sum_to_one(prior: PartitionPrior) -> None:
    for num_points in range(1, 8):
        log_prob = prior.log_prob(enumerate_partitions(num_points))
        assert log_prob.dtype == torch.float64
        assert log_prob.logsumexp(0).abs() < 1e-12


@every_law
def test_distribution_agrees_with_the_prior(prior: PartitionPrior) -> None:
    law = simulate_prior(prior, 6, 1)[1].partition(6)
    support = law.enumerate_support()
    log_prob = law.log_prob(support)
    assert log_prob.dtype == torch.float64
    assert log_prob.logsumexp(0).abs().max() < 1e-12
    if not prior.hyperpriors:
        torch.testing.assert_close(
            log_prob.view(-1), prior.log_prob(enumerate_partitions(6)), rtol=0, atol=1e-12
        )


@every_law
def test_frequencies_match_enumeration(prior: PartitionPrior) -> None:
    draws, _ = simulate_prior(prior, 6, 20_000)
    assert_counts_fit(partition_counts(draws), prior.log_prob(enumerate_partitions(6)).exp())


@every_law
def test_large_draws_follow_the_exact_law_of_their_clusters(prior: PartitionPrior) -> None:
    draws, _ = simulate_prior(prior, 50, 5000)
    assert is_canonical(draws).all()
    seen = torch.bincount(num_clusters(draws) - 1, minlength=50)
    assert_counts_fit(seen, prior.log_prob_num_clusters(50).exp())


@every_law
def test_block_sizes_of_large_draws_are_exchangeable(prior: PartitionPrior) -> None:
    """The last two points sit together as often as the first two."""
    draws, _ = simulate_prior(prior, 300, 4000)
    together = prior.log_prob(torch.tensor([0, 0])).exp()
    found = (draws[:, -1] == draws[:, -2]).double().mean()
    assert (found - together).abs() <= 4 * (together * (1 - together).clamp(min=0) / 4000).sqrt() + 1e-12


@every_prior
@pytest.mark.parametrize("num_points", [1, 2, 7, 40, 1000])
def test_weights_obey_the_addition_rule(prior: PartitionPrior, num_points: int) -> None:
    clusters = clusters_up_to(num_points)
    left = prior.log_v(num_points, clusters)
    stay = (num_points - prior.block_discount * clusters).log() + prior.log_v(num_points + 1, clusters)
    right = torch.logaddexp(stay, prior.log_v(num_points + 1, clusters + 1))
    torch.testing.assert_close(left, right, rtol=0, atol=1e-13 + 1e-14 * math.lgamma(num_points))


@every_prior
def test_seating_rule_is_the_ratio_of_probabilities(prior: PartitionPrior) -> None:
    past = enumerate_partitions(5)
    sizes, clusters = block_sizes(past).double(), num_clusters(past)
    log_v = prior.log_v(6, clusters) - prior.log_v(5, clusters)
    for label in range(5):
        # A label beyond the next new cluster would not be canonical.
        seated = label <= clusters
        extended = torch.cat([past, torch.where(seated, label, 0).unsqueeze(-1)], -1)
        step = prior.log_prob(extended) - prior.log_prob(past)
        weight = torch.where(
            label < clusters,
            (sizes[:, label] - prior.block_discount).log(),
            prior.log_opening_odds(5, clusters),
        )
        rows = seated & prior.log_prob(past).isfinite()
        torch.testing.assert_close(step[rows], (log_v + weight)[rows], rtol=0, atol=1e-10)


@every_prior
def test_opening_odds_are_ratios_of_weights(prior: PartitionPrior) -> None:
    clusters = torch.arange(0, 12)
    odds = prior.log_opening_odds(9, clusters)
    assert not odds.isnan().any()
    assert odds[[0, 10, 11]].isneginf().all()
    more, same = prior.log_v(10, clusters + 1), prior.log_v(10, clusters)
    possible = same.isfinite() & (clusters <= 9)
    torch.testing.assert_close(odds[possible], (more - same)[possible], rtol=0, atol=1e-10)


@every_prior
@pytest.mark.parametrize(("num_points", "width"), [(1, 1), (5, 9), (64, 3), (150, 20)])
def test_table_of_opening_odds(prior: PartitionPrior, num_points: int, width: int) -> None:
    table = prior.log_opening_table(num_points, width)
    rows = [prior.log_opening_odds(n, torch.arange(width)) for n in range(num_points)]
    torch.testing.assert_close(table, torch.stack(rows), rtol=0, atol=1e-11)


@every_law
def test_law_of_the_number_of_clusters_is_that_of_enumeration(prior: PartitionPrior) -> None:
    for num_points in (1, 2, 7):
        every = enumerate_partitions(num_points)
        log_prob, clusters = prior.log_prob(every), num_clusters(every)
        expected = torch.stack([log_prob[clusters == k].logsumexp(0) for k in clusters_up_to(num_points)])
        torch.testing.assert_close(prior.log_prob_num_clusters(num_points), expected, rtol=0, atol=1e-12)


@every_law
@pytest.mark.parametrize("num_points", [1, 2, 50, 1500])
def test_expected_number_of_clusters_is_the_mean_of_its_law(prior: PartitionPrior, num_points: int) -> None:
    law = prior.log_prob_num_clusters(num_points)
    assert law.shape == (num_points,)
    assert law.logsumexp(0).abs() < 1e-10
    expected = (law.exp() * clusters_up_to(num_points)).sum()
    torch.testing.assert_close(prior.expected_num_clusters(num_points), expected, rtol=1e-10, atol=0)
    torch.testing.assert_close(PartitionPrior.expected_num_clusters(prior, num_points), expected)


@every_law
def test_expected_number_of_clusters_of_a_million_points(prior: PartitionPrior) -> None:
    """One point more opens a cluster with the probability by which the mean grows."""
    few, many = (prior.expected_num_clusters(n) for n in (10**6, 10**6 + 1))
    assert 1 - 1e-9 <= few < 10**6
    assert -1e-9 <= many - few <= 1


@every_prior
def test_batches_of_hyperparameters_are_rows_of_numbers(prior: PartitionPrior) -> None:
    numbers = {name: prior.value(name) for name in prior.hyper_names}
    step = torch.arange(1.0, 4.0)
    batch = {
        name: (one / step if name in ("discount", "concentration") else one * step)
        for name, one in numbers.items()
    }
    many = prior.given(batch)
    assert many.batch_shape == (3,)
    every = enumerate_partitions(5)
    clusters = torch.arange(0, 7).unsqueeze(-1)
    for i in range(3):
        one = prior.given({name: float(value[i]) for name, value in batch.items()})
        same = {"rtol": 0, "atol": 1e-10}
        torch.testing.assert_close(many.log_prob(every.unsqueeze(1))[:, i], one.log_prob(every), **same)
        torch.testing.assert_close(many.log_v(5, clusters)[:, i], one.log_v(5, clusters[:, 0]), **same)
        odds = many.log_opening_odds(5, clusters)[:, i]
        torch.testing.assert_close(odds, one.log_opening_odds(5, clusters[:, 0]), **same)
        torch.testing.assert_close(many.log_prob_num_clusters(9)[i], one.log_prob_num_clusters(9), **same)
        torch.testing.assert_close(many.expected_num_clusters(9)[i], one.expected_num_clusters(9), **same)
        weights = many.log_block_weight(torch.tensor([[4, 0]] * 3))
        torch.testing.assert_close(weights[i], one.log_block_weight(torch.tensor([4, 0])), **same)


@every_law
def test_distribution_expands_and_draws_batches(prior: PartitionPrior) -> None:
    law = simulate_prior(prior, 5, 3)[1].partition(5).expand((2, 3))
    assert (law.batch_shape, law.event_shape) == ((2, 3), (5,))
    draws, log_prob = law.sample_and_log_prob((4,))
    assert (draws.shape, draws.dtype) == ((4, 2, 3, 5), torch.int64)
    assert torch.equal(log_prob, law.log_prob(draws))
    assert law.enumerate_support().shape == (52, 2, 3, 5)
    assert law.enumerate_support(expand=False).shape == (52, 1, 1, 5)
    assert law.log_prob(law.enumerate_support(expand=False)).logsumexp(0).abs().max() < 1e-12


@every_law
def test_the_law_of_few_clusters_is_the_beginning_of_that_of_all(prior: PartitionPrior) -> None:
    every = prior.log_prob_num_clusters(30)
    for most in (1, 4, 30, 50):
        torch.testing.assert_close(prior.log_prob_num_clusters(30, most=most), every[..., :most])
    with pytest.raises(ValueError, match="most is 0"):
        prior.log_prob_num_clusters(30, most=0)


@every_random
def test_random_hyperparameters_are_sampled_in_plates(prior: PartitionPrior) -> None:
    """Given their own hyperparameters the draws have, on average, their exact probabilities."""
    draws, known = simulate_prior(prior, 5, 4000)
    assert known.batch_shape == (4000,)
    probabilities = known.log_prob(enumerate_partitions(5).unsqueeze(1)).exp().mean(-1)
    assert_counts_fit(partition_counts(draws), probabilities)


@every_random
def test_random_hyperparameters_have_no_single_law(prior: PartitionPrior) -> None:
    name = next(iter(prior.hyperpriors))
    for use in (
        lambda: prior.log_prob(torch.tensor([0, 0])),
        lambda: prior.log_prob_num_clusters(5),
        lambda: prior.expected_num_clusters(5),
        lambda: prior.partition(5),
    ):
        with pytest.raises(ValueError, match=f"{name} is random, expected a number"):
            use()


def test_a_random_concentration_is_the_integrated_one() -> None:
    draws, _ = simulate_prior(RANDOM["crp"], 6, 20_000)
    integrated = type(PRIORS["gamma"])(2.0, 4.0)
    assert_counts_fit(partition_counts(draws), integrated.log_prob(enumerate_partitions(6)).exp())


POISSON = Poisson(torch.tensor(8.0, dtype=torch.float64))
FAMILIES: dict[str, tuple[Callable[[float], PartitionPrior], tuple[float, float]]] = {
    "concentration": (ChineseRestaurantPrior, (1e-6, 1e6)),
    "rate": (lambda rate: GammaConcentration(2.0, rate), (1e-6, 1e6)),
    "discount": (lambda discount: PitmanYorPrior(discount, 0.2), (0, 1)),
    "concentration_of_two": (lambda concentration: PitmanYorPrior(0.1, concentration), (1e-6, 1e6)),
    "negative_concentration": (lambda concentration: PitmanYorPrior(0.6, concentration), (-0.6, 10.0)),
    "weights": (lambda gamma: DirichletMultinomialPrior(10, gamma), (1e-6, 1e6)),
    "weights_of_random": (lambda gamma: FiniteMixturesPrior(gamma, POISSON), (1e-6, 1e6)),
    "mean_of_components": (lambda mean: FiniteMixturesPrior(1.0, Poisson(mean)), (1e-6, 1e4)),
    "success": (lambda success: FiniteMixturesPrior(1.0, Geometric(success)), (0.01, 1 - 1e-6)),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("wanted", [3.0, 6.5])
def test_prior_has_the_wanted_mean(name: str, wanted: float) -> None:
    family, bounds = FAMILIES[name]
    prior = elicit(family, num_points=200, expected_clusters=wanted, bounds=bounds)
    found = (prior.log_prob_num_clusters(200).exp() * torch.arange(1, 201)).sum()
    # Where a distribution rounds its parameter to single precision, so does the mean.
    assert found.item() == pytest.approx(
        wanted, rel=1e-6 if name in ("mean_of_components", "success") else 1e-9
    )


@pytest.mark.parametrize("name", ["concentration", "discount", "success"])
def test_unreachable_means_name_the_range(name: str) -> None:
    family, bounds = FAMILIES[name]
    with pytest.raises(ValueError, match=r"expected_clusters is 0.5, expected .* to .* at 200 points"):
        elicit(family, num_points=200, expected_clusters=0.5, bounds=bounds)
    with pytest.raises(ValueError, match="expected_clusters is 201, expected"):
        elicit(family, num_points=200, expected_clusters=201, bounds=bounds)


def test_the_range_is_what_the_bounds_reach() -> None:
    with pytest.raises(ValueError, match=r"expected 1.00013 to 10: .* between 1e-06 and 1e\+06"):
        elicit(FAMILIES["weights"][0], num_points=10**6, expected_clusters=10.5)
