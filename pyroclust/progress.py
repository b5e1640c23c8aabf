"""What a long run shows on standard error: a bar for steps, a line for stages, or nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from pyroclust.text import visible

__all__ = ["progress_bar", "stages"]


@contextmanager
def progress_bar(
    what: str, total: int, *, shown: bool, done: int = 0
) -> Iterator[Callable[[int, str], None]]:
    """Show a bar while the block runs.

    Args:
        what: one word for what is counted.
        total: steps in all.
        shown: whether there is a bar at all.
        done: steps done before.

    Yields:
        A function that is told how many steps are done now, and a few figures to show beside them.

    Example:
        >>> with progress_bar("draws", 10, shown=False) as tell:
        ...     tell(10, "")
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task(what, total=total, completed=done, figures="")
        yield lambda now, figures: bar.update(task, completed=now, figures=figures)


@contextmanager
def stages(*, first: str = "", shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Say what is being done while the block runs: a line a stage, and in a terminal a spinner below them.

    Args:
        first: what the spinner says until the first stage begins.
        shown: whether anything is said.

    Yields:
        A function that is told the name of each stage as it begins: those that take long, once the input is
        known to be right, so that bad input is answered by one sentence alone.

    Example:
        >>> with stages(shown=False) as tell:
        ...     tell("sampling")
    """
    console = Console(stderr=True, quiet=not shown)
    status = console.status("", spinner="line") if console.is_terminal else None

    def tell(stage: str) -> None:
        if shown:
            print(visible(stage), file=sys.stderr, flush=True)
        if status is not None:
            status.update(Text(visible(stage)))
            status.start()

    try:
        if status is not None and first:
            status.update(first)
            status.start()
        yield tell
    finally:
        if status is not None:
            status.stop()
