"""An analysis as HTML, in a browser, in a notebook's cell, in a terminal, and as the files of a folder."""

import sys
import tempfile
import webbrowser
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyroclust.core.large_tables import LARGE_TABLE
from pyroclust.core.messages import visible
from pyroclust.diagnostics import Mark
from pyroclust.report.page import page_of
from pyroclust.report.parts import ChecksTable, FigureTable, Page, Part
from pyroclust.results.analysis import Analysis
from pyroclust.results.files import csv_parts, name_of_run, results_folder, write_files, write_json
from pyroclust.results.records import Repeat

FILE_NAME = "report.html"
_FRAME = '<iframe srcdoc="{page}" style="width: 100%; height: 80vh; border: 0" title="{title}"></iframe>'


def render_page(page: Page) -> str:
    """Return a page as HTML that needs no other file and no network, and lets none in."""
    page.draw()
    own = files("pyroclust.report")
    style, script = (own.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "page.js"))
    # This style, this script and pictures inside the page may be shown, and nothing else.
    sums = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{sums[0]}'; script-src 'sha256-{sums[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return _filled(
        "page.html.jinja",
        page=page,
        notes=tuple(dict.fromkeys((*page.notes, *page.failures))),
        style=Markup(style),
        script=Markup(script),
        policy=policy,
        version=version("pyroclust"),
    )


def notebook_view(analysis: Analysis) -> str:
    """Return the answer as HTML that needs no style, script or file of its own, with one picture."""
    return _filled("notebook.html.jinja", page=page_of(analysis))


def _filled(template: str, **values: Any) -> str:
    """Fill in a template, all text escaped."""
    environment = Environment(
        loader=PackageLoader("pyroclust.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def show_page(analysis: Analysis) -> None:
    """Show the page: in a notebook's cell, else in the browser.

    The page is that of the analysis's folder; without one it is written into a temporary file, which stays.
    """
    written = None if analysis.folder is None else Path(analysis.folder) / FILE_NAME
    if written is not None and not written.is_file():
        written = None
    # A terminal with IPython shows no HTML.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        from IPython.display import HTML, display

        page = page_of(analysis)
        text = render_page(page) if written is None else written.read_text(encoding="utf-8")
        display(HTML(_FRAME.format(page=escape(text), title=escape(page.title))))
        return
    if written is None:
        written = Path(tempfile.mkdtemp(prefix="pyroclust-")) / FILE_NAME
        written.write_text(render_page(page_of(analysis)), "utf-8", errors="backslashreplace")
    webbrowser.open(written.resolve().as_uri())


def write_analysis(analysis: Analysis, folder: Path) -> None:
    """Write all files into a folder that is reserved, in the place of earlier results, all or none."""
    import xarray as xr

    from pyroclust.data.draws.arviz import groups_of

    with write_files(folder, even_interrupted=analysis.interrupted) as part:
        page = page_of(analysis)
        (part / FILE_NAME).write_text(render_page(page), "utf-8", errors="backslashreplace")
        analysis.failures += [one for one in page.failures if one not in analysis.failures]
        write_json(part / "summary.json", analysis.to_dict())
        for name, frame in (("assignments.csv", analysis.frame()), ("clusters.csv", analysis.clusters())):
            with (part / name).open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
                stream.writelines(csv_parts(frame))
        groups = groups_of(analysis)
        packed = {
            f"/{name}": {"assignments": _packing(one["assignments"].values)}
            for name, one in groups.items()
            if "assignments" in one and one.sizes["point"] > LARGE_TABLE
        }
        tree = xr.DataTree.from_dict(dict(groups))
        tree.to_netcdf(str(part / "draws.nc"), engine="h5netcdf", encoding=packed)


def _packing(labels: np.ndarray) -> dict[str, Any]:
    """Return how a file holds the labels of a large table: in the shortest type, packed quickly."""
    shortest = np.min_scalar_type(-int(labels.max(initial=0)) - 1)
    return {"dtype": shortest, "zlib": True, "complevel": 1, "shuffle": True}


def save_analysis(analysis: Analysis, folder: str | PathLike[str], *, overwrite: bool) -> Analysis:
    """Reserve a folder and write all files into it."""
    if analysis.repeat is None or not analysis.repeat.run:
        draws = [(name, one.assignments) for name, one in analysis.draws.items()]
        run = name_of_run(analysis.command, draws=draws, seed=analysis.seed)
        analysis.repeat = Repeat(seed=analysis.seed, run=run)
    repeat = analysis.repeat
    with results_folder(folder, run=repeat.run, command=repeat.command, overwrite=overwrite) as place:
        assert place is not None
        analysis.folder = place
        write_analysis(analysis, place)
    return analysis


_STYLES = {
    Mark.GOOD: "green",
    Mark.CAUTION: "yellow",
    Mark.BAD: "red",
    Mark.UNKNOWN: "magenta",
    Mark.PLAIN: "default",
}
# Notes of the first screen.
_MOST_NOTES = 4


def terminal_view(analysis: Analysis, *, verbose: bool = False) -> RenderableType:
    """Lay out an analysis for a terminal; pictures and rows are in the page and the files only.

    The command to go on with is one line of any length, to be copied: print it with ``crop=False``.
    """
    words = Table.grid(padding=(0, 2))
    words.add_column(style="bold", no_wrap=True)
    words.add_column(overflow="fold")
    lines, following = analysis.in_words.lines, analysis.in_words.next
    for place, (question, answer) in enumerate(lines[:-1] if following else lines):
        style = (
            "bold"
            if place == 0
            else _STYLES[analysis.in_words.mark]
            if question == "May I rely on it"
            else ""
        )
        words.add_row(_text(question), _text(answer, style=style))
    parts: list[RenderableType] = [_text(analysis.name, style="bold"), Text(), words, Text()]
    last = [Text(f"Next: {following}", no_wrap=True, overflow="ignore")] if following else []
    notes = [*dict.fromkeys((*analysis.failures, *analysis.notes))]
    if not verbose:
        if analysis.interrupted:
            parts.insert(
                1, _text("Interrupted before it was finished: this is what there was.", style="yellow")
            )
        # Which columns were clustered, and as what.
        read = () if analysis.data is None else analysis.data.table.notes
        parts += [_text(f"Note: {note}") for note in (*read, *analysis.failures)[:_MOST_NOTES]]
        return Group(*parts, *last)
    page = page_of(analysis)
    parts += [_text(analysis.introduction), Text()]
    for section in page.sections:
        for part in section.parts:
            parts += _shown(part)
    parts += [_text(f"Note: {note}") for note in [*notes, *page.missing]]
    return Group(*parts, *last, _text(analysis.verdict.sentence, style="bold"))


def _shown(part: Part) -> list[RenderableType]:
    header: tuple[str, ...]
    rows: list[tuple[Text, ...]]
    if isinstance(part, ChecksTable):
        title, header = "What was asked", ("question", "answer", "measured", "limit")
        rows = [
            (
                _text(one.question),
                _text(one.answer, style=_STYLES[one.mark]),
                _text(one.sentence),
                _text(one.wanted),
            )
            for one in part.rows
        ]
    elif isinstance(part, FigureTable) and part.terminal_title is not None:
        title, header = part.terminal_title, part.header
        rows = [tuple(map(_text, row)) for row in part.rows]
    else:
        return []
    table = Table(title=_text(title), title_justify="left", box=box.SIMPLE_HEAD)
    for place, name in enumerate(header):
        is_figure = place and isinstance(part, FigureTable)
        table.add_column(_text(name), justify="right" if is_figure else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return [table, Text()]


def _text(words: str, *, style: str = "") -> Text:
    """Names of columns and sources are the user's: as Text they are no markup, visible they do nothing."""
    return Text(visible(words), style=style)
