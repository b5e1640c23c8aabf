"""Hours, weekdays, months and directions: places on a circle."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Categorical, TorchDistribution, Uniform, VonMises
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.compiling import inner
from pyroclust.core.numbers import check_number
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import compile_family, compile_methods, log_sum
from pyroclust.distributions.families.component import Component, ConjugateComponent

# Concentrations: from everywhere to within a hundredth of the circle.
_CONCENTRATIONS = (0.0, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
_TWO_PI = 2 * math.pi


class OnCircle(TorchDistribution):
    r"""Places on a circle of any circumference, von Mises in every column.

    .. math:: p(x) = \frac{\exp(\tau \cos(2 \pi (x - \mu) / T))}{T I_0(\tau)}
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, loc: Tensor, concentration: Tensor, *, period: float) -> None:
        self.loc, self.concentration, self.period = loc, concentration, period
        super().__init__(loc.shape[:-1], loc.shape[-1:], validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.real_vector

    def expand(self, batch_shape: Any, _instance: Any = None) -> "OnCircle":
        shape = (*batch_shape, *self.event_shape)
        return OnCircle(self.loc.expand(shape), self.concentration.expand(shape), period=self.period)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        # The sampler of torch needs a concentration above 0.
        law = VonMises(self.loc * (_TWO_PI / self.period), self.concentration.clamp(min=1e-3))
        return (law.sample(Size(sample_shape)) * (self.period / _TWO_PI)) % self.period

    def log_prob(self, value: Tensor) -> Tensor:
        angle = (value - self.loc) * (_TWO_PI / self.period)
        height = self.concentration * (angle.cos() - 1) - torch.special.i0e(self.concentration).log()
        return (height - math.log(self.period)).sum(-1)


@register(Component)
class Circular(ConjugateComponent):
    r"""Independent columns of places on a circle, such as hours of the day.

    .. math::
        \mu_{kd} \sim \mathrm{Uniform}(0, T), \quad \tau_{kd} \sim \mathrm{Uniform}(\text{grid}), \quad
        p(x_{id}) = \frac{\exp(\tau \cos(2 \pi (x_{id} - \mu) / T))}{T I_0(\tau)}

    The place integrates out exactly and the concentration sums up over a grid, so that the family is
    conjugate: points enter through sums of cosines and sines. Densities are per unit of the data. Parameters
    of a cluster: ``"loc"`` ``(D,)``, ``"width"`` ``(D,)``, the number of a concentration on the grid.

    Args:
        dim: number D of columns.
        period: T, circumference of the circle in units of the data: 24 for hours, 360 for degrees.

    Raises:
        ValueError: if the period is not positive.

    Example:
        >>> family = Circular(1, period=24.0)  # one hour is like any other
        >>> point = family.moments(torch.tensor([23.0]))
        >>> round(family.log_marginal(torch.tensor(1.0), point).exp().item() * 24, 6)
        1.0

    References:
        Mardia & Jupp (2000), Directional Statistics, section 10.5. https://doi.org/10.1002/9780470316979
    """

    hyper_names = ()

    def __init__(self, dim: int = 1, *, period: float = _TWO_PI) -> None:
        super().__init__(dim)
        self.period = check_number("period", period, above=0, at_most=1e30)

    @property
    def typical_scale(self) -> float:
        """A twelfth of the circle."""
        return self.period / 12

    def parameters(self) -> dict[str, Tensor]:
        start = torch.zeros(self.dim)
        width = Categorical(logits=torch.zeros(self.dim, len(_CONCENTRATIONS)), validate_args=False)
        return {
            "loc": site("loc", Uniform(start, start + self.period, validate_args=False).to_event(1)),
            "width": site("width", width.to_event(1)),
        }

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        concentration = torch.tensor(_CONCENTRATIONS).to(parameters["loc"])[parameters["width"].long()]
        return OnCircle(parameters["loc"], concentration, period=self.period)

    def moments(self, data: Tensor) -> Tensor:
        """Return cosines, then sines, ``(..., 2 D)``."""
        angle = data.double() * (_TWO_PI / self.period)
        return torch.cat([angle.cos(), angle.sin()], -1)

    def _log_joint(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Return log p(concentration, block) of each column, ``(..., D, A)``, and resultant lengths."""
        counts, moments = self.over_batch(counts, moments)
        length = torch.hypot(*moments.tensor_split(2, -1))
        grid = torch.tensor(_CONCENTRATIONS, dtype=torch.float64)
        own = counts[..., None, None] * (torch.special.i0e(grid).log() + grid + math.log(self.period))
        return _log_i0(grid * length.unsqueeze(-1)) - own - math.log(len(grid)), length

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        return self._log_joint(counts, moments)[0].logsumexp(-1).sum(-1)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack cosines and sines, and what each concentration weighs without its Bessel function."""
        joint, length = self._log_joint(counts, moments)
        grid = torch.tensor(_CONCENTRATIONS, dtype=torch.float64)
        weights = joint.log_softmax(-1) - _log_i0(grid * length.unsqueeze(-1))
        weights = weights - (torch.special.i0e(grid).log() + grid + math.log(self.period))
        _, moments = self.over_batch(counts, moments)
        return torch.cat([moments, weights.flatten(-2)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        moments, weights = parameters.tensor_split((2 * self.dim,), -1)
        length = torch.hypot(*(moments + self.moments(data)).tensor_split(2, -1)).unsqueeze(-1)
        grid = torch.tensor(_CONCENTRATIONS, dtype=torch.float64)
        weights = weights.unflatten(-1, (self.dim, len(grid)))
        return (weights + _log_i0(grid * length)).logsumexp(-1).sum(-1)

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        joint, length = self._log_joint(counts, moments)
        _, moments = self.over_batch(counts, moments)
        width = Categorical(logits=joint, validate_args=False).sample()
        grid = torch.tensor(_CONCENTRATIONS, dtype=torch.float64)
        cosine, sine = moments.tensor_split(2, -1)
        law = VonMises(torch.atan2(sine, cosine), (grid[width] * length).clamp(min=1e-3))
        return {"loc": (law.sample() * (self.period / _TWO_PI)) % self.period, "width": width}


def _log_i0(value: Tensor) -> Tensor:
    return torch.special.i0e(value).log() + value


@inner
def _log_i0_of(value: float) -> float:
    r"""Return :math:`\log I_0(x)`, by its power series or the asymptotic one, to 1e-13."""
    if value < 18.0:
        square, term, total, k = 0.25 * value * value, 1.0, 1.0, 1
        while term > 1e-17 * total:
            term *= square / (k * k)
            total += term
            k += 1
        return math.log(total)
    term, total = 1.0, 1.0
    for k in range(1, 24):
        term *= (2 * k - 1) ** 2 / (8.0 * k * value)
        total += term
        if term < 1e-17:
            break
    return value - 0.5 * math.log(_TWO_PI * value) + math.log(total)


@compile_methods
class CircularTables(NamedTuple):
    r"""Cosines and sines of the points and of clusters, and marginal likelihoods of clusters.

    With resultant length R a block of n points has the marginal likelihood :math:`\frac1A \sum_a
    I_0(\tau_a R) / (T I_0(\tau_a))^n`; predictive densities are ratios of two.
    """

    hyper: np.ndarray  # none
    cosines: np.ndarray  # (N, D)
    sines: np.ndarray  # (N, D)
    grid: np.ndarray  # concentrations, (A,)
    log_heights: np.ndarray  # log(T I_0) of each, (A,)
    sums: np.ndarray  # cosines, then sines, (S, 2 D)
    log_totals: np.ndarray  # log sums over the grid of each column, (S, D)
    scratch: np.ndarray  # (A,)

    def tabulate(self) -> None:
        pass

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        dim = self.cosines.shape[1]
        for d in range(dim):
            # What is left of a sum that was taken apart again is rounding.
            self.sums[slot, d] = sums[d] if size else 0.0
            self.sums[slot, dim + d] = sums[dim + d] if size else 0.0
            self.log_totals[slot, d] = _log_total(self, self.sums[slot, d], self.sums[slot, dim + d], size)

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        dim, found = self.cosines.shape[1], 0.0
        for d in range(dim):
            cosine = self.sums[slot, d] + self.cosines[point, d]
            sine = self.sums[slot, dim + d] + self.sines[point, d]
            found += _log_total(self, cosine, sine, size + 1) - self.log_totals[slot, d]
        return found

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        dim, found = self.cosines.shape[1], 0.0
        for d in range(dim):
            cosine = self.sums[slot, d] - self.cosines[point, d]
            sine = self.sums[slot, dim + d] - self.sines[point, d]
            found += self.log_totals[slot, d] - _log_total(self, cosine, sine, size - 1)
        return found

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        dim, found = self.cosines.shape[1], 0.0
        for d in range(dim):
            found += _log_total(self, sums[d], sums[dim + d], size) - math.log(len(self.grid))
        return found


@inner
def _log_total(tables: Any, cosine: float, sine: float, size: int) -> float:
    """Return the log sum over the grid of one column of a block."""
    length = math.hypot(cosine, sine)
    for a in range(len(tables.grid)):
        tables.scratch[a] = _log_i0_of(tables.grid[a] * length) - size * tables.log_heights[a]
    return log_sum(tables.scratch)


@compile_family.register
def _(component: Circular, data: np.ndarray, num_slots: int, num_points: int) -> CircularTables:
    cosines, sines = np.split(component.moments(torch.from_numpy(data)).numpy(), 2, axis=-1)
    grid = np.array(_CONCENTRATIONS)
    dim = component.dim
    return CircularTables(
        hyper=np.zeros(0),
        cosines=np.ascontiguousarray(cosines),
        sines=np.ascontiguousarray(sines),
        grid=grid,
        log_heights=_log_i0(torch.from_numpy(grid)).numpy() + math.log(component.period),
        sums=np.zeros((num_slots, 2 * dim)),
        log_totals=np.zeros((num_slots, dim)),
        scratch=np.zeros(len(grid)),
    )
