"""The model of a page: the answer, and sections with their parts, as plain data.

A section holds parts, from top to bottom: a :class:`Paragraph`, a :class:`Picture` that matplotlib draws, a
small :class:`FigureTable` of figures written by :func:`number` and the like. Open the first sections, fold
the rest; give each a gist. Text is plain: whoever renders a page escapes it. The terminal shows the tables
with a ``terminal_title``.

A new kind of part is a subclass of :class:`Part` with its own template beside ``page.html.jinja``, in which
it is called ``part``.
"""

import gc
import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import ClassVar

from matplotlib.figure import Figure
from PIL import Image

from pyroclust import plots
from pyroclust.core.long_runs import progress_bar
from pyroclust.core.messages import ends_the_run, first_line, left_out, short
from pyroclust.diagnostics import Finding, Mark
from pyroclust.diagnostics.chains import functional_name
from pyroclust.plots.drawable import MOST_MARKS
from pyroclust.plots.style import pixels

_UNITS = {
    "log_joint": "nats",
    "log_joint_with_parameters": "nats",
    "entropy": "bits",
    "distance": "bits",
    "distance_to_reference": "bits",
}

YES_OR_NO = {True: "yes", False: "no", None: "–"}


def functional_title(name: str) -> str:
    """Write the name of a functional with its unit."""
    unit = _UNITS.get(name)
    return functional_name(name) + (f" ({unit})" if unit else "")


def number(value: float, digits: int = 3) -> str:
    """Write a figure with ``digits`` decimals, a dash where it is undefined."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{digits}f}".replace("-", "−")


def numbers(values: Iterable[float], digits: int = 3) -> tuple[str, ...]:
    """Write each of some figures."""
    return tuple(number(value, digits) for value in values)


def interval(low: float, high: float, digits: int = 3) -> str:
    """Write the ends of an interval."""
    return f"{number(low, digits)} to {number(high, digits)}"


def p_value(value: float) -> str:
    """Write a p-value, small ones as below a thousandth."""
    return "< 0.001" if value < 0.001 else number(value)


def seconds(value: float) -> str:
    """Write a duration in the unit that suits it."""
    if math.isnan(value):
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.2g} µs"


def axis_names(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Cut the names of columns so that they fit beside axes."""
    return tuple(short(column, 35) for column in columns)


DPI = 110
_TAKEN = ("main", "verdict", "contents", "notes", "open-all", "close-all")


