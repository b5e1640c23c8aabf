"""One model of a page for every kind of result, and the one template that writes it.

How to add a page for a new kind of result:

1. Write a module ``<kind>_page.py`` with one function from the result to a :class:`Page`. Its sections are a
   tuple of functions, each from the result to a :class:`~pyroclust.report.parts.Section`; the page has them
   in that order, and to add a section is to write one function and name it there.
2. A section holds parts, from top to bottom: a :class:`~pyroclust.report.parts.Paragraph`, a picture
   (:func:`~pyroclust.report.picture.picture_of` a matplotlib figure, drawn inside ``plots.style()``), a small
   :class:`~pyroclust.report.parts.FigureTable` of figures written by :mod:`~pyroclust.report.words`, or the
   data's rows (:func:`~pyroclust.report.parts.rows_table`). Open the first sections, fold the rest; give each
   a gist.
3. Questions of ``verdict_rows`` are asked so that "yes" is good; answer, figure and limit are short.
4. Write it with :func:`render_page` or :func:`write_page`; everything is escaped, so names go in as they are.
5. Add one to the pages of ``tests/report_pages.py``: they are tried in a browser.

A new kind of part is a subclass of :class:`~pyroclust.report.parts.Part` with its own template beside
``page.html.jinja``, in which it is called ``part``.
"""

import re
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from os import PathLike
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pyroclust.report.parts import Headline, Section, Tile, VerdictRow

__all__ = ["Page", "render_page", "write_page"]

FILE_NAME = "report.html"
_TAKEN = ("main", "verdict", "contents", "notes", "open-all", "close-all")


@dataclass(frozen=True, kw_only=True)
class Page:
    """Everything that one page says, as plain text.

    Attributes:
        title: of the browser's tab.
        kicker: the command that made it, in small letters above the heading.
        heading: what it is about, usually the name of the data.
        introduction: one or two sentences.
        verdict: the answer in large letters.
        verdict_rows: the questions behind it, in a table.
        sections: what folds, in order.
        tiles: a few large numbers.
        notes: sentences on what was left out or changed.
        footer: what words on the page mean.
    """

    title: str
    kicker: str
    heading: str
    introduction: str
    verdict: Headline
    verdict_rows: tuple[VerdictRow, ...]
    sections: tuple[Section, ...]
    tiles: tuple[Tile, ...] = ()
    notes: tuple[str, ...] = ()
    footer: str = ""

    @property
    def addresses(self) -> tuple[str, ...]:
        """For each section the name that links on the page have for it.

        Example:
            >>> from pyroclust.report.parts import Mark
            >>> verdict = Headline(Mark.GOOD, "trust", "It agrees.")
            >>> page = Page(title="", kicker="", heading="", introduction="", verdict=verdict,
            ...     verdict_rows=(), sections=(Section("How many?", ()), Section("How many", ())))
            >>> page.addresses
            ('how-many', 'how-many-2')
        """
        found: list[str] = []
        for section in self.sections:
            slug = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
            names = (slug, *(f"{slug}-{again}" for again in range(2, len(found) + 3)))
            found.append(next(name for name in names if name not in {*found, *_TAKEN}))
        return tuple(found)


def render_page(page: Page) -> str:
    """Return a page as HTML that needs no other file and no network, and lets none in.

    Args:
        page: what it says.
    """
    environment = Environment(
        loader=PackageLoader("pyroclust.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = _own_file("report.css"), _own_file("page.js")
    return environment.get_template("page.html.jinja").render(
        page=page,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        version=version("pyroclust"),
    )


def write_page(page: Page, folder: str | PathLike[str]) -> Path:
    """Write a page as ``report.html`` into an existing folder and return its path.

    Args:
        page: what it says.
        folder: where to write.

    Raises:
        OSError: if the folder cannot be written.
    """
    path = Path(folder) / FILE_NAME
    path.write_text(render_page(page), encoding="utf-8")
    return path


def _own_file(name: str) -> str:
    return files("pyroclust.report").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Allow this style, this script and pictures inside the page, and nothing else."""
    styles, scripts = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{styles}'; script-src 'sha256-{scripts}'; "
        "base-uri 'none'; form-action 'none'"
    )
