"""The concentration of a Chinese restaurant process integrated out under a Gamma prior."""

from functools import lru_cache

import numpy as np
import torch
from scipy.special import gammaln, logsumexp, roots_legendre
from torch import Tensor

__all__ = ["log_gamma_mixed_v"]

_NODES_A_PANEL = 16


@lru_cache(maxsize=4096)
def log_gamma_mixed_v(shape: float, rate: float, num_points: int, width: int) -> Tensor:
    r"""Tabulate the Gibbs weights of the Gamma-mixed Chinese restaurant process.

    .. math::
        V_N(K) = \int_0^\infty \alpha^K \frac{\Gamma(\alpha)}{\Gamma(\alpha + N)} \,
        \frac{b^a \alpha^{a-1} e^{-b\alpha}}{\Gamma(a)} \, d\alpha, \qquad K = 0, \ldots, \text{width} - 1

    In :math:`t = \log\alpha` each integrand has one mode and tails that decay at least like
    :math:`e^{-(a + K - 1) |t|}`; Gauss-Legendre panels double in width away from the mode. Absolute error
    of the log below 1e-9 for shapes from 0.01 to 100. Cost O(width), cached.

    Shape:
        output: ``(width,)`` float64; entry 0 is minus infinity, there is no partition without clusters.

    Example:
        >>> round(log_gamma_mixed_v(2.0, 2.0, 1, 2)[1].exp().item(), 9)  # one point, one cluster
        1.0
    """
    clusters = np.arange(1, width)[:, None]

    def log_integrand(log_alpha: np.ndarray) -> np.ndarray:
        alpha = np.exp(log_alpha)
        ratio = gammaln(1 + alpha) - gammaln(num_points + alpha)
        return (shape + clusters - 1) * log_alpha - rate * alpha + ratio

    highest = np.log((shape + num_points + 800.0) / rate)
    coarse = np.linspace(-60.0, np.log((shape + num_points + 60.0) / rate) + 2, 2000)
    mode = coarse[log_integrand(coarse).argmax(-1)][:, None]
    spread = (shape + clusters) ** -0.5
    offset, log_weight = _doubling_panels(60.0 / min(shape, 1.0) * np.sqrt(shape + width))
    left = log_integrand(mode - spread * offset) + log_weight
    above = mode + spread * offset
    right = np.where(above < highest, log_integrand(np.minimum(above, highest)) + log_weight, -np.inf)
    log_mass = logsumexp(np.concatenate([left, right], -1), axis=-1) + np.log(spread[:, 0])
    return torch.from_numpy(np.concatenate([[-np.inf], shape * np.log(rate) - gammaln(shape) + log_mass]))


def _doubling_panels(reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and log weights on (0, 1), (1, 2), (2, 4), ... up to the reach."""
    edges = np.concatenate([[0.0], 2.0 ** np.arange(int(np.ceil(np.log2(reach))) + 1)])
    nodes, weights = roots_legendre(_NODES_A_PANEL)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1, None] + half) + half * nodes).ravel(), np.log(half * weights).ravel()
