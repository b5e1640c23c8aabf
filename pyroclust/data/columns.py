"""Columns of a table before anybody knows which hold numbers and which labels."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyroclust.core.messages import short, unknown_name, visible
from pyroclust.data.numerals import MISSING, Cells, NumberFormat

_CODES = re.compile(r"\n0\d")
_LOGICAL = {"true": 1.0, "false": 0.0}
# Above, floating-point numbers no longer tell neighbouring integers apart.
_EXACT = 2**53
RANGE = ".."
"""Stands between the names of two columns for all that lie between them."""


@dataclass(frozen=True)
class Column:
    """A column, as numbers to cluster or as labels: of text, or of numbers or categories of pandas."""

    cells: "Cells | pd.Series[Any]"  # text is as it was written, but without its unit
    number_format: NumberFormat = field(default_factory=NumberFormat)
    unit: str = ""  # that every number is written with, as in 12 kg; empty where there is none
    written: Sequence[str] | None = None  # text with its unit, where it has one
    missing_marks: Sequence[str] = ()  # what stands for missing cells among its numbers, as ? does
    only_empty: bool = False  # NA and the like are levels

    @cached_property
    def _numbers(self) -> NDArray[np.float64] | str:
        try:
            return _of_series(self.cells) if isinstance(self.cells, pd.Series) else self._of_text(self.cells)
        except ValueError as error:
            return str(error)

    def _of_text(self, cells: Cells) -> NDArray[np.float64]:
        values, is_text = self.number_format.numbers(cells)
        if is_text.any():
            logical = np.array([_LOGICAL.get(cell.strip().lower(), np.nan) for cell in cells])
            if not np.isnan(values).all() or np.isnan(logical[is_text]).any():
                raise ValueError(f"'{short(visible(cells[int(np.argmax(is_text))]), 40)}'")
            return logical
        for place in np.flatnonzero(np.abs(values) >= _EXACT).tolist():
            if np.isfinite(values[place]) and cells[place].strip().lstrip("+-").isdigit():
                raise _too_long(cells[place].strip())
        return values

    def numbers(self) -> NDArray[np.float64]:
        """Return the values, nan where there are none, ``(N,)``; true and false are 1 and 0."""
        if isinstance(self._numbers, str):
            raise ValueError(self._numbers)
        return self._numbers

    def numbers_or_none(self) -> NDArray[np.float64] | None:
        """Return the values, ``None`` where some are no numbers."""
        return None if isinstance(self._numbers, str) else self._numbers

    def labels(self) -> NDArray[np.object_]:
        """Return the cells as text; an empty cell is no label."""
        cells = self._as_found
        if isinstance(cells, pd.Series):
            cells = [as_text(one) or "" for one in cells]
        # Arrays of text of one width would lose what NUL characters stand at the end.
        labels = np.empty(len(cells), dtype=object)
        labels[:] = [cell if cell.strip() else None for cell in cells]
        return labels

    def without(self, gone: NDArray[np.bool_]) -> "Column":
        """Return the column with some of its cells empty."""
        if isinstance(self.cells, pd.Series):
            series = self.cells.astype("boolean") if self.is_logical else self.cells
            return replace(self, cells=series.mask(gone))

        def kept(cells: Sequence[str]) -> Cells:
            return Cells("" if no else cell for cell, no in zip(cells, gone, strict=True))

        written = None if self.written is None else kept(self.written)
        return replace(self, cells=kept(self.cells), written=written)

    @property
    def _as_found(self) -> "Sequence[str] | pd.Series[Any]":
        return self.cells if self.written is None else self.written

    @property
    def last(self) -> str:
        """The last cell, if it is text."""
        cells = self._as_found
        return "" if isinstance(cells, pd.Series) or not len(cells) else cells[-1]

    @property
    def order(self) -> Sequence[str] | None:
        """The order of pandas' categories."""
        kind = self.cells.dtype if isinstance(self.cells, pd.Series) else None
        if not isinstance(kind, pd.CategoricalDtype):
            return None
        return [as_text(one) or "" for one in kind.categories]

    @property
    def is_text(self) -> bool:
        """Whether the cells are text, or pandas' categories."""
        return not isinstance(self.cells, pd.Series) or self.order is not None

    @property
    def is_logical(self) -> bool:
        """Whether there are cells, and all say true or false."""
        if isinstance(self.cells, pd.Series):
            return pd.api.types.is_bool_dtype(self.cells.dtype) and self.order is None
        if self.cells.plain is not None:
            return False
        there = {cell.strip().lower() for cell in self.cells} - {one.lower() for one in MISSING}
        return bool(there) and there <= _LOGICAL.keys()

    @property
    def are_codes(self) -> bool:
        """Whether there are cells such as 007: numbers have zeros before them as codes do."""
        if isinstance(self.cells, pd.Series):
            return False
        if self.cells.plain is not None and _CODES.search("\n" + "\n".join(self.cells)) is None:
            return False
        return any(len(one) > 1 and one[0] == "0" and one.isdigit() for one in map(str.strip, self.cells))


def as_text(value: Any) -> str | None:
    """Return a value as a text file would have it; ``None`` where there is none."""
    # Of a cell that holds a list pandas would ask each element.
    if isinstance(value, str) or not pd.api.types.is_scalar(value):
        return str(value)
    if pd.isna(value):
        return None
    if isinstance(value, float | np.floating) and (number := float(value)).is_integer():
        return str(int(number)) if abs(number) < _EXACT else str(value)
    if isinstance(value, timedelta):
        seconds = int(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return str(value).removesuffix(" 00:00:00")


def _of_series(series: "pd.Series[Any]") -> NDArray[np.float64]:
    kind = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        raise ValueError(f"categories such as '{short(visible(str(next(iter(kind.categories), ''))), 40)}'")
    if pd.api.types.is_complex_dtype(kind):
        raise ValueError("complex numbers")
    if pd.api.types.is_integer_dtype(kind):
        is_long = ((series >= _EXACT) | (series <= -_EXACT)).fillna(False).astype(bool)
        if is_long.any():
            raise _too_long(series[is_long].iloc[0])
    with np.errstate(over="ignore"):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _too_long(number: Any) -> ValueError:
    return ValueError(f"the integer {short(str(number), 40)}, beyond 2^53, where neighbours become equal")


@dataclass(frozen=True)
class RawTable:
    """A table before columns are selected."""

    names: tuple[str, ...]  # of the columns, visible; they may repeat
    columns: tuple[Column, ...]
    num_rows: int
    row_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()  # what was guessed
    index: Mapping[str, Column] = field(default_factory=dict)  # levels that rows of a data frame share

    def __repr__(self) -> str:
        return f"RawTable({self.num_rows} rows, {len(self.names)} columns)"

    @property
    def by_name(self) -> dict[str, Column]:
        """The columns by their names."""
        return dict(zip(self.names, self.columns, strict=True))

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

    def places_in(self, columns: object, name: str) -> list[int]:
        """Return the place of a column, or those from one to another, as in q1..q15."""
        text = visible(str(columns)).strip()
        first, is_range, last = text.partition(RANGE)
        if not is_range or text in self.names:
            return [self.place_of(columns, name)]
        begin, end = self.place_of(first, name), self.place_of(last, name)
        if end < begin:
            raise ValueError(f"{name}: of {short(text, 60)} '{last.strip()}' stands before '{first.strip()}'")
        return list(range(begin, end + 1))
