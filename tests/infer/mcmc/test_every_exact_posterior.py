"""Every prior, family and kernel: total variation to the exact posterior of seven points."""

from itertools import cycle, product

import pytest
import torch
from cases import KERNELS, POSTERIOR_FAMILIES, POSTERIOR_PRIORS, some_of
from partition_laws import check_law, effective_partitions

from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture

# Every kernel meets every prior, those that take longest every other one, on a family with caches, a discrete
# one and a product in turn; the Gibbs sweep, which calls all functions of a family, meets every family. Other
# combinations have no code of their own.
IN_TURN = cycle(["inverse_wishart", "bernoulli", "product"])
CHOSEN = {(prior, next(IN_TURN), kernel) for kernel in KERNELS for prior in POSTERIOR_PRIORS}
SLOW = ("tempered", "mixed_composition", "guide", "auxiliary")
CHOSEN = {case for case in CHOSEN if case[2] not in SLOW or list(POSTERIOR_PRIORS).index(case[0]) % 2}
# The censored family integrates each cluster by quadrature.
SHORT = {"short gibbs": (*KERNELS["gibbs"][:2], 1000)}
CHOSEN |= {
    (prior, family, "short gibbs" if family == "censored" else "gibbs")
    for prior, family in zip(cycle(POSTERIOR_PRIORS), POSTERIOR_FAMILIES, strict=False)
}
# Families whose parameters compiled code does not draw.
NOT_AT_ONCE = {"independent", "ordered", "binomial", "censored", "circular", "negative_binomial"}
GRID = [*product(POSTERIOR_PRIORS, POSTERIOR_FAMILIES, KERNELS), *(one for one in CHOSEN if one[2] in SHORT)]
GRID = [one for one in GRID if one[2] != "blocked" or one[1] not in NOT_AT_ONCE]


def seven_points(component):
    """Seven points from three clusters of the family."""
    torch.manual_seed(8)
    return component.sample(torch.tensor([0, 0, 1, 1, 1, 2, 0])).double()


@pytest.mark.parametrize(("prior", "family", "kernel"), some_of(GRID, CHOSEN))
def test_exact_law(prior, family, kernel):
    component = POSTERIOR_FAMILIES[family]
    model, data = Mixture(POSTERIOR_PRIORS[prior], component), seven_points(component)
    exact = exact_posterior(model, data)
    assert effective_partitions(exact[1]) > 3
    build, num_chains, num_draws = (KERNELS | SHORT)[kernel]
    draws = build(model).run(data, num_draws=num_draws, warmup=20, num_chains=num_chains, seed=1)
    check_law(model, data, draws.assignments, exact)
