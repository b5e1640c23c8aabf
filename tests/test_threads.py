"""Compiled loops leave the threads of torch alone."""

import subprocess
import sys

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
