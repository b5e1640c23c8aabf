"""The files of a result: those of one run, in a folder of their own, and an analysis read back from them."""

import hashlib
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
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
    parse_json,
    read_record,
    read_text,
    sealed,
    settle_results,
    unfinished,
    written_results,
)
from pyroclust.core.large_tables import LARGE_TABLE
from pyroclust.core.long_runs import raise_if_interrupted
from pyroclust.core.messages import first_line, listed, spreadsheet_cell
from pyroclust.data import Standardised, Table
from pyroclust.data.binary_files import check_self_contained
from pyroclust.data.kinds import Kind
from pyroclust.data.recoded_columns import parts_by_name
from pyroclust.diagnostics import Answer, Finding, Mark, Trust, Verdict
from pyroclust.partitions import Draws
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.records import GuideRecord, ModelRecord, Repeat
from pyroclust.results.step_results import Weighting


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
    grows: Iterable[str] = (),
) -> Iterator[Path | None]:
    """Reserve a folder for the results of a run, before anything is computed, and keep others out.

    A run, of the name that :func:`name_of_run` gives, replaces its own results, as long as nobody changed
    them. To replace those of another run, or to write beside other files, has to be said (``overwrite``).
    What no run wrote, what was changed since, and what this run reads (``inputs``, and what the command
    names) is never replaced. Files whose names begin with a dot do not count. ``record`` lists the others,
    but for what ``grows`` as the run goes on.
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
            inputs = [*inputs, *_files_named(command)]
            _check_own(folder, run, record, inputs=inputs, overwrite=overwrite, grows=grows)
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


def write_json(path: Path, content: dict[str, Any]) -> None:
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


def _check_own(
    folder: Path, run: str, record: str, *, inputs: list[Path], overwrite: bool, grows: Iterable[str]
) -> None:
    """Refuse a folder with anything else than the results of a run."""
    ours, new = written_results(folder), (*RESULTS[record], record)
    if not overwrite:
        held = (path.name for path in folder.iterdir() if not path.name.startswith("."))
        foreign = sorted(name for name in held if name not in {*ours, *new, *grows})
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


_ROWS_AT_ONCE = 50_000


def csv_parts(frame: pd.DataFrame) -> Iterator[str]:
    """Write a data frame as CSV that every reader divides alike and no spreadsheet runs, in parts."""
    yield ",".join(spreadsheet_cell(str(name)) for name in frame.columns) + "\n"
    for begin in range(0, len(frame), _ROWS_AT_ONCE):
        some = frame.iloc[begin : begin + _ROWS_AT_ONCE]
        columns = (_cells(some.iloc[:, place]) for place in range(frame.shape[1]))
        yield "\n".join([*map(",".join, zip(*columns, strict=True)), ""])


def _cells(column: pd.Series) -> list[str]:
    texts = list(map(str, column.tolist()))
    every = "".join(texts)
    # Letters and digits alone are written as they are, and are most of what large tables have.
    if not (pd.api.types.is_numeric_dtype(column.dtype) or (every.isascii() and every.isalnum())):
        texts = list(map(spreadsheet_cell, texts))
    for place in np.flatnonzero(column.isna()):
        texts[place] = ""
    return texts


_LARGEST_SUMMARY = 1 << 28
# What a group of draws.nc is called here; the posterior is that of MCMC where there is one.
_GROUPS = ("guide", "proposals", "refined", "weighted", "second")
# What summary.json says of the run, beside figures.
_ABOUT = (
    *("source", "columns", "points", "num_points", "model", "model_in_words", "guide", "clusters"),
    *("mcmc_kernel", "mcmc_chains", "mcmc_draws", "mcmc_seconds", "mcmc_seconds_warmup"),
    *("share_of_guide_draws_inside", "guide_draws", "guide_seconds", "refined_draws", "refined_seconds"),
    *("asked", "noise_scale", "draws", "seconds", "more_clusters_than_asked"),
)
# What 0.1 did not write, and what not every command writes.
_LACKING: dict[str, Any] = {
    **{"command": "compare", "points": "rows", "seed": 0, "interrupted": False, "seconds_of": {}},
    **{"model": None, "model_in_words": "", "guide": None, "mcmc_kernel": None},
    **{"answer": None, "answer_in_words": {"rely": "", "next": ""}, "findings": (), "sources": {}},
    **{"tolerance": {"guide": None, "refined": None}, "constraints": None, "constrained": False},
    **{"notes": (), "failures": (), "run": "", "repeat": None},
    **{"prior_num_clusters": None, "other_priors": None},
}


def read_analysis(folder: Path) -> Analysis:
    """Read the data, draws, model and verdict of an analysis that anybody may have written."""
    try:
        return _read(folder)
    except (MemoryError, TimeoutError):
        raise
    except Exception as error:
        if why := unfinished(folder):
            raise ValueError(f"folder '{folder}' holds unfinished results: {why}") from error
        what = first_line(error)
        if isinstance(error, KeyError | TypeError | AttributeError | IndexError):
            what = f"{what} is missing" if isinstance(error, KeyError) else "an entry is of another kind"
        raise ValueError(
            f"folder '{folder}' holds no analysis (draws.nc and summary.json) that can be read ({what}); run "
            "pyroclust cluster or compare with --out first"
        ) from error


def _read(folder: Path) -> Analysis:
    import xarray as xr

    written = parse_json(read_text(folder / "summary.json", largest=_LARGEST_SUMMARY))
    summary = _LACKING | written
    draws_file = folder / "draws.nc"
    check_self_contained(draws_file, is_read_whole=True)
    known = summary.get("files", {}).get("draws.nc")
    if known is not None and known != checksum(draws_file):
        raise ValueError("draws.nc was changed since it was written")
    with xr.open_datatree(draws_file, engine="h5netcdf") as tree:
        groups = {name.strip("/"): tree[name].to_dataset().load() for name in tree.groups if name != "/"}
    main = groups["posterior"]
    observed = groups.get("observed_data")
    names = {"posterior": "guide" if "guide" in groups else "first"}
    if summary["command"] == "forest" or summary["mcmc_kernel"] is not None:
        names["posterior"] = "forest" if summary["command"] == "forest" else "mcmc"
    names |= {name: name for name in _GROUPS if name in groups}
    in_words, limits = summary["answer_in_words"], summary["tolerance"]
    failures = list(map(str, summary["failures"]))
    # Findings of 0.1 have no mark.
    findings = (
        Finding(**one | ({"mark": Mark(one["mark"])} if "mark" in one else {})) for one in summary["findings"]
    )
    judged, answer, model = summary["verdict"], summary["answer"], None
    if summary["model"] is not None:
        described = None
        if observed is not None and summary["points"] == "rows" and "model" in observed.attrs:
            described = parse_json(observed.attrs["model"])
        model = ModelRecord(summary["model"], summary["model_in_words"], described)
    repeat = Repeat(seed=summary["seed"], run=summary["run"]) if summary["run"] else None
    if summary["repeat"] is not None:
        kept = dict(summary["repeat"])
        repeat = Repeat(name=summary["command"] if kept.pop("command") else "", **kept)
    found = Analysis(
        command=summary["command"],
        data=None if observed is None else _data(observed, main),
        model=model,
        guide=GuideRecord(summary["guide"]) if summary["guide"] else None,
        draws={name: _draws(groups[group]) for group, name in names.items()},
        verdict=Verdict(
            Trust(judged["level"]), judged["sentence"], tuple(findings), answer and Answer(answer)
        ),
        seed=int(summary["seed"]),
        # Limits of the library differ, one that was asked for holds for both.
        tolerance=limits["guide"] if limits["guide"] == limits["refined"] else None,
        about={name: written[name] for name in _ABOUT if name in written}
        | {
            "rely": in_words["rely"],
            "constrained": bool(summary["constraints"] or summary["constrained"]),
        },
        notes=[one for one in map(str, summary["notes"]) if one not in failures],
        failures=failures,
        seconds_of=dict(summary["seconds_of"]),
        next=in_words["next"],
        repeat=repeat,
        folder=folder,
        interrupted=bool(summary["interrupted"]),
    )
    for name in ("prior_num_clusters", "other_priors"):
        if summary[name] is not None:
            found.results[name] = summary[name]
    _take_weights(found)
    _take_estimates(found, summary)
    return found


def _draws(group: Any) -> Draws:
    def values(name: str) -> np.ndarray | None:
        return group[name].values if name in group else None

    labels = group["assignments"].values
    return Draws(
        name=str(group.attrs.get("sampler", "the draws")),
        # Files hold large tables in the shortest type.
        assignments=labels.astype(np.int64 if labels.shape[-1] <= LARGE_TABLE else np.int32, copy=False),
        log_joint=values("log_joint"),
        log_prob=values("log_prob"),
        seconds=float(group.attrs.get("seconds", np.nan)),
        # Points without names are counted in the file from 0, and by an analysis from 1.
        point_names=None if group["point"].dtype.kind in "iu" else tuple(map(str, group["point"].values)),
    )


def _data(observed: Any, main: Any) -> AnalysedData:
    columns = tuple(map(str, observed["column"].values))
    kinds = tuple(map(Kind, parse_json(observed.attrs.get("kinds", "[]"))))
    levels = tuple(map(tuple, parse_json(observed.attrs.get("levels", "[]"))))
    # Older folders do not say which columns were divided.
    parts = parts_by_name(columns, kinds) if kinds else ()
    if "parts" in observed.attrs:
        found = parse_json(observed.attrs["parts"])
        parts = tuple((int(number), int(answer), float(value)) for number, answer, value in found)
    if not all(place in range(len(columns)) for one in parts for place in one[:2]):
        raise ValueError("its divided columns are not there")
    if not (observed["scale"].values > 0).all():
        raise ValueError("its columns have scales that are not positive")
    labels = None
    if "label" in observed:
        labels = np.array([str(one) or None for one in observed["label"].values], dtype=object)
    points = Standardised(
        observed["data"].values, observed["location"].values, observed["scale"].values, columns
    )
    table = Table(
        str(observed.attrs.get("source", "table")),
        points.data * points.scale + points.location,
        columns,
        labels,
        tuple(map(str, main["point"].values)),
        kinds=kinds,
        levels=levels,
        units=tuple(map(str, parse_json(observed.attrs.get("units", "[]")))),
        codes=tuple(tuple(map(str, one)) for one in parse_json(observed.attrs.get("codes", "[]"))),
        parts=parts,
        arguments=tuple(map(tuple, parse_json(observed.attrs.get("arguments", "[]")))),
        weights=observed["weight"].values if "weight" in observed else None,
    )
    return AnalysedData(table, points)


def _take_weights(analysis: Analysis) -> None:
    """Weigh the guide's draws again; where weighted ones are the answer and were not kept, resample them."""
    draws = analysis.draws.get("guide")
    if draws is None or draws.log_ratios is None:
        return
    weights = Weighting.of(analysis.proposals)
    analysis.results["weights"] = weights
    if analysis.verdict.answer is Answer.WEIGHTED and "weighted" not in analysis.draws:
        analysis.draws["weighted"] = weights.resampled(analysis.proposals, draws, seed=analysis.seed)


def _take_estimates(analysis: Analysis, summary: dict[str, Any]) -> None:
    """Take the point estimates that were found, so that clusters keep their numbers."""
    # Some of 0.1 are a list.
    by_name = summary["sources"] if isinstance(summary["sources"], dict) else {}
    for name in analysis.draws.keys() & by_name.keys():
        estimate = by_name[name].get("point_estimate")
        if estimate and len(estimate.get("assignments", ())) == analysis.draws[name].num_points:
            analysis.summary(name).known = np.asarray(estimate["assignments"], dtype=np.int64)
