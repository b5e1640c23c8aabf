"""Every family, prior and kernel that the library offers has a case, so that the contract tests reach it."""

import inspect

import pytest
from cases import (
    CONJUGATE,
    FAMILIES,
    KERNELS,
    OTHER_LAWS,
    POSTERIOR_FAMILIES,
    POSTERIOR_PRIORS,
    PRIORS,
)

from pyroclust import distributions
from pyroclust.distributions import Component, ConjugateComponent, PartitionPrior
from pyroclust.distributions.compiled.protocol import (
    compile_family,
)
from pyroclust.infer import mcmc
from pyroclust.infer.mcmc import Compose, PartitionKernel
from pyroclust.models import overlap2d

# Kernels that draw hyperparameters alone have no posterior of their own to be compared with.
NO_LAW_ALONE = {mcmc.SliceHyperparameters}


def offered(face, kind):
    """Return the concrete classes of a kind that a face offers."""
    found = [getattr(face, name) for name in face.__all__]
    return {
        one for one in found if inspect.isclass(one) and issubclass(one, kind) and not inspect.isabstract(one)
    }


def kinds(cases):
    return {type(one) for one in cases.values()}


@pytest.mark.parametrize(
    ("kind", "cases"),
    [
        (Component, FAMILIES),
        (ConjugateComponent, CONJUGATE),
        (ConjugateComponent, POSTERIOR_FAMILIES),
        (PartitionPrior, PRIORS | OTHER_LAWS),
        (PartitionPrior, POSTERIOR_PRIORS),
    ],
    ids=["families", "conjugate", "posterior families", "priors", "posterior priors"],
)
def test_every_class_has_a_case(kind, cases):
    assert offered(distributions, kind) <= kinds(cases)


def test_every_conjugate_family_is_compiled():
    assert offered(distributions, ConjugateComponent) <= set(compile_family.registry)


def test_every_kernel_has_a_case():
    built = [build(overlap2d()) for build, _, _ in KERNELS.values()]
    parts = {type(part) for one in built for part in (one.kernels if isinstance(one, Compose) else [one])}
    assert offered(mcmc, PartitionKernel) - NO_LAW_ALONE - {Compose} <= parts
