"""The Chinese restaurant prior with its concentration integrated out under a Gamma law."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from pyro.distributions import Gamma
from scipy.special import gammaln, logsumexp, psi, roots_legendre
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.priors.chinese_restaurant import ChineseRestaurantPrior, ChineseRestaurantProcess
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.rising_factorial import sum_of_inverses

_NODES_A_PANEL = 16
_ROWS_AT_ONCE = 1024


@lru_cache(maxsize=1024)
def log_gamma_mixed_v(shape: float, rate: float, num_points: int, width: int) -> Tensor:
    r"""Tabulate log V_N(K) for K = 0, ..., width - 1, to 1e-9 for shapes from 0.01 to 100.

    In :math:`t = \log\alpha` each integrand has one mode and tails that decay at least like
    :math:`e^{-(a + K - 1) |t|}`; Gauss-Legendre panels double in width away from the mode.
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
    """Average the expected number of clusters over the Gamma prior of the concentration."""
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


@register(PartitionPrior)
class GammaConcentration(PartitionPrior):
    r"""The Chinese restaurant prior with a Gamma-distributed concentration, integrated out.

    .. math::
        V_N(K) = \int \alpha^K \frac{\Gamma(\alpha)}{\Gamma(\alpha + N)} \text{Gamma}(\alpha; a, b)\, d\alpha

    by Gauss-Legendre quadrature in log alpha (absolute error of the log below 1e-9), cached per N; no
    gradients. In a Pyro program the concentration is a site, as with ``ChineseRestaurantPrior(Gamma(a, b))``.

    Args:
        shape: shape a of the Gamma prior, a number or a batch.
        rate: rate b of the Gamma prior, likewise.

    Raises:
        ValueError: if one of them is not positive, or random.

    Example:
        >>> prior = GammaConcentration(2.0, 4.0)
        >>> round(prior.log_prob(torch.tensor([[0, 0], [0, 1]])).exp().sum().item(), 9)
        1.0
    """

    hyper_names = ("shape", "rate")

    def __init__(self, shape: Tensor | float, rate: Tensor | float) -> None:
        self.shape, self.rate = shape, rate
        self._check_hyperparameters()

    @property
    def hyperpriors(self) -> dict[str, Distribution]:
        """The Gamma prior of ``"concentration"``, which :meth:`given` accepts beside ``hyper_names``."""
        shape, rate = (self.value(name).to(torch.get_default_dtype()) for name in self.hyper_names)
        return {"concentration": Gamma(shape, rate)}

    @property
    def integrated_names(self) -> frozenset[str]:
        return frozenset({"concentration"})

    def given(self, values: Mapping[str, Tensor | float]) -> Any:
        """Return the prior with other hyperparameters, or the Chinese restaurant's with a concentration."""
        if "concentration" in values:
            return ChineseRestaurantPrior(values["concentration"])
        return super().given(values)

    @property
    def block_discount(self) -> Tensor:
        return torch.zeros((), dtype=torch.float64)

    def partition(self, num_points: int) -> ChineseRestaurantProcess:
        """Sample the site ``"concentration"`` and return the process given it."""
        return self.sampled().partition(num_points)

    def expected_num_clusters(self, num_points: int) -> Tensor:
        r"""Return the prior mean of the number of clusters, ``batch_shape`` float64, by quadrature in O(1).

        .. math:: E[K] = \int \alpha (\psi(\alpha + N) - \psi(\alpha)) \text{Gamma}(\alpha; a, b)\, d\alpha
        """
        num_points = check_count("num_points", num_points)
        means = [mean_num_clusters(shape, rate, num_points) for shape, rate in self._pairs()]
        return torch.tensor(means, dtype=torch.float64).view(self.batch_shape)

    def _log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        width = 1 << max(int(clusters.max()), 7).bit_length()
        tables = torch.stack([log_gamma_mixed_v(*pair, num_points, width) for pair in self._pairs()])
        batch = self.batch_shape
        row = torch.arange(batch.numel(), device=clusters.device).view(batch)
        return tables.to(clusters.device)[row, clusters.long()]

    def _pairs(self) -> list[tuple[float, float]]:
        shape, rate = torch.broadcast_tensors(self.value("shape"), self.value("rate"))
        return list(zip(shape.reshape(-1).tolist(), rate.reshape(-1).tolist(), strict=True))

    def _check_hyperparameters(self) -> None:
        for name in self.hyper_names:
            if isinstance(getattr(self, name), Distribution):
                raise ValueError(
                    f"{name} is random, expected a positive number: the Gamma prior that is integrated over "
                    "must be known"
                )
        self._check_positive("shape", "rate")
