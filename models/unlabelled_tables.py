"""Real tables without labels as a law of data sets: some rows and columns of one, standardised."""

from collections.abc import Sequence

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.distributions.points import Points, as_points, check_finite, check_shape, standardised
from pyroclust.distributions.programs import SimulatedModel

__all__ = ["UnlabelledTables"]

_MOST_ROWS = 4000
# A column that is whole numbers or classes in disguise gives points that lie on lines.
_FEWEST_VALUES = 10


class UnlabelledTables(SimulatedModel):
    r"""Data sets drawn from tables without labels: what real data look like, for training guides on them.

    .. math::
        t \sim U, \qquad i_1, \ldots, i_N \sim t, \qquad j_1, \ldots, j_D \sim t, \qquad
        x_{nd} = \frac{t_{i_n j_d} - m_d}{s_d}

    A table is chosen uniformly among those with at least N rows, then N of its rows and D of its columns
    without replacement; each column is shifted and scaled to mean 0 and variance 1 over these rows. There is
    no partition: a :class:`~pyroclust.infer.PosteriorPool` draws some from the posterior of a model.

    The only site is ``"data"``, and only the shape of the argument counts under ``poutine.uncondition``. Cost
    O(M log M) a data set, tables of M rows; of longer tables than 4,000 rows as many are kept, evenly spaced.

    Args:
        tables: points, ``(n, columns)`` each. Columns with fewer than ten different values are left out, and
            tables with fewer than D other columns.
        dim: D.
        name: what messages call the law.

    Shape:
        data: ``(*batch, N, D)``.

    Raises:
        ValueError: if a table is not a finite ``(n, columns)``, or none has enough columns.

    Example:
        >>> from pyro import poutine
        >>> from sklearn.datasets import load_wine
        >>> law = UnlabelledTables([load_wine().data], dim=2)
        >>> trace = poutine.trace(poutine.uncondition(law)).get_trace(torch.empty(3, 20, 2))
        >>> data = trace.nodes["data"]["value"]
        >>> data.shape, bool(data.mean(1).abs().max() < 1e-5)
        (torch.Size([3, 20, 2]), True)
    """

    def __init__(self, tables: Sequence[Points], *, dim: int, name: str = "unlabelled_tables") -> None:
        self._dim, self.name = check_count("dim", dim), name
        kept = [_columns(place, one) for place, one in enumerate(tables)]
        kept = [one for one in kept if one.shape[1] >= self._dim and len(one) > 1]
        if not kept:
            raise ValueError(
                f"tables has none with {dim} columns of at least {_FEWEST_VALUES} different values, "
                "expected some: give other tables, or a smaller dim"
            )
        self._rows = torch.tensor([len(one) for one in kept])
        self._columns = torch.tensor([one.shape[1] for one in kept])
        # Laid end to end: padded to the longest and the widest, a few would take most of the memory.
        self._values = torch.cat([one.flatten() for one in kept])
        self._starts = (self._rows * self._columns).cumsum(0) - self._rows * self._columns

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return (self._dim,)

    @property
    def num_tables(self) -> int:
        """How many tables there are."""
        return len(self._rows)

    @property
    def most_points(self) -> int:
        """Rows of the longest table."""
        return int(self._rows.max())

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on data sets (or a template of their shape) and return the data.

        Raises:
            ValueError: if the shape does not fit, or no table has so many rows.
        """
        check_shape(data, self.event_shape)
        batch, points = data.shape[:-2], data.shape[-2]
        with pyro.plate_stack("datasets", batch):
            drawn = self._draw(batch.numel(), points).view(*batch, points, self._dim)
            return pyro.sample("data", Delta(drawn.to(data.device), event_dim=2), obs=data)

    def _draw(self, number: int, points: int) -> Tensor:
        enough = (self._rows >= points).nonzero()[:, 0]
        if not len(enough):
            raise ValueError(
                f"data sets have {points} points, expected at most {self.most_points}, the rows of the "
                "longest table: lower max_points"
            )
        table = enough[torch.randint(len(enough), (number,))]
        width = self._columns[table].view(-1, 1, 1)
        rows, columns = _some(self._rows[table], points), _some(self._columns[table], self._dim)
        place = self._starts[table].view(-1, 1, 1) + rows.unsqueeze(-1) * width + columns.unsqueeze(1)
        # A column may be constant over the rows that were drawn.
        return standardised(self._values[place])


def _some(available: Tensor, number: int) -> Tensor:
    """Choose numbers below those available without replacement, ``(B,) -> (B, number)``."""
    width = int(available.max())
    key = torch.rand(len(available), width)
    key[torch.arange(width) >= available.unsqueeze(-1)] = torch.inf
    return key.argsort(-1)[:, :number]


def _columns(place: int, table: Points) -> Tensor:
    """Return the columns that vary, on a scale of their own, and not too many rows."""
    try:
        points = as_points(table, like=torch.empty(0, dtype=torch.float64)).detach().cpu().double()
        check_finite(points)
    except ValueError as error:
        raise ValueError(f"table {place}: {error}") from None
    if points.dim() != 2:
        raise ValueError(f"table {place} has shape {tuple(points.shape)}, expected (n, columns)")
    points = points[:: -(-len(points) // _MOST_ROWS)]
    kept = [one for one in points.T if len(one.unique()) >= _FEWEST_VALUES]
    # Before they are rounded to single precision: columns may be of any size.
    return _scaled(torch.stack(kept, 1)) if kept else points[:, :0].float()


def _scaled(points: Tensor) -> Tensor:
    centred = points - points.mean(0)
    return standardised(centred / centred.abs().amax(0)).float()
