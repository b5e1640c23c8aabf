"""The page and the files of many data sets: how many clusters they have, what their draws are worth."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.axes import Axes

from pyroclust import plots
from pyroclust.core.messages import duration, visible
from pyroclust.data import standardise
from pyroclust.diagnostics import Mark, SetVerdict
from pyroclust.diagnostics.limits import MAX_DIFFERENCE, MAX_PARETO_K, MIN_SET_ESS
from pyroclust.plots.drawable import counted
from pyroclust.plots.style import CYCLE, MARKERS
from pyroclust.report.parts import FigureTable, Page, Paragraph, Part, Picture, Section, axis_names, number
from pyroclust.report.writing import FILE_NAME, render_page
from pyroclust.results.answer import likeliest_of
from pyroclust.results.data import AnalysedData
from pyroclust.results.data_sets import RECORD, Analyses, described_columns
from pyroclust.results.files import write_files, write_json
from pyroclust.results.records import Repeat

_LEAST_SURE, _MOST_NOTED, _MOST_CLUSTERS = 10, 50, 12
# More marks than these are small.
_MANY_MARKS = 300
# Data sets whose rows are written at once.
_SETS_AT_ONCE = 200
_SAYS: Mapping[SetVerdict, str] = {
    SetVerdict.SURE: "the guide's draws would do without weights, or chains have converged",
    SetVerdict.WEIGHTED: "the guide's draws need their weights, with which every figure here is computed",
    SetVerdict.CHAINS: "weights cannot mend the guide's draws, or it drew none: chains are needed",
    SetVerdict.NOT_CONVERGED: "chains have not converged in their time: pyroclust cluster --thorough goes on",
    SetVerdict.ALONE: "the model has no likelihood: nothing can be said of a single data set",
    SetVerdict.FAILED: "could not be used",
}
GOOD = (SetVerdict.SURE, SetVerdict.WEIGHTED)
"""Verdicts of data sets whose figures can be used."""


def page_of_sets(analyses: Analyses) -> Page:
    """Return the page: the answer over all data sets, then what is open and which are least sure."""
    table = analyses.summaries
    good, usable = table["verdict"].isin(GOOD), _usable(table)
    sections = [
        *([_counts_section(usable)] if len(usable) else []),
        _verdicts_section(table),
        *(_set_section(analyses, name) for name in analyses.least_sure(_LEAST_SURE)),
    ]
    failed, noted = table["verdict"] == SetVerdict.FAILED, table["note"] != ""
    sections += _notes_sections("Could not be used", table["note"][failed])
    sections += _notes_sections("Notes on single data sets", table["note"][noted & ~failed])
    sections.append(_computed_section(analyses))
    mark = Mark.GOOD if good.all() else Mark.CAUTION if good.any() else Mark.BAD
    return Page(
        title=f"{len(table):,} data sets",
        kicker="pyroclust cluster",
        heading=f"{len(table):,} data sets of {', '.join(analyses.columns.columns[:6])}",
        introduction="",
        answer=answer_of_sets(analyses),
        mark=mark,
        picture=None,
        sections=tuple(sections),
        notes=tuple(analyses.notes),
        missing=(),
    )


def _notes_sections(title: str, notes: "pd.Series[str]") -> list[Section]:
    """List what is said of some data sets; nothing of none."""
    if not len(notes):
        return []
    rows = tuple((visible(str(name)), visible(note)) for name, note in notes.head(_MOST_NOTED).items())
    caption = f"The first {len(rows)} of {len(notes):,}; all stand in summaries.parquet."
    part = FigureTable(caption if len(notes) > len(rows) else "", ("data set", "note"), rows, title)
    return [Section(title, (part,), gist=counted(len(notes), "data set"))]


def _usable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the data sets whose numbers of clusters are counted: those that nothing speaks against."""
    return table[table["verdict"].isin([*GOOD, SetVerdict.ALONE])]


