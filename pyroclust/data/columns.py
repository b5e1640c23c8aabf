"""Columns of a table before anybody knows which hold numbers and which labels."""

import datetime
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.delimited import MISSING, Cells, Marks
from pyroclust.text import short, visible

__all__ = ["Column", "RawTable", "SeriesColumn", "TextColumn", "as_text"]

_CODES = re.compile(r"\n0\d")
_LOGICAL = {"true": 1.0, "false": 0.0}
# Above, floating-point numbers no longer tell neighbouring integers apart.
_EXACT = 2**53


class Column(ABC):
    """One column, as numbers to cluster or as labels.

    Attributes:
        unit: that every number is written with, as in 12 kg; empty where there is none.
    """

    unit: str

    @abstractmethod
    def numbers(self) -> NDArray[np.float64]:
        """Return the values, nan where there are none, ``(N,)``."""

    def numbers_or_none(self) -> NDArray[np.float64] | None:
        """Return the values, ``None`` where some are no numbers."""
        try:
            return self.numbers()
        except ValueError:
            return None

    @abstractmethod
    def labels(self) -> NDArray[np.object_]:
        """Return the values as text, ``None`` where there are none, ``(N,)``."""

    @abstractmethod
    def last(self) -> str | None:
        """Return the last value where it is text."""

    @abstractmethod
    def without(self, cells: NDArray[np.bool_]) -> "Column":
        """Return the column with some of its cells empty."""

    @property
    def are_codes(self) -> bool:
        """Whether numbers have zeros before them, as codes and not as measurements do."""
        return False

    @property
    def is_text(self) -> bool:
        """Whether all cells that are there can be read as text, so that they may be categories."""
        return True

    @property
    def is_logical(self) -> bool:
        """Whether the cells say true or false."""
        return False

    @property
    def order(self) -> Sequence[str] | None:
        """Categories in an order that the source gives; ``None`` where it gives none."""
        return None


@dataclass(frozen=True)
class TextColumn(Column):
    """Cells of a delimited file.

    Attributes:
        cells: as they are written there, but without their unit.
        marks: how numbers are written.
        unit: of the numbers.
        written: the cells with their unit, where they have one.
    """

    cells: Sequence[str]
    marks: Marks
    unit: str = ""
    written: Sequence[str] | None = None

    def numbers(self) -> NDArray[np.float64]:
        """Return the numbers; true and false are 1 and 0."""
        values, is_text = self.marks.numbers(self.cells)
        if is_text.any():
            logical = [_LOGICAL.get(cell.strip().lower(), np.nan) for cell in self.cells]
            if not np.isnan(values).all() or np.isnan(logical)[is_text].any():
                text = self.cells[int(np.argmax(is_text))]
                raise ValueError(f"'{short(visible(text), 40)}'")
            return np.array(logical)
        for place in np.flatnonzero(np.abs(values) >= _EXACT).tolist():
            text = self.cells[place].strip()
            if np.isfinite(values[place]) and text.lstrip("+-").isdigit():
                raise ValueError(f"the integer {short(text, 40)}, beyond 2^53, where neighbours become equal")
        return values

    def labels(self) -> NDArray[np.object_]:
        """Return the cells as they are; an empty cell is no label."""
        return _objects([cell if cell.strip() else None for cell in self.written or self.cells])

    def last(self) -> str | None:
        """Return the last cell."""
        cells = self.written or self.cells
        return cells[-1] if cells else None

    def without(self, cells: NDArray[np.bool_]) -> "TextColumn":
        """Return the column with some of its cells empty."""
        kept = ["" if gone else cell for cell, gone in zip(self.cells, cells, strict=True)]
        written = self.written and [
            "" if gone else cell for cell, gone in zip(self.written, cells, strict=True)
        ]
        return replace(self, cells=Cells(kept), written=written)

    @property
    def is_logical(self) -> bool:
        """Whether there are cells, and all say true or false."""
        if Cells.of(self.cells).plain is not None:
            return False
        there = {cell.strip().lower() for cell in self.cells} - {one.lower() for one in MISSING}
        return bool(there) and there <= _LOGICAL.keys()

    @property
    def are_codes(self) -> bool:
        """Whether there are cells such as 007."""
        is_plain = Cells.of(self.cells).plain is not None
        if is_plain and _CODES.search("\n" + "\n".join(self.cells)) is None:
            return False
        return any(len(one) > 1 and one[0] == "0" and one.isdigit() for one in map(str.strip, self.cells))


