"""Which columns of a table of draws are points, and which say something of the draw."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from pyroclust.suggestions import unknown_name

__all__ = ["choose_points", "take_out"]

# Names of columns that are no points, without a leading dot and in lower case; Stan's end in two underscores.
_BESIDE = {"chain", "iteration", "draw", "log_joint", "lp", "log_prob", "num_clusters"}
_BRACKETS = re.compile(r"^(?P<base>.+)\[(?P<index>\d+)\]$")
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
