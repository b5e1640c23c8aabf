"""The concentration of a Chinese restaurant process integrated out under a Gamma prior."""

from functools import lru_cache

import numpy as np
import torch
from scipy.special import gammaln, logsumexp, psi, roots_legendre
from torch import Tensor

from pyroclust.distributions.rising_factorial import sum_of_inverses

__all__ = ["log_gamma_mixed_v", "mean_num_clusters"]

_NODES_A_PANEL = 16
_ROWS_AT_ONCE = 1024


@lru_cache(maxsize=1024)
def log_gamma_mixed_v(shape: float, rate: float, num_points: int, width: int) -> Tensor:
    r"""Tabulate the Gibbs weights of the Gamma-mixed Chinese restaurant process.

    .. math::
        V_N(K) = \int_0^\infty \alpha^K \frac{\Gamma(\alpha)}{\Gamma(\alpha + N)} \,
        \frac{b^a \alpha^{a-1} e^{-b\alpha}}{\Gamma(a)} \, d\alpha, \qquad K = 0, \ldots, \text{width} - 1

    In :math:`t = \log\alpha` each integrand has one mode and tails that decay at least like
    :math:`e^{-(a + K - 1) |t|}`; Gauss-Legendre panels double in width away from the mode. Absolute error
    of the log below 1e-9 for shapes from 0.01 to 100. Cost O(width), about 50 microseconds an entry, cached.

    Shape:
        output: ``(width,)`` float64; entry 0 is minus infinity, there is no partition without clusters.

    Example:
        >>> round(log_gamma_mixed_v(2.0, 2.0, 1, 2)[1].exp().item(), 9)  # one point, one cluster
        1.0
    """
    clusters = np.arange(1, width)
    mode = _modes(shape, rate, num_points, clusters)
    panels = _doubling_panels(60.0 / min(shape, 1.0) * np.sqrt(shape + width))
    rows = np.arange(_ROWS_AT_ONCE, len(clusters), _ROWS_AT_ONCE)
    parts = [
        _log_masses(shape, rate, num_points, *part, panels)
        for part in zip(np.split(clusters, rows), np.split(mode, rows), strict=True)
    ]
    scale = shape * np.log(rate) - gammaln(shape)
    return torch.from_numpy(np.concatenate([[-np.inf], scale + np.concatenate(parts)]))


def mean_num_clusters(shape: float, rate: float, num_points: int) -> float:
    r"""Average the expected number of clusters over the Gamma prior of the concentration.

    .. math:: E[K] = \int \alpha (\psi(\alpha + N) - \psi(\alpha)) \, \text{Gamma}(\alpha; a, b) \, d\alpha

    The same panels around the mode of the Gamma density; cost O(1).

    Example:
        >>> round(mean_num_clusters(1e8, 1e8, 3), 6)  # the concentration is nearly 1: 1 + 1/2 + 1/3
        1.833333
    """
    spread = shape**-0.5
    offset, log_weight = _doubling_panels(60.0 / min(shape, 1.0) / spread)
    t = np.log(shape / rate) + spread * np.concatenate([-offset[::-1], offset])
    with np.errstate(over="ignore"):
        log_density = shape * t - rate * np.exp(t) + np.concatenate([log_weight[::-1], log_weight])
    density = np.exp(log_density - log_density.max())
    alpha = torch.from_numpy(np.exp(np.where(density > 0, t, 0.0)))
    later = (alpha * sum_of_inverses(alpha + 1, num_points - 1)).numpy()
    return 1 + float((density * later).sum() / density.sum())


def _modes(shape: float, rate: float, num_points: int, clusters: np.ndarray) -> np.ndarray:
    """Return the modes in log alpha, where a + K - 1 = b alpha + alpha (psi(N + alpha) - psi(1 + alpha))."""
    grid = np.linspace(-60.0, np.log((shape + num_points + 60.0) / rate) + 2, 2000)
    alpha = np.exp(grid)
    slope = rate * alpha + alpha * (psi(num_points + alpha) - psi(1 + alpha))
    return np.interp(shape + clusters - 1, slope, grid)


def _log_masses(
    shape: float,
    rate: float,
    num_points: int,
    clusters: np.ndarray,
    mode: np.ndarray,
    panels: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    power = (shape + clusters - 1)[:, None]

    def log_integrand(log_alpha: np.ndarray) -> np.ndarray:
        alpha = np.exp(log_alpha)
        return power * log_alpha - rate * alpha + (gammaln(1 + alpha) - gammaln(num_points + alpha))

    highest = np.log((shape + num_points + 800.0) / rate)
    spread = (shape + clusters)[:, None] ** -0.5
    offset, log_weight = panels
    left = log_integrand(mode[:, None] - spread * offset) + log_weight
    above = mode[:, None] + spread * offset
    right = np.where(above < highest, log_integrand(np.minimum(above, highest)) + log_weight, -np.inf)
    return logsumexp(np.concatenate([left, right], -1), axis=-1) + np.log(spread[:, 0])


def _doubling_panels(reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and log weights on (0, 1), (1, 2), (2, 4), ... up to the reach."""
    edges = np.concatenate([[0.0], 2.0 ** np.arange(int(np.ceil(np.log2(reach))) + 1)])
    nodes, weights = roots_legendre(_NODES_A_PANEL)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1, None] + half) + half * nodes).ravel(), np.log(half * weights).ravel()
