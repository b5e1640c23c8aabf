"""``pyroclust.cluster_many``: many data sets in, a row of figures and draws for each out.

Arguments are checked here, before torch and Pyro are loaded.
"""

import glob
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, tee
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pyroclust.analysis.compare import DIVISIBLE, fits_any_table, scaled
from pyroclust.core.long_runs import lines_instead_of_bars, progress_bar
from pyroclust.core.messages import duration, first_line
from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.core.workers import LostTask, check_workers, done_by
from pyroclust.data import Source, Table, read_table
from pyroclust.diagnostics import SetVerdict
from pyroclust.results.data import AnalysedData
from pyroclust.results.data_sets import (
    RECORD,
    SETS_AT_ONCE,
    STORE,
    Analyses,
    ClusteredSet,
    Journal,
    MemoryStore,
    SetStore,
    ZarrStore,
    import_zarr,
    run_of_store,
    table_of,
)
from pyroclust.results.files import name_of_run, results_folder
from pyroclust.results.records import Repeat
from pyroclust.saving.cards import NO_GUIDE

if TYPE_CHECKING:
    import torch

    from pyroclust.analysis.data_sets import DataSet, Plan


def cluster_many(
    sources: str | PathLike[str] | Mapping[str, Source] | Iterable[Source],
    *,
    by: str | None = None,
    guide: "str | PathLike[str] | torch.nn.Module | None" = None,
    conditions: Mapping[str, float] | None = None,
    family: str | None = None,
    prior: str | None = None,
    concentration: float | None = None,
    columns: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    aggregate: str | None = None,
    raw: bool = False,
    num_draws: int = 100,
    budget: float | None = None,
    client: Any = None,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **reading: Any,
) -> Analyses:
    """Cluster many data sets of the same columns: a row of figures, draws and a verdict for each.

    **The guide first.** A guide of the model draws ``num_draws`` partitions of each data set, all of one size
    in a batch, and importance weights say what they are worth. The first data set that can be read decides on
    columns, their kinds, model and guide. **Then chains**, as :func:`pyroclust.cluster` runs them, for the
    data sets whose verdict asks for them, one at a time, as long as the budget lasts.

    What is drawn of a data set depends on its content, its name, the seed, and those that are in a batch with
    it: 32 that follow one another. A run that was stopped goes on where it was, and comes to the same draws;
    data sets that are new or have changed are drawn then.

    Args:
        sources: a pattern of files, ``"folder/*.parquet"``; or files, arrays or data frames, as many as come;
            or these by name; or, with ``by``, one table.
        by: column of a table: the rows with one value are a data set.
        guide: name on the shelf, folder, or a guide, which brings its own model; ``"none"`` for chains alone;
            by default the one of the model, or its exact filter.
        conditions: hyperparameters that a guide amortized over them is told.
        family: of the clusters, as :func:`pyroclust.compare` has it.
        prior: of the partitions.
        concentration: of that prior.
        columns: columns to cluster.
        leave_out: columns that are not clustered, of all others.
        kinds: kinds of columns by name, instead of those that are found out.
        missing: values that stand for missing cells.
        aggregate: column that says what each row is of, whose rows become one.
        raw: leave the columns as they are, for guides whose model fixes the scale of the data.
        num_draws: draws of each data set, at least 10.
        budget: processor seconds that chains may take in all; as many as they need by default, 0 for none.
        client: a client of ``dask.distributed``, whose workers do the work; this process by default.
        out: folder for ``report.html``, ``summaries.parquet``, ``assignments.parquet`` and the store
            ``draws.zarr``, which grows as data sets come; by default all is kept in memory.
        overwrite: replace the results of another run there.
        seed: same seed, same draws.
        progress: called with what is being done.
        **reading: how text files are read: ``delimiter``, ``decimal``, ``header``.

    Raises:
        ValueError: if an argument cannot be used, or no data set can; a data set that cannot is a row with
            the reason.
        KeyboardInterrupt: after Ctrl-C; what was done is kept in ``out``.

    Example:
        >>> import numpy as np
        >>> sets = (np.random.default_rng(seed).normal(size=(20, 2)) for seed in range(3))
        >>> found = cluster_many(sets, guide="ncp-gaussian2d", raw=True, num_draws=20, budget=0)
        >>> found.summaries["rows"].tolist()
        [20, 20, 20]
    """
    num_draws, seed = check_count("num_draws", num_draws, at_least=10), check_seed(seed)
    if budget is not None:
        budget = check_number("budget", budget, at_least=0)
    tell = progress or (lambda stage: None)
    if client is not None:
        check_workers(client)
    if out is not None:
        import_zarr("out")
    named = {"columns": columns, "leave_out": leave_out, "missing": missing, "aggregate": aggregate}
    of_any_table = fits_any_table(guide)
    chosen: dict[str, Any] = {
        **named,
        "kinds": {} if kinds is None and of_any_table else kinds,
        "masses_apart": of_any_table and family in DIVISIBLE,
    }
    if by is None:
        waiting = _one_by_one(sources)
        waiting.sets, ahead = tee(waiting.sets)

        def read(one: "DataSet") -> Table:
            text = reading if isinstance(one.source, str | PathLike) else {}
            return read_table(one.source, **chosen, **text)

        usual = _first_usable(map(read, ahead), raw=raw)
        # What was read ahead would be kept for as long as this is.
        del ahead
        first = usual.table
        if of_columns := [note for note in first.notes if note not in first.doubts]:
            waiting.notes = (f"All are read as the first one is. {' '.join(of_columns)}",)
    else:
        first = read_table(sources, label=by, **chosen, **reading)
        waiting, usual = _by_column(first, by, raw=raw)
    # This brings torch and Pyro.
    from pyroclust.analysis.data_sets import Plan
    from pyroclust.analysis.picking import pick_guide

    words = {"family": family, "prior": prior, "concentration": concentration}
    picked = pick_guide(guide, usual, conditions=conditions or {}, names=words)
    brings_model = guide is not None and guide != NO_GUIDE
    plan = Plan(
        first=table_of(first, "", first.data[:0]),
        picked=picked,
        words=None if brings_model else words,
        raw=raw,
        num_draws=num_draws,
        seed=seed,
        reading=dict(reading) | ({} if aggregate is None else {"aggregate": aggregate}),
        finds_doubts=chosen["kinds"] is not None and first.shape is None,
    )
    options = {
        **{name: one for name, one in (named | {"kinds": kinds} | words).items() if one},
        **{"by": by, "raw": raw, "num_draws": num_draws, "budget": budget, "conditions": conditions or None},
        **({"guide": str(guide)} if isinstance(guide, str | PathLike) else {}),
        **reading,
    }
    repeat = Repeat.of("cluster", [sources], options, seed=seed, run=_name_of_run(plan, first))
    with (
        results_folder(
            out, run=repeat.run, command=repeat.command, overwrite=overwrite, record=RECORD, grows=(STORE,)
        ) as folder,
        lines_instead_of_bars(tell),
    ):
        run = _Run(plan=plan, waiting=waiting, folder=folder, tell=tell, name=repeat.run, overwrite=overwrite)
        for note in (*first.notes, *picked.notes):
            tell(note)
        try:
            run.label(client)
            run.run_chains(client, budget)
        except KeyboardInterrupt:
            if folder is None:
                raise
            raise KeyboardInterrupt(
                f"after {len(run.rows):,} data sets: the same call goes on there"
            ) from None
        analyses = run.finished(repeat)
        if folder is not None:
            from pyroclust.report.data_sets import write_analyses

            tell("writing the report")
            write_analyses(analyses, folder, run.row_names, repeat=repeat)
    return analyses


