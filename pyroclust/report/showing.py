"""An analysis in a notebook's cell, or its page in a browser."""

import sys
import tempfile
import webbrowser
from html import escape
from pathlib import Path

from pyroclust.report.html import environment, render_page
from pyroclust.report.page import page_of
from pyroclust.results.analysis import Analysis

__all__ = ["notebook_view", "show_page"]

_FRAME = '<iframe srcdoc="{page}" style="width: 100%; height: 80vh; border: 0" title="{title}"></iframe>'


def notebook_view(found: Analysis) -> str:
    """Return the answer as HTML that needs no style, script or file of its own, with one picture."""
    page = page_of(found)
    return environment().get_template("notebook.html.jinja").render(page=page, picture=page.picture)


def show_page(found: Analysis) -> None:
    """Show the page: in a notebook's cell, else in the browser.

    The page is that of the analysis's folder; without one it is written into a temporary file, which stays.
    """
    written = None if found.folder is None else Path(found.folder) / "report.html"
    there = written is not None and written.is_file()
    if _is_notebook():
        from IPython.display import HTML, display

        page = page_of(found)
        text = written.read_text(encoding="utf-8") if there and written is not None else render_page(page)
        display(HTML(_FRAME.format(page=escape(text), title=escape(page.title))))
        return
    if not there:
        written = Path(tempfile.mkdtemp(prefix="pyroclust-")) / "report.html"
        written.write_text(render_page(page_of(found)), encoding="utf-8")
    assert written is not None
    webbrowser.open(written.resolve().as_uri())


def _is_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, which shows HTML; a terminal with IPython does not."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
