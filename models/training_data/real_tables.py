"""Real tables without labels as laws of data sets: some rows and columns of one, standardised."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.distributions.points import Points, as_points, check_finite, check_shape, standardised
from pyroclust.distributions.protocols import SimulatedModel
from pyroclust.models.mixture import Mixture
from pyroclust.models.table_mixture import table_mixture
from pyroclust.models.training_data.simulated_tables import random_number_of_columns

_MOST_ROWS = 4000
# A column that is whole numbers or classes in disguise gives points that lie on lines.
_FEWEST_VALUES = 10


class UnlabelledTables(SimulatedModel):
    r"""Data sets drawn from tables without labels: what real data look like, for training guides on them.

    .. math::
        t \sim U, \qquad i_1, \ldots, i_N \sim t, \qquad j_1, \ldots, j_D \sim t, \qquad
        x_{nd} = \frac{t_{i_n j_d} - m_d}{s_d}

    A table is chosen uniformly among those with at least N rows, then N of its rows and D of its columns
    without replacement; each column is brought to mean 0 and variance 1 over these rows. The only site is
    ``"data"``: a :class:`~pyroclust.infer.PosteriorPool` draws partitions. Cost O(M log M) a data set, tables
    of M rows; of tables longer than 4,000 rows as many are kept, evenly spaced.

    Args:
        tables: points, ``(n, columns)`` each. Columns with fewer than ten different values are left out, and
            tables with fewer than D other columns.
        dim: D.
        name: what messages call the law.

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
        self.event_shape = (self._dim,)
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
    def num_tables(self) -> int:
        """How many tables there are."""
        return len(self._rows)

    @property
    def most_points(self) -> int:
        """Rows of the longest table."""
        return int(self._rows.max())

    def __call__(self, data: Tensor) -> Tensor:
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


_FEWEST_ROWS = 10


class RowsOfTable(SimulatedModel):
    r"""Data sets drawn from one table: N of its rows each, without replacement, and no partition.

    .. math:: i_1, \ldots, i_N \sim \text{rows}, \qquad x_{nd} = t_{i_n d}

    Columns of numbers are brought to mean 0 and variance 1 over the rows drawn.
    """

    def __init__(self, model: Mixture, rows: Tensor, *, numbers: int) -> None:
        self.model, self.rows, self.numbers, self.name = model, rows, numbers, "rows_of_table"
        self.event_shape = tuple(model.event_shape)

    def __call__(self, data: Tensor) -> Tensor:
        check_shape(data, self.event_shape)
        batch, points = data.shape[:-2], min(data.shape[-2], len(self.rows))
        chosen = torch.rand(*batch, len(self.rows)).argsort(-1)[..., :points]
        drawn = self.rows[chosen]
        numbers = drawn[..., : self.numbers]
        centred = numbers - numbers.nanmean(-2, keepdim=True)
        spread = centred.square().nanmean(-2, keepdim=True).sqrt()
        drawn = torch.cat([centred / spread.clamp(min=1e-6), drawn[..., self.numbers :]], -1)
        with pyro.plate_stack("datasets", batch):
            return pyro.sample("data", Delta(drawn, event_dim=2), obs=drawn)


class RowsOfTables:
    r"""A law of models: some columns of one of many tables, with the mixture of these columns.

    .. math:: t \sim U, \qquad D \sim \text{log-uniform}, \qquad j_1, \ldots, j_D \sim \text{columns of } t

    Args:
        tables: rows ``(n, columns)``, nan where a cell is missing, in the order of
            :func:`~pyroclust.models.table_mixture`, each with the arguments of that for its columns:
            ``numbers``, ``count_means``, ``yes_no`` and ``levels``.
        most_columns: largest D.

    Raises:
        ValueError: if no table has two columns and ten rows, or one has other columns than it says.

    Example:
        >>> _ = pyro.set_rng_seed(0)
        >>> rows = torch.tensor([[0.1, 2.0, 0.0], [1.2, 0.0, 2.0], [0.3, 1.0, 1.0]]).repeat(10, 1)
        >>> law = RowsOfTables([(rows, {"numbers": 1, "count_means": [1.0], "levels": [3]})])
        >>> law.draw_model().event_shape
        (2,)
    """

    def __init__(self, tables: Sequence[tuple[Tensor, Mapping[str, Any]]], *, most_columns: int = 30) -> None:
        self.most_columns = check_count("most_columns", most_columns, at_least=2)
        found = [_Table(rows, **columns) for rows, columns in tables]
        self._tables = [one for one in found if one.num_columns >= 2 and len(one.rows) >= _FEWEST_ROWS]
        if not self._tables:
            raise ValueError(
                f"tables has none of two columns and {_FEWEST_ROWS} rows, expected some: give other tables"
            )

    @property
    def num_tables(self) -> int:
        """How many tables there are."""
        return len(self._tables)

    def draw_model(self) -> RowsOfTable:
        """Choose a table and some of its columns."""
        table = self._tables[int(torch.randint(len(self._tables), ()))]
        columns = random_number_of_columns(2, min(self.most_columns, table.num_columns))
        return table.some(torch.randperm(table.num_columns)[:columns].sort().values.tolist())

    def __repr__(self) -> str:
        return f"RowsOfTables({self.num_tables} tables)"


class _Table:
    """A table, and what its columns are."""

    def __init__(
        self,
        rows: Tensor,
        *,
        numbers: int = 0,
        count_means: Sequence[float] = (),
        yes_no: int = 0,
        levels: Sequence[int] = (),
    ) -> None:
        self.rows, self.count_means, self.levels = rows.float(), list(count_means), list(levels)
        kinds = {"numbers": numbers, "counts": len(count_means), "yes_no": yes_no, "levels": len(levels)}
        self.kinds = [name for name, number in kinds.items() for _ in range(number)]
        self._places = [place for number in kinds.values() for place in range(number)]
        if rows.dim() != 2 or rows.shape[1] != len(self.kinds):
            raise ValueError(
                f"tables has one of shape {tuple(rows.shape)}, expected {len(self.kinds)} columns, as its "
                "kinds say"
            )

    @property
    def num_columns(self) -> int:
        return len(self.kinds)

    def some(self, columns: list[int]) -> RowsOfTable:
        of_kind = {
            kind: [self._places[at] for at in columns if self.kinds[at] == kind] for kind in set(self.kinds)
        }
        counts = [self.count_means[at] for at in of_kind.get("counts", [])]
        numbers = len(of_kind.get("numbers", []))
        model = table_mixture(
            numbers=numbers,
            count_means=[sum(counts) / len(counts)] * len(counts) if counts else [],
            yes_no=len(of_kind.get("yes_no", [])),
            levels=[self.levels[at] for at in of_kind.get("levels", [])],
            missing=True,
        )
        return RowsOfTable(model, self.rows[:, columns], numbers=numbers)
