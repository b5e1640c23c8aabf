"""A picture of a page."""

from base64 import b64encode
from dataclasses import dataclass

from matplotlib.figure import Figure

from pyroclust import plots

__all__ = ["Picture", "picture_address"]


@dataclass(frozen=True)
class Picture:
    """One picture of the page.

    Attributes:
        title: heading of its section.
        source: the PNG as a data address.
        alternative: what it shows, for those who cannot see it.
        caption: how to read it.
    """

    title: str
    source: str
    alternative: str
    caption: str


def picture_address(figure: Figure) -> str:
    """Return a figure's PNG as a data address, so that the page needs no other file."""
    return "data:image/png;base64," + b64encode(plots.png_bytes(figure)).decode("ascii")