@dataclass(frozen=True)
class SeriesColumn(Column):
    """A column of a data frame."""

    series: "pd.Series[Any]"
    unit: str = ""

    def numbers(self) -> NDArray[np.float64]:
        """Return the numbers; true and false are 1 and 0."""
        kind = self.series.dtype
        if not pd.api.types.is_numeric_dtype(kind):
            return np.array([_number(one, kind) for one in self.series], dtype=np.float64)
        if pd.api.types.is_complex_dtype(kind):
            raise ValueError("complex numbers")
        if pd.api.types.is_integer_dtype(kind) and (long := self.series[_beyond(self.series)]).size:
            raise ValueError(f"the integer {long.iloc[0]}, beyond 2^53, where neighbours become equal")
        with np.errstate(over="ignore"):
            return self.series.to_numpy(dtype=np.float64, na_value=np.nan)

    def labels(self) -> NDArray[np.object_]:
        """Return the values as text; what pandas counts as missing is no label."""
        return _objects([as_text(one) for one in self.series])

    def last(self) -> str | None:
        """Return the last value if it is text."""
        value = self.series.iloc[-1] if len(self.series) else None
        return value if isinstance(value, str) else None

    def without(self, cells: NDArray[np.bool_]) -> "SeriesColumn":
        """Return the column with some of its cells empty."""
        return replace(self, series=self.series.mask(cells))

    @property
    def is_text(self) -> bool:
        """Whether the cells that are there are text, or pandas' categories."""
        if isinstance(self.series.dtype, pd.CategoricalDtype):
            return True
        return all(isinstance(one, str) for one in self.series.dropna())

    @property
    def is_logical(self) -> bool:
        """Whether the cells that are there are true or false."""
        there = self.series.dropna()
        return len(there) > 0 and all(isinstance(one, bool | np.bool_) for one in there.unique())

    @property
    def order(self) -> Sequence[str] | None:
        """The order of pandas' categories."""
        kind = self.series.dtype
        return (
            [as_text(one) or "" for one in kind.categories] if isinstance(kind, pd.CategoricalDtype) else None
        )


def as_text(value: Any) -> str | None:
    """Return a value as a text file would have it; ``None`` where there is none."""
    # Of a cell that holds a list pandas would ask each element.
    if isinstance(value, str) or not pd.api.types.is_scalar(value):
        return str(value)
    if pd.isna(value):
        return None
    if (
        isinstance(value, float | np.floating)
        and (number := float(value)).is_integer()
        and abs(number) < _EXACT
    ):
        return str(int(number))
    return str(value).removesuffix(" 00:00:00")


def _beyond(series: "pd.Series[Any]") -> "pd.Series[bool]":
    return ((series >= _EXACT) | (series <= -_EXACT)).fillna(False).astype(bool)


def _number(one: Any, kind: Any) -> float:
    if one is None or one is pd.NA or one is pd.NaT:
        return np.nan
    if isinstance(one, numbers.Real | Decimal) and not isinstance(kind, pd.CategoricalDtype):
        if isinstance(one, numbers.Integral) and abs(int(one)) >= _EXACT:
            raise ValueError(f"the integer {short(str(one), 40)}, beyond 2^53, where neighbours become equal")
        return float(one)
    if isinstance(kind, pd.CategoricalDtype):
        raise ValueError(f"categories such as '{short(visible(str(one)), 40)}'")
    if isinstance(one, datetime.date | datetime.timedelta | np.datetime64 | np.timedelta64):
        raise ValueError(f"dates or times such as {short(visible(str(one)), 40)}")
    if isinstance(one, str):
        raise ValueError(f"'{short(visible(one), 40)}'")
    raise ValueError(f"values of type {type(one).__name__}")


def _objects(values: list[str | None]) -> NDArray[np.object_]:
    # Arrays of text of one width would lose what NUL characters stand at the end.
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


@dataclass(frozen=True)
class RawTable:
    """A table as it was found, before columns are chosen.

    Attributes:
        names: of the columns, visible; they may repeat.
        columns: in the same order.
        num_rows: how many.
        row_names: of the rows, or ``None`` where they have none.
        notes: what was guessed.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    num_rows: int
    row_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the size."""
        return f"RawTable({self.num_rows} rows, {len(self.names)} columns)"
