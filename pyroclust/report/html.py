"""A page as HTML that needs no other file and no network: written, in a browser, in a notebook's cell."""

import sys
import tempfile
import webbrowser
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pyroclust.report.page import page_of
from pyroclust.report.parts import Page
from pyroclust.results.analysis import Analysis

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