def answer_of_sets(analyses: Analyses) -> tuple[tuple[str, str], ...]:
    """Return question and answer: numbers of clusters, how sure, and whether to rely on them."""
    usable = _usable(analyses.summaries)
    verdicts = analyses.summaries["verdict"].value_counts()
    rely = ", ".join(f"{one}: {verdicts[one]:,}" for one in SetVerdict if one in verdicts)
    if not len(usable):
        return (("How many clusters", "unknown: no draws can be relied on"), ("May I rely on it", rely))
    counts = usable["clusters"].value_counts()
    shown = [f"{number_of} in {counted(int(sets), 'data set')}" for number_of, sets in counts.items()]
    more = f" and {len(shown) - _MOST_CLUSTERS} other numbers" if len(shown) > _MOST_CLUSTERS else ""
    low, middle, high = usable["certain_rows"].quantile([0.05, 0.5, 0.95])
    sure = (
        f"{100 * middle:.0f} % of the rows are certain in the median data set, {100 * low:.0f} to "
        f"{100 * high:.0f} % in nine of ten"
    )
    return (
        ("How many clusters", f"{', '.join(shown[:_MOST_CLUSTERS])}{more}"),
        ("How sure", sure),
        ("May I rely on it", rely),
    )


def _counts_section(usable: pd.DataFrame) -> Section:
    """Show the numbers of clusters over data sets."""
    most = max(map(len, usable["posterior"]))
    averaged = np.zeros(most)
    for one in usable["posterior"]:
        averaged[: len(one)] += one
    likeliest = np.bincount(usable["clusters"], minlength=most + 1)[1:]
    bars = {"likeliest number": likeliest / len(usable), "averaged posterior": averaged / len(usable)}
    low, high = likeliest_of(np.concatenate([[0.0], averaged / len(usable)]))["interval"]
    picture = Picture(
        lambda figure: plots.plot_num_clusters(np.arange(1, most + 1), bars, ax=figure.subplots()),
        size=(9, 3.2),
        alternative=f"Shares of the {len(usable):,} data sets that can be relied on, by likeliest number of "
        "clusters, and the mean of their posteriors.",
        caption="The first bar is the share of the data sets whose likeliest number this is, the second the "
        "mean of their posterior probabilities: what one would expect of a further data set like these.",
    )
    return Section(
        "How many clusters the data sets have", (picture,), is_open=True, gist=f"90 % have {low} to {high}"
    )


def _verdicts_section(table: pd.DataFrame) -> Section:
    """Show what the draws of each data set are worth."""
    counts = table["verdict"].value_counts()
    rows = tuple((f"{one}: {_SAYS[one]}", f"{counts[one]:,}") for one in SetVerdict if one in counts)
    parts: list[Part] = [
        FigureTable(
            f"A guide is sure where no probability of its draws is off by more than {MAX_DIFFERENCE:g}, as "
            f"their weights say. Weights can be relied on where {MIN_SET_ESS:.0f} draws are effective and "
            f"Pareto k is below {MAX_PARETO_K:g}.",
            ("verdict", "data sets"),
            rows,
            "What the draws are worth",
        )
    ]
    weighed = table[table["efficiency"].notna()]
    if len(weighed):
        picture = Picture(
            lambda figure: _draw_efficiencies(weighed, figure.subplots()),
            size=(9, 3.6),
            alternative=f"Efficiency of the guide's draws over the rows of {len(weighed):,} data sets.",
            caption="Each mark is a data set: its rows, and which share of the guide's draws is effective "
            "once they are weighted. Colour and shape are the verdict.",
        )
        parts.append(picture)
    good = int(table["verdict"].isin(GOOD).sum())
    return Section("How far to rely on them", tuple(parts), is_open=True, gist=f"{good:,} of {len(table):,}")


def _draw_efficiencies(weighed: pd.DataFrame, ax: Axes) -> None:
    for place, (verdict, some) in enumerate(weighed.groupby("verdict", sort=False)):
        look = {"color": CYCLE[place], "marker": MARKERS[place], "label": verdict}
        size = 14 if len(weighed) > _MANY_MARKS else 40
        ax.scatter(some["rows"], some["efficiency"], s=size, alpha=0.5, lw=0, **look)
    ax.set(xlabel="rows", ylabel="efficiency", ylim=(0, 1.02))
    ax.legend(loc="lower left")


def _set_section(analyses: Analyses, name: str) -> Section:
    """Show one data set: its points, its posterior number of clusters."""
    row = analyses.summaries.loc[name]
    law = np.asarray(row["posterior"])
    shown = np.sort(np.argsort(-law, kind="stable")[:_MOST_CLUSTERS])
    figures = tuple((f"{place + 1}", number(law[place])) for place in shown if law[place] > 0)
    parts: list[Part] = []
    if (picture := _picture(analyses, name)) is not None:
        parts.append(picture)
    parts.append(FigureTable("Posterior of the number of clusters.", ("clusters", "probability"), figures))
    said = f"{row['rows']:,} rows, {row['verdict']}, drawn by {row['drawn_by']}."
    parts.append(Paragraph(f"{said} {visible(row['note'])}".rstrip()))
    sure = f"{100 * row['certain_rows']:.0f} % of the rows certain, {row['low']} to {row['high']} clusters"
    return Section(f"Least sure: {visible(name)}", tuple(parts), gist=sure)


