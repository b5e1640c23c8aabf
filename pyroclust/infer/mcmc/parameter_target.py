"""The posterior density of the parameters of many clusters given the partition."""

import torch
from torch import Tensor

from pyroclust.distributions import Component
from pyroclust.infer.mcmc.chain_clusters import ChainClusters, finite_or_impossible, log_likelihood
from pyroclust.infer.mcmc.unconstrained import UnconstrainedSpace

__all__ = ["ParameterTarget", "working_dtype"]

_PRIOR_DRAWS = 1000
# Prior draws of which a chain's first parameters are chosen.
_GUESSES = 64
# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22


def working_dtype(component: Component, data: Tensor) -> torch.dtype:
    """Return float64, or the type of a component's own draws where its program cannot take float64."""
    drawn = component.sample_prior((2,))
    try:
        wide = {name: value.double() for name, value in drawn.items()}
        component.log_prior(wide)
        component.likelihood(wide).log_prob(data[:1].double())
    except RuntimeError:
        return next(iter(drawn.values())).dtype
    return torch.float64


class ParameterTarget:
    r"""The density that slice sampling of cluster parameters leaves unchanged.

    .. math:: \log p(\theta_k(u)) + \log |d\theta_k / du| + \sum_{i : c_i = k} \log p(x_i \mid \theta_k(u))

    Args:
        component: the family of the clusters.
        data: points, ``(N, D)``.
        dtype: what parameters are evaluated in.
    """

    def __init__(self, component: Component, data: Tensor, *, dtype: torch.dtype) -> None:
        self.space = UnconstrainedSpace(component)
        self._component, self._data, self._dtype = component, data, dtype

    def prior_spread(self) -> Tensor:
        """Return half the central 68 % of the prior of each coordinate, ``(P,)``."""
        draws = self.space.unconstrain(self._component.sample_prior((_PRIOR_DRAWS,)))
        low, high = draws.quantile(torch.tensor([0.16, 0.84], dtype=torch.float64), dim=0)
        return 0.5 * (high - low)

    def parameters(self, vectors: Tensor) -> dict[str, Tensor]:
        """Return the parameters at vectors of real numbers."""
        return {name: value.to(self._dtype) for name, value in self.space.constrain(vectors)[0].items()}

    def log_density(self, vectors: Tensor, clusters: ChainClusters) -> Tensor:
        """Return the log density of candidates for all clusters in nats, minus infinity for nan.

        Shape:
            vectors: ``(Q, T, P)``; output: ``(Q, T)`` float64.
        """
        parameters, log_jacobian = self.space.constrain(vectors)
        parameters = {name: value.to(self._dtype) for name, value in parameters.items()}
        log_prior = self._component.log_prior(parameters).double()
        total = log_prior + log_jacobian + self._log_likelihood(parameters, clusters)
        return finite_or_impossible(total)

    def guess(self, clusters: ChainClusters) -> dict[str, Tensor]:
        """Choose first parameters for every cluster among draws of the prior, by likelihood."""
        drawn = self._component.sample_prior((_GUESSES, clusters.num_rows))
        drawn = {name: value.to(self._dtype) for name, value in drawn.items()}
        score = self._log_likelihood(drawn, clusters)
        best = (score - torch.empty_like(score).exponential_().log()).argmax(0)
        return {name: value[best, torch.arange(clusters.num_rows)] for name, value in drawn.items()}

    def _log_likelihood(self, parameters: dict[str, Tensor], clusters: ChainClusters) -> Tensor:
        """Sum the log-likelihoods of the points of every cluster, ``(Q, T)``, in slices of bounded memory."""
        rows = clusters.rows.reshape(-1)
        data = self._data.expand(len(clusters.labels), -1, -1).reshape(len(rows), -1)
        wide = sum(value[0, 0].numel() for value in parameters.values()) + data.shape[-1]
        count, step = len(next(iter(parameters.values()))), max(1, _MAX_ENTRIES // (wide * len(rows)))
        total = torch.zeros(count, clusters.num_rows, dtype=torch.float64)
        for first in range(0, count, step):
            part = slice(first, first + step)
            of_points = {name: value[part, rows] for name, value in parameters.items()}
            log_prob = log_likelihood(self._component, of_points, data, batch=2)
            total[part].index_add_(1, rows, log_prob)
        return total
