"""Results as pages: one model of a page, written as a self-contained HTML file or for the terminal."""

from os import PathLike
from pathlib import Path

from rich.console import RenderableType

from pyroclust.report.html import render_page, write_page
from pyroclust.report.notebook import notebook_view
from pyroclust.report.page import page_of
from pyroclust.report.parts import Page
from pyroclust.report.terminal import terminal_page
from pyroclust.results.contents import Result

__all__ = [
    "Page",
    "notebook_view",
    "page_of",
    "render",
    "render_page",
    "terminal_page",
    "terminal_view",
    "write_page",
    "write_report",
]


def render(result: Result) -> str:
    """Return the report as one HTML page that needs no other file and no network.

    Args:
        result: what an analysis returned.
    """
    return render_page(page_of(result))


def write_report(result: Result, folder: str | PathLike[str]) -> Path:
    """Write the report as ``report.html`` into an existing folder and return its path.

    Args:
        result: what an analysis returned.
        folder: where to write.

    Raises:
        OSError: if the folder cannot be written.
    """
    return write_page(page_of(result), folder)


def terminal_view(result: Result) -> RenderableType:
    """Lay out a result for the terminal: tables, findings, and the verdict last.

    Args:
        result: what an analysis returned.
    """
    return terminal_page(page_of(result))