def _picture(analyses: Analyses, name: str) -> Picture | None:
    if analyses.columns.shape is not None:
        return None
    table = analyses.table(name)
    data = AnalysedData(table, standardise(table))
    points, names = data.shown, axis_names(data.shown_columns)
    estimate, certainty = analyses.estimate(name)
    return Picture(
        lambda figure: plots.plot_clustering(
            points, estimate, 1 - certainty, ax=figure.subplots(), columns=names
        ),
        size=(9, 2.7 if points.shape[1] == 1 else 4.4),
        alternative=f"The {len(points)} rows of {visible(name)}, coloured by "
        f"{counted(int(estimate.max()) + 1, 'cluster')}.",
        caption="Colours are the clusters of the partition nearest to all draws; hollow rows are more often "
        "apart from their companions than with them.",
    )


def _computed_section(analyses: Analyses) -> Section:
    about, seconds = analyses.about, float(analyses.summaries["seconds"].sum())
    guide = "no guide" if about["guide"] is None else f"guide {about['guide']}"
    by = analyses.summaries["drawn_by"].value_counts()
    drew = ", ".join(f"{name} {by[name]:,}" for name in ("guide", "chains") if name in by)
    texts = [
        f"Model {about['model']}, {guide}; {about['num_draws']} draws of each data set (drawn by {drew}), in "
        f"{duration(seconds)} of processor time.",
        f"Seed {about['seed']}; {', '.join(f'{name} {one}' for name, one in about['versions'].items())}.",
    ]
    if about["command"]:
        texts.insert(1, f"The command: {visible(about['command'])}")
    return Section("How it was computed", tuple(map(Paragraph, texts)))


def write_analyses(
    analyses: Analyses, folder: Path, row_names: Mapping[str, tuple[str, ...]], *, repeat: Repeat
) -> None:
    """Write the page and the tables into a folder that is reserved, all or none, beside the store."""
    with write_files(folder) as part:
        page = page_of_sets(analyses)
        (part / FILE_NAME).write_text(render_page(page), "utf-8", errors="backslashreplace")
        places = pd.Series(analyses.places, name="place")
        summaries = analyses.summaries.assign(place=places.reindex(analyses.summaries.index))
        summaries.reset_index().to_parquet(part / "summaries.parquet", index=False)
        _write_assignments(analyses, part / "assignments.parquet", row_names)
        record = {
            "run": repeat.run,
            "about": dict(analyses.about),
            "columns": described_columns(analyses.columns),
            "notes": [*analyses.notes, *page.failures],
            "repeat": repeat.figures(),
        }
        write_json(part / RECORD, record)


_ROWS = pa.schema(
    [
        ("data_set", pa.dictionary(pa.int32(), pa.string())),
        ("row", pa.string()),
        ("cluster", pa.int32()),
        ("certainty", pa.float32()),
    ]
)


def _write_assignments(analyses: Analyses, path: Path, row_names: Mapping[str, tuple[str, ...]]) -> None:
    """Write the point estimates, a row for each row of each data set, some data sets at a time."""
    names = [name for name, drawn_by in analyses.summaries["drawn_by"].items() if drawn_by]
    with pq.ParquetWriter(path, _ROWS) as writer:
        for first in range(0, len(names), _SETS_AT_ONCE):
            some = names[first : first + _SETS_AT_ONCE]
            estimates = [analyses.estimate(name) for name in some]
            sizes = [len(estimate) for estimate, _ in estimates]
            rows = [
                row
                for name, size in zip(some, sizes, strict=True)
                for row in row_names.get(name, tuple(map(str, range(1, size + 1))))
            ]
            codes = np.repeat(np.arange(len(some), dtype=np.int32), sizes)
            columns = [
                pa.DictionaryArray.from_arrays(codes, some),
                pa.array(rows),
                pa.array(np.concatenate([one + 1 for one, _ in estimates]).astype(np.int32)),
                pa.array(np.concatenate([one for _, one in estimates]).astype(np.float32)),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=_ROWS))
