"""Draws of partitions from any software: reading them from files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pyroclust.delimited import PLAIN, ReadingOptions, check_file, foreign_suffix
from pyroclust.diagnostics.draws.holders import DrawsLike, held_labels
from pyroclust.io.arrays import read_npy_draws, read_npz_draws
from pyroclust.io.columns import draws_in_frame
from pyroclust.io.delimited import read_table_draws
from pyroclust.io.labels import FoundDraws, canonical_draws, check_room
from pyroclust.text import visible

__all__ = ["DRAWS_SUFFIXES", "DrawsFile", "DrawsSource", "draws_from", "read_draws"]

DRAWS_SUFFIXES = (*PLAIN, ".npy", ".npz", ".nc")


@dataclass(frozen=True)
class DrawsFile:
    """Draws of partitions that some program wrote.

    Attributes:
        name: what reports call them: the file's name without its suffix.
        assignments: canonical labels, ``(chains, draws, N)`` int64.
        log_joint: log p(assignments, data) in nats, ``(chains, draws)`` float64, or ``None``.
        log_prob: log q(assignments | data) in nats, ``(chains, draws)`` float64, or ``None``.
        point_names: N names of the points, or ``None``.
        notes: sentences on what was left out or guessed.
    """

    name: str
    assignments: np.ndarray
    log_joint: np.ndarray | None = None
    log_prob: np.ndarray | None = None
    point_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the name and how many draws of how many points there are."""
        chains, draws, points = self.assignments.shape
        return f"DrawsFile({self.name!r}: {chains} chain(s) of {draws} draws, {points} points)"


_INTERRUPTED = "The run that made {name} was interrupted: they may be fewer than were asked for."

DrawsSource: TypeAlias = str | PathLike[str] | DrawsFile | DrawsLike
"""A file, draws that were read from one, or any object that holds draws."""


def draws_from(source: DrawsSource, *, name: str = "the draws") -> DrawsFile:
    """Return draws of partitions whatever they come from, their labels renumbered by first appearance.

    Log densities that the object holds beside its labels, ``log_joint`` and ``log_prob``, come along.

    Args:
        source: a file, see :func:`read_draws`; or an array, a tensor, what a sampler returned, a finished
            ``pyro.infer.MCMC``, or a container of ArviZ, see
            :func:`~pyroclust.diagnostics.draws.holders.held_labels`.
        name: what reports call draws without a name.

    Raises:
        ValueError: if the source cannot be read or holds no labels; the sentence says what to do.

    Example:
        >>> draws_from(np.array([["b", "b", "a"]])).assignments.tolist()
        [[[0, 0, 1]]]
    """
    if isinstance(source, DrawsFile):
        return source
    if isinstance(source, str | PathLike):
        return read_draws(Path(source))
    if isinstance(source, pd.DataFrame):
        return _drawn(_in_frame(source, name), name, where=name)
    labels = held_labels(name, source)
    # Arrays that repeat one number take no memory before anything is done with them.
    check_room(name, labels.size)
    draws = canonical_draws(labels, where=name)
    own, points = getattr(source, "name", None), getattr(source, "point_names", None)
    return DrawsFile(
        name=own if isinstance(own, str) else name,
        assignments=draws,
        log_joint=_log(_beside(source, "log_joint"), draws, "log_joint", name),
        log_prob=_log(_beside(source, "log_prob"), draws, "log_prob", name),
        point_names=points,
        notes=(_INTERRUPTED.format(name=name),) if getattr(source, "interrupted", False) is True else (),
    )


def _beside(source: Any, name: str) -> np.ndarray | None:
    """Return what an object holds beside its labels."""
    if hasattr(source, "get_samples"):
        source = source.get_samples(group_by_chain=True)
    if getattr(source, "posterior", None) is not None:
        source = source.posterior
    found = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    return None if found is None or callable(found) else held_labels(name, found)


