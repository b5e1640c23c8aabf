"""What does not fit into memory is refused, wherever the system says how much there is."""

import os
from pathlib import Path

import pytest
import torch

from pyroclust import memory
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.memory import check_memory, free_memory
from pyroclust.models import gaussian2d


def test_memory_of_this_machine_is_a_plausible_number():
    assert 1 << 20 < free_memory() < 1 << 50


def unreadable(*_args):
    raise FileNotFoundError


def test_other_systems(monkeypatch):
    """macOS has no /proc and tells all pages, but not the free ones; Windows has no sysconf."""
    monkeypatch.setattr(Path, "read_text", unreadable)

    def mac(name):
        if name not in ("SC_PHYS_PAGES", "SC_PAGE_SIZE"):
            raise ValueError("unrecognized configuration name")
        return 1000

    monkeypatch.setattr(os, "sysconf", mac)
    assert free_memory() == 1_000_000
    monkeypatch.delattr(os, "sysconf")
    assert free_memory() is None
    check_memory(1 << 60, "this", remedy="nothing")


def test_too_many_draws_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 100_000)
    kernel, data = CollapsedGibbs(gaussian2d()), torch.randn(10, 2)
    with pytest.raises(ValueError, match=r"num_draws is 10000: 4 chains of 10 points take .*keep fewer"):
        kernel.run(data, num_draws=10_000)
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    assert kernel.run(data, num_draws=10, num_chains=1).assignments.shape == (1, 10, 10)
