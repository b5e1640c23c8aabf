"""The share of points at the limits, against a fine grid over mean and standard deviation."""

import numpy as np
import pytest
import torch
from scipy.special import log_ndtr, logsumexp
from scipy.stats import gamma, norm

from pyroclust.distributions import CensoredNormal, NormalInverseGamma

PRIOR = {"kappa": 0.08, "shape": 2.0, "rate": 0.2}
LOW, HIGH = -1.0, 0.7


def log_share(inside, low, high):
    """Integrate over the posterior given the points between the limits."""
    kappa, shape = PRIOR["kappa"] + len(inside), PRIOR["shape"] + len(inside) / 2
    mean = inside.sum() / kappa
    rate = PRIOR["rate"] + 0.5 * ((inside**2).sum() - kappa * mean**2)
    log_precision = np.linspace(-14, 12, 1301)[:, None] + np.log(shape / rate)
    noise = np.linspace(-18, 18, 1801)
    root = np.exp(log_precision / 2)
    density = gamma.logpdf(root**2, shape, scale=1 / rate) + log_precision + norm.logpdf(noise)
    offset = noise / np.sqrt(kappa)
    density = density + high * log_ndtr((mean - HIGH) * root + offset)
    density = density + low * log_ndtr((LOW - mean) * root - offset)
    return logsumexp(density) + np.log(0.02 * 0.02)


@pytest.mark.parametrize(
    ("inside", "low", "high", "tolerance"),
    [
        (0, 0, 1, 1e-3),
        (0, 0, 200, 5e-3),
        (0, 5, 5, 5e-4),
        (1, 20, 30, 5e-4),
        (2, 0, 100, 5e-4),
        (5, 0, 50, 5e-4),
        (40, 9, 25, 5e-5),
    ],
)
def test_quadrature(inside, low, high, tolerance):
    values = np.random.default_rng(0).uniform(LOW, HIGH, inside)
    points = np.concatenate([values, np.full(low, LOW), np.full(high, HIGH)])[:, None]
    family, uncut = CensoredNormal(LOW, HIGH, **PRIOR), NormalInverseGamma(1, **PRIOR)
    found = family.log_marginal(torch.tensor(float(len(points))), family.moments(torch.tensor(points)).sum(0))
    moments = torch.tensor([values.sum(), (values**2).sum()])
    known = uncut.log_marginal(torch.tensor(float(inside)), moments)
    assert (found - known).item() == pytest.approx(log_share(values, low, high), abs=tolerance)
