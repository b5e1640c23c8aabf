"""A page as HTML: one file that needs no other and asks nothing of the network."""

from base64 import b64encode
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pyroclust.report.parts import Page

__all__ = ["FILE_NAME", "environment", "render_page"]

FILE_NAME = "report.html"


def render_page(page: Page) -> str:
    """Return a page as HTML that needs no other file and no network, and lets none in."""
    page.draw()
    style, script = _own_file("report.css"), _own_file("page.js")
    return (
        environment()
        .get_template("page.html.jinja")
        .render(
            page=page,
            notes=tuple(dict.fromkeys((*page.notes, *page.failures))),
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
            version=version("pyroclust"),
        )
    )


def environment() -> Environment:
    """Return where the templates are, with all text escaped."""
    return Environment(
        loader=PackageLoader("pyroclust.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _own_file(name: str) -> str:
    return files("pyroclust.report").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Allow this style, this script and pictures inside the page, and nothing else."""
    styles, scripts = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{styles}'; script-src 'sha256-{scripts}'; "
        "base-uri 'none'; form-action 'none'"
    )
