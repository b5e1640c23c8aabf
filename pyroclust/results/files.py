"""The files of a result: those of one run, in a folder of their own."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.data.tables import Table
from pyroclust.files import (
    check_outside_the_package,
    clear_leftovers,
    finish_entries,
    finish_folder,
    locked_folder,
    new_part,
    replace_entries,
    replace_folder,
)
from pyroclust.interrupts import raise_if_interrupted
from pyroclust.text import listed, spreadsheet_cell

__all__ = [
    "csv_text",
    "figures_of",
    "name_of_run",
    "prepare_folder",
    "results_folder",
    "table_content",
    "write_files",
    "write_json",
]

# Files with the name of their run, and those beside them.
_SUMMARIES = ("summary.json", "certificate.json")
_RESULTS = frozenset(
    {
        *_SUMMARIES,
        "report.html",
        "draws.nc",
        "assignments.csv",
        "clusters.csv",
        "certificate.png",
        # Of version 0.1.
        "points.csv",
    }
)


def prepare_folder(out: str | PathLike[str]) -> Path:
    """Create a folder and check that files can be written there, before anything is computed.

    What killed processes were writing there is removed.
    """
    if isinstance(out, str) and not out.strip():
        raise ValueError("the folder for the results has an empty name; name one, or . for this folder")
    folder = Path(out)
    check_outside_the_package(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = new_part(folder)
        part.mkdir()
        part.rmdir()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"cannot write into the folder '{folder}' ({reason}); choose another with --out"
        ) from None
    clear_leftovers(folder)
    return folder


@contextmanager
def results_folder(
    out: str | PathLike[str] | None, *, run: str, overwrite: bool = False
) -> Iterator[Path | None]:
    """Reserve a folder for the results of a run, before anything is computed, and keep others out.

    A run replaces its own results: those of the same command with the same data and the same options. Any
    other file there has to be given up expressly. Files whose names begin with a dot do not count.
    """
    if out is None:
        yield None
        return
    finish_folder(Path(os.path.realpath(out)))
    is_new = not Path(out).exists()
    folder = prepare_folder(out)
    clear_leftovers(folder.resolve().parent)
    try:
        with locked_folder(folder):
            finish_entries(folder, stale=_RESULTS)
            if not overwrite:
                _check_own(folder, run)
            yield folder
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def name_of_run(command: str, **settings: Any) -> str:
    """Return what tells the results of a run from those of another: a checksum of all that it depends on."""
    digest = hashlib.sha256(command.encode())
    for name in sorted(settings):
        digest.update(f"\0{name}=".encode())
        _feed(digest.update, settings[name])
    return digest.hexdigest()[:16]


def table_content(table: Table) -> tuple[Any, ...]:
    """Return all that a table holds, for :func:`name_of_run`."""
    kinds = () if table.are_numbers else (table.kinds, table.levels)
    weights = () if table.weights is None else (table.weights,)
    return table.name, table.data, table.columns, table.row_names, table.labels, *kinds, *weights


def figures_of(found: Any) -> Any:
    """Return what ``summary.json`` says of a result; numbers may be those of numpy, or not finite."""
    if isinstance(found, Mapping):
        return {name: figures_of(one) for name, one in found.items()}
    if isinstance(found, tuple | list):
        return [figures_of(one) for one in found]
    as_figures: Callable[[], Any] | None = getattr(found, "figures", None) or getattr(found, "to_dict", None)
    if as_figures is not None:
        return as_figures()
    return asdict(found) if is_dataclass(found) and not isinstance(found, type) else found


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a file of JSON."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


@contextmanager
def write_files(folder: Path, *, even_interrupted: bool = False) -> Iterator[Path]:
    """Finish all files elsewhere first, then let them replace those of an earlier run, all or none.

    The folder is exchanged for a new one in one step where it holds nothing else; where it does, or is the
    working folder, or has a parent that cannot be written, the files are exchanged one by one.
    """
    place = folder.resolve()
    part = _unfinished(place)
    try:
        yield part
        if not even_interrupted:
            raise_if_interrupted()
        if part.parent == place:
            replace_entries(part, place, stale=_RESULTS)
        else:
            replace_folder(part, place)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        # A write to an open file fails without a name.
        raise OSError(error.errno, error.strerror, str(folder)) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _unfinished(place: Path) -> Path:
    """Create an empty folder beside a place, or inside of it where it cannot be exchanged as a whole."""
    keeps = any(path.name not in _RESULTS for path in _entries(place))
    if not keeps and not os.path.ismount(place) and place != Path.cwd():
        part = new_part(place.parent)
        with suppress(OSError):
            part.mkdir()
            return part
    part = new_part(place)
    part.mkdir()
    return part


def _check_own(folder: Path, run: str) -> None:
    """Refuse a folder with anything else than the results of a run."""
    held = sorted(path.name for path in _entries(folder) if not path.name.startswith("."))
    foreign = [name for name in held if name not in _RESULTS]
    if foreign:
        raise ValueError(
            f"folder '{folder}' holds other files ({listed(foreign, 3)}); choose another with --out, or "
            "write beside them with --overwrite (overwrite=True)"
        )
    if held and run not in {_run_of(folder / name) for name in _SUMMARIES}:
        raise ValueError(
            f"folder '{folder}' holds the results of another run ({listed(held, 4)}); choose another with "
            "--out, or replace them with --overwrite (overwrite=True)"
        )


def _entries(folder: Path) -> list[Path]:
    """List a folder without what this process and killed ones put there for a while."""
    temporary = (".part-", ".pyroclust-")
    return [path for path in folder.iterdir() if not path.name.startswith(temporary)]


def _run_of(path: Path) -> str | None:
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(path.read_text(encoding="utf-8"))
        return found.get("run") if isinstance(found, dict) else None
    return None


def _feed(update: Callable[[bytes], None], value: Any) -> None:
    """Feed a value to a checksum, so that different values give different ones."""
    if isinstance(value, tuple | list):
        update(f"({len(value)}:".encode())
        for one in value:
            _feed(update, one)
    elif isinstance(value, np.ndarray):
        update(f"[{value.dtype}{value.shape}:".encode())
        update(value.tobytes() if value.dtype != object else repr(value.tolist()).encode())
    else:
        update(f"{type(value).__name__}:{value!r};".encode("utf-8", "backslashreplace"))


def csv_text(frame: pd.DataFrame) -> str:
    """Write a data frame as CSV that every reader divides alike and no spreadsheet runs."""
    columns = [
        ["" if pd.isna(one) else str(one) for one in column.tolist()]
        if pd.api.types.is_numeric_dtype(column.dtype)
        else ["" if pd.isna(one) else spreadsheet_cell(str(one)) for one in column]
        for column in (frame.iloc[:, place] for place in range(frame.shape[1]))
    ]
    rows = [[spreadsheet_cell(str(name)) for name in frame.columns], *zip(*columns, strict=True)]
    return "".join(",".join(row) + "\n" for row in rows)
