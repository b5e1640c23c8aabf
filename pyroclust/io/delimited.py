"""Draws of partitions in delimited text: one row a draw, one column a point."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from pyroclust.delimited import DelimitedText, ReadingOptions, Row, find_marks, read_delimited
from pyroclust.errors import unknown_name
from pyroclust.io.labels import FoundDraws, check_room
from pyroclust.text import visible

__all__ = ["choose_points", "read_table_draws", "take_out"]

# Names of columns that are no points, without a leading dot and in lower case; Stan's end in two underscores.
_BESIDE = {"chain", "iteration", "draw", "log_joint", "lp", "log_prob", "num_clusters"}
_BRACKETS = re.compile(r"^(?P<base>.+)\[(?P<index>\d+)\]$")
# Columns of tables that summarise draws; a point may have one such name, not two.
_STATISTIC = re.compile(
    r"mean|sd|std|std_?dev|median|mad|r_?hat|n_?eff|(ess|mcse)(_\w+)?|se_mean|(hdi|eti|hpd|ci)_?[\d.]+%?|q[\d.]+|[\d.]+%"
)
_DOTS = re.compile(r"^(?P<base>.+)\.(?P<index>\d+)$")


def take_out(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Divide a table with a header into candidates for points, and what is known of each draw.

    A first column without a name, as R and pandas write it, is left out.

    Example:
        >>> points, beside = take_out(pd.DataFrame({".chain": [1], "a": [0], "b": [0], "lp__": [-3.0]}))
        >>> list(points), sorted(beside)
        (['a', 'b'], ['chain', 'lp__'])
    """
    names = [str(name) for name in frame.columns]
    plain = [name.removeprefix(".").lower() for name in names]
    is_beside = np.array([name in _BESIDE or name.endswith("__") for name in plain], dtype=bool)
    is_index = np.array([place == 0 and name == "Unnamed: 0" for place, name in enumerate(names)], dtype=bool)
    found = {plain[place]: frame.iloc[:, place].to_numpy() for place in np.flatnonzero(is_beside)}
    kept = frame.loc[:, ~(is_beside | is_index)].rename(columns=str)
    return kept, found


