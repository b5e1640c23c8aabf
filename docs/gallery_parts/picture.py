"""A picture of the gallery: how to read it, the call, and what draws it."""

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from gallery_parts.posteriors import Gallery

__all__ = ["PICTURES", "Picture", "picture"]

Draw = Callable[[Gallery], Figure]

# "iris = seen.iris" says nothing to a reader of the page.
_SHORTER_NAME = re.compile(r"(\w+) = seen\.\1")


@dataclass(frozen=True)
class Picture:
    """One picture of the gallery: a function that draws it, its section, and how to read it."""

    name: str
    section: str
    words: str
    code: str
    draw: Draw


PICTURES: list[Picture] = []


def picture(section: str, words: str) -> Callable[[Draw], Draw]:
    """Add a function to the gallery, with words on how to read its picture; its body is the call."""

    def add(draw: Draw) -> Draw:
        body = inspect.getsource(draw).split("-> Figure:\n")[1]
        code = textwrap.dedent(body).removesuffix("return figure\n").removeprefix("return ").strip()
        lines = [line.replace("seen.", "") for line in code.split("\n") if not _SHORTER_NAME.fullmatch(line)]
        PICTURES.append(Picture(draw.__name__, section, words, "\n".join(lines), draw))
        return draw

    return add
