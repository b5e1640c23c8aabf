"""Densities group by group: they sum to those of the family, and a group is its columns alone."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from pyroclust.core.compiling import compiled
from pyroclust.distributions import (
    BernoulliBeta,
    Categories,
    MultinomialDirichlet,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartlyObserved,
    PoissonGamma,
    Product,
)
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.compiled.protocol import (
    column_functions,
    family_of,
    log_predictives_by_column,
    refresh,
    tabulate,
)
from pyroclust.distributions.families.partly_observed import ColumnGroups

FAMILIES = {
    "known": (NormalKnownVariance(3, 2.0, mean=0.5), 3),
    "independent": (NormalIndependent(1.0, 4.0, shape=2.0, rate=1.0, dim=3), 3),
    "gamma": (NormalInverseGamma(3, 0.2, shape=2.0, rate=1.0, mean=-0.5), 3),
    "wishart": (NormalInverseWishart(2, 0.2, dof=4.0, scale=1.0), 1),
    "bernoulli": (BernoulliBeta(4, 0.4, beta=0.6), 4),
    "poisson": (PoissonGamma(2, 1.0, rate=0.2), 2),
    "multinomial": (MultinomialDirichlet(3, 0.5, total=4), 1),
    "categories": (Categories([2, 4, 3], 0.7), 3),
    "gaps": (PartlyObserved(PoissonGamma(1, 1.0, rate=0.3), 3), 3),
    "mixed": (
        Product([NormalInverseGamma(2, 0.3, shape=2.0, rate=1.0), BernoulliBeta(2), Categories([3])]),
        5,
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_groups_add_up_to_the_family(name):
    family, number = FAMILIES[name]
    torch.manual_seed(0)
    data = family.sample(torch.tensor([0, 0, 1, 1, 0, 2, 2, 0, 1])).double()
    groups = ColumnGroups(family)
    own = groups.component
    assert groups.num_groups == number
    count = torch.tensor([6.0], dtype=torch.float64)
    block, own_block = family.moments(data[:6]).sum(0), own.moments(data[:6]).sum(0)
    assert groups.counts(own_block).tolist() == [6.0] * number
    marginal = groups.log_marginal(count, own_block[None])
    assert marginal.shape == (1, number)
    torch.testing.assert_close(marginal.sum(-1), family.log_marginal(count, block[None]))
    packed = own.predictive_parameters(count, own_block[None])
    density = groups.log_predictive(data[6:], packed)
    assert density.shape == (3, number)
    expected = family.log_predictive(data[6:], family.predictive_parameters(count, block[None]))
    torch.testing.assert_close(density.sum(-1), expected)


class Work(NamedTuple):
    functions: np.ndarray
    sums: np.ndarray
    found: np.ndarray


@compiled(allocates=False)
def write_cells(family: Any, work: Any, size: int, point: int) -> None:
    refresh(family, work.sums, 1, size)
    log_predictives_by_column(family, work.functions, point, 1, work.found)


@pytest.mark.parametrize("name", FAMILIES)
def test_compiled_cells_are_those_of_torch(name):
    family, number = FAMILIES[name]
    # A family of one column is none of three that remembers how many moments these have.
    assert family.num_moments
    torch.manual_seed(2)
    data = family.sample(torch.tensor([0, 0, 1, 1, 0, 2, 2, 0, 1])).double()
    groups = ColumnGroups(family)
    own, width = groups.component, data.shape[1] // number
    assert own.num_moments == own.moments(data[0]).shape[-1]
    lost = torch.rand(len(data), number) < 0.3
    data[lost.repeat_interleave(width, -1)] = torch.nan
    moments, size = own.moments(data), 6
    expected = groups.log_predictive(
        data, own.predictive_parameters(torch.tensor(6.0), moments[:size].sum(0))
    )
    compiled = Address(family_of(own, data.numpy(), 2, len(data)))
    tabulate(compiled)
    sums = np.stack([np.zeros(moments.shape[1]), moments[:size].sum(0)])
    work = Work(column_functions(compiled.content), sums, np.zeros(number))
    for point in range(size, len(data)):
        work.found[:] = 7.0
        write_cells(compiled, Address(work), size, point)
        np.testing.assert_allclose(work.found, expected[point], rtol=1e-9, atol=1e-9)


def test_a_group_is_its_column_alone_and_missing_cells_are_no_part_of_it():
    torch.manual_seed(1)
    data = torch.randn(8, 3, dtype=torch.float64)
    data[2, 1] = data[7, 0] = torch.nan
    family = PartlyObserved(NormalInverseGamma(1, 0.2, shape=2.0, rate=1.0), 3)
    groups, column = ColumnGroups(family), NormalInverseGamma(1, 0.2, shape=2.0, rate=1.0)
    block, count = family.moments(data[:6]).sum(0), torch.tensor(6.0)
    assert groups.counts(block).tolist() == [6.0, 5.0, 6.0]
    there = data[:6, 1:2][~data[:6, 1].isnan()]
    alone = column.log_marginal(torch.tensor(5.0), column.moments(there).sum(0))
    torch.testing.assert_close(groups.log_marginal(count, block)[1], alone)
    density = groups.log_predictive(data[7], family.predictive_parameters(count, block))
    packed = column.predictive_parameters(torch.tensor(5.0), column.moments(there).sum(0))
    torch.testing.assert_close(density[1], column.log_predictive(data[7, 1:2], packed))
    assert density[0] == 0