@dataclass
class _Waiting:
    """Data sets that wait, and how many there are, where that is known."""

    sets: Iterator["DataSet"]
    number: int | None = None
    notes: tuple[str, ...] = ()


def _by_column(table: Table, by: str, *, raw: bool) -> tuple[_Waiting, AnalysedData]:
    """Divide one table by its labels; return also a part of middle size, by which the guide is chosen."""
    from pyroclust.analysis.data_sets import DataSet, fingerprint_of

    labels = pd.Series(table.labels)
    parts = {
        str(name): table_of(table, str(name), table.data[rows], tuple(table.row_names[row] for row in rows))
        for name, rows in labels.groupby(labels, sort=False).indices.items()
    }
    notes = table.notes
    if lost := int(labels.isna().sum()):
        notes = (*notes, f"{lost:,} rows have no value in '{by}' and were left out.")
    sets = (DataSet(name=name, fingerprint=fingerprint_of(part), source=part) for name, part in parts.items())
    by_size = sorted(parts.values(), key=lambda part: len(part.data))
    middle = len(by_size) // 2
    tries = sorted(range(len(by_size)), key=lambda place: abs(place - middle))
    usual = _first_usable((by_size[place] for place in tries), raw=raw)
    return _Waiting(sets, len(parts), notes), usual


