"""Many data sets that were clustered alike: what is kept of each, in memory or in a folder that grows."""

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from pyroclust.core.files import parse_json, read_record, sync_folder
from pyroclust.core.messages import unknown_name
from pyroclust.core.numbers import json_values
from pyroclust.data import Table
from pyroclust.data.kinds import Kind
from pyroclust.diagnostics import SetVerdict
from pyroclust.diagnostics.importance import importance_weights, stratified_draws
from pyroclust.partitions import Draws

RECORD = "data-sets.json"
"""Name of the file that says how the data sets of a folder were clustered."""
STORE = "draws.zarr"
"""Name of the Zarr store of a folder."""
_JOURNAL = ".data-sets.jsonl"
_INSTALL = "needs Zarr: install it with pip install 'pyroclust[dask]'"
# Data sets of a chunk of the store, and the most points.
_SETS, _MOST_POINTS = 32, 1024


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

    @property
    def num_points(self) -> int:
        return 0 if self.data is None else len(self.data)


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
    """Arrays in a Zarr store that xarray opens; sets of fewer points than others end in -1 or nan."""

    def __init__(self, folder: Path) -> None:
        zarr = import_zarr("the store of draws")
        self._root = zarr.open_group(str(folder / STORE), mode="a")

    def describe(self, **attributes: Any) -> None:
        self._root.attrs.update(attributes)

    def write(self, first: int, clustered: Sequence[ClusteredSet]) -> None:
        present = [one for one in clustered if one.data is not None]
        if not present:
            return
        most = max(one.num_points for one in present)
        for name, (dimensions, dtype, nothing) in _FORMS.items():
            some = [one for one in present if getattr(one, name) is not None]
            if not some:
                continue
            sizes = {"data_set": len(clustered), "point": most}
            sizes |= {
                key: size
                for key, size in zip(dimensions[1:], getattr(some[0], name).shape, strict=True)
                if key != "point"
            }
            block = np.full([sizes[key] for key in dimensions], nothing, dtype)
            for place, one in enumerate(clustered):
                values = getattr(one, name)
                if values is not None:
                    within: tuple[Any, ...] = (place, *(slice(size) for size in values.shape))
                    block[within] = values
            array = self._array(name, [sizes[key] for key in dimensions], first + len(clustered))
            array[(slice(first, first + len(clustered)), *(slice(size) for size in block.shape[1:]))] = block

    def read(self, place: int, num_points: int, name: str) -> np.ndarray:
        dimensions = _FORMS[name][0]
        index = (place, *(slice(num_points) if one == "point" else slice(None) for one in dimensions[1:]))
        values: np.ndarray = self._root[name][index]
        return values

    def _array(self, name: str, shape: list[int], num_sets: int) -> Any:
        """Return an array that is large enough, made or enlarged where it was not."""
        dimensions, dtype, nothing = _FORMS[name]
        wanted = [num_sets, *shape[1:]]
        if name not in self._root:
            limits = {"data_set": _SETS, "point": min(_MOST_POINTS, _power_of_two(max(shape[1:])))}
            chunks = [limits.get(one, size) for one, size in zip(dimensions, wanted, strict=True)]
            return self._root.create_array(
                name, shape=wanted, chunks=chunks, dtype=dtype, fill_value=nothing, dimension_names=dimensions
            )
        array = self._root[name]
        larger = tuple(max(sizes) for sizes in zip(array.shape, wanted, strict=True))
        if larger != array.shape:
            array.resize(larger)
        return array


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 1).bit_length()


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


def forget_store(folder: Path) -> None:
    """Delete the store and the journal of another run, which this library wrote."""
    Journal(folder).delete()
    if (folder / STORE).is_dir() and "pyroclust" in read_record(folder / STORE / "zarr.json").get(
        "attributes", {}
    ):
        shutil.rmtree(folder / STORE)
        sync_folder(folder)


def run_of_store(folder: Path) -> str | None:
    """Return the name of the run that began a store, empty of one that is not ours; ``None`` without any."""
    if not os.path.lexists(folder / STORE):
        return None
    attributes = read_record(folder / STORE / "zarr.json").get("attributes", {})
    return str(attributes.get("pyroclust", ""))


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

    The verdict of a data set is **sure** where the guide's draws are nearly those of the posterior, or chains
    have converged; **weights needed** where they are as good after weighting; **run chains** where weights
    cannot mend them, or the guide was not trained for such data; **not converged** of chains; **guide alone**
    where the model has no likelihood, so that nothing can be said; **failed** where it could not be used.

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
        """Return the draws of a data set, with ``log_weights`` where its verdict is that they are needed.

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
            log_weights=weights[None] if row["verdict"] == SetVerdict.WEIGHTED else None,
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
            record = parse_json((folder / RECORD).read_text(encoding="utf-8"))
            summaries = pd.read_parquet(folder / "summaries.parquet").set_index("data_set")
            store = ZarrStore(folder)
        except (OSError, KeyError) as error:
            raise ValueError(
                f"folder '{folder}' holds no data sets that were clustered ({error}): run pyroclust cluster "
                "--by, or cluster many files, with --out first"
            ) from None
        places = dict(zip(summaries.index, summaries.pop("place").tolist(), strict=True))
        return cls(
            summaries=summaries,
            about=record["about"],
            columns=_columns_of(record["columns"]),
            notes=tuple(record["notes"]),
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


def with_equal_weights(assignments: np.ndarray, log_weights: np.ndarray, *, seed: int) -> np.ndarray:
    """Return as many draws, ``(S, N)``, resampled by their smoothed weights."""
    uniform = np.random.default_rng(seed).random(len(assignments))
    return assignments[stratified_draws(importance_weights(log_weights), uniform)]
