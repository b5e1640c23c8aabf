"""Columns of a table before anybody knows which hold numbers and which labels."""

import datetime
import numbers
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.delimited import MISSING, Cells, Marks
from pyroclust.errors import unknown_name
from pyroclust.text import short, visible

__all__ = ["Column", "RawTable", "SeriesColumn", "TextColumn", "as_text"]

_CODES = re.compile(r"\n0\d")
_LOGICAL = {"true": 1.0, "false": 0.0}
# Above, floating-point numbers no longer tell neighbouring integers apart.
_EXACT = 2**53


class _ReadOnce(ABC):
    """A column, as numbers to cluster or as labels."""

    @abstractmethod
    def _read(self) -> NDArray[np.float64]:
        """Return the values, or say in a ValueError what is none."""

    @cached_property
    def _numbers(self) -> NDArray[np.float64] | str:
        try:
            return self._read()
        except ValueError as error:
            return str(error)

    def numbers(self) -> NDArray[np.float64]:
        """Return the values, nan where there are none, ``(N,)``; true and false are 1 and 0."""
        if isinstance(self._numbers, str):
            raise ValueError(self._numbers)
        return self._numbers

    def numbers_or_none(self) -> NDArray[np.float64] | None:
        """Return the values, ``None`` where some are no numbers."""
        return None if isinstance(self._numbers, str) else self._numbers


@dataclass(frozen=True)
class TextColumn(_ReadOnce):
    """Cells of a delimited file."""

    cells: Sequence[str]  # as they are written there, but without their unit
    marks: Marks
    unit: str = ""  # that every number is written with, as in 12 kg; empty where there is none
    written: Sequence[str] | None = None  # the cells with their unit, where they have one
    only_empty: bool = False  # NA and the like are levels
    is_text = True
    order = None

    def _read(self) -> NDArray[np.float64]:
        values, is_text = self.marks.numbers(self.cells)
        if is_text.any():
            logical = np.array([_LOGICAL.get(cell.strip().lower(), np.nan) for cell in self.cells])
            if not np.isnan(values).all() or np.isnan(logical[is_text]).any():
                raise ValueError(f"'{short(visible(self.cells[int(np.argmax(is_text))]), 40)}'")
            return logical
        for place in np.flatnonzero(np.abs(values) >= _EXACT).tolist():
            if np.isfinite(values[place]) and self.cells[place].strip().lstrip("+-").isdigit():
                raise _too_long(self.cells[place].strip())
        return values

    def labels(self) -> NDArray[np.object_]:
        """Return the cells as they are; an empty cell is no label."""
        return _objects([cell if cell.strip() else None for cell in self.written or self.cells])

    def without(self, cells: NDArray[np.bool_]) -> "TextColumn":
        """Return the column with some of its cells empty."""

        def kept(some: Sequence[str]) -> list[str]:
            return ["" if gone else cell for cell, gone in zip(some, cells, strict=True)]

        written = self.written and kept(self.written)
        return replace(self, cells=Cells(kept(self.cells)), written=written)

    @property
    def last(self) -> str:
        """The last cell."""
        return (self.written or self.cells or [""])[-1]

    @property
    def is_logical(self) -> bool:
        """Whether there are cells, and all say true or false."""
        if Cells.of(self.cells).plain is not None:
            return False
        there = {cell.strip().lower() for cell in self.cells} - {one.lower() for one in MISSING}
        return bool(there) and there <= _LOGICAL.keys()

    @property
    def are_codes(self) -> bool:
        """Whether there are cells such as 007: numbers have zeros before them as codes do."""
        is_plain = Cells.of(self.cells).plain is not None
        if is_plain and _CODES.search("\n" + "\n".join(self.cells)) is None:
            return False
        return any(len(one) > 1 and one[0] == "0" and one.isdigit() for one in map(str.strip, self.cells))


