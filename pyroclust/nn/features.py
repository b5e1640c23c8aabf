"""What scorers see beside the points: the frames of clusters, and hyperparameters."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Size, Tensor, nn
from torch.distributions import Distribution

from pyroclust.core.numbers import check_count
from pyroclust.core.random_state import seeded
from pyroclust.core.registry import register
from pyroclust.distributions import Component
from pyroclust.distributions.families.inverse_wishart import cholesky
from pyroclust.distributions.hyperparameters import check_conditions
from pyroclust.nn.modules import check_scale


class ClusterShape(Protocol):
    """Turns counts and summed moments into a mean, a whitening matrix and a log volume."""

    dim: int
    scale: float
    num_moments: int

    def moments(self, positions: Tensor) -> Tensor:
        """Return what clusters sum up, ``(..., D) -> (..., F)`` float64."""
        ...

    def frame(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return means ``(..., D)``, whitening matrices ``(..., D, D)``, log volumes ``(...)``, float64."""
        ...


@register(ClusterShape)
class FixedShape:
    """All clusters are round and equally wide; nothing is learned from their points but the mean.

    Args:
        dim: dimension D.
        scale: standard deviation within a cluster.
    """

    def __init__(self, dim: int, scale: float) -> None:
        self.dim, self.scale = check_count("dim", dim), check_scale("scale", scale)
        self.num_moments = dim

    def moments(self, positions: Tensor) -> Tensor:
        """Return the positions."""
        return positions.double()

    def frame(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean and the constant frame."""
        mean = moments / counts.unsqueeze(-1)
        whiten = torch.eye(self.dim, dtype=mean.dtype, device=mean.device) / self.scale
        return mean, whiten.expand(*mean.shape, self.dim), torch.zeros_like(counts)


@register(ClusterShape)
class AdaptiveShape:
    r"""Clusters of unknown covariance, shrunk towards a round one.

    .. math:: \Sigma_k = \frac{w s^2 I + \sum_{i \in k} (x_i - \bar x_k)(x_i - \bar x_k)^T}{w + n_k}

    Args:
        dim: dimension D.
        scale: s, a typical standard deviation within a cluster.
        weight: w, how many points the prior is worth.
    """

    def __init__(self, dim: int, scale: float, *, weight: float = 4.0) -> None:
        self.dim, self.scale = check_count("dim", dim), check_scale("scale", scale)
        self.weight = check_scale("weight", weight)
        self.num_moments = dim + dim * dim

    def moments(self, positions: Tensor) -> Tensor:
        """Return positions and their outer products."""
        wide = positions.double()
        return torch.cat([wide, (wide.unsqueeze(-1) * wide.unsqueeze(-2)).flatten(-2)], -1)

    def frame(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean, the inverse Cholesky factor of the shrunk covariance, and its log volume."""
        total, outer = moments.split([self.dim, self.dim**2], -1)
        mean = total / counts.unsqueeze(-1)
        scatter = outer.unflatten(-1, (self.dim, self.dim)) - total.unsqueeze(-1) * mean.unsqueeze(-2)
        identity = torch.eye(self.dim, dtype=mean.dtype, device=mean.device)
        covariance = (scatter + self.weight * self.scale**2 * identity) / (self.weight + counts)[
            ..., None, None
        ]
        if self.dim == 1:
            factor = covariance.clamp(min=1e-12).sqrt()
            whiten = 1 / factor
        else:
            factor = cholesky(covariance)
            whiten = torch.linalg.solve_triangular(factor, identity.expand_as(factor), upper=False)
        log_volume = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1) - self.dim * math.log(self.scale)
        return mean, whiten, log_volume


_DRAWS = 10_001
# Scores are cut off here: further out a network has seen nothing.
_FURTHEST = 8.0


@register(None)
@dataclass(frozen=True)
class ConditionInput:
    """How one hyperparameter enters.

    Attributes:
        log: whether by its logarithm, as positive ones do.
        centre: median under its prior, of the logarithm where ``log``.
        spread: half the distance between the quantiles .16 and .84, likewise.
        scale_power: how the width of clusters goes with it: 1 for a standard deviation, 1/2 for a variance,
            0 for what has nothing to do with it.
    """

    log: bool
    centre: float
    spread: float
    scale_power: float = 0.0