def _one_by_one(sources: Any) -> _Waiting:
    """Return data sets that are files, or whatever comes, by their names or numbers."""
    from pyroclust.analysis.data_sets import DataSet, fingerprint_of

    if isinstance(sources, str | PathLike):
        pattern = str(sources)
        paths = sorted(path for path in glob.glob(pattern, recursive=True) if not Path(path).is_dir())
        if not paths:
            raise ValueError(
                f"sources is '{pattern}', and no file is called so: give a pattern in quotes, as "
                "'folder/*.parquet', or one table with a column that divides it (by, --by)"
            )
        sources = paths
    if isinstance(sources, Sequence) and all(isinstance(one, str | PathLike) for one in sources):
        stems = [Path(one).stem for one in sources]
        named: Iterable[tuple[Any, Any]] = zip(
            stems if len(set(stems)) == len(stems) else map(str, sources), sources, strict=True
        )
    elif isinstance(sources, Mapping):
        named = sources.items()
    else:
        try:
            named = ((str(number), one) for number, one in enumerate(iter(sources), 1))
        except TypeError:
            raise ValueError(
                f"sources is of type {type(sources).__name__}, expected files, arrays or data frames, as "
                "many as there are data sets; one table needs by, a column that divides it"
            ) from None
    sets = (DataSet(name=str(name), fingerprint=fingerprint_of(one), source=one) for name, one in named)
    return _Waiting(sets, len(sources) if hasattr(sources, "__len__") else None)


def _first_usable(tables: Iterator[Table], *, raw: bool) -> AnalysedData:
    """Return the first table that can be read and scaled."""
    why = ""
    while True:
        try:
            table = next(tables)
            return AnalysedData(table, scaled(table, raw=raw, pca=None))
        except StopIteration:
            raise ValueError(
                f"sources hold no data set that can be clustered ({why or 'there is none'})"
            ) from None
        except (ValueError, OSError) as error:
            why = why or first_line(error)


def _name_of_run(plan: "Plan", first: Table) -> str:
    """Return a checksum of all that decides how data sets are clustered."""
    guide: tuple[Any, ...] = (repr(plan.picked.model),)
    if plan.picked.guide is not None:
        weights = plan.picked.guide.state_dict().items()
        guide = (*guide, [(name, one.detach().cpu().double().numpy()) for name, one in sorted(weights)])
    columns = (first.columns, first.kinds, first.levels, first.units, first.parts, first.arguments)
    settings = (plan.raw, plan.num_draws, plan.seed, sorted(plan.reading.items()))
    return name_of_run("data sets", columns=columns, guide=guide, settings=repr(settings))


