"""Parameters drawn from the prior, ahead of the visits that may open a cluster with them."""

import torch
from torch import Tensor

from pyroclust.infer.mcmc.chain_clusters import ChainFamilies, finite_or_impossible

__all__ = ["AuxiliaryPool"]

# Draws made at once: enough that the price of a Pyro program is small beside them.
_DRAWS = 1 << 13


class AuxiliaryPool:
    """Draws auxiliary parameters of every point, with their log-likelihoods, for several sweeps at once.

    Where the family of a chain changes between sweeps, draws are made one sweep at a time.

    Args:
        data: points, ``(N, D)``.
        num_auxiliary: draws m a point.
        num_chains: number of chains C.
        dtype: what parameters are kept in.
    """

    def __init__(self, data: Tensor, num_auxiliary: int, *, num_chains: int, dtype: torch.dtype) -> None:
        self._data, self._num_chains, self._dtype = data, num_chains, dtype
        self._num_auxiliary = num_auxiliary
        self._parameters: dict[str, Tensor] = {}
        self._log_likelihood = torch.empty(0)
        self._left = 0

    @property
    def num_draws(self) -> int:
        """Draws that one point needs, over all chains."""
        return self._num_auxiliary * self._num_chains

    def take(self, families: ChainFamilies, start: int, stop: int) -> tuple[dict[str, Tensor], Tensor]:
        """Return auxiliary parameters of the points ``start`` to ``stop``, never the same twice.

        Shape:
            output: ``(C, B, m, *event)`` by name, and their log-likelihoods, ``(C, B, m)`` float64.
        """
        sweeps = max(1, _DRAWS // (self.num_draws * len(self._data)))
        if families.values or stop - start < len(self._data) or sweeps == 1:
            parameters, log_likelihood = self._draw(families, 1, self._data[start:stop])
            return {name: value[0] for name, value in parameters.items()}, log_likelihood[0]
        if self._left == 0:
            self._parameters, self._log_likelihood = self._draw(families, sweeps, self._data)
            self._left = sweeps
        self._left -= 1
        parameters = {name: value[self._left] for name, value in self._parameters.items()}
        return parameters, self._log_likelihood[self._left]

    def _draw(self, families: ChainFamilies, sweeps: int, data: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        family = families.of(torch.arange(self._num_chains).view(-1, 1, 1))
        shape = (sweeps, self._num_chains, len(data), self._num_auxiliary, 1)
        drawn = {name: value.to(self._dtype) for name, value in family.sample_prior(shape).items()}
        log_prob = family.likelihood(drawn).log_prob(data.view(-1, 1, 1, data.shape[-1])).squeeze(-1)
        return {name: value.squeeze(4) for name, value in drawn.items()}, finite_or_impossible(log_prob)