@register(None)
class ConditionInputs:
    r"""Named hyperparameters as inputs of a network, with the unit of length that they imply.

    .. math:: z = \frac{\log h - \text{centre}}{\text{spread}}, \qquad
        u = \prod_h (h / e^{\text{centre}_h})^{\text{power}_h}

    Distances divided by the unit u make clusters as wide as under the median hyperparameters.

    Raises:
        ValueError: if there are none.
    """

    def __init__(self, inputs: Mapping[str, ConditionInput]) -> None:
        if not inputs:
            raise ValueError("inputs are empty, expected at least one: leave the conditions out for none")
        self.inputs = dict(inputs)

    @classmethod
    def of_priors(
        cls, names: Sequence[str], hyperpriors: Mapping[str, Distribution], component: Component | None
    ) -> Self:
        """Take centres and spreads from the priors of the hyperparameters.

        Raises:
            ValueError: if one of the names is not that of a random hyperparameter, or comes twice.
        """
        check_conditions(names, hyperpriors)
        if len(set(names)) < len(names):
            raise ValueError(f"conditions are {', '.join(names)}, expected each name once")
        entering = {name: _measured(hyperpriors[name]) for name in names}
        of_clusters = () if component is None else component.hyperpriors
        typical = {name: _typical(one) for name, one in entering.items() if name in of_clusters}
        return cls(
            {
                name: ConditionInput(*one, _scale_power(component, typical, name) if name in typical else 0.0)
                for name, one in entering.items()
            }
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the hyperparameters, in the order of the scores."""
        return tuple(self.inputs)

    @property
    def medians(self) -> dict[str, float]:
        """Median of each hyperparameter under its prior."""
        return {name: _typical((one.log, one.centre)) for name, one in self.inputs.items()}

    def scores(self, values: Mapping[str, Tensor]) -> Tensor:
        """Return standard scores, ``(*batch,) -> (*batch, C)``, cut off at 8 spreads."""
        found = [
            ((values[name].log() if one.log else values[name]) - one.centre) / one.spread
            for name, one in self.inputs.items()
        ]
        return torch.stack(torch.broadcast_tensors(*found), -1).clamp(-_FURTHEST, _FURTHEST)

    def units(self, values: Mapping[str, Tensor]) -> Tensor | None:
        """Return the unit of length of each data set, ``(*batch,)``; None where it is always 1."""
        powers = {name: one.scale_power for name, one in self.inputs.items() if one.scale_power}
        medians = self.medians
        logs = [power * (values[name] / medians[name]).log() for name, power in powers.items()]
        return torch.stack(torch.broadcast_tensors(*logs)).sum(0).exp() if logs else None


class ConditionShift(nn.Module):
    """Two vectors a data set, made of its hyperparameters, zero before training.

    Cost ``C W + 2 W^2`` multiply-adds a data set.
    """

    def __init__(self, num_conditions: int, width: int) -> None:
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(num_conditions, width), nn.SiLU())
        self.out = nn.Linear(width, 2 * width, bias=False)
        nn.init.zeros_(self.out.weight)

    def forward(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        context, state = self.out(self.hidden(scores)).chunk(2, -1)
        return context, state


def _measured(prior: Distribution) -> tuple[bool, float, float]:
    with seeded(0):
        draws = prior.sample(Size((_DRAWS,))).double()
    log = bool((draws > 0).all()) and not _is_share(prior)
    levels = torch.tensor([0.16, 0.5, 0.84], dtype=torch.float64)
    low, centre, high = (draws.log() if log else draws).quantile(levels).tolist()
    return log, round(centre, 6), round(0.5 * (high - low), 6) or 1.0


def _is_share(prior: Distribution) -> bool:
    """Say whether a prior lives on an interval that begins at zero, where logarithms have no end."""
    support = prior.support
    return getattr(support, "lower_bound", None) == 0 and hasattr(support, "upper_bound")


def _typical(measured: Sequence[Any]) -> float:
    log, centre = measured[:2]
    return math.exp(centre) if log else centre


def _scale_power(component: Component | None, typical: Mapping[str, float], name: str) -> float:
    """Return the exponent with which the typical scale goes with a hyperparameter, around its median."""
    if component is None or typical[name] <= 0:
        return 0.0
    low, high = (
        component.given({**typical, name: factor * typical[name]}).typical_scale for factor in (1.0, 2.0)
    )
    return round(math.log2(high / low), 6)