@dataclass(kw_only=True)
class _Run:
    """Data sets on their way: which are done, and where their arrays are."""

    plan: "Plan"
    waiting: _Waiting
    folder: Path | None
    tell: Callable[[str], None]
    name: str
    overwrite: bool
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)  # of the summaries, by data set
    places: dict[str, int] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    row_names: dict[str, tuple[str, ...]] = field(default_factory=dict)  # unless they count from 1
    num_places: int = 0  # that were given out in the store
    order: dict[str, None] = field(default_factory=dict)  # data sets of this run

    def __post_init__(self) -> None:
        self.store: SetStore = MemoryStore()
        self.journal = Journal(self.folder)
        if self.folder is None:
            return
        before = run_of_store(self.folder)
        if before not in (None, self.name):
            if not (before and self.overwrite):
                what = "another run" if before else "something else"
                raise ValueError(
                    f"folder '{self.folder}' holds {STORE} of {what}; choose another with --out"
                    + ", or replace it with --overwrite (overwrite=True)" * bool(before)
                )
            shutil.rmtree(self.folder / STORE)
            before = None
        if before is None:
            self.journal.delete()
        self.store = ZarrStore(self.folder, run=self.name)
        for line in self.journal.read():
            self._take(line)
        if self.rows:
            self.tell(f"{len(self.rows):,} data sets are done already")

    def _take(self, sets: Sequence[Mapping[str, Any]]) -> None:
        for one in sets:
            name = one["name"]
            self.places[name], self.fingerprints[name] = one["place"], one["fingerprint"]
            self.num_places = max(self.num_places, one["place"] + 1)
            self.rows[name] = dict(one["summary"])
            if one["row_names"] is not None:
                self.row_names[name] = tuple(one["row_names"])

    def keep(self, clustered: Sequence[ClusteredSet]) -> None:
        """Keep data sets in neighbouring places: their arrays first, then a line of the journal."""
        sets = [
            {
                "name": one.name,
                "place": self.places[one.name],
                "fingerprint": one.fingerprint,
                "summary": dict(one.summary),
                "row_names": _named(one.row_names),
            }
            for one in clustered
        ]
        try:
            self.store.write(self.places[clustered[0].name], clustered)
            self.journal.add(sets)
        except OSError as error:
            said = f"{error.strerror}; {len(self.rows):,} data sets are kept, and the same call goes on there"
            raise OSError(error.errno, said, str(self.folder)) from None
        self._take(sets)

    def label(self, client: Any) -> None:
        """Have the guide draw for all data sets that are new."""
        from pyroclust.analysis.data_sets import failed_set, label_sets

        total, began, done = self.waiting.number, time.monotonic(), 0
        with progress_bar("data sets", total or 0, shown=False) as told:
            for sets, clustered in done_by(client, label_sets, self.plan, self._blocks()):
                if isinstance(clustered, LostTask):
                    clustered = [failed_set(one, str(clustered)) for one in sets]
                self.keep(clustered)
                done += len(sets)
                told(len(self.rows), f"{done / (time.monotonic() - began):.3g} a second")

    def _blocks(self) -> Iterator[list["DataSet"]]:
        """Return data sets that are not done yet, some that follow one another at a time."""
        sets = iter(self.waiting.sets)
        while block := list(islice(sets, SETS_AT_ONCE)):
            for one in block:
                if one.name in self.order:
                    raise ValueError(f"two data sets are called '{one.name}', expected a name for each")
                self.order[one.name] = None
            new = [one for one in block if not self._is_done(one)]
            # What has changed gets another place: the old arrays may have been larger.
            for one in new:
                self.places[one.name] = self.num_places
                self.num_places += 1
            if new:
                yield new

    def _is_done(self, one: "DataSet") -> bool:
        """Say whether a data set was clustered, and has not changed since; what failed is tried again."""
        known = self.rows.get(one.name)
        is_same = bool(one.fingerprint) and self.fingerprints.get(one.name) == one.fingerprint
        return known is not None and is_same and known["verdict"] != SetVerdict.FAILED

    def run_chains(self, client: Any, budget: float | None) -> None:
        """Run chains for the data sets that need them, as long as the budget lasts."""
        from pyroclust.analysis.data_sets import run_chains, without_chains

        need = [name for name in self.order if self.rows[name]["verdict"] == SetVerdict.CHAINS]
        if not need or budget == 0:
            return
        self.tell(f"{len(need):,} of {len(self.order):,} data sets need chains")
        spent = 0.0

        def waiting() -> Iterator["DataSet"]:
            for name in need:
                if budget is not None and spent >= budget:
                    return
                yield self._read_again(name)

        with progress_bar("chains", len(need), shown=False) as told:
            for done, (one, clustered) in enumerate(done_by(client, run_chains, self.plan, waiting()), 1):
                if isinstance(clustered, LostTask):
                    clustered = without_chains(one, str(clustered))
                spent += clustered.summary["seconds"] - one.row["seconds"]
                self.keep([clustered])
                told(done, f"{duration(spent)} of processor time")

    def _read_again(self, name: str) -> "DataSet":
        """Return a data set as it was read, from the store."""
        from pyroclust.analysis.data_sets import DataSet

        row, first = self.rows[name], self.plan.first
        data = self.store.read(self.places[name], row["rows"], "data")
        table = table_of(first, name, data, self.row_names.get(name))
        return DataSet(name=name, fingerprint=self.fingerprints[name], source=table, row=row)

    def finished(self, repeat: Repeat) -> Analyses:
        """Return all that was done."""
        if all(self.rows[name]["verdict"] == SetVerdict.FAILED for name in self.order):
            why = next((self.rows[name]["note"] for name in self.order), "there is none")
            raise ValueError(f"no data set could be clustered ({why})")
        picked = self.plan.picked
        rows = {name: {"data_set": name, **self.rows[name]} for name in self.order}
        summaries = pd.DataFrame(list(rows.values())).set_index("data_set")
        about = {
            "model": picked.model.name,
            "guide": None if picked.guide is None else picked.name,
            "num_draws": self.plan.num_draws,
            "seed": self.plan.seed,
            "command": repeat.command,
            "versions": dict(repeat.versions),
        }
        return Analyses(
            summaries=summaries,
            about=about,
            columns=self.plan.first,
            notes=(*self.waiting.notes, *picked.notes),
            folder=self.folder,
            store=self.store,
            places={name: self.places[name] for name in self.order},
        )


def _named(row_names: tuple[str, ...]) -> list[str] | None:
    """Return the names of rows; nothing where they count from 1."""
    counted = all(name == str(place) for place, name in enumerate(row_names, 1))
    return None if counted else list(row_names)
