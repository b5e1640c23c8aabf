"""Evaluation and training mode of modules."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

__all__ = ["evaluating"]


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode for a while, and back into the mode that it was in.

    Args:
        module: with all that is in it.

    Example:
        >>> network = nn.Dropout()
        >>> with evaluating(network):
        ...     print(network.training)
        False
        >>> network.training
        True
    """
    mode = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(mode)