def read_draws(
    path: str | Path,
    *,
    variable: str | None = None,
    group: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
) -> DrawsFile:
    r"""Read draws of partitions from a CSV, TSV, NumPy or NetCDF file.

    Two points share a cluster in a draw where their labels are equal. Labels may be whole numbers or names;
    they are renumbered by first appearance in each draw, so that equal partitions have equal labels.

    * ``.csv``, ``.tsv``: one row a draw, one column a point, with a header or without. A transposed table
      cannot be told apart. Columns ``chain`` and ``draw`` or ``iteration``, with a leading dot or without, as
      R's posterior and CmdStan write them, divide and order the rows; ``log_joint`` or ``lp__``, and
      ``log_prob``, are taken out. Columns that are no points by their names, as ``id`` and ``seed``, or by
      their values, as row numbers, are left out, and the notes say so; in doubt they are refused. Where
      columns have indices as in ``z[1]``, those of one name are the points: of ``variable``, of
      ``assignments``, or of the only name with whole numbers.
    * ``.npy``: ``(draws, points)`` or ``(chains, draws, points)``.
    * ``.npz``: the array ``variable``, ``assignments``, or the only one of two or three dimensions; arrays
      ``log_joint``, ``log_prob`` and ``point_names`` where they are.
    * ``.nc``: ArviZ's files. The group ``group``, by default ``posterior``, and in it ``variable``,
      ``assignments``, or the only variable of whole numbers with a third dimension.

    Cost: O(S N log N) for S draws of N points, and 24 bytes a label.

    Args:
        path: the file.
        variable: name of the labels, where there is more than one candidate.
        group: of a NetCDF file, such as ``guide`` in the ``draws.nc`` of a comparison.
        delimiter: what divides the cells of a CSV or TSV file; found out by default.
        decimal: its decimal mark, a point or a comma; found out by default.
        header: whether its first line names the columns; found out by default.

    Raises:
        ValueError: if the file is missing, of another kind, damaged, empty or too large, or does not hold
            labels of at least two points; in one sentence with what to do.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "draws.csv"
        >>> _ = path.write_text("chain,a,b,c\n1,5,5,2\n2,7,1,7\n")
        >>> draws = read_draws(path)
        >>> draws.assignments.tolist(), draws.point_names
        ([[[0, 0, 1]], [[0, 1, 0]]], ('a', 'b', 'c'))
    """
    path = Path(path)
    found = _found(path, variable, group, ReadingOptions(delimiter, decimal, header))
    suffix = "" if group in (None, "posterior") else f" ({group})"
    return _drawn(found, path.stem + suffix, where=f"'{path}'")


def _drawn(found: FoundDraws, name: str, *, where: str) -> DrawsFile:
    draws = canonical_draws(found.labels, where=where)
    return DrawsFile(
        name=visible(name),
        assignments=draws,
        log_joint=_log(found.log_joint, draws, "log_joint", where),
        log_prob=_log(found.log_prob, draws, "log_prob", where),
        point_names=found.point_names,
        notes=found.notes,
    )


def _in_frame(frame: pd.DataFrame, name: str) -> FoundDraws:
    """Read a data frame as the table that it would be in a file; numbers as names name no points."""
    named = all(isinstance(one, str) for one in frame.columns)
    return draws_in_frame(frame, where=name, is_header=named, names_points=named)


def _found(path: Path, variable: str | None, group: str | None, options: ReadingOptions) -> FoundDraws:
    kind = path.suffix.lower()
    if kind not in DRAWS_SUFFIXES:
        raise ValueError(f"cannot read draws from '{path}': {foreign_suffix(path, DRAWS_SUFFIXES)}")
    if group is not None and kind != ".nc":
        raise ValueError(f"group is '{group}', but only .nc files have groups and '{path}' is a {kind} file")
    if options.told and kind not in PLAIN:
        raise ValueError(f"{options.told[0]} is told, but '{path}' is no text file: leave it out")
    check_file(path)
    try:
        if kind in PLAIN:
            return read_table_draws(path, variable=variable, options=options)
        return _READERS[kind](path, variable, group)
    except PermissionError:
        raise ValueError(f"'{path}' cannot be read: permission denied") from None
    except MemoryError:
        raise ValueError(f"'{path}' does not fit into memory; thin the draws") from None


def _log(values: np.ndarray | None, draws: np.ndarray, name: str, where: str) -> np.ndarray | None:
    if values is None:
        return None
    if values.size != draws[..., 0].size:
        raise ValueError(
            f"{where} has {values.size} values of {name}, expected {draws[..., 0].size}, one a draw"
        )
    if values.ndim > 1 and values.shape != draws.shape[:2] and max(values.shape) < values.size:
        raise ValueError(
            f"{where} has a {name} of shape {values.shape}, expected {draws.shape[:2]}, (chains, draws)"
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{where} has a {name} of type {values.dtype}, expected numbers in nats")
    return values.reshape(draws.shape[:2]).astype(np.float64)


def _read_netcdf(path: Path, variable: str | None, group: str | None) -> FoundDraws:
    from pyroclust.io.netcdf import read_netcdf_draws

    return read_netcdf_draws(path, variable=variable, group=group)


_READERS: dict[str, Callable[[Path, str | None, str | None], FoundDraws]] = {
    ".npy": lambda path, variable, group: read_npy_draws(path, variable=variable),
    ".npz": lambda path, variable, group: read_npz_draws(path, variable=variable),
    ".nc": _read_netcdf,
}
