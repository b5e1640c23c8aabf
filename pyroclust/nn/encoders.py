"""What encoders of points are: modules from points to vectors, trained with the guide."""

from typing import Protocol

from torch import Tensor

__all__ = ["Encoder"]


class Encoder(Protocol):
    """A module that turns every point of a data set into a vector, trained with the guide.

    Attributes:
        dim: E, of the vectors.
    """

    dim: int

    def __call__(self, data: Tensor) -> Tensor:
        """Encode each point on its own.

        Shape:
            data: ``(B, N, *event_shape)``; output: ``(B, N, E)``.
        """
        ...