@dataclass(frozen=True)
class Part:
    """Something a section holds; each kind names the template that writes it."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Paragraph(Part):
    """A paragraph of plain text.

    Attributes:
        text: what it says.
    """

    template: ClassVar[str] = "part_paragraph.html.jinja"
    text: str


@dataclass(frozen=True)
class ChecksTable(Part):
    """Questions with answer, figure and limit."""

    template: ClassVar[str] = "part_checks.html.jinja"
    rows: tuple[Finding, ...]


@dataclass(frozen=True)
class FigureTable(Part):
    """A table of figures, already written as text.

    Attributes:
        caption: what the table says and how to read it.
        header: titles of the columns, the first one over the names of the rows.
        rows: a name and its cells each.
        terminal_title: its title in the terminal; ``None`` where only the page shows it.
        of_rows: for a table of the data's rows, how many there are: it may show only the first of them.

    Raises:
        ValueError: if a row has more or fewer cells than there are titles.
    """

    template: ClassVar[str] = "part_table.html.jinja"
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    terminal_title: str | None = None
    of_rows: int = 0

    def __post_init__(self) -> None:
        """Check that the table is rectangular."""
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"a row has {len(row)} cells, expected {len(self.header)}: {row}")


@dataclass(frozen=True)
class Picture(Part):
    """One picture in 256 colours, with what it shows and how to read it.

    It is drawn only where a page asks for it: the terminal never does.

    Attributes:
        draw: draws it into a figure, in the look of ``plots.style()``.
        size: width and height in inches; 9 is the whole width of the page.
        alternative: what it shows, for those who cannot see it.
        caption: how to read it; the page says "How to read it." before.
    """

    template: ClassVar[str] = "part_picture.html.jinja"
    draw: Callable[[Figure], object]
    size: tuple[float, float]
    alternative: str
    caption: str

    @property
    def source(self) -> str:
        """The PNG as a data address; without content where it could not be drawn."""
        return "data:image/png;base64," + b64encode(self._drawn[0]).decode("ascii")

    @property
    def is_drawn(self) -> bool:
        """Whether a page has asked for it."""
        return "_drawn" in vars(self)

    @property
    def reason(self) -> str:
        """Why it could not be drawn, without a full stop; empty where it was."""
        return self._drawn[1]

    @cached_property
    def _drawn(self) -> tuple[bytes, str]:
        try:
            with plots.style():
                figure = plots.new_figure(*self.size)
                self.draw(figure)
                return _palette_png(figure), ""
        except Exception as error:
            if ends_the_run(error):
                raise
            return b"", first_line(error)


def _palette_png(figure: Figure) -> bytes:
    drawn = pixels(figure, dpi=DPI)
    # Quantising takes time by the number of colours: of lines that shine through, sixty thousand. Six bits of
    # each, with 0 and 255 as they are, look the same.
    coarse = Image.fromarray((drawn & 0xFC) | (drawn >> 6))
    few = coarse.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    buffer = BytesIO()
    few.save(buffer, format="png")
    return buffer.getvalue()


def marked(num_rows: int) -> str:
    """Say how many of the rows a picture shows, where it is not all."""
    return f" Drawn are {MOST_MARKS:,} of {num_rows:,} rows, chosen at random." * (num_rows > MOST_MARKS)


@dataclass(frozen=True)
class Section:
    """A section of the page that folds.

    Attributes:
        title: its heading.
        parts: what it holds, from top to bottom.
        is_open: whether the page opens with it unfolded.
        gist: its finding in a few words, seen when it is folded too.
    """

    title: str
    parts: tuple[Part, ...]
    is_open: bool = False
    gist: str = ""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Those of its parts that are drawn."""
        return tuple(part for part in self.parts if isinstance(part, Picture))


@dataclass(frozen=True, kw_only=True)
class Page:
    """Everything that one page says, as plain text.

    Attributes:
        title: of the browser's tab.
        kicker: the command that made it, in small letters above the heading.
        heading: what it is about, usually the name of the data.
        introduction: one or two sentences.
        answer: question and answer in a person's words.
        mark: whether relying on it is good or bad news.
        picture: of the data.
        sections: what folds, in order.
        notes: sentences on what was left out or changed.
        missing: why sections are missing, a sentence each.
    """

    title: str
    kicker: str
    heading: str
    introduction: str
    answer: tuple[tuple[str, str], ...]
    mark: Mark
    picture: Picture | None
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def failures(self) -> tuple[str, ...]:
        """Why sections are missing, and pictures as far as they were drawn, a sentence each."""
        failed = [
            left_out(f"A picture of '{section.title}'", picture.reason)
            for section in self.sections
            for picture in section.pictures
            if picture.is_drawn and picture.reason
        ]
        return (*self.missing, *failed)

    def draw(self) -> None:
        """Draw all pictures, each once."""
        pictures = [picture for section in self.sections for picture in section.pictures]
        pictures += [] if self.picture is None else [self.picture]
        # Figures are full of circles: the collector would look through all that is loaded again and again.
        gc.freeze()
        try:
            with progress_bar("pictures", len(pictures), shown=False) as tell:
                for place, picture in enumerate(pictures, 1):
                    _ = picture.source
                    tell(place, "")
        finally:
            gc.unfreeze()

    @property
    def addresses(self) -> tuple[str, ...]:
        """For each section the name that links on the page have for it."""
        slugs: list[str] = []
        for section in self.sections:
            slug = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
            names = (slug, *(f"{slug}-{again}" for again in range(2, len(slugs) + 3)))
            slugs.append(next(name for name in names if name not in {*slugs, *_TAKEN}))
        return tuple(slugs)
