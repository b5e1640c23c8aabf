"""Integrals over one random hyperparameter, by the trapezoidal rule around the mode."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Size, Tensor
from torch.distributions import Distribution, Transform, biject_to

from pyroclust.core.random_state import seeded

# In widths of the peak: where the ends are looked for first, how often they may move out by half, and how far
# below the mode the integrand is there, in nats.
_REACH, _TIMES, _BELOW = 8.0, 16, 36.0
_NODES = 64
_NEWTON, _APART, _FARTHEST = 60, 1e-3, 3.0
_LEAST, _MOST = 1e-6, 4.0


@dataclass(frozen=True)
class Integral:
    """An integral over a random number, and the law that its integrand is, on the real line."""

    log_total: Tensor  # logarithm of the integral, batch
    nodes: Tensor  # places on the real line, in rising order, (J, *batch)
    weights: Tensor  # probabilities of these, (J, *batch)
    transform: Transform  # from the real line to the number

    @property
    def mean(self) -> Tensor:
        """Mean of the law."""
        return (self.weights * self.nodes).sum(0)

    @property
    def variance(self) -> Tensor:
        """Variance of the law."""
        return (self.weights * (self.nodes - self.mean).square()).sum(0)

    def sample(self) -> Tensor:
        """Draw the number, one for each of the batch, by the inverse of its distribution function."""
        # Half the weight of a node lies before it.
        below = self.weights.cumsum(0) - 0.5 * self.weights
        place = torch.rand_like(self.log_total)
        after = (below < place).sum(0).clamp(1, len(below) - 1).unsqueeze(0)
        (low, high), (left, right) = (
            (one.gather(0, after - 1).squeeze(0), one.gather(0, after).squeeze(0))
            for one in (below, self.nodes)
        )
        part = ((place - low) / (high - low).clamp_min(1e-300)).clamp(0.0, 1.0)
        return self.transform(left + part * (right - left))


def integral_over(
    prior: Distribution, log_density: Callable[[Tensor], Tensor], batch: Size, *, nodes: int = _NODES
) -> Integral:
    """Integrate p(h) exp f(h) over a random number h, once for each of a batch.

    On the scale on which h is any real number: the mode by Newton's method, then the trapezoidal rule in
    widths of the peak, sinh(t), between the places left and right of it where nothing is left. Of integrands
    as smooth as these, that converges faster than any power of the number of nodes.
    """
    prior = _in_double(prior)
    transform = biject_to(prior.support)
    with seeded(0):
        start = transform.inv(prior.sample(Size((1001,)))).median()

    def value(real: Tensor) -> Tensor:
        number = transform(real)
        own = prior.log_prob(number) + transform.log_abs_det_jacobian(real, number)
        return (own + log_density(number)).nan_to_num(nan=-math.inf)

    mode, width = _peak(value, start.expand(batch).clone())
    top = value(mode)
    low, high = (_end(value, mode, top, sign * width).asinh() for sign in (-1.0, 1.0))
    step = (high - low) / nodes
    t = low + step * torch.arange(nodes + 1).view(-1, *(1,) * len(batch))
    places = mode + width * t.sinh()
    # One after the other: a node takes as much memory as all partitions.
    weights = t.cosh() * torch.stack([(value(one) - top).exp() for one in places])
    total = weights.sum(0)
    return Integral(top + (total * step * width).log(), places, weights / total, transform)


def _in_double(prior: Distribution) -> Any:
    """Return a law of one number in double precision."""
    return type(prior)(**{name: getattr(prior, name).double() for name in prior.arg_constraints})


def _peak(value: Callable[[Tensor], Tensor], place: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mode, and the standard deviation of the normal density with its curvature."""
    for _ in range(_NEWTON):
        before, here, after = (value(place + shift) for shift in (-_APART, 0.0, _APART))
        slope, bend = (after - before) / (2 * _APART), (after - 2 * here + before) / _APART**2
        down = bend.neg().clamp_min(1 / _MOST**2)
        step = (slope / down).clamp(-_FARTHEST, _FARTHEST)
        place = place + step
        if not bool((step.abs() * down.sqrt() > 0.05).any()):
            break
    return place, down.rsqrt().clamp(_LEAST, _MOST)


def _end(value: Callable[[Tensor], Tensor], mode: Tensor, top: Tensor, width: Tensor) -> Tensor:
    """Return beyond how many widths nothing of an integral is left, on the side of the sign of the width."""
    reach = torch.full_like(mode, _REACH)
    for _ in range(_TIMES):
        near = value(mode + reach * width) > top - _BELOW
        if not bool(near.any()):
            break
        reach = torch.where(near, 1.5 * reach, reach)
    return reach * width.sign()
