"""From draws of any software to their diagnosis: files or arrays in, verdict, figures and report out."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike

from pyroclust.analysis import showing  # noqa: F401  (results show themselves)
from pyroclust.attempts import Attempts
from pyroclust.counts import check_seed
from pyroclust.data.datasets import Source, read_table
from pyroclust.data.standardise import Standardised, standardise
from pyroclust.data.tables import Table
from pyroclust.diagnostics import compare_sources
from pyroclust.diagnostics.draws.pairs import about_pairs
from pyroclust.io.draws import DrawsFile, DrawsSource, draws_from
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.diagnosis import Diagnosis
from pyroclust.results.draws_summary import DrawsSummary, summarise_draws

__all__ = ["check_table_options", "diagnose"]


def diagnose(
    source: DrawsSource,
    other: DrawsSource | None = None,
    *,
    data: Source | None = None,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Diagnosis:
    """Diagnose draws of a partition, whatever drew them; beside a second source, say whether the two agree.

    No model is needed. With ``data`` the pictures show the points, classical clusterings stand beside the
    posterior, and known labels are compared with the estimate.

    Args:
        source: a file (.csv, .tsv, .npy, .npz or .nc; see :func:`~pyroclust.io.draws.read_draws`); an array
            or a tensor ``(chains, draws, N)`` or ``(draws, N)``; what a kernel's ``run`` returned; a finished
            ``pyro.infer.MCMC``; or a container of ArviZ. A weighted sample has to be resampled first.
        other: a second source of draws of the same points, in any of these forms.
        data: the table that was clustered, its rows in the order of the points.
        columns: columns of ``data``.
        label: column of reference labels in ``data``.
        out: folder for ``report.html``, ``summary.json`` and ``points.csv``; by default nothing is written.
            Files that are there already are replaced all together, and only if they are the results of the
            same diagnosis: same draws, data and seed.
        overwrite: replace the results of another run, and write beside files that are no results.
        seed: same seed, same figures.
        progress: called with the name of each stage.

    Raises:
        ValueError: if a source or the data cannot be used; the sentence says what to do.

    Example:
        >>> import numpy as np
        >>> draws = np.random.default_rng(0).integers(2, size=(4, 250, 6))
        >>> diagnose(draws).verdict.level.value
        'trust'
    """
    tell, seed = progress or (lambda stage: None), check_seed(seed)
    check_table_options(data, columns, label)
    sources = _named_apart([draws_from(one) for one in (source, other) if one is not None])
    _check_sources(sources)
    table = None if data is None else read_table(data, columns=columns, label=label)
    if table is not None and table.shape is not None:
        raise ValueError(f"data has {table.shape}, expected a table: leave it out, the draws need no data")
    points = None if table is None else _checked_points(table, sources[0])
    # Pages bring torch; sources and table are right by now.
    from pyroclust.analysis.outputs import name_of_run, results_folder, table_content, write_result

    run = name_of_run(
        "diagnose",
        draws=[(one.name, one.assignments, one.log_joint, one.point_names) for one in sources],
        table=None if table is None else table_content(table),
        seed=seed,
    )
    with results_folder(out, run=run, overwrite=overwrite) as folder:
        summaries = []
        for one in sources:
            tell(f"summarising {one.name}")
            summaries.append(_summarise(one, table, seed))
        between, tries = None, Attempts()
        if len(sources) == 2:
            tell("comparing the sources")
            names = (sources[0].name, sources[1].name)
            first, second = (one.assignments for one in sources)
            between = tries.make(
                "The comparison of the sources",
                lambda: compare_sources(first, second, seed=seed, names=names),
            )
        baselines = tries.make(
            "The classical methods", lambda: _baselines(table, points, sources[0], summaries[0], seed)
        )
        found = Diagnosis(
            summaries=tuple(summaries),
            draws=tuple(one.assignments for one in sources),
            between=between,
            table=table,
            points=points,
            baselines=baselines or (),
            point_names=_names(table, sources[0]),
            seed=seed,
            notes=(
                *(note for one in sources for note in one.notes),
                *(() if table is None else table.notes),
                *about_pairs(sources[0].assignments.shape[-1]),
            ),
            run=run,
            failures=(*(sentence for one in summaries for sentence in one.failures), *tries.failures),
        )
        if folder is not None:
            tell("writing the report")
            found = write_result(folder, found)
    return found


def check_table_options(data: Source | None, columns: Sequence[str] | None, label: str | None) -> None:
    """Refuse columns and a label where there is no table.

    Args:
        data: the table, or ``None``.
        columns: columns that are asked for.
        label: column of labels that is asked for.

    Raises:
        ValueError: if one is asked for without a table.
    """
    for name, value in (("columns", columns), ("label", label)):
        if value is not None and data is None:
            raise ValueError(f"{name} is {value!r}, but there is no table to look for it in: give data too")


def _named_apart(sources: list[DrawsFile]) -> list[DrawsFile]:
    """Give two sources of one name a letter each."""
    if len({one.name for one in sources}) == len(sources):
        return sources
    return [replace(one, name=f"{one.name} {letter}") for one, letter in zip(sources, "AB", strict=True)]


def _check_sources(sources: Sequence[DrawsFile]) -> None:
    numbers = [one.assignments.shape[-1] for one in sources]
    if len(set(numbers)) > 1:
        raise ValueError(
            f"{sources[0].name} has draws of {numbers[0]} points and {sources[1].name} of {numbers[1]}, "
            "expected the same points in the same order"
        )


def _checked_points(table: Table, source: DrawsFile) -> Standardised:
    if len(table.data) != source.assignments.shape[-1]:
        raise ValueError(
            f"{table.name} has {len(table.data)} rows and {source.name} has draws of "
            f"{source.assignments.shape[-1]} points, expected one row a point"
        )
    return standardise(table)


def _summarise(source: DrawsFile, table: Table | None, seed: int) -> DrawsSummary:
    return summarise_draws(
        source.assignments,
        name=source.name,
        seed=seed,
        log_joint=source.log_joint,
        data=None if table is None else table.data,
        true_labels=None if table is None else table.labels,
    )


def _baselines(
    table: Table | None,
    points: Standardised | None,
    source: DrawsFile,
    summary: DrawsSummary,
    seed: int,
) -> tuple[BaselineRow | FailedRow, ...]:
    if table is None or points is None:
        return ()
    return baseline_rows(
        points.data, source.assignments, summary=summary, true_labels=table.labels, seed=seed
    )


def _names(table: Table | None, source: DrawsFile) -> tuple[str, ...]:
    if table is not None:
        return table.row_names
    return source.point_names or tuple(str(point + 1) for point in range(source.assignments.shape[-1]))
