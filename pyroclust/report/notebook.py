"""A result as a cell of a notebook: its verdict, one picture, and how to go on."""

from pyroclust.report.html import environment
from pyroclust.report.page import page_of
from pyroclust.report.parts import Picture
from pyroclust.results.contents import Result

__all__ = ["notebook_view"]


def notebook_view(result: Result) -> str:
    """Return HTML that needs no style, script or file of its own, a few hundred kB with its picture.

    Args:
        result: what an analysis returned.
    """
    page = page_of(result)
    pictures = (part for section in page.sections for part in section.parts if isinstance(part, Picture))
    return environment().get_template("notebook.html.jinja").render(page=page, picture=next(pictures, None))
