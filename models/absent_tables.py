"""What a saved guide remembers of the labelled tables it was trained on."""

from typing import Any, NoReturn

from torch import Tensor

from pyroclust.models.labelled_tables import LabelledComponent

__all__ = ["AbsentTables"]


class AbsentTables:
    """The model of a guide that was trained on labelled tables, after loading: its size, without the tables.

    The guide draws partitions as before; simulating takes the tables, as a
    :class:`~pyroclust.models.LabelledTables`.

    Args:
        dim: number of columns.
        typical_scale: root mean square distance, per column, of a point to the mean of its class.

    Example:
        >>> AbsentTables(4, typical_scale=0.5).event_shape
        (4,)
    """

    event_dim = 2
    name = "labelled_tables"

    def __init__(self, dim: int, *, typical_scale: float) -> None:
        self.component = LabelledComponent(int(dim), float(typical_scale))
        self.hyperpriors: dict[str, Any] = {}

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return (self.component.dim,)

    def __call__(self, data: Tensor) -> NoReturn:
        """Refuse to simulate.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "model is the memory of labelled tables, which a saved guide does not hold, expected the tables: "
            "build LabelledTables from them"
        )
