"""Real tables of any columns as a law of models: some rows and columns of one, with the model of these."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.distributions.points import check_shape
from pyroclust.distributions.programs import SimulatedModel
from pyroclust.models.mixture import Mixture
from pyroclust.models.table_mixture import table_mixture

__all__ = ["RowsOfTable", "RowsOfTables"]

_FEWEST_ROWS = 10


class RowsOfTable(SimulatedModel):
    r"""Data sets drawn from one table: N of its rows each, without replacement.

    .. math:: i_1, \ldots, i_N \sim \text{rows}, \qquad x_{nd} = t_{i_n d}

    Columns of numbers are shifted and scaled to mean 0 and variance 1 over the rows drawn. There is no
    partition: :class:`~pyroclust.infer.PosteriorTables` draws some.

    Args:
        model: the mixture of these columns, the first of which are numbers.
        rows: the table, ``(n, D)``, nan where a cell is missing.
        numbers: how many columns are numbers.

    Shape:
        data: ``(*batch, N, D)``; of a larger template than the table has rows, the output has these.

    Example:
        >>> law = RowsOfTable(table_mixture(numbers=2, missing=True), torch.randn(20, 2), numbers=2)
        >>> law(torch.empty(3, 50, 2)).shape
        torch.Size([3, 20, 2])
    """

    def __init__(self, model: Mixture, rows: Tensor, *, numbers: int) -> None:
        self.model, self.rows, self.numbers, self.name = model, rows, numbers, "rows_of_table"

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return tuple(self.model.event_shape)

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on a template, of which the shape counts, and return the data.

        Raises:
            ValueError: if the shape does not fit.
        """
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
        most = min(self.most_columns, table.num_columns)
        low, high = math.log(2), math.log(most + 1)
        columns = min(int(math.exp(low + (high - low) * torch.rand((), dtype=torch.float64).item())), most)
        return table.some(torch.randperm(table.num_columns)[:columns].sort().values.tolist())

    def __repr__(self) -> str:
        """Say how many tables there are."""
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
        """How many columns it has."""
        return len(self.kinds)

    def some(self, columns: list[int]) -> RowsOfTable:
        """Return the law of some columns; counts share their mean, so that there are fewer models."""
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
