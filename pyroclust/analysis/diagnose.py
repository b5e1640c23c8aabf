"""Draws of any software in, their analysis out; the steps that ask of draws alone, as every analysis does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pyroclust.analysis.steps import Step, Work, as_step, complete
from pyroclust.baselines import BASELINES, GRAPH_BASELINES
from pyroclust.baselines.scores import partition_scores, scores_where_known
from pyroclust.core.messages import ends_the_run, first_line
from pyroclust.core.numbers import check_seed
from pyroclust.data import Source, Table, read_table, standardise
from pyroclust.data.delimited_text import PLAIN
from pyroclust.data.tables import Graph
from pyroclust.diagnostics import SourceComparison, VariationOfInformation, compare_sources
from pyroclust.diagnostics.findings import Question
from pyroclust.diagnostics.frequencies import about_pairs
from pyroclust.diagnostics.sources import no_verdict
from pyroclust.partitions import Draws
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.files import name_of_run, results_folder, table_content
from pyroclust.results.records import Repeat
from pyroclust.results.step_results import BaselineRow, Orders

# Classical methods know no weights and see every row; some of them cost the square of the number of rows.
_MOST_ROWS = 20_000
_OF_TEXT_FILES = ("delimiter", "decimal", "header")


def diagnose(
    source: Any,
    other: Any = None,
    *,
    data: Source | None = None,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    out: str | PathLike[str] | None = None,
    overwrite: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **reading: Any,
) -> Analysis:
    """Diagnose draws of a partition, whatever drew them; beside a second source, say whether the two agree.

    No model is needed. With ``data`` the pictures show the points, classical clusterings stand beside the
    posterior, and known labels are compared with the estimate.

    Args:
        source: a file (.csv, .tsv, .npy, .npz or .nc; see :func:`pyroclust.read_draws`); an array
            or a tensor ``(chains, draws, N)`` or ``(draws, N)``; :class:`~pyroclust.partitions.Draws`; a
            finished ``pyro.infer.MCMC``; or a container of ArviZ. A weighted sample has to be resampled
            first.
        other: a second source of draws of the same points, in any of these forms.
        data: the table that was clustered, its rows in the order of the points.
        columns: columns of ``data``.
        label: column of reference labels in ``data``.
        out: folder for the same files as :func:`pyroclust.compare` writes; by default nothing is written.
        overwrite: replace the results of another run, and write beside files that are no results.
        seed: same seed, same figures.
        progress: called with the name of each stage.
        **reading: how files are read, as :func:`pyroclust.read_draws` says, with ``other_group``
            beside ``group``; ``chains`` are more files, each the next chain of ``source``.

    Raises:
        ValueError: if a source or the data cannot be used; the sentence says what to do.

    Example:
        >>> import numpy as np
        >>> draws = np.random.default_rng(0).integers(2, size=(4, 250, 6))
        >>> diagnose(draws).verdict.level.value
        'trust'
    """
    shown = data if data is None or isinstance(data, str | PathLike) else ...
    chosen = None if columns is None else [*columns]
    options: dict[str, Any] = {"data": shown, "columns": chosen, "label": label}
    options |= {name: one for name, one in reading.items() if one or one is False}
    of_text = {name: reading.pop(name) for name in _OF_TEXT_FILES if name in reading}
    chains, other_group = reading.pop("chains", None), reading.pop("other_group", None)
    options |= {"chains": [*map(str, chains)]} if chains else {}
    given = [(source, reading)]
    if other is not None:
        given.append((other, reading | {"group": other_group}))
    elif other_group is not None:
        raise ValueError(
            f"other_group is '{other_group}', but there is no second file: name the first once more to "
            "compare two groups of it"
        )
    if of_text and not any(_of_text(one, of_text) for one in (source, other, data)):
        raise ValueError(f"{next(iter(of_text))} is given, but no file here is .csv or .tsv: leave it out")
    if chains and other is not None:
        raise ValueError("chains is given beside a second source, expected one of them")
    sources = [_draws(one, chains, how | _of_text(one, of_text)) for one, how in given]
    for name, value in (("columns", columns), ("label", label)):
        if value is not None and data is None:
            raise ValueError(f"{name} is {value!r}, but there is no table to look for it in: give data too")
    table = None
    if data is not None:
        table = read_table(data, columns=columns, label=label, **_of_text(data, of_text))
    if len({one.name for one in sources}) < len(sources):
        letters = zip(sources, "AB", strict=True)
        sources = [replace(one, name=f"{one.name} {letter}") for one, letter in letters]
    _check_sources(sources, table)
    seed, tell = check_seed(seed), progress or (lambda stage: None)
    run = name_of_run(
        "diagnose",
        draws=[(one.name, one.assignments, one.log_joint, one.point_names) for one in sources],
        table=None if table is None else table_content(table),
        seed=seed,
    )
    repeat = Repeat.of("diagnose", [one for one, _ in given], options, seed=seed, run=run)
    sizes = "; ".join(
        f"{chains:,} chain{'s' * (chains != 1)} of {draws:,} draws from {one.name}"
        for one in sources
        for chains, draws in [one.assignments.shape[:2]]
    )
    with results_folder(out, run=run, command=repeat.command, overwrite=overwrite) as folder:
        analysis = Analysis(
            command="diagnose",
            data=None if table is None else AnalysedData(table, standardise(table)),
            draws=dict(zip(("first", "second"), sources, strict=False)),
            seed=seed,
            introduction=f"Partitions of {sources[0].num_points:,} points: {sizes}. No model was needed.",
            notes=[
                *(note for one in sources for note in one.notes),
                *(() if table is None else table.notes),
                *about_pairs(sources[0].num_points),
            ],
            repeat=repeat,
            folder=folder,
        )
        tell("summarising")
        return complete(Work(analysis=analysis, tell=tell), DRAWS_STEPS, _judge)


def _judge(work: Work) -> None:
    analysis = work.analysis
    names = [one.name for one in analysis.sources]
    verdict = analysis.sources[0].verdict
    if len(names) == 2:
        between = analysis.results.get("two_samples", {}).get("first")
        verdict = no_verdict((names[0], names[1])) if between is None else between.verdict
    analysis.conclude(verdict)
    analysis.about["source"] = analysis.name


def _of_text(source: Any, of_text: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of text files for a file, nothing where it is no text."""
    kind = Path(source).suffix.lower() if isinstance(source, str | PathLike) else ""
    held = of_text.keys() if kind in PLAIN else {"header"} if kind == ".xlsx" else ()
    return {name: one for name, one in of_text.items() if name in held}


