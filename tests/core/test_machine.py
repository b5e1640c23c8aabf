"""Memory that is left, and threads that are left alone."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from pyroclust import compare
from pyroclust.core import machine
from pyroclust.core.machine import free_memory
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.models import gaussian2d


def test_memory_of_this_machine_is_a_plausible_number():
    assert 1 << 20 < free_memory() < 1 << 50


def test_too_many_draws_are_refused(monkeypatch):
    monkeypatch.setattr(machine, "free_memory", lambda: 100_000)
    kernel, data = CollapsedGibbs(gaussian2d()), torch.randn(10, 2)
    with pytest.raises(ValueError, match=r"num_draws is 10000: 4 chains of 10 points take .*keep fewer"):
        kernel.run(data, num_draws=10_000)


def write_all(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"memory.max": "9000\n", "memory.current": "2000\n", "memory.stat": "inactive_file 500\n"}, 7500),
        ({"memory.max": "max\n", "memory.current": "2000\n"}, None),
        (
            {
                "memory/memory.limit_in_bytes": "9000\n",
                "memory/memory.usage_in_bytes": "2000\n",
                "memory/memory.stat": "cache 1\ntotal_inactive_file 600\n",
            },
            7600,
        ),
        ({"memory.max": "1000\n", "memory.current": "2000\n"}, 0),
    ],
    ids=["version 2", "no limit", "version 1", "over its limit"],
)
def test_what_a_container_may_use(tmp_path, monkeypatch, files, left):
    write_all(tmp_path, files)
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    if left is None:
        left = pytest.approx(psutil.virtual_memory().available, rel=0.5)
    assert free_memory() == left


def test_a_limited_address_space(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1 << 50, 1 << 50))
    wide = free_memory()
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1, 1))
    assert wide > 0 == free_memory()


SCRIPT = """
import numpy as np
import torch
from pyroclust import diagnostics
from pyroclust.distributions import ChineseRestaurantProcess
torch.set_num_threads(1)
draws = np.random.default_rng(0).integers(3, size=(4, 50, 300))
diagnostics.co_assignment(draws)
diagnostics.pairwise_loss(draws[0], draws[1])
diagnostics.point_estimate(draws, seed=0)
ChineseRestaurantProcess(torch.tensor(1.0), 2000).sample((3000,))
assert torch.get_num_threads() == 1, torch.get_num_threads()
"""


def test_compiled_loops_leave_the_threads_of_torch_alone():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


def test_a_comparison_of_columns_uses_one_thread_of_torch_and_gives_the_others_back():
    before, seen = torch.get_num_threads(), set()
    torch.set_num_threads(2)
    try:
        points = np.concatenate([np.zeros(6), np.ones(6)]) + np.linspace(0, 0.1, 12)
        settings = {"guide": "none", "mcmc_draws": 10, "num_chains": 2, "warmup": 10}
        compare(points, **settings, progress=lambda stage: seen.add(torch.get_num_threads()))
        assert (seen, torch.get_num_threads()) == ({1}, 2)
    finally:
        torch.set_num_threads(before)
