"""The weights V_N(K) of a mixture with a random number of components."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from torch import Size, Tensor
from torch.distributions import Distribution

from pyroclust.distributions.component_numbers import MOST_TERMS, log_component_numbers
from pyroclust.distributions.rising_factorial import log_rising
from pyroclust.distributions.shifted_sums import ShiftedSums, shifted_log_sums

__all__ = ["log_finite_mixtures_v"]

_NARROWEST = 16
# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a batch, equal where their numbers are.

    Attributes:
        identity: the numbers.
        weights: gamma, ``(R,)`` float64, on the CPU.
        extra_components: the prior of M - 1.
        column: which element of its batch each row uses, ``(R,)``.
    """

    identity: tuple[bytes, ...]
    weights: Tensor = field(compare=False)
    extra_components: Distribution = field(compare=False)
    column: Tensor = field(compare=False)

    def log_terms(self, rows: Tensor, num_points: int, terms: int) -> Tensor:
        """Return log p(M) + log M! - log (gamma M)_N for M = 0, ..., at least ``terms``, ``(rows, M)``."""
        table = log_component_numbers(self.extra_components, at_least=terms)
        log_p = table.reshape(len(table), -1).T.cpu()[self.column[rows]]
        count = torch.arange(1, len(table) + 1, dtype=torch.float64)
        rising = log_rising(self.weights[rows].unsqueeze(-1) * count, num_points)
        return torch.nn.functional.pad(log_p + (count + 1).lgamma() - rising, (1, 0), value=-torch.inf)


def log_finite_mixtures_v(
    weight_concentration: Tensor, extra_components: Distribution, *, num_points: int, clusters: Tensor
) -> Tensor:
    r"""Return the Gibbs weights of a mixture of finite mixtures in nats.

    .. math::
        V_N(K) = \gamma^K \sum_{M \ge K} p(M) \frac{M!}{(M-K)!} \frac{\Gamma(\gamma M)}{\Gamma(\gamma M + N)}

    The sums are those of :func:`shifted_log_sums`, over as many terms as leave less than 1e-15 of each.
    Tables for all K up to the next power of two are cached by parameters and N; gradients with respect to all
    parameters are made afresh. Cost O(terms) and a few thousand nanoseconds a sum for each element of the
    batch, memory O(terms) each.

    Args:
        weight_concentration: :math:`\gamma`, positive.
        extra_components: distribution of M - 1; its batch shape is broadcast with the others.
        num_points: N.
        clusters: K, from 1 to N.

    Shape:
        output: the broadcast of all three, float64; minus infinity where there are never K components.

    Raises:
        ValueError: if 8,388,608 terms do not suffice: the prior's tail is too heavy.

    Example:
        >>> from torch.distributions import Poisson
        >>> one = torch.tensor(1.0)
        >>> log_finite_mixtures_v(one, Poisson(3 * one), num_points=1, clusters=one).abs() < 1e-12
        tensor(True)

    References:
        Miller & Harrison (2018), Mixture models with a prior on the number of components.
        https://doi.org/10.1080/01621459.2016.1255636
    """
    batch = torch.broadcast_shapes(weight_concentration.shape, extra_components.batch_shape)
    parameters, differentiable = _parameters(weight_concentration, extra_components, batch)
    width = min(num_points, 1 << max(int(clusters.max()), _NARROWEST).bit_length())
    tables, terms = _tables(parameters, num_points, width)
    if differentiable:
        log_terms = parameters.log_terms(torch.arange(batch.numel()), num_points, terms)
        scale = torch.arange(width + 1) * parameters.weights.log().unsqueeze(-1)
        tables = ShiftedSums.apply(log_terms, np.arange(width + 1)) + scale
    row = torch.arange(batch.numel(), device=clusters.device).view(batch)
    found = tables.to(clusters.device)[row, clusters.long()]
    if bool(found.isnan().any()):
        raise ValueError(
            f"extra_components is {extra_components}, expected a lighter tail: V_N(K) at N = {num_points} "
            f"and K = {int(clusters.max())} needs over {MOST_TERMS} terms; cut it off with a Categorical"
        )
    return found


def _parameters(
    weight_concentration: Tensor, extra_components: Distribution, batch: Size
) -> tuple[_Parameters, bool]:
    """Collect the parameters of a batch, and say whether they need gradients."""
    weights = weight_concentration.double().cpu().expand(batch).reshape(-1)
    every = torch.arange(extra_components.batch_shape.numel()).view(extra_components.batch_shape)
    column = every.expand(batch).reshape(-1)
    table = log_component_numbers(extra_components)
    identity = tuple(one.detach().cpu().numpy().tobytes() for one in (weights, table, column))
    return (
        _Parameters(identity, weights, extra_components, column),
        weights.requires_grad or table.requires_grad,
    )


@lru_cache(maxsize=64)
@torch.no_grad()
def _tables(parameters: _Parameters, num_points: int, width: int) -> tuple[Tensor, int]:
    """Return log V_N(K) for K = 0, ..., width in rows, nan where not converged, and the number of terms."""
    found = np.full((len(parameters.weights), width + 1), -np.inf)
    missing, terms = np.ones_like(found, dtype=np.bool_), 4 * width
    missing[:, 0] = False
    while True:
        rows, clusters = np.flatnonzero(missing.any(1)), np.flatnonzero(missing.any(0))
        for some in np.array_split(rows, min(len(rows), len(rows) * terms // _MAX_ENTRIES + 1)):
            log_terms = parameters.log_terms(torch.from_numpy(some), num_points, terms).numpy()
            sums, converged = shifted_log_sums(log_terms, clusters)
            found[np.ix_(some, clusters)], missing[np.ix_(some, clusters)] = sums, ~converged
        terms = 2 * (log_terms.shape[-1] - 1)
        if not missing.any() or terms > MOST_TERMS:
            found[missing] = np.nan
            scale = np.arange(width + 1) * parameters.weights.log().numpy()[:, None]
            return torch.from_numpy(found + scale), terms // 2
