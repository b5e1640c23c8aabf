"""A page for the terminal: the tables that are marked for it, the findings, and the verdict last."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyroclust.diagnostics import Finding, Mark
from pyroclust.report.parts import FigureTable, Page, Paragraph, Part
from pyroclust.text import visible

__all__ = ["terminal_page"]

_STYLES = {
    Mark.GOOD: "green",
    Mark.CAUTION: "yellow",
    Mark.BAD: "red",
    Mark.UNKNOWN: "magenta",
    Mark.PLAIN: "default",
}


def terminal_page(page: Page) -> RenderableType:
    """Lay out a page for a terminal; pictures and rows are in the HTML page and the files only.

    Args:
        page: what it says.
    """
    parts: list[RenderableType] = [_text(page.heading, style="bold"), _text(page.introduction), Text()]
    for section in page.sections:
        for part in section.parts:
            parts += _shown(part)
    parts += [_text(f"Note: {note}") for note in dict.fromkeys((*page.notes, *page.failures))]
    if page.findings:
        parts.append(_findings(page.findings))
    parts.append(_text(page.verdict.sentence, style="bold"))
    return Group(*parts)


def _shown(part: Part) -> list[RenderableType]:
    match part:
        case Paragraph(in_terminal=True):
            return [_text(part.text), Text()]
        case FigureTable(terminal_title=str()):
            return [_figures(part), Text()]
    return []


def _figures(part: FigureTable) -> Table:
    table = _table(part.terminal_title)
    for place, title in enumerate(part.header):
        table.add_column(_text(title), justify="right" if place else "left", overflow="fold")
    for row in part.rows:
        table.add_row(*(_text(cell) for cell in row))
    return table


def _findings(findings: tuple[Finding, ...]) -> Table:
    table = _table("What was asked")
    for title in ("question", "answer", "measured", "limit"):
        table.add_column(title, overflow="fold")
    for one in findings:
        answer = _text(one.answer, style=_STYLES[one.mark])
        table.add_row(_text(one.question), answer, _text(one.sentence), _text(one.wanted))
    return table


def _table(title: str | None) -> Table:
    return Table(title=None if title is None else _text(title), title_justify="left", box=box.SIMPLE_HEAD)


def _text(words: str, *, style: str = "") -> Text:
    """Names of columns and sources are the user's: as Text they are no markup, visible they do nothing."""
    return Text(visible(words), style=style)
