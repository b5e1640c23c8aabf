"""What every component family promises: one suite, every family in several dimensions."""

import copy
import itertools
import math
import pickle

import pyro
import pyro.poutine as poutine
import pytest
import torch
from cases import CONJUGATE, FAMILIES, FINITE, short_and_long
from pyro.distributions import Gamma
from scipy import stats

from pyroclust.distributions import Categories, ChineseRestaurantPrior, ClusteredData, Product
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture
from pyroclust.partitions import enumerate_partitions

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
with_hyperparameters = pytest.mark.parametrize(
    "family", [pytest.param(one, id=name) for name, one in CONJUGATE.items() if one.hyper_names]
)
every_conjugate = pytest.mark.parametrize("family", CONJUGATE.values(), ids=CONJUGATE)
every_finite = pytest.mark.parametrize("family", FINITE.values(), ids=FINITE)


def points_of(family, *shape):
    """Draw points of one cluster a row."""
    return family.sample(torch.zeros(*shape, dtype=torch.int64)).double()


def block(family, points):
    counts = torch.full(points.shape[:-2], float(points.shape[-2]), dtype=torch.float64)
    return counts, family.moments(points).sum(-2)


def all_points(family):
    """List every point a finite family may draw."""
    if isinstance(family, Product):
        pairs = itertools.product(*(all_points(part) for part in family.parts))
        return torch.stack([torch.cat(pair) for pair in pairs])
    if isinstance(family, Categories):
        every = itertools.product(*(range(levels) for levels in family.levels))
        return torch.tensor(list(every), dtype=torch.float64)
    top = getattr(family, "total", 1)
    grid = torch.tensor(list(itertools.product(range(top + 1), repeat=family.dim)), dtype=torch.float64)
    return grid[grid.sum(-1) == top] if hasattr(family, "total") else grid


def z_score(draws, expected):
    """Standard errors between the mean of independent draws and what it should be."""
    return ((draws.mean(0) - expected) / (draws.std(0) / len(draws) ** 0.5)).abs().max().item()


# --- blocks ---


@every_conjugate
def test_predictives_multiply_to_the_marginal(family):
    points = points_of(family, 9)
    chain = torch.zeros((), dtype=torch.float64)
    for i in range(len(points)):
        chain += family.log_predictive(points[i], family.predictive_parameters(*block(family, points[:i])))
    assert chain.item() == pytest.approx(family.log_marginal(*block(family, points)).item(), abs=1e-9)


@every_conjugate
def test_predictives_of_points_unlike_the_block(family):
    """Far from a block its predictive is still the ratio of two marginals."""
    block_points, other = points_of(family, 12), points_of(family, 30, 1)
    if family.support.check(torch.full((family.dim,), -7.5)):
        other = torch.cat([other, torch.tensor([[[30.0]], [[-300.0]]]).double().expand(2, 1, family.dim)])
    together = torch.cat([block_points.expand(len(other), -1, -1), other], -2)
    ratio = family.log_marginal(*block(family, together)) - family.log_marginal(*block(family, block_points))
    packed = family.predictive_parameters(*block(family, block_points))
    assert torch.allclose(family.log_predictive(other.squeeze(-2), packed), ratio, rtol=1e-9, atol=1e-8)


@every_conjugate
def test_an_empty_block_has_marginal_one(family):
    counts, moments = torch.zeros(2, dtype=torch.float64), torch.zeros(2, family.num_moments).double()
    assert family.log_marginal(counts, moments).abs().max() < 1e-12
    packed = family.predictive_parameters(counts, moments)
    assert torch.equal(packed[0], family.prior_predictive_parameters())


@every_conjugate
def test_blocks_are_sums(family):
    """Merging adds, removing subtracts, and order does not matter."""
    points, other = points_of(family, 5), points_of(family, 4)
    (n, one), (m, two), (total, both) = (
        block(family, x) for x in (points, other, torch.cat([other, points]))
    )
    merged, expected = family.log_marginal(n + m, one + two), family.log_marginal(total, both)
    assert merged.item() == pytest.approx(expected.item(), abs=1e-9)
    removed = family.log_marginal(total - m, both - two)
    assert removed.item() == pytest.approx(family.log_marginal(n, one).item(), abs=1e-8)


@every_conjugate
def test_marginal_is_the_mean_likelihood_over_the_prior(family):
    torch.manual_seed(5)
    points = points_of(family, 2)
    parameters = family.sample_prior((200_000, 1))
    likelihood = family.likelihood(parameters).log_prob(points).double().sum(-1)
    expected = family.log_marginal(*block(family, points))
    assert z_score((likelihood - expected).exp(), 1.0) < 5


# --- hyperparameters ---


