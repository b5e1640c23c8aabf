"""A published marginal likelihood: three normal components for the galaxies."""

import torch

from pyroclust.data.datasets import read_table
from pyroclust.distributions import DirichletMultinomialPrior, NormalIndependent
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import sequential_monte_carlo
from pyroclust.models import Mixture


def test_three_components_have_the_published_evidence():
    """Chib (1995) gives -224.1, Neal (1999) corrects it to -226.8: all labellings count, not one."""
    torch.manual_seed(0)
    data = torch.from_numpy(read_table("galaxies").data) / 1000
    component = NormalIndependent(20.0, 100.0, shape=3.0, rate=20.0)
    model = Mixture(DirichletMultinomialPrior(3, 1.0), component)
    _, found = sequential_monte_carlo(model, PredictiveFilter(model), data, num_particles=1600, num_islands=8)
    assert found.evidence.error < 0.05
    assert abs(found.evidence.estimate + 226.8) < 0.2
