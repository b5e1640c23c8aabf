"""Many data sets that were clustered alike: what is kept of each, in memory or in a folder that grows."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from pyroclust.core.files import parse_json, read_record, read_text
from pyroclust.core.messages import first_line, unknown_name
from pyroclust.core.numbers import json_values
from pyroclust.data import Table
from pyroclust.data.kinds import Kind
from pyroclust.partitions import Draws

RECORD = "data-sets.json"
"""Name of the file that says how the data sets of a folder were clustered."""
STORE = "draws.zarr"
"""Name of the Zarr store of a folder."""
_JOURNAL, _RUN = ".data-sets.jsonl", "pyroclust"
_INSTALL = "needs Zarr: install it with pip install 'pyroclust[dask]'"
SETS_AT_ONCE = 32
"""Data sets that are drawn in one task, and lie in one chunk of the store."""
_MOST_POINTS = 1024


@dataclass(frozen=True, kw_only=True)
class ClusteredSet:
    """What is kept of one data set; where it failed, and where nothing was drawn, no arrays of draws."""

    name: str
    fingerprint: str  # of what it was read from
    summary: Mapping[str, Any]  # its row in the table of summaries
    row_names: tuple[str, ...] = ()
    data: np.ndarray | None = None  # in units, (N, D)
    assignments: np.ndarray | None = None  # (S, N)
    log_weights: np.ndarray | None = None  # (S,), importance weights; zeros for draws of equal weight
    estimate: np.ndarray | None = None  # the point estimate, (N,)
    certainty: np.ndarray | None = None  # how probably a row is with its companions there, (N,)


_ARRAYS = ("data", "assignments", "log_weights", "estimate", "certainty")


class SetStore(Protocol):
    """Keeps the arrays of data sets by their places."""

    def write(self, first: int, clustered: Sequence[ClusteredSet]) -> None:
        """Keep the arrays of data sets, in places from the first on."""

    def read(self, place: int, num_points: int, name: str) -> np.ndarray:
        """Return one array of a data set."""


class MemoryStore:
    """Arrays in memory."""

    def __init__(self) -> None:
        self._kept: dict[int, dict[str, np.ndarray]] = {}

    def write(self, first: int, clustered: Sequence[ClusteredSet]) -> None:
        for place, one in enumerate(clustered, first):
            arrays = {name: getattr(one, name) for name in _ARRAYS if getattr(one, name) is not None}
            self._kept.setdefault(place, {}).update(arrays)

    def read(self, place: int, num_points: int, name: str) -> np.ndarray:
        return self._kept[place][name]


# Dimensions of the arrays of a store, their types and what stands where there is nothing.
_FORMS: Mapping[str, tuple[tuple[str, ...], str, float]] = {
    "data": (("data_set", "point", "column"), "float64", math.nan),
    "assignments": (("data_set", "draw", "point"), "int32", -1),
    "log_weights": (("data_set", "draw"), "float64", math.nan),
    "estimate": (("data_set", "point"), "int32", -1),
    "certainty": (("data_set", "point"), "float32", math.nan),
}


class ZarrStore:
    """Arrays in a Zarr store that xarray opens; sets of fewer points than others end in -1 or nan.

    Args:
        folder: that holds the store.
        run: the name of the run that writes; ``None`` to read alone.
    """

    def __init__(self, folder: Path, *, run: str | None = None) -> None:
        zarr, path = import_zarr("the store of draws"), str(folder / STORE)
        # Of small arrays, without draws, the chunk that was read last: neighbours follow.
        self._last: dict[str, tuple[int, np.ndarray]] = {}
        if run is None:
            self._root = zarr.open_group(path, mode="r")
        else:
            # A store without the name of its run is not ours: it has one from its first file on.
            self._root = zarr.open_group(path, mode="a", attributes={_RUN: run})
        # The group would read its files again each time.
        self._arrays: dict[str, Any] = dict(self._root.arrays())

    def write(self, first: int, clustered: Sequence[ClusteredSet]) -> None:
        self._last.clear()
        for name, (dimensions, dtype, nothing) in _FORMS.items():
            arrays = {place: getattr(one, name) for place, one in enumerate(clustered)}
            arrays = {place: one for place, one in arrays.items() if one is not None}
            if not arrays:
                continue
            shape = [len(clustered), *np.max([one.shape for one in arrays.values()], axis=0).tolist()]
            block = np.full(shape, nothing, dtype)
            for place, one in arrays.items():
                within: tuple[Any, ...] = (place, *map(slice, one.shape))
                block[within] = one
            array = self._array(name, dimensions, [first + len(clustered), *shape[1:]])
            array[(slice(first, first + len(clustered)), *map(slice, shape[1:]))] = block

    def read(self, place: int, num_points: int, name: str) -> np.ndarray:
        dimensions, array = _FORMS[name][0], self._arrays[name]
        within = tuple(slice(num_points) if one == "point" else slice(None) for one in dimensions[1:])
        if "draw" in dimensions or array.shape[1] > _MOST_POINTS:
            values: np.ndarray = array[(place, *within)]
            return values
        chunk, at = divmod(place, SETS_AT_ONCE)
        if self._last.get(name, (-1,))[0] != chunk:
            self._last[name] = chunk, array[chunk * SETS_AT_ONCE : (chunk + 1) * SETS_AT_ONCE]
        return self._last[name][1][(at, *within)].copy()

    def _array(self, name: str, dimensions: tuple[str, ...], wanted: list[int]) -> Any:
        """Return an array that is large enough, made or enlarged where it was not."""
        if name not in self._arrays:
            sizes = dict(zip(dimensions, wanted, strict=True))
            points = 1 << (sizes.get("point", 1) - 1).bit_length()
            sizes |= {"data_set": SETS_AT_ONCE, "point": min(_MOST_POINTS, points)}
            self._arrays[name] = self._root.create_array(
                name,
                shape=wanted,
                chunks=[sizes[one] for one in dimensions],
                dtype=_FORMS[name][1],
                fill_value=_FORMS[name][2],
                dimension_names=dimensions,
            )
        array = self._arrays[name]
        larger = tuple(max(sizes) for sizes in zip(array.shape, wanted, strict=True))
        if larger != array.shape:
            array.resize(larger)
        return array


def import_zarr(what: str) -> Any:
    """Return the library; a sentence where it is not installed."""
    try:
        import zarr
    except ImportError:
        raise ValueError(f"{what} {_INSTALL}") from None
    return zarr


class Journal:
    """What was done so far in a folder, a line each time that some data sets are finished.

    The arrays of a line are in the store before it is written: after a crash what has no line is done again.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / _JOURNAL

    def read(self) -> Iterator[list[dict[str, Any]]]:
        """Return what each line says of some data sets; the last one is cut off where it was not finished."""
        if self._path is None or not self._path.exists():
            return
        whole = 0
        with self._path.open("rb") as lines:
            for line in lines:
                try:
                    content = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    content = None
                if content is None:
                    break
                whole += len(line)
                yield content
        with self._path.open("r+b") as file:
            file.truncate(whole)

    def add(self, sets: Sequence[Mapping[str, Any]]) -> None:
        """Add a line."""
        if self._path is None:
            return
        with self._path.open("ab") as file:
            file.write(json.dumps(sets).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def delete(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def run_of_store(folder: Path) -> str | None:
    """Return the name of the run that began a store, empty of one that is not ours; ``None`` without any."""
    store = folder / STORE
    if not os.path.lexists(store):
        return None
    attributes = {} if store.is_symlink() else read_record(store / "zarr.json").get("attributes", {})
    return str(attributes.get(_RUN, ""))


@dataclass(kw_only=True, repr=False)
class Analyses:
    """Many data sets that were clustered alike: a row of figures for each, and its draws.

    Attributes:
        summaries: a row for each data set, by its name, in their order: ``rows``, ``clusters`` (the likeliest
            number), its ``probability``, ``low`` and ``high`` (90 % interval), ``certain_rows`` and
            ``certain_pairs`` (shares), ``efficiency`` and ``pareto_k`` of the guide's weights, ``verdict``,
            ``drawn_by`` ("guide" or "chains"), ``seconds`` of processor time, a ``note``, and ``posterior``,
            the probabilities of 1, 2, ... clusters.
        about: what was done: model, guide, draws, seed, versions, and the command that repeats it.
        columns: a table without rows, whose columns all data sets have.
        notes: sentences on what holds for all of them.
        folder: where they lie, or ``None``.
        store: what keeps the arrays.
        places: of the data sets in the store, by their names.

    Figures and point estimates are of weighted draws. The verdict of a data set is **sure** where the guide's
    draws would do without weights, or chains have converged; **weights needed** where they would not; **run
    chains** where weights cannot mend them, or the guide was not trained for such data; **not converged** of
    chains; **guide alone** where the model has no likelihood, so that there are no weights; **failed** where
    it could not be used.

    Example:
        >>> import numpy as np
        >>> from pyroclust import cluster_many
        >>> rng = np.random.default_rng(0)
        >>> sets = {"a": rng.normal(size=(20, 2)), "b": rng.normal(size=(30, 2))}
        >>> found = cluster_many(sets, guide="ncp-gaussian2d", raw=True, num_draws=50)
        >>> found.summaries["rows"].tolist(), found.draws("b").assignments.shape
        ([20, 30], (1, 50, 30))
    """

    summaries: pd.DataFrame
    about: Mapping[str, Any]
    columns: Table
    notes: Sequence[str] = ()
    folder: Path | None = None
    store: SetStore = field(default_factory=MemoryStore)
    places: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = self.summaries["verdict"].value_counts()
        return f"Analyses({len(self)} data sets: {', '.join(f'{n:,} {one}' for one, n in counts.items())})"

    def __len__(self) -> int:
        return len(self.summaries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.summaries.index)

    def draws(self, name: str) -> Draws:
        """Return the draws of a data set, with ``log_weights`` where they are weighted ones of a guide.

        Raises:
            ValueError: if there is no such data set, or nothing was drawn of it.
        """
        row = self._row(name)
        if not row["drawn_by"]:
            raise ValueError(f"there are no draws of '{name}': {row['note'] or row['verdict']}")
        labels = self._read(name, "assignments").astype(np.int64)
        weights = self._read(name, "log_weights")
        return Draws(
            name=f"{row['drawn_by']} of {name}",
            assignments=labels[None],
            log_weights=weights[None] if weights.any() else None,
        )

    def table(self, name: str) -> Table:
        """Return a data set as it was read, in the units of its columns."""
        return table_of(self.columns, name, self._read(name, "data"))

    def estimate(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the point estimate, and the probability of each row to be with its companions, ``(N,)``."""
        return self._read(name, "estimate").astype(np.int64), self._read(name, "certainty")

    def least_sure(self, number: int) -> list[str]:
        """Return the names of the data sets with the fewest certain rows, of those that were drawn."""
        drawn = self.summaries[self.summaries["drawn_by"] != ""]
        return list(map(str, drawn.sort_values("certain_rows", kind="stable").index[:number]))

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> "Analyses":
        """Read what ``cluster_many`` wrote into a folder; draws are read when they are asked for.

        Raises:
            ValueError: if there is none, or Zarr is not installed.
        """
        folder = Path(folder)
        try:
            record = parse_json(read_text(folder / RECORD))
            summaries = pd.read_parquet(folder / "summaries.parquet").set_index("data_set")
            columns = _columns_of(record["columns"])
            about, notes = record["about"], tuple(record["notes"])
        except Exception as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
            raise ValueError(
                f"folder '{folder}' holds no data sets that were clustered and can be read ({what}): run "
                "pyroclust cluster of many files, or with --by, first"
            ) from None
        store = ZarrStore(folder)
        places = dict(zip(summaries.index, summaries.pop("place").tolist(), strict=True))
        return cls(
            summaries=summaries,
            about=about,
            columns=columns,
            notes=notes,
            folder=folder,
            store=store,
            places=places,
        )

    def _row(self, name: str) -> Any:
        if name not in self.places:
            raise ValueError(unknown_name("data set", name, list(self.places)[:1000]))
        return self.summaries.loc[name]

    def _read(self, name: str, array: str) -> np.ndarray:
        return self.store.read(self.places[name], int(self._row(name)["rows"]), array)


_COLUMNS = ("columns", "kinds", "levels", "units", "codes", "parts", "arguments")


def table_of(columns: Table, name: str, data: np.ndarray, row_names: tuple[str, ...] | None = None) -> Table:
    """Return a table with the columns of another."""
    counted = tuple(map(str, range(1, len(data) + 1)))
    return replace(
        columns,
        name=name,
        data=data,
        row_names=counted if row_names is None else row_names,
        labels=None,
        notes=(),
        doubts=(),
    )


def described_columns(table: Table) -> dict[str, Any]:
    """Return what builds the columns of a table again, as JSON holds it."""
    return {name: json_values(getattr(table, name)) for name in _COLUMNS}


def _columns_of(described: Mapping[str, Any]) -> Table:
    def tuples(value: Any) -> Any:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    fields = {name: tuples(described[name]) for name in _COLUMNS}
    fields["kinds"] = tuple(map(Kind, fields["kinds"]))
    data = np.empty((0, len(fields["columns"])))
    return Table(name="", data=data, labels=None, row_names=(), **fields)
