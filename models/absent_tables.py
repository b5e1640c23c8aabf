"""What a saved guide remembers of the labelled tables it was trained on."""

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from torch import Tensor

from pyroclust.models.labelled_tables import LabelledComponent

__all__ = ["AbsentTables"]


class AbsentTables:
    """The model of a guide that was trained on labelled tables, after loading: its size, without the tables.

    The guide draws partitions as before; simulating takes the tables, as a
    :class:`~pyroclust.models.LabelledTables`, or :class:`~pyroclust.models.LabelledImages`.

    Args:
        dim: number of columns.
        typical_scale: root mean square distance, per column, of a point to the mean of its class.
        event_shape: shape of one point, with as many numbers as there are columns; ``(dim,)`` by default.

    Raises:
        ValueError: if the shape has another number of numbers.

    Example:
        >>> AbsentTables(4, typical_scale=0.5).event_shape
        (4,)
    """

    name = "labelled_tables"

    def __init__(
        self, dim: int, *, typical_scale: float, event_shape: Sequence[int] | Tensor | None = None
    ) -> None:
        self.component = LabelledComponent(int(dim), float(typical_scale))
        self.hyperpriors: dict[str, Any] = {}
        self.event_shape = (int(dim),) if event_shape is None else tuple(int(one) for one in event_shape)
        if math.prod(self.event_shape) != dim:
            raise ValueError(f"event_shape is {self.event_shape}, expected a shape of {dim} numbers, the dim")

    @property
    def event_dim(self) -> int:
        """Dimensions of a data set: that of its points and those of a point."""
        return 1 + len(self.event_shape)

    def __call__(self, data: Tensor) -> NoReturn:
        """Refuse to simulate.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "model is the memory of labelled tables, which a saved guide does not hold, expected the tables: "
            "build LabelledTables from them"
        )
