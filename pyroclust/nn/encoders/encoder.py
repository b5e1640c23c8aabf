"""What encoders of points are, and what they have in common: shapes of points, and first weights."""

import math
from typing import Protocol

from torch import Tensor, nn
from torch.nn import functional as F

Layer = nn.Conv1d | nn.Conv2d | nn.Linear

FIRST_SPREAD = 2.0
"""Standard deviation of the vectors at the start, in units of a typical cluster: clusters differ from one
another, and lie within the bandwidths of a scorer."""


class Encoder(Protocol):
    """A module that turns every point of a data set into a vector, trained with the guide.

    An encoder of graphs, whose points are the nodes, takes matrices ``(B, N, N)`` and has an attribute
    ``takes_graphs`` that is true: rows and columns are then brought into the order of a visit.

    Attributes:
        dim: E, of the vectors.

    Shape:
        data: ``(B, N, *event_shape)``; output: ``(B, N, E)``.
    """

    dim: int

    def __call__(self, data: Tensor) -> Tensor: ...


def single_points(data: Tensor, event_shape: tuple[int, ...]) -> Tensor:
    """Return points, or points laid flat as tables have them, one after the other in their own shape."""
    forms = dict.fromkeys([event_shape, (math.prod(event_shape),)])
    if tuple(data.shape[2:]) not in forms:
        expected = " or ".join(f"(B, N, {', '.join(map(str, one))})" for one in forms)
        raise ValueError(f"data has shape {tuple(data.shape)}, expected {expected} as the encoder takes them")
    return data.reshape(-1, *event_shape)


def keep_differences(layer: Layer, *, gain: float = 2**0.5) -> None:
    """Start a layer with normal weights that multiply the standard deviation of what comes in by a gain.

    With PyTorch's own first weights the vectors of different points differ by a thousandth, and training
    stands still. By default the variance is kept through a nonlinearity that lets half of it pass.

    Args:
        layer: its weights are drawn anew, its bias becomes zero.
        gain: of the standard deviation, where what comes in has mean 0 and varies independently.
    """
    nn.init.normal_(layer.weight, std=gain / layer.weight[0].numel() ** 0.5)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


class ResidualBlock(nn.Module):
    """Add to a point what two layers of its own shape make of it; the second is small at the start."""

    def __init__(self, first: Layer, second: Layer) -> None:
        super().__init__()
        self.first, self.second = first, second
        keep_differences(first)
        keep_differences(second, gain=0.3)

    def forward(self, point: Tensor) -> Tensor:
        added: Tensor = self.second(F.silu(self.first(F.silu(point))))
        return point + added
