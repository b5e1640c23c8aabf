"""What all tests share: one thread, no display, and the same random numbers in every run."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest
import torch

torch.set_num_threads(1)


# Files that one worker runs after another, because they share what costs most to make.
TOGETHER = {"tests/report/test_report.py": "report", "tests/report/test_browser.py": "report"}
# Groups that take half a minute or more: begun first, no worker waits for them at the end.
LONG = (
    "tests/test_wheel.py",
    "tests/infer/mcmc/test_auxiliary_gibbs_exactness.py",
    "tests/infer/mcmc/test_every_exact_posterior.py",
    "tests/cli/test_compare.py",
    "tests/guides/test_clusterwise_guides.py",
    "tests/test_doctests.py",
    "tests/infer/mcmc/test_companion_nuts.py",
    "tests/infer/mcmc/test_families.py",
    "tests/infer/mcmc/test_slice_hyperparameters.py",
    "tests/infer/mcmc/test_split_merge.py",
    "tests/infer/training/test_resume.py",
    "tests/infer/training/test_processes.py",
    "report",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each file to one worker, so that its fixtures are made once; long ones come first."""
    groups = {item: _group(item) for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: LONG.index(groups[item]) if groups[item] in LONG else len(LONG))


def _group(item: pytest.Item) -> str:
    file = item.nodeid.split("::")[0]
    return TOGETHER.get(file, file)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)
