"""The suite itself: every family, prior and kernel has a case, and whole files are shared out to workers."""

import inspect
from pathlib import Path
from types import SimpleNamespace

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


TESTS = Path(__file__).parent


class Item:
    """A test as it is collected."""

    def __init__(self, file):
        self.nodeid = f"{file}::test"


@pytest.fixture
def conftest(pytestconfig):
    return pytestconfig.pluginmanager.get_plugin(str(TESTS / "conftest.py"))


def test_a_file_stays_on_one_worker(conftest):
    assert conftest._group("tests/a/test_b.py::test_c[tests/d.py]") == "tests/a/test_b.py"
    for file, group in conftest.TOGETHER.items():
        assert conftest._group(f"{file}::test") == group


def test_other_ways_to_share_are_left_alone(conftest):
    config = SimpleNamespace(getvalue={"dist": "load"}.get)
    assert conftest.pytest_xdist_make_scheduler(config, log=None) is None


def test_long_files_are_begun_first_and_exist(conftest):
    long = list(conftest.LONG)
    items = [Item(file) for file in ("tests/test_short.py", *reversed(long))]
    conftest.pytest_collection_modifyitems(items)
    assert [item.nodeid.split("::")[0] for item in items] == [*long, "tests/test_short.py"]
    named = {*conftest.TOGETHER, *long} - set(conftest.TOGETHER.values())
    assert [name for name in named if not (TESTS.parent / name).is_file()] == []
    assert set(conftest.TOGETHER.values()) <= set(long)


def test_make_test_keeps_files_together():
    (line,) = [one for one in (TESTS.parent / "Makefile").read_text().splitlines() if "--dist" in one]
    assert "--dist loadfile --no-loadscope-reorder" in line
