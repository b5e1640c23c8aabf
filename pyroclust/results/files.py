"""The files of a result: those of one run, in a folder of their own."""

import hashlib
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.core.files import (
    RESULTS,
    check_outside_the_package,
    check_replaceable,
    checksum,
    clear_leftovers,
    exchange_results,
    json_text,
    locked_folder,
    new_part,
    read_record,
    sealed,
    settle_results,
    written_results,
)
from pyroclust.core.long_runs import raise_if_interrupted
from pyroclust.core.messages import listed, spreadsheet_cell
from pyroclust.data import Table


def prepare_folder(out: str | PathLike[str]) -> Path:
    """Create a folder and check that files can be written there, before anything is computed."""
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
    out: str | PathLike[str] | None,
    *,
    run: str,
    command: str = "",
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
    record: str = "summary.json",
) -> Iterator[Path | None]:
    """Reserve a folder for the results of a run, before anything is computed, and keep others out.

    A run, of the name that :func:`name_of_run` gives, replaces its own results, as long as nobody changed
    them. To replace those of another run, or to write beside other files, has to be said (``overwrite``).
    What no run wrote, what was changed since, and what this run reads (``inputs``, and what the command
    names) is never replaced. Files whose names begin with a dot do not count. ``record`` lists the others.
    """
    if not isinstance(out, str | PathLike | None):
        raise ValueError(f"out is of type {type(out).__name__}, expected the name of a folder")
    if out is None:
        yield None
        return
    is_new = not Path(out).exists()
    folder = prepare_folder(out)
    try:
        with locked_folder(folder):
            settle_results(folder)
            _check_own(folder, run, record, inputs=[*inputs, *_files_named(command)], overwrite=overwrite)
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
    path.write_text(json_text(content), encoding="utf-8")


@contextmanager
def write_files(folder: Path, *, even_interrupted: bool = False) -> Iterator[Path]:
    """Finish all files elsewhere first, then let them replace those of an earlier run, all or none."""
    part = new_part(folder.resolve())
    part.mkdir()
    try:
        yield part
        if not even_interrupted:
            raise_if_interrupted()
        record = next(name for name in RESULTS if (part / name).exists())
        files = {path.name: checksum(path) for path in sorted(part.iterdir()) if path.name != record}
        (part / record).write_bytes(sealed(record, read_record(part / record), files).encode())
        exchange_results(part, folder.resolve(), record=record)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        # A write to an open file fails without a name.
        raise OSError(error.errno, error.strerror, str(folder)) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _files_named(command: str) -> list[Path]:
    with suppress(ValueError):
        return [Path(word) for word in shlex.split(command) if os.path.isfile(word)]
    return []


def _check_own(folder: Path, run: str, record: str, *, inputs: list[Path], overwrite: bool) -> None:
    """Refuse a folder with anything else than the results of a run."""
    ours, new = written_results(folder), (*RESULTS[record], record)
    if not overwrite:
        held = (path.name for path in folder.iterdir() if not path.name.startswith("."))
        foreign = sorted(name for name in held if name not in ours and name not in new)
        if foreign:
            raise ValueError(
                f"folder '{folder}' holds other files ({listed(foreign, 3)}); choose another with --out, or "
                "write beside them with --overwrite (overwrite=True)"
            )
    for name in dict.fromkeys((*ours, *new)):
        # An earlier result that was changed is left where it is, unless a new one has its name.
        if name in new or ours[name] == checksum(folder / name):
            check_replaceable(folder / name, ours, inputs)
    if not overwrite and ours and run not in {read_record(folder / name).get("run") for name in RESULTS}:
        raise ValueError(
            f"folder '{folder}' holds the results of another run ({listed(sorted(ours), 4)}); choose another "
            "with --out, or replace them with --overwrite (overwrite=True)"
        )


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
