"""Reference chains: they agree with themselves and with enumeration, and know when they do not agree."""

import numpy as np
import pytest
import torch

from pyroclust.diagnostics import co_assignment
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc.chains import reference_chains
from pyroclust.models import gaussian2d

DATA = torch.tensor([[0.0, 0.0], [0.5, 0.0], [4.0, 0.0], [4.5, 0.0]], dtype=torch.float64)


def test_they_are_the_exact_posterior_and_draws_have_their_error() -> None:
    found = reference_chains(gaussian2d(), DATA, seconds=20.0)
    assert found.agreed
    assert found.rhat < 1.01
    partitions, log_prob = exact_posterior(gaussian2d(), DATA)
    same = (partitions.unsqueeze(-1) == partitions.unsqueeze(-2)).double()
    exact = (log_prob.exp().view(-1, 1, 1) * same).sum(0).numpy()
    assert np.abs(found.together - exact).max() < 0.02
    largest, mean = found.errors(co_assignment(np.zeros((1, 4), dtype=np.int64)))
    assert largest == pytest.approx(1 - found.together.min())
    assert 0 < mean < largest
    assert 0.005 < found.floor(1000)[0] < 0.05


def test_limits_end_chains_that_do_not_agree() -> None:
    torch.manual_seed(0)
    found = reference_chains(gaussian2d(), 3.0 * torch.randn(60, 2), seconds=None, sweeps=1500)
    assert found.sweeps == 1000
    assert found.draws.shape == (400, 60)
    with pytest.raises(ValueError, match="both None, expected a limit"):
        reference_chains(gaussian2d(), DATA, seconds=None)
    with pytest.raises(ValueError, match="seconds is -1"):
        reference_chains(gaussian2d(), DATA, seconds=-1.0)
