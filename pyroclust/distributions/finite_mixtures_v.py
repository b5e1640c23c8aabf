"""The weights V_N(K) of a mixture with a random number of components."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.distributions.component_numbers import MOST_TERMS, log_component_numbers
from pyroclust.distributions.rising_factorial import log_rising
from pyroclust.distributions.shifted_sums import ShiftedSums, shifted_log_sums

__all__ = ["log_finite_mixtures_v"]

_NARROWEST = 16


@dataclass(frozen=True)
class _Numbers:
    """The prior of the number of components of one batch element, equal where its probabilities are."""

    probabilities: bytes
    distribution: Distribution = field(compare=False)
    index: int = field(compare=False)

    def log_terms(self, gamma: Tensor, num_points: int, terms: int) -> Tensor:
        """Return log p(M) + log M! - log (gamma M)_N for M = 0, ..., at least ``terms``."""
        table = log_component_numbers(self.distribution, at_least=terms)
        log_p = table.reshape(len(table), -1)[:, self.index]
        count = torch.arange(1, len(log_p) + 1, dtype=torch.float64, device=log_p.device)
        found = log_p + (count + 1).lgamma() - log_rising(gamma * count, num_points)
        return torch.nn.functional.pad(found, (1, 0), value=-torch.inf)


def log_finite_mixtures_v(
    weight_concentration: Tensor, extra_components: Distribution, *, num_points: int, clusters: Tensor
) -> Tensor:
    r"""Return the Gibbs weights of a mixture of finite mixtures in nats.

    .. math::
        V_N(K) = \gamma^K \sum_{M \ge K} p(M) \frac{M!}{(M-K)!} \frac{\Gamma(\gamma M)}{\Gamma(\gamma M + N)}

    The sums are those of :func:`shifted_log_sums`, over as many terms as leave less than 1e-15 of each.
    Tables for all K up to the next power of two are cached by parameters and N, one for each element of the
    batch; gradients with respect to all parameters are made afresh.

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
    weights = weight_concentration.double().expand(batch).reshape(-1)
    every = torch.arange(extra_components.batch_shape.numel()).view(extra_components.batch_shape)
    table = log_component_numbers(extra_components)
    columns = table.detach().reshape(len(table), -1).cpu().numpy().T
    width = min(num_points, 1 << max(int(clusters.max()), _NARROWEST).bit_length())
    rows = []
    for gamma, index in zip(weights, every.expand(batch).reshape(-1).tolist(), strict=True):
        numbers = _Numbers(columns[index].tobytes(), extra_components, index)
        row, terms = _table(gamma.item(), numbers, num_points, width)
        if gamma.requires_grad or table.requires_grad:
            sums = ShiftedSums.apply(numbers.log_terms(gamma, num_points, terms), np.arange(width + 1))
            row = sums + torch.arange(width + 1) * gamma.log()
        rows.append(row)
    row = torch.arange(len(rows), device=clusters.device).view(batch)
    found = torch.stack(rows).to(clusters.device)[row, clusters.long()]
    if bool(found.isnan().any()):
        raise ValueError(
            f"extra_components is {extra_components}, expected a lighter tail: V_N(K) at N = {num_points} "
            f"and K = {int(clusters.max())} needs over {MOST_TERMS} terms; cut it off with a Categorical"
        )
    return found


@lru_cache(maxsize=1024)
@torch.no_grad()
def _table(gamma: float, numbers: _Numbers, num_points: int, width: int) -> tuple[Tensor, int]:
    """Return log V_N(K) for K = 0, ..., width, nan where not converged, and the number of terms."""
    weight, terms = torch.tensor(gamma, dtype=torch.float64), 4 * width
    found, missing = np.full(width + 1, -np.inf), np.arange(1, width + 1)
    while True:
        log_terms = numbers.log_terms(weight, num_points, terms).cpu().numpy()
        found[missing], converged = shifted_log_sums(log_terms, missing)
        missing, terms = missing[~converged], 2 * (len(log_terms) - 1)
        if len(missing) == 0 or terms > MOST_TERMS:
            found[missing] = np.nan
            return torch.from_numpy(found + np.arange(width + 1) * np.log(gamma)), terms // 2