def vary(family, *shape):
    """Return the family with every hyperparameter a batch, and as many plain ones."""
    values = {name: family.value(name) + 0.3 * torch.rand(shape).double() for name in family.hyper_names}
    size = torch.Size(shape).numel()
    plain = [
        family.given({name: float(one.reshape(-1)[i]) for name, one in values.items()}) for i in range(size)
    ]
    return family.given(values), plain


@with_hyperparameters
def test_batched_hyperparameters_are_many_families(family):
    batched, plain = vary(family, 3)
    points = points_of(family, 3, 2, 4)
    counts, moments = block(family, points)
    new = points_of(family, 3, 2, 1).squeeze(-2)
    assert batched.batch_shape == (3,)
    found = batched.log_marginal(counts, moments)
    packed = batched.predictive_parameters(counts, moments)
    empty = batched.prior_predictive_parameters()
    for i, one in enumerate(plain):
        assert torch.allclose(found[i], one.log_marginal(counts[i], moments[i]), atol=1e-10)
        assert torch.allclose(packed[i], one.predictive_parameters(counts[i], moments[i]), atol=1e-10)
        assert torch.allclose(empty[i], one.prior_predictive_parameters(), atol=1e-10)
    assert batched.log_predictive(new, packed).shape == (3, 2)


@every_conjugate
def test_one_batched_hyperparameter_broadcasts(family):
    """Blocks without the batch dimension, and only one of the hyperparameters a batch."""
    points = points_of(family, 2, 4)
    counts, moments = block(family, points)
    for name in family.hyper_names:
        values = family.value(name) + torch.tensor([0.0, 0.2]).double()
        batched = family.given({name: values})
        found = batched.log_marginal(counts, moments)
        packed = batched.predictive_parameters(counts, moments)
        draws = batched.sample_parameters(counts, moments)
        for i in range(2):
            one = family.given({name: float(values[i])})
            assert torch.allclose(found[i], one.log_marginal(counts, moments), atol=1e-10)
            assert torch.allclose(packed[i], one.predictive_parameters(counts, moments), atol=1e-10)
        assert all(value.shape[:2] == (2, 2) for value in draws.values())


@with_hyperparameters
def test_batched_hyperparameters_simulate(family):
    """Two data sets with different hyperparameters have different points: their own family's."""
    torch.manual_seed(7)
    name = family.hyper_names[0]
    values = family.value(name) + torch.tensor([0.0, 1.5]).double()
    batched = family.given({name: values})
    law = ClusteredData(batched, torch.zeros(1, dtype=torch.int64))
    assert law.batch_shape == (2,)
    draws = law.sample((4000,)).squeeze(-2)
    assert draws.dtype == torch.get_default_dtype()
    for i in range(2):
        alone = (
            family.given({name: float(values[i])}).sample(torch.zeros(4000, 1, dtype=torch.int64)).squeeze(-2)
        )
        for d in range(family.dim):
            assert stats.ks_2samp(draws[:, i, d].numpy(), alone[:, d].numpy()).pvalue > 1e-4


@every_conjugate
def test_gradients_of_hyperparameters(family):
    points = points_of(family, 5)
    for name in family.hyper_names:
        value = family.value(name).clone().requires_grad_()
        family.given({name: value}).log_marginal(*block(family, points)).backward()

        def at(shift, name=name):
            moved = family.given({name: float(family.value(name)) + shift})
            return moved.log_marginal(*block(family, points)).item()

        assert value.grad.item() == pytest.approx((at(1e-5) - at(-1e-5)) / 2e-5, rel=1e-4, abs=1e-4)


@with_hyperparameters
def test_random_hyperparameters(family):
    name = family.hyper_names[-1]
    random = family.given({name: Gamma(3.0, 1.0)})
    assert list(random.hyperpriors) == [name]
    before = torch.get_rng_state()
    assert 0 < random.typical_scale < math.inf
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(ValueError, match=f"{name.split('.')[-1]} is random"):
        random.log_marginal(*block(family, points_of(family, 2)))
    with pyro.plate("datasets", 3):
        sampled = random.sampled()
    assert sampled.value(name).shape == (3,)
    assert random.given({name: 2.5}).log_marginal(*block(family, points_of(family, 2))).isfinite()
    with pytest.raises(ValueError, match="values has the name 'nothing', expected some of"):
        family.given({"nothing": 1.0})
    with pytest.raises(ValueError, match=f"{name.split('.')[-1]} is -1.0, expected a"):
        family.given({name: -1.0})


@every_family
def test_names_are_distinct(family):
    """Hyperparameters and parameters may become sites of one program."""
    assert not set(family.hyper_names) & set(family.sample_prior((1,)))


# --- parameters ---


