"""Draws of partitions in delimited text: one row a draw, one column a point."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.drawn_labels import FoundDraws, check_memory
from pyroclust.draws_columns import choose_points, take_out

__all__ = ["read_table_draws"]

_ORDER = ("iteration", "draw")
_LOG_JOINT, _LOG_PROB = ("log_joint", "lp__", "lp"), ("log_prob",)


def read_table_draws(path: Path, *, separator: str, variable: str | None = None) -> FoundDraws:
    """Read draws from a table; see :func:`pyroclust.draws_files.read_draws` for what it may hold.

    Args:
        path: an existing file.
        separator: what stands between columns.
        variable: name of the indexed columns that are the points.

    Raises:
        ValueError: if the table is damaged or ragged, has chains of unequal lengths, or it is not plain
            which columns are the points.
    """
    check_memory(f"'{path}'", path.stat().st_size // 2)
    frame, header = _read_frame(path, separator)
    if len(frame) == 0:
        raise ValueError(f"'{path}' holds a header and no draws; expected one row a draw")
    beside: dict[str, np.ndarray] = {}
    points, notes = list(frame.columns), header.notes
    if header.is_header:
        frame, beside = take_out(frame)
        points, chosen = choose_points(frame, path, variable, is_stan=any(n.endswith("__") for n in beside))
        notes = (*notes, *chosen)
    elif variable is not None:
        raise ValueError(f"variable is '{variable}', but '{path}' has no names of columns; leave it out")
    labels = _labels(frame[points])
    order, num_chains = _order(beside, len(labels), path)
    return FoundDraws(
        labels[order].reshape(num_chains, -1, labels.shape[1]),
        _first(beside, _LOG_JOINT, order),
        _first(beside, _LOG_PROB, order),
        tuple(points) if header.names_points else None,
        notes,
    )


@dataclass(frozen=True)
class _FirstLine:
    """Whether the first line names the columns, and whether these names say anything of the points."""

    is_header: bool
    names_points: bool
    notes: tuple[str, ...] = ()


_NO_HEADER = _FirstLine(is_header=False, names_points=False)
_HEADER = _FirstLine(is_header=True, names_points=True)


def _read_frame(path: Path, separator: str) -> tuple[pd.DataFrame, _FirstLine]:
    try:
        with path.open(encoding="utf-8") as file:
            start = file.read(1)
        options: dict[str, Any] = {
            "sep": separator,
            "skipinitialspace": True,
            # CmdStan writes comments, also between the draws; elsewhere '#' may be part of a label.
            "comment": "#" if start == "#" else None,
            "low_memory": False,
        }
        header = _first_line(pd.read_csv(path, header=None, nrows=2, **options))
        frame = pd.read_csv(path, header=0 if header.is_header else None, **options)
    except PermissionError:
        raise
    except pd.errors.EmptyDataError:
        raise ValueError(f"'{path}' is empty; expected one row a draw and one column a point") from None
    except (ValueError, OSError, EOFError) as error:
        reason = (str(error).strip().splitlines() or ["unknown reason"])[0].rstrip(".")
        raise ValueError(
            f"'{path}' is not a readable {path.suffix} table ({reason}); every row needs the same columns"
        ) from None
    if frame.index.nlevels > 1:
        # One column more than names is how R writes row names; more of them, pandas takes for an index too.
        raise ValueError(
            f"'{path}' has rows of {frame.index.nlevels} columns more than names; every column needs a name"
        )
    return frame, header


def _first_line(top: pd.DataFrame) -> _FirstLine:
    """Guess whether the first of two lines names the columns."""
    first = top.iloc[0]
    numbers = pd.to_numeric(first, errors="coerce")
    if numbers.notna().all():
        return _numbered_line(numbers.to_numpy(), top.iloc[1:])
    if first.isna().any():
        # Only an index has a column without a name, and it is the first.
        return _HEADER if first.isna().sum() == 1 and pd.isna(first.iloc[0]) else _NO_HEADER
    # Labels may be names: then a draw repeats one, and the second line holds no numbers either.
    below = pd.to_numeric(top.iloc[1:].stack(), errors="coerce")
    return _HEADER if first.is_unique or below.notna().all() else _NO_HEADER


def _numbered_line(numbers: np.ndarray, below: pd.DataFrame) -> _FirstLine:
    """Tell the columns 0, 1, 2, ... that pandas writes from a draw in which every point is alone."""
    counted = len(numbers) > 2 and numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())
    if not counted or len(below) == 0 or below.iloc[0].is_unique:
        return _NO_HEADER
    note = f"The first line, {numbers[0]:.0f} to {numbers[-1]:.0f}, was read as names of the columns."
    return _FirstLine(is_header=True, names_points=False, notes=(note,))


def _labels(frame: pd.DataFrame) -> np.ndarray:
    if all(pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes):
        return frame.to_numpy()
    # One kind of value, so that 1 in a column of numbers equals "1" in a column of names.
    return frame.astype(object).where(frame.isna(), frame.astype(str).astype(object)).to_numpy()


def _order(beside: Mapping[str, np.ndarray], num_rows: int, path: Path) -> tuple[np.ndarray, int]:
    """Sort rows by chain, then by draw within the chain; without these columns the file's order stays."""
    chain = pd.Series(beside.get("chain", np.zeros(num_rows)))
    if chain.isna().any():
        raise ValueError(f"'{path}' has {chain.isna().sum()} rows without a chain, expected a number in each")
    codes, _ = pd.factorize(chain, sort=True)
    sizes = np.bincount(codes)
    if sizes.min() < sizes.max():
        raise ValueError(
            f"'{path}' has chains of {sizes.min()} to {sizes.max()} draws, expected equal lengths: cut the "
            "longer ones"
        )
    keys = next((beside[name] for name in _ORDER if name in beside), np.zeros(num_rows))
    # The last key is the first to sort by; lexsort is stable.
    return np.lexsort((keys, codes)), len(sizes)


def _first(beside: Mapping[str, np.ndarray], names: tuple[str, ...], order: np.ndarray) -> np.ndarray | None:
    return next((beside[name][order] for name in names if name in beside), None)
