"""Results show themselves: in notebooks by themselves, anywhere as a whole page."""

from collections.abc import Callable
from typing import Any, ClassVar

__all__ = ["Shown"]


class Shown:
    """A result that notebooks show, and that opens as a page; how is said by whoever makes it.

    Results know nothing of pages, which are made of them: analyses set both functions.

    Attributes:
        in_notebook: returns HTML of a result, for a cell of a notebook.
        as_page: shows the whole page of a result.
    """

    in_notebook: ClassVar[Callable[[Any], str] | None] = None
    as_page: ClassVar[Callable[[Any], None] | None] = None

    def _repr_html_(self) -> str | None:
        """Return the verdict, a picture, and how to go on, for a notebook."""
        return None if Shown.in_notebook is None else Shown.in_notebook(self)

    def show(self) -> None:
        """Show the whole page, with all pictures: in the notebook's cell, or else in the browser.

        Cost: some seconds, where the page was not written yet.
        """
        if Shown.as_page is not None:
            Shown.as_page(self)
