"""Which simulated data sets are worth a training step, judged by the data alone."""

from typing import Protocol

import torch
from torch import Tensor

__all__ = ["Choice", "NearlyStandardised"]


class Choice(Protocol):
    """Chooses data sets among more simulations than a step uses.

    A choice may look at the data and at nothing else. Given x, the partition then still follows p(c | x),
    so the guide's target is the same posterior as before; only the p(x) over which it is averaged is tilted.

    Attributes:
        oversampling: simulations for each data set that is kept.
    """

    oversampling: int

    def __call__(self, data: Tensor, num_kept: int) -> Tensor:
        """Return the indices of the data sets to keep, ``(num_kept,)``."""
        ...


class NearlyStandardised:
    r"""Half of the data sets as they come, half those whose columns have mean 0 and variance 1 most nearly.

    .. math:: \text{score} = \sum_d \bar x_d^2 + (\log s_d^2)^2

    For guides that are used on standardised data: the part of the prior where such data lie is small, and
    gets half of the training.

    Args:
        oversampling: simulations for each data set that is kept.

    Example:
        >>> pair = torch.tensor([[-0.7071], [0.7071]])
        >>> data = torch.stack([pair * scale for scale in (9.0, 3.0, 1.0, 5.0)])
        >>> NearlyStandardised(2)(data, 2).tolist()
        [0, 2]
    """

    def __init__(self, oversampling: int = 8) -> None:
        if oversampling < 2:
            raise ValueError(f"oversampling is {oversampling}, expected at least 2")
        self.oversampling = oversampling

    def __call__(self, data: Tensor, num_kept: int) -> Tensor:
        """Rank data sets ``(B, N, D)`` in O(B N D)."""
        plain = (num_kept + 1) // 2
        rest = data[plain:]
        score = rest.mean(1).square() + rest.var(1).clamp(min=1e-6).log().square()
        nearest = score.sum(-1).topk(num_kept - plain, largest=False).indices
        return torch.cat([torch.arange(plain), plain + nearest])
