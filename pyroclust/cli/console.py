"""Where the commands print results."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

from pyroclust.core.text import visible

if TYPE_CHECKING:
    from pyroclust.diagnostics import Verdict
    from pyroclust.results.analysis import Analysis

__all__ = ["end_strictly", "print_analysis", "print_plainly", "standard_output"]

_REFUSED = 3


def standard_output() -> Console:
    """Return the console of standard output; in a pipe tables cut to 80 columns would lose figures."""
    return Console() if sys.stdout.isatty() else Console(width=110)


def print_analysis(analysis: "Analysis", folder: Path, *, as_json: bool, verbose: bool, strict: bool) -> None:
    """Print the answer of an analysis, or all tables, or JSON and nothing else; end strictly where asked."""
    if as_json:
        written = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        print(json.dumps(written, indent=2, allow_nan=False))
    else:
        from pyroclust.report import terminal_view

        console = standard_output() if verbose else Console(width=None if sys.stdout.isatty() else 80)
        console.print(terminal_view(analysis, verbose=verbose), highlight=False, crop=False)
        files = "draws.nc, summary.json, assignments.csv, clusters.csv"
        print_plainly(console, f"Written: {folder / 'report.html'}, {files}")
    end_strictly(analysis.verdict, strict=strict)


def print_plainly(console: Console, text: str) -> None:
    """Print a line with names of files in it: nothing in them is markup or obeyed by a terminal."""
    console.print(Text(visible(text)), soft_wrap=True)


def end_strictly(verdict: "Verdict", *, strict: bool) -> None:
    """End a command with exit code 3 where its verdict is bad, or there is none."""
    if strict and verdict.level.is_refused:
        sys.stdout.flush()
        raise typer.Exit(_REFUSED)