@every_family
def test_programs_run_in_plates(family):
    """Inside plates, or in one batch without them, the parameters have the same shapes and densities."""

    def program():
        with pyro.plate("sets", 2, dim=-2), pyro.plate("clusters", 3, dim=-1):
            return family.parameters()

    trace = poutine.trace(program).get_trace()
    trace.compute_log_prob()
    parameters = trace.nodes["_RETURN"]["value"]
    drawn = family.sample_prior((2, 3))
    assert {name: one.shape for name, one in drawn.items()} == {
        name: one.shape for name, one in parameters.items()
    }
    log_prob = sum(trace.nodes[name]["log_prob"] for name in trace.stochastic_nodes if name in parameters)
    assert torch.allclose(family.log_prior(parameters), log_prob, atol=1e-4, rtol=1e-5)
    law = family.likelihood(parameters)
    assert (law.batch_shape, law.event_shape) == ((2, 3), (family.dim,))
    assert law.sample().dtype == torch.get_default_dtype()


@every_family
def test_clusters_are_drawn_unseen(family):
    """Sampling points inside of a program leaves no sites and minds no plates."""

    def program():
        with pyro.plate("sets", 2):
            return pyro.sample("data", ClusteredData(family, torch.tensor([[0, 1, 0], [0, 1, 2]])))

    trace = poutine.trace(program).get_trace()
    assert trace.stochastic_nodes == ["sets", "data"]
    assert trace.nodes["data"]["value"].shape == (2, 3, family.dim)
    family.check(trace.nodes["data"]["value"])


@every_family
def test_points_of_a_cluster_share_parameters(family):
    """Points of one cluster are more alike than points of two."""
    torch.manual_seed(2)
    labels = torch.tensor([0, 0, 1]).expand(3000, 3)
    first, same, other = family.sample(labels).unbind(-2)
    if "von_mises" in type(family).__name__ or "angles" in family.expected:
        alike, unlike = ((first - x).cos().sum(-1).neg() for x in (same, other))
    else:
        alike, unlike = ((first - x).abs().sum(-1) for x in (same, other))
    assert z_score((unlike - alike).unsqueeze(-1).double(), 0.0) > 4
    assert unlike.mean() > alike.mean()


@short_and_long("num_draws", 10_000, 40_000)
@every_conjugate
def test_posterior_draws_average_to_the_predictive(family, num_draws):
    torch.manual_seed(8)
    points, new = points_of(family, 7).split([4, 3])
    counts, moments = block(family, points)
    shape = (num_draws, 1)
    draws = family.sample_parameters(counts.expand(shape), moments.expand(*shape, -1))
    likelihood = family.likelihood(draws).log_prob(new.unsqueeze(0))
    expected = family.log_predictive(new, family.predictive_parameters(counts, moments))
    assert z_score((likelihood - expected).exp(), 1.0) < 4.5


def scalars(parameters):
    """Flatten parameters to ``(draws, numbers)``, cutting what is zero or one by construction."""
    flat = torch.cat([one.double().flatten(1) for one in parameters.values()], -1)
    return flat[:, flat.std(0) > 0]


@every_conjugate
def test_posterior_draws_given_simulated_data_are_prior_draws(family):
    """Simulate points, draw parameters given them: marginally these follow the prior."""
    torch.manual_seed(9)
    points = points_of(family, 4000, 6)
    counts, moments = block(family, points)
    posterior = family.sample_parameters(counts.unsqueeze(-1), moments.unsqueeze(-2))
    prior = family.sample_prior((4000, 1))
    assert posterior.keys() == prior.keys()
    assert all(posterior[name].shape == prior[name].shape for name in prior)
    for one, other in zip(scalars(posterior).T, scalars(prior).T, strict=True):
        assert stats.ks_2samp(one.numpy(), other.numpy()).pvalue > 1e-4


# --- points ---


@every_finite
def test_probabilities_of_all_points_sum_to_one(family):
    points = all_points(family)
    packed = family.predictive_parameters(*block(family, points_of(family, 5)))
    assert family.log_predictive(points, packed).exp().sum().item() == pytest.approx(1.0, abs=1e-12)


@every_finite
def test_frequencies_of_pairs(family):
    """The sampler draws two points of a cluster with exactly their marginal probability."""
    torch.manual_seed(11)
    points, num_draws = all_points(family), 50_000
    size = len(points)
    pairs = torch.cartesian_prod(torch.arange(size), torch.arange(size))
    expected = family.log_marginal(*block(family, points[pairs])).exp()
    drawn = points_of(family, num_draws, 2)
    index = (drawn.unsqueeze(-2) == points).all(-1).long().argmax(-1)
    observed = torch.bincount(index[:, 0] * size + index[:, 1], minlength=size**2).double()
    assert expected.sum().item() == pytest.approx(1.0, abs=1e-12)
    often = expected * num_draws > 5
    table = torch.stack([observed, expected * num_draws])
    table = torch.cat([table[:, often], table[:, ~often].sum(-1, keepdim=True)], -1)
    table = table[:, table[1] > 1e-6]
    assert stats.chisquare(table[0], table[1]).pvalue > 1e-4