def _draws(source: Any, chains: Sequence[Any] | None, how: Mapping[str, Any]) -> Draws:
    from pyroclust.data.draws.reading import draws_from, read_draws

    if isinstance(source, str | PathLike):
        return read_draws([source, *chains] if chains else source, **how)
    if told := [name for name, one in {"chains": chains, **how}.items() if one is not None]:
        raise ValueError(f"{told[0]} is given, but source is no file: leave it out")
    return draws_from(source)


def _check_sources(sources: Sequence[Draws], table: Table | None) -> None:
    for one in sources:
        if one.log_weights is not None:
            raise ValueError(
                f"{one.name} has log_weights, expected equally weighted draws: give "
                "pyroclust.diagnostics.resample(draws, num_draws, seed=0)"
            )
    numbers = [one.num_points for one in sources]
    if len(set(numbers)) > 1:
        raise ValueError(
            f"{sources[0].name} has draws of {numbers[0]} points and {sources[1].name} of {numbers[1]}, "
            "expected the same points in the same order"
        )
    if table is not None and table.shape is not None:
        raise ValueError(f"data has {table.shape}, expected a table: leave it out, the draws need no data")
    if table is not None and len(table.data) != numbers[0]:
        raise ValueError(
            f"{table.name} has {len(table.data)} rows and {sources[0].name} has draws of {numbers[0]} "
            "points, expected one row a point"
        )


