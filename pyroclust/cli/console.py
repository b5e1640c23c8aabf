"""Where the commands print results."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from pyroclust.text import visible

if TYPE_CHECKING:
    from pyroclust.results.comparison_result import ComparisonResult

__all__ = ["print_comparison", "print_plainly", "standard_output"]


def standard_output() -> Console:
    """Return the console of standard output; in a pipe tables cut to 80 columns would lose figures."""
    return Console() if sys.stdout.isatty() else Console(width=110)


def print_comparison(result: "ComparisonResult", folder: Path, *, as_json: bool) -> None:
    """Print a comparison, and where its files are; or JSON and nothing else.

    Args:
        result: of the command.
        folder: that was written.
        as_json: whether JSON was asked for.
    """
    if as_json:
        print(json.dumps(result.to_dict(), indent=2))
        return
    from pyroclust.report import terminal_view

    console = standard_output()
    console.print(terminal_view(result))
    print_plainly(console, f"Written: {folder / 'report.html'}, draws.nc, summary.json, assignments.csv")


def print_plainly(console: Console, text: str) -> None:
    """Print a line with names of files in it: nothing in them is markup or obeyed by a terminal.

    Args:
        console: where to.
        text: the line.
    """
    console.print(Text(visible(text)), soft_wrap=True)
