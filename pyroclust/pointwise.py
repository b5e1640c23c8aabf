"""Log-likelihood of single points, given all others and the partition."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.clustered_data import block_moments
from pyroclust.distributions.components import per_point

__all__ = ["pointwise_log_likelihood"]

_NUMBERS = 4_000_000


@torch.no_grad()
def pointwise_log_likelihood(
    model: Any, data: Tensor, draws: Tensor, *, values: Mapping[str, Tensor] | None = None
) -> Tensor:
    r"""Return the log predictive density of each point given the rest of its cluster.

    .. math:: \log p(x_i \mid x_{-i}, c)
        = \log \frac{\int \prod_{j: c_j = c_i} F(x_j; \theta) \, G_0(d\theta)}
                    {\int \prod_{j \ne i: c_j = c_i} F(x_j; \theta) \, G_0(d\theta)}

    These are the log-likelihoods of importance-sampling leave-one-out: the posterior without the point i has
    weights :math:`1 / p(x_i \mid x_{-i}, c)` over the draws, so ``arviz.loo`` works on them.
    Cost: O(N F) a draw with F sufficient statistics, in blocks of draws.

    Args:
        model: a mixture of a conjugate family.
        data: the points.
        draws: canonical labels.
        values: the family's random hyperparameters in each draw.

    Shape:
        data: ``(N, D)``; draws: ``(S, N)``; values: ``(S,)`` each; output: ``(S, N)`` float64 nats.

    Raises:
        ValueError: if the shapes do not fit, the family is not conjugate, or a hyperparameter is not given.

    References:
        Vehtari, Gelman and Gabry (2017), Practical Bayesian model evaluation using leave-one-out
        cross-validation and WAIC. https://doi.org/10.1007/s11222-016-9696-4

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> data, draws = torch.zeros(3, 2), torch.tensor([[0, 0, 1], [0, 1, 2]])
        >>> pointwise_log_likelihood(gaussian2d(), data, draws).shape
        torch.Size([2, 3])
    """
    component = getattr(model, "component", None)
    if not isinstance(component, ConjugateComponent):
        raise ValueError(
            "model has no conjugate component family, expected one whose cluster parameters integrate out"
        )
    if data.dim() != 2 or draws.dim() != 2 or draws.shape[-1] != len(data):
        raise ValueError(
            f"data and draws have shapes {tuple(data.shape)} and {tuple(draws.shape)}, expected (N, D) and "
            "(S, N)"
        )
    component.check(data)
    needed = {name: _value(values, name, len(draws)) for name in component.hyperpriors}
    step = max(1, _NUMBERS // (len(data) * (component.num_moments + component.dim**2)))
    blocks = [
        _block(
            component.given({name: value[begin : begin + step] for name, value in needed.items()}),
            data.double(),
            draws[begin : begin + step],
        )
        for begin in range(0, len(draws), step)
    ]
    return torch.cat(blocks)


def _block(component: ConjugateComponent, data: Tensor, draws: Tensor) -> Tensor:
    counts, moments = block_moments(component, data, draws)
    rest = per_point(torch.cat([counts.unsqueeze(-1), moments], -1), draws)
    others, sums = rest[..., 0] - 1, rest[..., 1:] - component.moments(data)
    return component.log_predictive(data, component.predictive_parameters(others, sums))


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
