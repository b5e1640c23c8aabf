"""An analysis for the terminal: the first screen, and all tables where they are asked for."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyroclust.core.messages import visible
from pyroclust.diagnostics import Mark
from pyroclust.report.page import page_of
from pyroclust.report.parts import ChecksTable, FigureTable, Part
from pyroclust.results.analysis import Analysis

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
