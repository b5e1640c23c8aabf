"""What does not fit into memory is refused, wherever the system says how much there is."""

from pathlib import Path

import psutil
import pytest
import torch

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
