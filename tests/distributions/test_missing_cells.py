"""Missing cells are integrated out: against sums and integrals over them, and on points without them."""

import itertools

import numpy as np
import pytest
import torch
from cases import KERNELS, some_of
from partition_laws import check_law, effective_partitions
from scipy.integrate import quad

from pyroclust.distributions import (
    BernoulliBeta,
    Categories,
    ChineseRestaurantPrior,
    ClusteredData,
    MultinomialDirichlet,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartlyObserved,
    PitmanYorPrior,
    PoissonGamma,
    Product,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture, nig_mixture
from pyroclust.models.predictive import Replicated
from pyroclust.nn import RandomOrder

PARTS = {
    "known": NormalKnownVariance(1, 2.0, mean=0.5),
    "gamma": NormalInverseGamma(1, 0.2, shape=2.0, rate=1.0, mean=-0.5),
    "wishart": NormalInverseWishart(2, 0.2, dof=4.0, scale=1.0),
    "independent": NormalIndependent(1.0, 4.0, shape=2.0, rate=1.0),
    "bernoulli": BernoulliBeta(1, 0.4, beta=0.6),
    "poisson": PoissonGamma(1, 1.0, rate=0.2),
    "multinomial": MultinomialDirichlet(3, 0.5, total=4),
}
MIXED = Product(
    [
        PartlyObserved(NormalInverseGamma(1, 0.3, shape=2.0, rate=1.0), 2),
        PartlyObserved(PoissonGamma(1, 1.0, rate=0.3), 1),
        PartlyObserved(BernoulliBeta(1, 0.5), 2),
        Categories([3, 2], 0.7),
    ]
)
NAN = torch.nan


def drawn(component, labels, *, share, seed=3):
    """Draw points and let cells, or groups of cells, go missing at random."""
    torch.manual_seed(seed)
    data = component.sample(torch.tensor(labels)).double()
    width = component.part.dim if isinstance(component, PartlyObserved) else 1
    lost = torch.rand(len(data), data.shape[1] // width) < share
    return torch.where(lost.repeat_interleave(width, -1), NAN, data)


def block(family, points):
    return torch.tensor(float(len(points)), dtype=torch.float64), family.moments(points).sum(-2)


@pytest.mark.parametrize("name", PARTS)
def test_a_cluster_is_that_of_the_points_that_are_there_column_by_column(name):
    part = PARTS[name]
    family = PartlyObserved(part, 3)
    points, new = drawn(family, [0] * 6, share=0.4), drawn(family, [0], share=0.0, seed=4)[0]
    new[: part.dim] = NAN
    marginal, predictive = 0.0, 0.0
    for own, further in zip(points.split(part.dim, -1), new.split(part.dim), strict=True):
        there = own[~own.isnan().any(-1)]
        own_block = block(part, there)
        marginal += part.log_marginal(*own_block)
        if not further.isnan().any():
            predictive += part.log_predictive(further, part.predictive_parameters(*own_block))
    torch.testing.assert_close(family.log_marginal(*block(family, points)), marginal)
    packed = family.predictive_parameters(*block(family, points))
    torch.testing.assert_close(family.log_predictive(new, packed), predictive)


@pytest.mark.parametrize("name", ["known", "gamma", "bernoulli"])
def test_without_a_gap_it_is_the_family_of_all_columns(name):
    part = PARTS[name]
    family = PartlyObserved(part, 2)
    wide = type(part)(**(part.arguments | {"dim": 2}))
    points, labels = drawn(family, [0, 1, 0, 1], share=0.0), torch.tensor([0, 1, 0, 1])
    torch.testing.assert_close(
        ClusteredData(family, labels).log_prob(points), ClusteredData(wide, labels).log_prob(points)
    )


def test_columns_of_categories_are_multinomials_of_one():
    family, single = Categories([3, 2], 0.7), (MultinomialDirichlet(3, 0.7), MultinomialDirichlet(2, 0.7))
    points = torch.tensor([[2.0, NAN], [0.0, 1.0], [2.0, 1.0], [NAN, 0.0]])
    wanted = 0.0
    for column, part in zip(points.T, single, strict=True):
        there = column[~column.isnan()].long()
        wanted += part.log_marginal(*block(part, torch.nn.functional.one_hot(there, part.dim)))
    torch.testing.assert_close(family.log_marginal(*block(family, points)), wanted)


def test_log_joint_sums_over_missing_categories_and_bits():
    family = Product([PartlyObserved(BernoulliBeta(1, 0.4, beta=0.6), 2), Categories([3], 0.7)])
    model, labels = Mixture(PitmanYorPrior(0.3, 0.5), family), torch.tensor([0, 1, 0])
    data = torch.tensor([[NAN, 1.0, 2.0], [0.0, 0.0, NAN], [1.0, NAN, 0.0]])
    whole = []
    for first, second, third in itertools.product(range(2), range(3), range(2)):
        filled = data.clone()
        filled[0, 0], filled[1, 2], filled[2, 1] = first, second, third
        whole.append(model.log_joint(filled, labels))
    torch.testing.assert_close(model.log_joint(data, labels), torch.stack(whole).logsumexp(0))


@pytest.mark.parametrize("name", ["known", "gamma", "independent"])
def test_log_joint_integrates_over_a_missing_number(name):
    model = Mixture(ChineseRestaurantPrior(0.7), PartlyObserved(PARTS[name], 2))
    data, labels = drawn(model.component, [0, 1, 0, 1], share=0.0), torch.tensor([0, 1, 0, 1])
    data[2, 1] = NAN

    def density(value):
        filled = data.clone()
        filled[2, 1] = value
        return model.log_joint(filled, labels).exp().item()

    found = quad(density, -np.inf, np.inf, limit=400)[0]
    assert np.log(found) == pytest.approx(model.log_joint(data, labels).item(), abs=1e-5)


def test_the_filter_is_normalised_and_agrees_with_the_compiled_one():
    torch.manual_seed(0)
    model = Mixture(PitmanYorPrior(0.2, 0.7), MIXED)
    data = drawn(MIXED, [0, 0, 1, 1, 0, 2], share=0.3)
    posterior = PredictiveFilter(model, order=RandomOrder()).posterior(data)
    partitions, _ = exact_posterior(model, data)
    total = posterior.log_prob(partitions).logsumexp(0)
    torch.testing.assert_close(total, torch.zeros_like(total), atol=1e-6, rtol=0)


GRID = [(kernel,) for kernel in KERNELS]


@pytest.mark.parametrize("kernel", some_of(GRID, {("gibbs",), ("merge_split",), ("auxiliary",)}))
def test_every_kernel_has_the_exact_law_of_mixed_columns_with_gaps(kernel):
    model = Mixture(ChineseRestaurantPrior(1.0), MIXED)
    data = drawn(MIXED, [0, 0, 1, 1, 1, 2, 0], share=0.25)
    assert data.isnan().any()
    exact = exact_posterior(model, data)
    assert effective_partitions(exact[1]) > 3
    build, num_chains, num_draws = KERNELS[kernel]
    draws = build(model).run(data, num_draws=num_draws, warmup=20, num_chains=num_chains, seed=1)
    check_law(model, data, draws.assignments, exact)


def test_replicated_data_have_no_gaps():
    torch.manual_seed(1)
    model, data = Mixture(ChineseRestaurantPrior(1.0), MIXED), drawn(MIXED, [0, 0, 1], share=0.3)
    assert Replicated(model, data)().isfinite().all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: nig_mixture(2).log_joint(torch.tensor([[0.0, NAN]]), torch.tensor([0])), "nan"),
        (
            lambda: exact_posterior(nig_mixture(2), torch.tensor([[0.0, NAN], [0.0, 1.0]])),
            "data holds 1 nan or infinite values",
        ),
        (
            lambda: exact_posterior(
                Mixture(ChineseRestaurantPrior(1.0), PartlyObserved(PARTS["gamma"], 2)),
                torch.tensor([[0.0, torch.inf], [0.0, 1.0]]),
            ),
            "data holds 1 infinite values, expected finite numbers, or nan for none",
        ),
        (
            lambda: PartlyObserved(PARTS["wishart"], 1).check(torch.tensor([[0.0, NAN]])),
            "some columns of a NormalInverseWishart of 2 columns are missing and others are not",
        ),
        (lambda: Categories([3]).check(torch.tensor([[3.0]])), "expected the number 0, 1, ... of a category"),
        (lambda: Categories([1]), "levels is 1, expected"),
        (lambda: Categories("ab"), "levels is 'ab', expected a list of whole numbers"),
    ],
)
def test_errors_say_what_is_wrong(make, sentence):
    with pytest.raises(ValueError, match="(?s).*" + sentence.replace("(", r"\(").replace("...", r"\.\.\.")):
        make()