def choose_points(
    frame: pd.DataFrame, path: Path, variable: str | None, *, is_stan: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns that are points, and a note where others were left out.

    All are, unless there are indices as in ``z[1]``: then those of one name. CmdStan writes ``z.1``, which in
    other files is a name like any other.

    Args:
        frame: the candidates.
        path: the file, for errors.
        variable: the name before the index.
        is_stan: whether ``z.1`` is an index too.

    Raises:
        ValueError: if ``variable`` is not there, or more than one name could be the labels.

    Example:
        >>> frame = pd.DataFrame({"z[1]": [0], "z[2]": [1], "mu": [0.5]})
        >>> choose_points(frame, Path("draws.csv"), None, is_stan=False)
        (['z[1]', 'z[2]'], ('The points are the columns z[...]; left out: mu.',))
    """
    names = [str(name) for name in frame.columns]
    bases = _bases(names, (_BRACKETS, _DOTS) if is_stan or variable is not None else (_BRACKETS,))
    if variable is not None and not bases:
        raise ValueError(
            f"variable is '{variable}', but no columns of '{path}' have indices as in z[1]; leave it out"
        )
    if variable is not None and variable not in bases:
        raise ValueError(f"'{path}': {unknown_name('variable', variable, bases)}")
    if not bases:
        return names, ()
    chosen = bases[_only_base(frame, bases, path) if variable is None else variable]
    left = [name for name in names if name not in set(chosen)]
    some = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
    base = chosen[0].rstrip("0123456789]").rstrip("[.")
    return chosen, (f"The points are the columns {base}[...]; left out: {some}.",) if left else ()


def _only_base(frame: pd.DataFrame, bases: Mapping[str, list[str]], path: Path) -> str:
    if "assignments" in bases or len(bases) == 1:
        return "assignments" if "assignments" in bases else next(iter(bases))
    whole = [base for base, columns in bases.items() if len(columns) > 1 and _are_whole(frame[columns])]
    if len(whole) != 1:
        raise ValueError(
            f"'{path}' has indexed columns of {', '.join(bases)}, and {len(whole)} of these names hold whole "
            "numbers: name the labels with variable"
        )
    return whole[0]


def _are_whole(frame: pd.DataFrame) -> bool:
    return all(pd.api.types.is_integer_dtype(kind) for kind in frame.dtypes)


def _bases(names: list[str], patterns: tuple[re.Pattern[str], ...]) -> dict[str, list[str]]:
    """Group columns by what stands before the index, each group in the order of its indices."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        match = next(filter(None, (pattern.match(name) for pattern in patterns)), None)
        if match:
            found.setdefault(match["base"], []).append((int(match["index"]), name))
    return {base: [name for _, name in sorted(columns)] for base, columns in found.items()}


_ORDER = ("iteration", "draw")
_LOG_JOINT, _LOG_PROB = ("log_joint", "lp__", "lp"), ("log_prob",)
# Lines that are looked at to tell names of columns from a draw.
_LOOKED_AT = 100


def read_table_draws(
    path: Path, *, variable: str | None = None, options: ReadingOptions | None = None
) -> FoundDraws:
    """Read draws from a table; see :func:`pyroclust.io.draws.read_draws` for what it may hold.

    Args:
        path: an existing file.
        variable: name of the indexed columns that are the points.
        options: what is told of the file.

    Raises:
        ValueError: if the table is damaged or ragged, has chains of unequal lengths, or it is not plain
            which columns are the points.
    """
    check_room(f"'{path}'", path.stat().st_size // 2)
    frame, header = _read_frame(path, options or ReadingOptions())
    if len(frame) == 0:
        raise ValueError(f"'{path}' holds a header and no draws; expected one row a draw")
    beside: dict[str, np.ndarray] = {}
    points, notes = list(frame.columns), header.notes
    if header.is_header:
        _refuse_statistics(frame, path)
        frame, beside = take_out(frame)
        points, chosen = choose_points(frame, path, variable, is_stan=any(n.endswith("__") for n in beside))
        notes = (*notes, *chosen)
    elif variable is not None:
        raise ValueError(f"variable is '{variable}', but '{path}' has no names of columns; leave it out")
    if not points:
        raise ValueError(f"'{path}' has no column that could be a point; expected one a point")
    labels = _labels(frame[points], path)
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


def _read_frame(path: Path, options: ReadingOptions) -> tuple[pd.DataFrame, _FirstLine]:
    found = read_delimited(path, options=options)
    top = list(islice(found.rows(), _LOOKED_AT))
    if not top:
        raise ValueError(f"'{path}' is empty; expected one row a draw and one column a point")
    cells = [[cell.strip() for cell in row.cells] for row in top]
    if options.header is not None:
        header = _HEADER if options.header else _NO_HEADER
    else:
        header = _HEADER if found.form.names_rows else _first_line(cells)
    columns = zip(*(cells[1:] if header.is_header else cells), strict=True)
    try:
        marks = find_marks(columns, delimiter=found.delimiter, decimal=options.decimal)
        frame = pd.read_csv(
            io.StringIO(_body(found, top, header)),
            sep=r"\s+" if found.delimiter == " " else found.delimiter,
            decimal=marks.decimal,
            thousands=marks.thousands[:1] or None,
            header=None,
            names=list(range(found.form.width)),
            # A line that ends in a delimiter has a cell more than there are columns.
            index_col=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame(columns=list(range(found.form.width)))
    except ValueError as error:
        reason = (str(error).strip().splitlines() or ["unknown reason"])[0].rstrip(".")
        raise ValueError(f"'{path}' is not a readable {path.suffix} table: {visible(reason)}") from None
    frame.columns = pd.Index(
        _names(cells[0], found.form.width) if header.is_header else range(frame.shape[1])
    )
    return frame, replace(header, notes=(*found.notes, *marks.notes, *header.notes))


def _body(found: DelimitedText, top: list[Row], header: _FirstLine) -> str:
    """Return the text of the draws, without names and comments."""
    stream = io.StringIO(found.text, newline="")
    if header.is_header and len(top) < 2:
        return ""
    for _ in range(top[int(header.is_header)].line - 1):
        stream.readline()
    if found.comment is None:
        return stream.read()
    return "".join(line for line in stream if not line.startswith(found.comment))


def _names(first: list[str], width: int) -> list[str]:
    """Return names of columns as pandas makes them: a number follows a name that was there before."""
    names, seen = [], dict[str, int]()
    for place, cell in enumerate([""] * (width - len(first)) + first[:width]):
        name = visible(cell) or f"Unnamed: {place}"
        names.append(f"{name}.{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return names


def _first_line(top: list[list[str]]) -> _FirstLine:
    """Guess whether the first line names the columns."""
    if not top:
        return _NO_HEADER
    first, below = top[0], top[1:]
    numbers = _numbers(first)
    if not np.isnan(numbers).any():
        return _numbered_line(numbers, below)
    empty = [place for place, cell in enumerate(first) if not cell]
    if empty:
        # Only an index has a column without a name, and it is the first.
        return _HEADER if empty == [0] else _NO_HEADER
    # Labels may be names: then a draw repeats one, and the second line holds no numbers either.
    repeats = len(set(first)) < len(first)
    names_below = bool(below) and bool(np.isnan(_numbers(below[0])).any())
    return _NO_HEADER if repeats and names_below else _HEADER


def _numbered_line(numbers: np.ndarray, below: list[list[str]]) -> _FirstLine:
    """Tell the columns 0, 1, 2, ... that pandas writes from a draw in which every point is alone."""
    if len(numbers) < 3 or numbers[0] not in (0, 1) or (np.diff(numbers) != 1).any():
        return _NO_HEADER
    is_header = bool(below) and all(len(set(row)) < len(row) for row in below)
    what = "names of the columns" if is_header else "a draw"
    note = f"The first line, {numbers[0]:.0f} to {numbers[-1]:.0f}, was read as {what}."
    return _FirstLine(is_header=is_header, names_points=False, notes=(note,))


def _numbers(cells: list[str]) -> np.ndarray:
    return pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(dtype=np.float64)


def _refuse_statistics(frame: pd.DataFrame, path: Path) -> None:
    names = [str(name) for name in frame.columns if _STATISTIC.fullmatch(str(name).strip().lower())]
    if len(names) > 1:
        raise ValueError(
            f"'{path}' has the columns {', '.join(names)}, a table of statistics, expected the draws "
            "themselves: one row a draw and one column a point"
        )


def _labels(frame: pd.DataFrame, path: Path) -> np.ndarray:
    if all(pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes):
        return frame.to_numpy()
    for place, (name, kind) in enumerate(frame.dtypes.items()):
        column = frame.iloc[:, place]
        if kind.kind == "f" and (broken := column[np.trunc(column) != column].dropna()).size:
            raise ValueError(
                f"'{path}' holds {broken.iloc[0]:g} in column '{name}' beside columns of names, expected "
                "labels of clusters in every column: one row a draw and one column a point"
            )
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