@pytest.mark.parametrize("name", ["bernoulli_1", "multinomial_2", "pair"])
def test_a_mixture_is_a_distribution_over_data_sets(name):
    """Over all data sets of three points and all partitions, the joint sums to one."""
    family = FINITE[name]
    points = all_points(family)
    index = torch.cartesian_prod(*[torch.arange(len(points))] * 3)
    model = Mixture(ChineseRestaurantPrior(0.9), family)
    joint = model.log_joint(points[index].unsqueeze(1), enumerate_partitions(3))
    assert joint.exp().sum().item() == pytest.approx(1.0, abs=1e-12)


def test_poisson_predictive_is_negative_binomial():
    family = CONJUGATE["poisson_2"]
    points, counts = points_of(family, 5), torch.arange(60.0).double()
    packed = family.predictive_parameters(*block(family, points))
    shape, rate = 3.0 + points.sum(0).numpy(), 5.5
    law = stats.nbinom(shape, rate / (rate + 1))
    expected = law.logpmf(counts.numpy()[:, None]).sum(-1)
    found = family.log_predictive(counts.unsqueeze(-1).expand(-1, 2), packed)
    assert found.numpy() == pytest.approx(expected, rel=1e-10)


def test_totals_of_a_multinomial_may_differ():
    family = CONJUGATE["multinomial_3"]
    points = torch.tensor([[3.0, 0, 1], [0, 0, 0], [10, 2, 5]]).double()
    posterior = 0.7 + points[:1].sum(0)
    law = pyro.distributions.DirichletMultinomial(posterior, torch.tensor(17.0), validate_args=False)
    packed = family.predictive_parameters(*block(family, points[:1]))
    assert torch.allclose(family.log_predictive(points[2], packed), law.log_prob(points[2]), atol=1e-10)
    assert family.log_predictive(points[1], packed).abs() < 1e-12


@every_conjugate
def test_the_filter_is_exact_for_two_points(family):
    """Packed predictives pass through the sequential guides unharmed."""
    data, model = points_of(family, 3, 2), Mixture(ChineseRestaurantPrior(0.9), family)
    posterior = PredictiveFilter(model).posterior(data)
    labels, expected = exact_posterior(model, data)
    found = posterior.log_prob(labels.unsqueeze(1).expand(-1, 3, -1))
    assert torch.allclose(found.T, expected, atol=1e-9)
    assert posterior.sample((4,)).shape == (4, 3, 2)


@every_conjugate
def test_clustered_data_sums_blocks(family):
    labels = torch.tensor([[0, 0, 1, 2, 1], [0, 1, 1, 1, 1]])
    data = points_of(family, 2, 5)
    found = ClusteredData(family, labels).log_prob(data)
    for i, row in enumerate(labels):
        expected = sum(family.log_marginal(*block(family, data[i][row == k])) for k in row.unique())
        assert found[i].item() == pytest.approx(expected.item(), abs=1e-9)
    counts, moments = block_moments(family, data, labels)
    assert (counts.shape, moments.shape) == ((2, 3), (2, 3, family.num_moments))


@every_family
def test_clustered_data_shapes(family):
    labels = torch.tensor([[0, 0, 1, 2], [0, 1, 1, 1]])
    law = ClusteredData(family, labels)
    assert (law.batch_shape, law.event_shape) == ((2,), (4, family.dim))
    drawn = law.expand((5, 2)).sample((3,))
    assert drawn.shape == (3, 5, 2, 4, family.dim)
    assert bool(law.support.check(drawn).all())


@every_family
def test_points_outside_the_support_are_refused(family):
    points = points_of(family, 4)
    family.check(points)
    wrong = points.clone()
    wrong[2, -1] = torch.inf if family.takes_missing else torch.nan
    with pytest.raises(ValueError, match=r"data has the point \[.*(nan|inf)\] at index \(2,\), expected"):
        family.check(wrong)
    with pytest.raises(
        ValueError, match=rf"data has shape \(4, {family.dim + 1}\), expected \(\.\.\., {family.dim}\)"
    ):
        family.check(torch.zeros(4, family.dim + 1))
    if not family.support.check(torch.full((family.dim,), 5.5)):
        with pytest.raises(ValueError, match=r"expected (0 or 1|counts|angles|the number 0)"):
            family.check(torch.full((3, family.dim), 5.5).double().index_fill(0, torch.tensor([0]), 1.0))


@every_family
def test_families_can_be_copied_and_pickled(family):
    for again in (copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        torch.manual_seed(12)
        drawn = points_of(again, 4)
        torch.manual_seed(12)
        assert torch.equal(drawn, points_of(family, 4))
