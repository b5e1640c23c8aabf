"""The moving average of the weights, which is what a training returns."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

__all__ = ["AveragedWeights"]


class AveragedWeights:
    r"""Exponential moving average of a module's parameters.

    .. math:: \bar\theta_{t+1} = \gamma_t \bar\theta_t + (1 - \gamma_t) \theta_{t+1}

    Args:
        module: the module; its present weights are the first average.

    Example:
        >>> module = nn.Linear(1, 1)
        >>> averages = AveragedWeights(module)
        >>> _ = nn.init.ones_(module.weight)
        >>> averages.update(0.0)
        >>> averages.values[0].item()
        1.0
    """

    def __init__(self, module: nn.Module) -> None:
        self._parameters = list(module.parameters())
        self.values = [one.detach().clone() for one in self._parameters]

    @torch.no_grad()
    def update(self, decay: float) -> None:
        """Move the average towards the present weights."""
        torch._foreach_lerp_(self.values, list(self._parameters), 1 - decay)

    @torch.no_grad()
    def load(self, values: list[Tensor]) -> None:
        """Replace the average."""
        for mine, value in zip(self.values, values, strict=True):
            mine.copy_(value)

    @torch.no_grad()
    def copy_to_module(self) -> None:
        """Give the module the averaged weights."""
        for parameter, value in zip(self._parameters, self.values, strict=True):
            parameter.copy_(value)

    @contextmanager
    def in_module(self) -> Iterator[None]:
        """Lend the module the averaged weights for a while."""
        kept = [one.detach().clone() for one in self._parameters]
        self.copy_to_module()
        try:
            yield
        finally:
            with torch.no_grad():
                for parameter, value in zip(self._parameters, kept, strict=True):
                    parameter.copy_(value)