DRAWS_STEPS: list[Step] = []


def _is_diagnosis(work: Work) -> bool:
    return work.analysis.command == "diagnose"


def _has_several_sources(work: Work) -> bool:
    """Whether there are several sources of draws; before anything is drawn, whether there may be."""
    analysis = work.analysis
    return len(analysis.sources) > 1 if analysis.draws else work.guide is not None


@as_step(
    DRAWS_STEPS,
    applies=lambda work: work.has("guide") and work.analysis.guide is not None,
    what="The spread over visiting orders",
)
def orders(work: Work) -> Orders | None:
    """Compare the guide's draws by each visiting order alone."""
    analysis = work.analysis
    num_orders = 1 if analysis.guide is None else analysis.guide.num_orders
    return Orders.of(analysis.proposals, num_orders=num_orders, seed=analysis.seed)


@as_step(
    DRAWS_STEPS,
    applies=_has_several_sources,
    by_default=_is_diagnosis,
    says="comparing the sources",
    what="The comparison of the sources",
    opens=(Question.SOURCES,),
)
def two_samples(work: Work) -> dict[str, SourceComparison]:
    """Compare whole partitions of each of the sources with those of the last."""
    analysis = work.analysis
    *others, last = analysis.sources
    return {
        one.key: compare_sources(
            one.draws.assignments,
            last.draws.assignments,
            seed=analysis.seed,
            names=(one.name, last.name),
            tolerance=analysis.tolerance_for(one.key),
            row_weights=last.row_weights,
        )
        for one in others
    }


@as_step(
    DRAWS_STEPS,
    applies=lambda work: work.analysis.data is not None,
    by_default=_is_diagnosis,
    says="running classical methods",
    what="The classical methods",
    of_the_answer=True,
)
def baselines(work: Work) -> tuple[BaselineRow, ...] | None:
    """Set classical clusterings beside the answer."""
    return baseline_rows(work.analysis) or None


def baseline_rows(analysis: Analysis) -> tuple[BaselineRow, ...]:
    """Run classical methods and place each among the draws of the answer; none where all points are equal."""
    data, shown = analysis.data, analysis.reference
    if data is None or (data.vectors == data.vectors[0]).all():
        return ()
    points, first = _as_many_rows(data.vectors, shown.row_weights)
    loss, estimate, ball = VariationOfInformation(), shown.estimate, shown.ball
    of_rows: dict[str, Any] = {"row_weights": shown.row_weights}
    rows = []
    for method in GRAPH_BASELINES if isinstance(data.shape, Graph) else BASELINES:
        try:
            result = method.partition(points, seed=analysis.seed)
        except Exception as error:
            if ends_the_run(error):
                raise
            rows.append(BaselineRow(method.name, failed=first_line(error).split(". ")[0]))
            continue
        result = replace(result, assignments=result.assignments[first])
        labels = result.assignments
        to_labels = scores_where_known(data.table.labels, labels, **of_rows)
        row = BaselineRow(result.name, result, to_labels=to_labels)
        if estimate is not None:
            row = replace(row, to_estimate=partition_scores(estimate.assignments, labels, **of_rows))
            if ball is not None:
                row = replace(row, inside=bool(ball.holds(loss(labels, estimate.assignments, **of_rows))))
        rows.append(row)
    # The expected losses of all at once go through the draws once.
    every = [one.result.assignments for one in rows if one.result is not None]
    means = iter(loss.expected(np.stack(every), shown.draws.assignments, **of_rows) if every else ())
    return tuple(one if one.result is None else replace(one, expected_vi=float(next(means))) for one in rows)


def _as_many_rows(points: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return each row as often as it counts, and where each comes first."""
    if weights is None:
        return points, np.arange(len(points))
    if (number := int(weights.sum())) > _MOST_ROWS:
        raise ValueError(f"the rows stand for {number:,}, expected at most {_MOST_ROWS:,}")
    return np.repeat(points, weights, axis=0), np.cumsum(weights) - weights
