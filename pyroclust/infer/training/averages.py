"""The moving average of the weights, which is what a training returns."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

__all__ = ["AveragedWeights"]


class AveragedWeights:
    r"""Exponential moving average of a module's parameters.

    .. math:: \bar\theta_{t+1} = \gamma_t \bar\theta_t + (1 - \gamma_t) \theta_{t+1}

    Torch's ``AveragedModel`` keeps a second module, replaces the first average and has one decay; here the
    decay grows, and checkpoints hold a list of tensors.

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

    def update(self, decay: float) -> None:
        """Move the average towards the present weights."""
        get_ema_multi_avg_fn(decay)(self.values, list(self._parameters), None)

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
