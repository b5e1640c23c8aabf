"""Compiled loops leave the threads of torch alone, and a comparison gives them back."""

import subprocess
import sys

import numpy as np
import torch

from pyroclust import compare

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
