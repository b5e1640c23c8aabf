"""What a sequential guide may be told about the points that have no label yet."""

from typing import Any, Protocol

from torch import Tensor

__all__ = ["Future"]


class Future(Protocol):
    """A module that tells every point of a sequence about the points after it.

    Attributes:
        width: W, of points and contexts.
    """

    width: int

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        ...

    def __call__(self, points: Tensor) -> Tensor:
        """Return a context a point, of the point itself and those after it alone.

        Shape:
            points: ``(R, N, W)`` in visiting order; output: ``(R, N, W)``.
        """
        ...
