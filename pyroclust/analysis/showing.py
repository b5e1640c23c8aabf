"""How results are shown: HTML for notebooks, and the page in a notebook or a browser."""

import sys
import tempfile
import webbrowser
from html import escape
from pathlib import Path
from typing import Any

from pyroclust.results.showing import Shown

__all__ = ["as_page", "in_notebook"]

_FRAME = '<iframe srcdoc="{page}" style="width: 100%; height: 80vh; border: 0" title="{title}"></iframe>'


def in_notebook(result: Any) -> str:
    """Return the verdict of a result, its first picture, and how to go on, as HTML of a cell.

    Args:
        result: what an analysis returned.
    """
    from pyroclust.report import notebook_view

    return notebook_view(result)


def as_page(result: Any) -> None:
    """Show the page of a result: in a notebook's cell, else in the browser.

    The page is that of the result's folder; without one it is written into a temporary file, which stays.

    Args:
        result: what an analysis returned.
    """
    from pyroclust.report import render

    folder = getattr(result, "folder", None)
    written = None if folder is None else Path(folder) / "report.html"
    there = written is not None and written.is_file()
    if _is_notebook():
        from IPython.display import HTML, display

        page = written.read_text(encoding="utf-8") if there and written is not None else render(result)
        display(HTML(_FRAME.format(page=escape(page), title=escape(result.contents().title))))
        return
    if not there:
        written = Path(tempfile.mkdtemp(prefix="pyroclust-")) / "report.html"
        written.write_text(render(result), encoding="utf-8")
    assert written is not None
    webbrowser.open(written.resolve().as_uri())


def _is_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, which shows HTML; a terminal with IPython does not."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


Shown.in_notebook, Shown.as_page = staticmethod(in_notebook), staticmethod(as_page)
