"""Hyperparameters that are numbers, batches of numbers, or random, and integrals over a random one."""

import copy
import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self, cast

import pyro
import torch
from pyro.distributions.torch_distribution import TorchDistributionMixin
from torch import Size, Tensor
from torch.distributions import Distribution, Transform, biject_to

from pyroclust.core.messages import visible
from pyroclust.core.numbers import shown as shown_number
from pyroclust.core.random_state import seeded

Hyperparameter = float | Tensor | Distribution
"""A number, one number a data set ``(*batch)``, or the prior of a random number."""


class Hyperparameterised:
    """Something with named real hyperparameters, each of which may have a prior of its own.

    Subclasses list the names in ``hyper_names``, store each under its name, as all arguments of their
    constructor, and check them in :meth:`_check_hyperparameters`. Formulas read them through :meth:`value`.
    """

    hyper_names: tuple[str, ...] = ()

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor, by name, as they are stored."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        own, others = self.arguments, cast(Hyperparameterised, other).arguments
        return all(_same(one, others[name]) for name, one in own.items())

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        written = (f"{name}={in_short(one)}" for name, one in self.arguments.items())
        return f"{type(self).__name__}({', '.join(written)})"

    @property
    def hyperpriors(self) -> dict[str, Distribution]:
        """Priors of the random hyperparameters, by name; empty where all are known."""
        every = {name: getattr(self, name) for name in self.hyper_names}
        return {name: one for name, one in every.items() if isinstance(one, Distribution)}

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        """Return the same with some hyperparameters set to numbers or to batches ``(*batch)``."""
        if not isinstance(values, Mapping):
            raise ValueError(f"values is of type {type(values).__name__}, expected numbers by name")
        new = copy.copy(self)
        for name, one in values.items():
            if name not in self.hyper_names:
                raise ValueError(
                    f"values has the name {name!r}, expected some of {', '.join(self.hyper_names) or 'none'}"
                )
            setattr(new, name, one)
        new._check_hyperparameters()
        return new

    def sampled(self) -> Self:
        """Sample every random hyperparameter as a Pyro site of its name, and set it."""
        priors = cast(dict[str, TorchDistributionMixin], self.hyperpriors)
        return self.given({name: pyro.sample(name, one) for name, one in priors.items()}) if priors else self

    def value(self, name: str) -> Tensor:
        """Return a hyperparameter as float64, ``()`` or ``(*batch)``."""
        one = getattr(self, name)
        if isinstance(one, Distribution):
            raise ValueError(
                f"{name} is random, expected a number: set it with given({{{name!r}: ...}}), "
                "or run the model as a Pyro program, which samples it"
            )
        return as_number(name, one)

    def _check_hyperparameters(self) -> None:
        """Refuse hyperparameters outside their range; subclasses override."""

    def _check_positive(self, *names: str) -> None:
        for name in names:
            self._check_above(name, 0.0)

    def _check_above(self, name: str, bound: float) -> None:
        one = getattr(self, name)
        if isinstance(one, Distribution):
            if one.batch_shape or one.event_shape:
                raise ValueError(
                    f"{name} has a prior of shape {tuple(one.batch_shape + one.event_shape)}, "
                    "expected that of one number"
                )
        elif not is_number(one) or not bool(_inside(name, one, bound).all()):
            wanted = "a positive number" if bound == 0 else f"a number above {bound:g}"
            if bound == -math.inf:
                wanted = "a finite number"
            elif is_number(one) and not isinstance(one, Tensor) and bound < one < math.inf:
                wanted += ", of a size that single precision has"
            raise ValueError(f"{name} is {shown(one)}, expected {wanted}")


def is_number(value: Any) -> bool:
    """Say whether a value is a number, or a dense tensor of numbers; true and false, and text, are none."""
    if isinstance(value, Tensor):
        there = value.layout == torch.strided and not (value.is_meta or value.is_nested or value.is_quantized)
        return there and not (value.is_complex() or value.dtype == torch.bool)
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    return isinstance(value, Real) and not isinstance(value, bool)


def as_number(name: str, value: Any) -> Tensor:
    """Return a number, or a tensor of numbers, as float64."""
    if not is_number(value):
        raise ValueError(f"{name} is {shown(value)}, expected a number or a tensor of numbers")
    if isinstance(value, Tensor):
        return value.double()
    return torch.tensor(float(value), dtype=torch.float64, device="cpu")


def shown(value: Any) -> str:
    """Write what was given for a number in one line, whatever it is."""
    if isinstance(value, Tensor):
        kind = value.dtype if not is_number(value) else None
        return f"a tensor of {kind} and layout {value.layout} on {value.device}" if kind else in_short(value)
    return visible(shown_number(value))


def _inside(name: str, one: float | Tensor, bound: float) -> Tensor:
    values = as_number(name, one)
    if not isinstance(one, Tensor):
        values = values.float()
    return (values > bound) & values.isfinite() if values.numel() else torch.tensor(data=False)


def check_conditions(names: Sequence[str], hyperpriors: Mapping[str, Distribution]) -> None:
    """Refuse conditions that are no random hyperparameters of the model."""
    for name in names:
        if name not in hyperpriors:
            raise ValueError(
                f"conditions has {name!r}, expected random hyperparameters of the model: "
                f"{', '.join(hyperpriors) or 'it has none, give one a prior'}"
            )


def check_known(name: str, part: Hyperparameterised) -> None:
    """Refuse a part of a model that has random hyperparameters."""
    if part.hyperpriors:
        raise ValueError(
            f"{name} has the random hyperparameter(s) {', '.join(part.hyperpriors)}, expected numbers: fix "
            f"them with {name}.given({{...}})"
        )


def _same(one: Any, other: Any) -> bool:
    """Compare two arguments: numbers, tensors, distributions, or tuples of families."""
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        first, second = torch.as_tensor(one), torch.as_tensor(other)
        return first.shape == second.shape and bool((first == second).all())
    if isinstance(one, Distribution):
        return type(one) is type(other) and all(
            _same(getattr(one, name), getattr(other, name)) for name in one.arg_constraints
        )
    return bool(one == other)


def in_short(one: Any) -> str:
    """Write an argument in a few words, tensors by their shape, distributions by their arguments."""
    if isinstance(one, Tensor):
        return (
            f"{one.item():g}"
            if one.dim() == 0 and is_number(one)
            else f"<{' x '.join(map(str, one.shape))} numbers>"
        )
    if isinstance(one, Distribution):
        # Of the two only the one that was given is stored, and logits once they were asked for.
        unused = "logits" if "probs" in vars(one) else "probs"
        names = [name for name in one.arg_constraints if name != unused]
        values = {name: getattr(one, name) for name in names}
        return f"{type(one).__name__}({', '.join(f'{name}={in_short(v)}' for name, v in values.items())})"
    return f"{one:g}" if isinstance(one, float) else repr(one)


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
    widths of the peak, sinh(t), between the places left and right of it where nothing is left.
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
    numbers = {name: getattr(prior, name).double() for name in prior.arg_constraints}
    # Numbers too small or too large for a double have no density, which is no mistake.
    return type(prior)(**numbers, validate_args=False)


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
