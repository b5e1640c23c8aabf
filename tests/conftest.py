"""What all tests share: one thread, no display, and the same random numbers in every run."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from typing import Any

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
# Thousands of tests and millions of objects stay to the end: looking through them again and again takes 5 %.
gc.set_threshold(100_000, 20, 20)
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=25, database=None)
settings.load_profile("repeatable")


# Files that one worker runs after another, because they share what costs most to make.
TOGETHER = {
    "tests/report/test_report.py": "report",
    "tests/report/test_browser.py": "report",
    "tests/test_stored_summaries.py": "report",
}
# Groups that take twenty seconds or more, and long ones of those that come last: begun first, no worker waits
# for them at the end. The first compiles little, while another worker compiles what most of the others use.
LONG = (
    "report",
    "tests/infer/mcmc/test_auxiliary_gibbs_exactness.py",
    "tests/infer/mcmc/test_every_exact_posterior.py",
    "tests/infer/mcmc/test_populations.py",
    "tests/guides/test_clusterwise_guides.py",
    "tests/faults/test_faults.py",
    "tests/properties/test_properties.py",
    "tests/calibration/test_shelf.py",
    "tests/test_doctests.py",
    "tests/infer/mcmc/test_slice_hyperparameters.py",
    "tests/infer/mcmc/test_split_merge.py",
    "tests/infer/mcmc/test_companion_nuts.py",
    "tests/test_readme.py",
    "tests/infer/test_fine_tune.py",
    "tests/cli/test_compare.py",
    "tests/test_shelf_compares.py",
    "tests/test_wheel.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile`` each worker runs whole groups, so that their fixtures are made once."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Groups(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return Groups(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long groups."""
    groups = {item: _group(item.nodeid) for item in items}
    items.sort(key=lambda item: LONG.index(groups[item]) if groups[item] in LONG else len(LONG))


def _group(nodeid: str) -> str:
    file = nodeid.split("::")[0]
    return TOGETHER.get(file, file)


@pytest.fixture(autouse=True)
def seeded() -> None:
    # As torch.manual_seed, which takes a millisecond where there is no GPU.
    torch.default_generator.manual_seed(0)
