"""A picture of a page."""

from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO
from typing import ClassVar

from matplotlib.figure import Figure
from PIL import Image

from pyroclust import plots
from pyroclust.report.parts import Part

__all__ = ["Picture", "picture_of"]

DPI, COARSE_DPI = 160, 110
MOST_BYTES = 170_000
_CSS_PIXELS = 96


@dataclass(frozen=True)
class Picture(Part):
    """One picture, with what it shows and how to read it; see :func:`picture_of`.

    Attributes:
        source: the PNG as a data address.
        width: in CSS pixels.
        height: in CSS pixels.
        alternative: what it shows, for those who cannot see it.
        caption: how to read it; the page says "How to read it." before.
    """

    template: ClassVar[str] = "part_picture.html.jinja"
    source: str
    width: int
    height: int
    alternative: str
    caption: str

    @property
    def is_wide(self) -> bool:
        """Whether it would be too small to read on a telephone, and scrolls there instead."""
        return self.width > 600


def picture_of(figure: Figure, *, alternative: str, caption: str) -> Picture:
    """Return a matplotlib figure as a picture inside the page, in 256 colours.

    It is drawn at 160 dots an inch, and at 110 if that takes more than 170 kB: a page of ten stays below
    3 MB.

    Args:
        figure: 9 inches wide for the whole width of the page.
        alternative: what it shows, for those who cannot see it.
        caption: how to read it; the page says "How to read it." before.
    """
    content = _palette_png(figure, DPI)
    if len(content) > MOST_BYTES:
        content = _palette_png(figure, COARSE_DPI)
    width, height = (round(_CSS_PIXELS * inches) for inches in figure.get_size_inches())
    address = "data:image/png;base64," + b64encode(content).decode("ascii")
    return Picture(address, width, height, alternative, caption)


def _palette_png(figure: Figure, dpi: int) -> bytes:
    with Image.open(BytesIO(plots.png_bytes(figure, dpi=dpi))) as drawn:
        few = drawn.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    buffer = BytesIO()
    few.save(buffer, format="png", optimize=True)
    return buffer.getvalue()
