"""What a data set says of random hyperparameters that integrate out, by draws of a guide given them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Size, Tensor
from torch.distributions import biject_to

from pyroclust.core.random_state import seeded
from pyroclust.distributions.families.clustered_data import block_moments

# Places of the prior that are looked at first, in standard deviations, and draws at each place.
_FIRST, _DRAWS = torch.linspace(-1.8, 1.8, 7, dtype=torch.float64), 12
_GRID = 512


def integrated_names(model: Any) -> tuple[str, ...]:
    """Return the names of the random hyperparameters of a mixture's component that integrate out."""
    component = getattr(model, "component", None)
    return tuple(sorted(getattr(component, "integrated_names", ())))


def likely_hyperparameters(
    model: Any,
    flat: Tensor,
    number: int,
    *,
    draw: Callable[[dict[str, Tensor], int], tuple[Tensor, Tensor]],
) -> dict[str, Tensor]:
    r"""Return values of the random hyperparameters of a mixture's component that data sets make likely.

    .. math:: p(h \mid x) \approx \sum_s w_s \, p(h \mid c^{(s)}, x), \qquad
        w_s \propto p(c^{(s)}, x) / q(c^{(s)} \mid x, h_s)

    Partitions are drawn given values all over the prior, and then given those that come out; the values are
    quantiles of the law, ``(J, B)`` by name, so that each stands for the same probability. The same data, the
    same result. Of values ``(J, B)`` and a number S, ``draw`` returns partitions ``(S, J, B, N)`` with their
    log-probabilities.
    """
    component, sets = model.component, len(flat)
    with seeded(0), torch.no_grad():
        values = {name: _over_prior(model.hyperpriors[name], sets) for name in integrated_names(model)}
        for quantiles in (max(number, 3), number):
            labels, log_q = draw(values, _DRAWS)
            labels, log_q = labels.flatten(0, 1), log_q.flatten(0, 1).double()
            weights = (model.log_joint(flat, labels) - log_q).softmax(0)
            found = component.over_hyperparameters(*block_moments(component, flat, labels))
            values = {
                name: one.transform(_quantiles(weights, one.mean, one.variance.sqrt(), quantiles))
                for name, one in found.items()
            }
    return values


def _over_prior(prior: Any, sets: int) -> Tensor:
    """Return places all over a prior, ``(J, B)``."""
    transform = biject_to(prior.support)
    real = transform.inv(prior.sample(Size((1001,))).double())
    place = real.median() + _FIRST * (real.quantile(0.84) - real.quantile(0.16)) / 2
    return transform(place).unsqueeze(-1).expand(-1, sets)


def _quantiles(weights: Tensor, means: Tensor, widths: Tensor, number: int) -> Tensor:
    """Return quantiles of mixtures of normal laws ``(S, B)`` in the middle of J equal parts, ``(J, B)``."""
    low, high = (means - 4 * widths).amin(0), (means + 4 * widths).amax(0)
    grid = low + (high - low) * torch.linspace(0, 1, _GRID, dtype=torch.float64).unsqueeze(-1)
    below = sum(
        weight * torch.special.ndtr((grid - mean) / width.clamp_min(1e-9))
        for weight, mean, width in zip(weights, means, widths, strict=True)
    )
    wanted = (torch.arange(number, dtype=torch.float64) + 0.5) / number
    place = (below.unsqueeze(0) < wanted.view(-1, 1, 1)).sum(1).clamp_max(_GRID - 1)
    return grid.gather(0, place)
