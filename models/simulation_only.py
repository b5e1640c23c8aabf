"""What models and laws share that can be drawn from, and have no density."""

from typing import Any

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor

from pyroclust.core.registry import arguments_of
from pyroclust.distributions.programs import SimulatedModel


class LawWithoutDensity(TorchDistribution):
    """A distribution that can only be drawn from; subclasses write ``_draw`` and ``expand``."""

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw, ``(*sample_shape, *batch_shape, *event_shape)``."""
        with torch.no_grad():
            return self._draw(self._extended_shape(Size(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Refuse: there is no formula.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no log_prob: it can only be simulated; train a guide on its draws "
            "with InclusiveKL"
        )

    def _draw(self, shape: Size) -> Tensor:
        raise TypeError(f"{type(self).__name__} must define _draw")


class SimulatedFromArguments(SimulatedModel):
    """A simulated model that is the same as another where all arguments of their constructors are."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and arguments_of(self) == arguments_of(other)

    def __hash__(self) -> int:
        return hash(type(self))