@dataclass(frozen=True)
class SeriesColumn(_ReadOnce):
    """A column of a data frame."""

    series: "pd.Series[Any]"
    unit: str = ""
    only_empty: bool = False
    are_codes = False

    def _read(self) -> NDArray[np.float64]:
        kind = self.series.dtype
        if not pd.api.types.is_numeric_dtype(kind):
            return np.array([_number(one, kind) for one in self.series], dtype=np.float64)
        if pd.api.types.is_complex_dtype(kind):
            raise ValueError("complex numbers")
        if pd.api.types.is_integer_dtype(kind):
            is_long = ((self.series >= _EXACT) | (self.series <= -_EXACT)).fillna(False).astype(bool)
            if is_long.any():
                raise _too_long(self.series[is_long].iloc[0])
        with np.errstate(over="ignore"):
            return self.series.to_numpy(dtype=np.float64, na_value=np.nan)

    def labels(self) -> NDArray[np.object_]:
        """Return the values as text; what pandas counts as missing is no label."""
        return _objects([as_text(one) for one in self.series])

    def without(self, cells: NDArray[np.bool_]) -> "SeriesColumn":
        """Return the column with some of its cells empty."""
        return replace(self, series=self.series.mask(cells))

    @property
    def last(self) -> str:
        """The last value if it is text."""
        value = self.series.iloc[-1] if len(self.series) else None
        return value if isinstance(value, str) else ""

    @property
    def is_text(self) -> bool:
        """Whether the cells that are there are text, or pandas' categories."""
        return self.order is not None or all(isinstance(one, str) for one in self.series.dropna())

    @property
    def is_logical(self) -> bool:
        """Whether the cells that are there are true or false."""
        there = self.series.dropna()
        return len(there) > 0 and all(isinstance(one, bool | np.bool_) for one in there.unique())

    @property
    def order(self) -> Sequence[str] | None:
        """The order of pandas' categories."""
        kind = self.series.dtype
        if not isinstance(kind, pd.CategoricalDtype):
            return None
        return [as_text(one) or "" for one in kind.categories]


Column: TypeAlias = TextColumn | SeriesColumn


def as_text(value: Any) -> str | None:
    """Return a value as a text file would have it; ``None`` where there is none."""
    # Of a cell that holds a list pandas would ask each element.
    if isinstance(value, str) or not pd.api.types.is_scalar(value):
        return str(value)
    if pd.isna(value):
        return None
    if isinstance(value, float | np.floating) and (number := float(value)).is_integer():
        return str(int(number)) if abs(number) < _EXACT else str(value)
    return str(value).removesuffix(" 00:00:00")


def _number(one: Any, kind: Any) -> float:
    if one is None or one is pd.NA or one is pd.NaT:
        return np.nan
    said = short(visible(str(one)), 40)
    if isinstance(kind, pd.CategoricalDtype):
        raise ValueError(f"categories such as '{said}'")
    if isinstance(one, numbers.Real | Decimal):
        if isinstance(one, numbers.Integral) and abs(int(one)) >= _EXACT:
            raise _too_long(one)
        return float(one)
    if isinstance(one, datetime.date | datetime.timedelta | np.datetime64 | np.timedelta64):
        raise ValueError(f"dates or times such as {said}")
    raise ValueError(f"'{said}'" if isinstance(one, str) else f"values of type {type(one).__name__}")


def _too_long(number: Any) -> ValueError:
    return ValueError(f"the integer {short(str(number), 40)}, beyond 2^53, where neighbours become equal")


def _objects(values: list[str | None]) -> NDArray[np.object_]:
    # Arrays of text of one width would lose what NUL characters stand at the end.
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


@dataclass(frozen=True)
class RawTable:
    """A table as it was found, before columns are chosen."""

    names: tuple[str, ...]  # of the columns, visible; they may repeat
    columns: tuple[Column, ...]
    num_rows: int
    row_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()  # what was guessed

    def __repr__(self) -> str:
        return f"RawTable({self.num_rows} rows, {len(self.names)} columns)"

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows, or their numbers from 1."""
        return self.row_names or tuple(str(row) for row in range(1, self.num_rows + 1))

    def place_of(self, column: object, name: str) -> int:
        """Return the place of a column of the table of a name."""
        wanted = visible(str(column)).strip()
        places = [place for place, one in enumerate(self.names) if one == wanted]
        if not places:
            # Letters with accents have two forms that look alike.
            form = unicodedata.normalize("NFC", wanted)
            places = [at for at, one in enumerate(self.names) if unicodedata.normalize("NFC", one) == form]
        if not places:
            is_part = any("," in one and wanted in one.split(",") for one in self.names)
            hint = "; put quotes around a name with a comma" if is_part else ""
            raise ValueError(f"{name}: {unknown_name('column', wanted, self.names)}{hint}")
        if len(places) > 1:
            raise ValueError(
                f"{name}: a column name appears twice, '{short(wanted, 60)}'; rename one of them"
            )
        return places[0]
