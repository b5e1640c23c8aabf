"""Where the commands print results."""

import sys

from rich.console import Console
from rich.text import Text

from pyroclust.text import visible

__all__ = ["print_plainly", "standard_output"]


def standard_output() -> Console:
    """Return the console of standard output; in a pipe tables cut to 80 columns would lose figures."""
    return Console() if sys.stdout.isatty() else Console(width=110)


def print_plainly(console: Console, text: str) -> None:
    """Print a line with names of files in it: nothing in them is markup or obeyed by a terminal.

    Args:
        console: where to.
        text: the line.
    """
    console.print(Text(visible(text)), soft_wrap=True)
