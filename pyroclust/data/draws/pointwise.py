"""Log-likelihood of single points, given all others and their partition."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions import ConjugateComponent, PartitionPrior
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.families.component import per_point
from pyroclust.infer.checks import refuse_weights

_NUMBERS = 4_000_000


@torch.no_grad()
def pointwise_log_likelihood(
    model: Any, data: Tensor, draws: Tensor, *, values: Mapping[str, Tensor] | None = None
) -> Tensor:
    r"""Return the log predictive density of each point given the others and their partition.

    .. math::
        p(x_i \mid x_{-i}, c_{-i}) = \sum_k p(c_i = k \mid c_{-i}) \, p(x_i \mid x_{-i}, c_{-i}, c_i = k)

    k running over the clusters of the others and a new one. The posterior without the point i has weights
    :math:`1 / p(x_i \mid x_{-i}, c_{-i})` over the draws, so that ``arviz.loo`` works on these. It fails with
    the label of the point known: draws hardly ever have it in a cluster where it does not belong, and all the
    weight lies there.

    References:
        Vehtari, Gelman and Gabry (2017), Practical Bayesian model evaluation using leave-one-out
        cross-validation and WAIC. https://doi.org/10.1007/s11222-016-9696-4
    """
    if not getattr(model, "is_conjugate", False):
        raise ValueError(
            "model has no conjugate component family, expected one whose cluster parameters integrate out"
        )
    refuse_weights(model, "copies of a row that is left out would say of")
    component: ConjugateComponent = model.component
    if data.dim() != 2 or draws.dim() != 2 or draws.shape[-1] != len(data) or len(data) < 2:
        raise ValueError(
            f"data and draws have shapes {tuple(data.shape)} and {tuple(draws.shape)}, expected (N, D) and "
            "(S, N) with N at least 2"
        )
    component.check(data)
    needed = set(model.hyperpriors) - model.prior.integrated_names
    known = {name: _value(values, name, len(draws)) for name in sorted(needed)}
    # A predictive density is packed into its moments and, with full covariances, a triangle of numbers.
    numbers = component.num_moments + component.dim**2 + component.dim
    step = max(1, _NUMBERS // (len(data) * (int(draws.max()) + 2) * numbers))
    blocks = [
        _block(
            model.given({name: value[begin : begin + step] for name, value in known.items()}),
            data.double(),
            draws[begin : begin + step],
        )
        for begin in range(0, len(draws), step)
    ]
    return torch.cat(blocks)


def _block(model: Any, data: Tensor, draws: Tensor) -> Tensor:
    counts, moments = block_moments(model.component, data, draws)
    # An empty cluster is the new one; the clusters of fewer draws than others are empty as well.
    counts, moments = (torch.cat([one, torch.zeros_like(one[:, :1])], 1) for one in (counts, moments))
    own = draws.unsqueeze(-1)
    own_counts = counts.gather(1, draws) - 1
    rest = per_point(moments, draws) - model.component.moments(data)
    density = _densities(model.component, data, counts, moments)
    own_density = model.component.log_predictive(
        data, model.component.predictive_parameters(own_counts, rest)
    )
    density = density.scatter(-1, own, own_density.unsqueeze(-1))
    weights = _log_weights(model.prior, counts, own_counts, draws)
    return (density + weights).logsumexp(-1) - weights.logsumexp(-1)


def _densities(component: ConjugateComponent, data: Tensor, counts: Tensor, moments: Tensor) -> Tensor:
    """Return log p(x_i | cluster k) with no point left out, ``(S, N, K)``."""
    packed = component.predictive_parameters(counts, moments)
    num_points, width = len(data), counts.shape[1]
    if not component.batch_shape:
        return component.log_predictive(data.unsqueeze(1), packed.unsqueeze(1))
    # One dimension for points and clusters, as hyperparameters of each draw stand before a single one.
    every = packed.unsqueeze(1).expand(-1, num_points, -1, -1).flatten(1, 2)
    return component.log_predictive(data.repeat_interleave(width, 0), every).unflatten(1, (num_points, width))


def _log_weights(prior: PartitionPrior, counts: Tensor, own_counts: Tensor, draws: Tensor) -> Tensor:
    """Return the prior's log-weights of the clusters for each point, the others given, ``(S, N, K)``."""
    num_points = draws.shape[1]
    discount = prior.block_discount.reshape(-1, 1, 1)
    sizes = counts.unsqueeze(1).expand(-1, num_points, -1)
    sizes = sizes.scatter(-1, draws.unsqueeze(-1), own_counts.unsqueeze(-1))
    joining = torch.where(sizes > 0, (sizes - discount).clamp_min(0).log(), -torch.inf)
    clusters = (sizes > 0).sum(-1)
    # The hyperparameters of each draw stand in the last dimension here.
    opening = prior.log_opening_odds(num_points - 1, clusters.T).T
    return torch.cat([joining[..., :-1], opening.unsqueeze(-1)], -1)


def _value(values: Mapping[str, Tensor] | None, name: str, num_draws: int) -> Tensor:
    if values is None or name not in values:
        raise ValueError(
            f"model has the random hyperparameter '{name}', expected its value in each draw: give values, or "
            "a model with a number for it"
        )
    if values[name].shape != (num_draws,):
        raise ValueError(
            f"values of '{name}' have shape {tuple(values[name].shape)}, expected ({num_draws},)"
        )
    return values[name].double()
