"""The contract of compiled families: they compute what their torch classes compute."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate

from pyroclust.core.compiling import compiled
from pyroclust.distributions import (
    BernoulliBeta,
    BinomialBeta,
    Categories,
    CensoredNormal,
    ChineseRestaurantPrior,
    Circular,
    ClusteredData,
    MultinomialDirichlet,
    NegativeBinomialBeta,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    OrderedLevels,
    PartlyObserved,
    PoissonGamma,
    Product,
    student_t,
)
from pyroclust.distributions.compiled.protocol import (
    compile_family,
    log_marginal,
    log_predictive,
    log_predictive_above,
    log_predictive_without,
    log_rising,
)
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.families.normal_independent import log_integral, no_nodes
from pyroclust.infer.mcmc import CollapsedGibbs, MergeSplit, SplitMerge
from pyroclust.infer.mcmc.compiled.chain import place, start_chain
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.models import Mixture

SIZES = (1, 2, 3, 9, 25)
LABELS = torch.arange(len(SIZES)).repeat_interleave(torch.tensor(SIZES))


def mixed():
    normal = NormalInverseGamma(2, 0.2, shape=2.5, rate=0.7, mean=0.4)
    return Product([normal, BernoulliBeta(3, 0.6, beta=1.1), PoissonGamma(1, 2.0, rate=0.5)])


NUMBERS_WITH_GAPS = PartlyObserved(NormalInverseGamma(1, 0.2, shape=2.5, rate=0.02, mean=0.4), 3)


def mixed_with_gaps():
    counts, flags = (
        PartlyObserved(PoissonGamma(1, 2.0, rate=0.5), 1),
        PartlyObserved(BernoulliBeta(1, 0.6), 2),
    )
    return Product([NUMBERS_WITH_GAPS, counts, flags, Categories([3, 2], 0.7)])


# A family, other values of some of its hyperparameters, and a scale of data far from what it expects.
CASES = {
    "known variance 1": (NormalKnownVariance(1, 3.0, scale=0.7), {"scale": 2.0, "mean": -1.5}, 1e4),
    "known variance 3": (NormalKnownVariance(3, 10.0, mean=2.0), {"prior_scale": 0.3}, 1e4),
    "inverse gamma 1": (NormalInverseGamma(1, 0.05, shape=2.0, rate=0.1), {"mean": 1.0, "rate": 3.0}, 1e4),
    "inverse gamma 4": (NormalInverseGamma(4, 0.5, shape=3.0, rate=2.0, mean=1.0), {"kappa": 2.0}, 1e4),
    "inverse gamma 90": (NormalInverseGamma(90, 0.5, shape=3.0, rate=1e-9), {"shape": 0.7}, 1e9),
    "inverse Wishart 1": (NormalInverseWishart(1, 0.5, dof=2.0, scale=0.3), {"dof": 7.0}, 1e4),
    "inverse Wishart 3": (NormalInverseWishart(3, 0.05, dof=5.0, scale=0.1, mean=1.0), {"scale": 2.0}, 1e4),
    "inverse Wishart 12": (NormalInverseWishart(12, 0.5, dof=20.0, scale=5.0), {"mean": 2.0}, 1e3),
    "Bernoulli 1": (BernoulliBeta(1, 0.3, beta=0.8), {"alpha": 4.0}, 1.0),
    "Bernoulli 150": (BernoulliBeta(150, 2.0, beta=0.5), {"alpha": 2e3, "beta": 70.0}, 1.0),
    "Poisson 1": (PoissonGamma(1, 1.5, rate=0.3), {"rate": 5.0}, 1e4),
    "Poisson 40": (PoissonGamma(40, 0.4, rate=0.2), {"shape": 30.0}, 1e4),
    "categories 5": (MultinomialDirichlet(5, 0.7), {"concentration": 1e5}, 1e4),
    "multinomial 60": (MultinomialDirichlet(60, 0.2, total=30), {"concentration": 3.0}, 1e4),
    "independent 1": (NormalIndependent(1.0, 9.0, shape=2.0, rate=1.0), {"mean": -4.0, "shape": 0.3}, 1e4),
    "independent 3": (NormalIndependent(0.0, 0.1, shape=0.6, rate=0.01, dim=3), {"variance": 50.0}, 1e4),
    "binomial": (BinomialBeta(0.7, beta=1.4, trials=(0, 3, 50)), {"alpha": 3.0}, 1.0),
    "binomial with gaps": (PartlyObserved(BinomialBeta(0.7, trials=(3, 50)), 2), {"beta": 3.0}, 1.0),
    "negative binomial 2": (NegativeBinomialBeta(2, mean=3.0), {"mean": 0.4}, 1.0),
    "censored": (CensoredNormal(-0.4, 1.5, kappa=0.2, shape=2.5, rate=0.7), {"rate": 2.0, "mean": 1.0}, 1.0),
    "ceiling": (CensoredNormal(high=0.3, kappa=0.05, shape=2.0, rate=0.2), {"kappa": 2.0}, 1e3),
    "ceiling with gaps": (
        PartlyObserved(CensoredNormal(high=0.3, kappa=0.05, shape=2.0, rate=0.2), 2),
        {"kappa": 2.0},
        1.0,
    ),
    "circular 2": (Circular(2, period=24.0), {}, 1.0),
    "ordered levels": (OrderedLevels([5, 3, 8]), {}, 1.0),
    "product": (mixed(), {"0.rate": 2.0, "0.mean": -1.0, "1.alpha": 3.0, "2.rate": 4.0}, 1.0),
    "product of products": (
        Product([mixed(), MultinomialDirichlet(3), Product([BernoulliBeta(2)])]),
        {"0.2.shape": 0.7, "1.concentration": 5.0, "2.0.beta": 9.0},
        1.0,
    ),
    "numbers with gaps": (NUMBERS_WITH_GAPS, {"rate": 2.0, "mean": -1.0}, 1e4),
    "product with gaps": (
        mixed_with_gaps(),
        {"0.rate": 2.0, "0.mean": -1.0, "1.rate": 4.0, "2.alpha": 3.0, "3.concentration": 2.0},
        1.0,
    ),
}
every_case = pytest.mark.parametrize("name", CASES)


@compiled(allocates=False)
def probe(family, state, marginal, predictive, without):
    """Evaluate a family on every active slot and the first free one."""
    for j in range(state.counters[0] + 1):
        slot = state.active[j]
        for i in range(len(state.slot_of)):
            predictive[i, j] = log_predictive(family, i, slot, state.sizes[slot])
    for i in range(len(state.slot_of)):
        slot = state.slot_of[i]
        if state.sizes[slot] > 1:
            without[i] = log_predictive_without(family, i, slot, state.sizes[slot])
    for j in range(state.counters[0] + 1):
        slot = state.active[j]
        marginal[j] = log_marginal(family, state.sums, slot, state.sizes[slot])


@compiled(allocates=False)
def probe_above(family, state, floors, found):
    """Evaluate predictives down to a floor each."""
    for j in range(state.counters[0]):
        slot = state.active[j]
        for i in range(len(state.slot_of)):
            found[i, j] = log_predictive_above(family, i, slot, state.sizes[slot], floors[i, j])


def chain_on(component, data, hyper):
    """Start a chain in a fixed partition with some of the hyperparameters set to others."""
    model = Mixture(ChineseRestaurantPrior(1.0), component)
    return moved_to(hyper, start_chain(model, data, np.random.default_rng(0)), model)


def moved_to(hyper, chain, model):
    values = {name: torch.tensor([one], dtype=torch.float64) for name, one in hyper.items()}
    place([chain], model, ChainStates(LABELS.unsqueeze(0), values))
    return chain


def evaluate(chain):
    """Return the log marginals (K + 1), log predictives (N, K + 1) and log predictives without (N,)."""
    num_points, width = len(LABELS), len(SIZES) + 1
    found = np.empty(width), np.empty((num_points, width)), np.zeros(num_points)
    probe(chain.family_at, chain.state_at, *found)
    return tuple(torch.from_numpy(one) for one in found)


def blocks(component, data):
    """Return counts and summed moments of all clusters and of an empty one."""
    counts, moments = block_moments(component, data, LABELS)
    counts = torch.cat([counts.double(), torch.zeros(1, dtype=torch.float64)])
    return counts, torch.cat([moments, torch.zeros_like(moments[:1])])


def expected(component, data):
    """Return what the torch class says: without a point, the difference of two log marginals."""
    counts, moments = blocks(component, data)
    packed = component.predictive_parameters(counts, moments)
    predictive = component.log_predictive(data.unsqueeze(-2), packed)
    whole = component.log_marginal(counts, moments)
    left = component.log_marginal(counts[LABELS] - 1, moments[LABELS] - component.moments(data))
    return whole, predictive, torch.where(counts[LABELS] > 1, whole[LABELS] - left, 0.0)


def draw_data(component):
    torch.manual_seed(5)
    data = ClusteredData(component, LABELS).sample().double()
    if not takes_gaps(component):
        return data
    lost = torch.rand(data.shape) < 0.2
    # A column that is whole in a cluster is seen in another way.
    lost[-SIZES[-1] :, 0] = False
    return torch.where(lost, torch.nan, data)


def takes_gaps(component):
    return bool(component.support.check(torch.full((component.dim,), torch.nan)))


def assert_close(found, wanted, tolerance=1e-8):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@every_case
def test_agrees_with_torch(name):
    component, hyper, _ = CASES[name]
    data = draw_data(component)
    chain = chain_on(component, data, {})
    found = evaluate(chain)
    assert_close(found, expected(component, data))
    assert found[0][-1].abs() < 1e-12
    assert_close([torch.from_numpy(chain.state.log_alone)], [found[1][:, -1]])
    # The same tables, which hold what was found before.
    moved = moved_to(hyper, chain, Mixture(ChineseRestaurantPrior(1.0), component))
    assert_close(evaluate(moved), expected(component.given(hyper), data))
    assert not hyper or (evaluate(moved)[1] - found[1]).abs().max() > 0.01


def test_ordered_levels_count_on_beyond_their_tables(monkeypatch):
    monkeypatch.setattr("pyroclust.distributions.families.ordered_levels._LONGEST", 4)
    component = OrderedLevels([2, 3])
    data = draw_data(component)
    assert_close(evaluate(chain_on(component, data, {})), expected(component, data))


@every_case
def test_predictives_are_right_above_a_floor_and_below_it_below(name):
    component, _, _ = CASES[name]
    data = draw_data(component)
    chain = chain_on(component, data, {})
    predictive = evaluate(chain)[1][:, : len(SIZES)].contiguous()
    floors = predictive + torch.linspace(-6.0, 6.0, predictive.numel(), dtype=torch.float64).view_as(
        predictive
    )
    found = torch.empty_like(predictive)
    probe_above(chain.family_at, chain.state_at, floors.numpy(), found.numpy())
    above = predictive >= floors
    assert_close([found[above]], [predictive[above]])
    assert (found[~above] < floors[~above]).all()
    assert above.any()
    assert not above.all()


@every_case
def test_log_marginal_needs_the_hyperparameters_alone(name):
    """Slice sampling tries out values without recomputing tables and caches."""
    component, hyper, _ = CASES[name]
    data = draw_data(component)
    chain = chain_on(component, data, {})
    tried = component.given(hyper)
    chain.family.hyper[:] = [float(tried.value(one)) for one in component.hyper_names]
    assert_close(evaluate(chain)[:1], [tried.log_marginal(*blocks(component, data))])


@every_case
def test_far_away_data_stay_finite(name):
    component, _, scale = CASES[name]
    data = scale * draw_data(component)
    data[::3] = data[::3].flip(0)
    found = evaluate(chain_on(component, data, {}))
    assert all(one.isfinite().all() for one in found)
    assert_close(found[:2], expected(component, data)[:2], 1e-6)


@pytest.mark.parametrize("shape", [1e-9, 1e-3, 0.05, 0.8])
@pytest.mark.parametrize("rate", [1e-3, 4.0])
@pytest.mark.parametrize("x", [0.0, 30.0])
def test_single_points_under_heavy_tails(shape, rate, x):
    """The integral over the log variance of one point, against adaptive quadrature."""
    variance = 2.0

    def density(y):
        total = np.exp(y) + variance
        return np.exp(-shape * y - rate * np.exp(-y) - 0.5 * x * x / total) / np.sqrt(total)

    edges = np.concatenate([np.linspace(-15.0, 40.0, 56), [60.0, 90.0, 150.0]])
    pieces = [integrate.quad(density, *ends, epsabs=0.0, epsrel=1e-12)[0] for ends in pairwise(edges)]
    found = log_integral(no_nodes(), 1, shape, rate, 0.5 * x * x, variance)
    assert found == pytest.approx(np.log(sum(pieces)), abs=1e-8)


@pytest.mark.parametrize("start", [1e-6, 0.3, 7.0, 999.0, 1000.0, 1e5, 1e12])
@pytest.mark.parametrize("count", [0, 1, 2, 50, 100_000])
def test_log_rising(start, count):
    wanted = np.log(start + np.arange(count, dtype=np.longdouble)).sum()
    assert log_rising(start, float(count)) == pytest.approx(float(wanted), rel=1e-11, abs=1e-11)


def test_components_that_do_not_integrate_out_have_no_likelihood():
    model = Mixture(ChineseRestaurantPrior(1.0), student_t())
    data = torch.randn(len(LABELS), 1).double()
    family = compile_family(model.component, data.numpy(), len(LABELS) + 3, len(LABELS))
    assert len(family.hyper) == 0
    assert all((one == 0).all() for one in evaluate(chain_on(model.component, data, {})))


@pytest.mark.parametrize("kernel", [CollapsedGibbs, SplitMerge, MergeSplit])
def test_kernels_refuse_components_that_do_not_integrate_out(kernel):
    with pytest.raises(ValueError, match="is a PyroComponent, expected a conjugate family: use Auxiliary"):
        kernel(Mixture(ChineseRestaurantPrior(1.0), student_t()))
