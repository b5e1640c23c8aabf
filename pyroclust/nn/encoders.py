"""What encoders of points are: modules from points to vectors, trained with the guide."""

from typing import Protocol

from torch import Tensor

__all__ = ["Encoder"]


class Encoder(Protocol):
    """A module that turns every point of a data set into a vector, trained with the guide.

    An encoder of graphs, whose points are the nodes, takes matrices ``(B, N, N)`` and has an attribute
    ``takes_graphs`` that is true: rows and columns are then brought into the order of a visit.

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
