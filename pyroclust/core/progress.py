"""What a long run shows on standard error: a bar for steps, a line for stages, or nothing."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pyroclust.core.text import duration, visible

_TELL: ContextVar[Callable[[str], None] | None] = ContextVar("_TELL", default=None)
# A line is said so many seconds after the one before, at the earliest.
_SILENCE = 10.0


@contextmanager
def lines_instead_of_bars(tell: Callable[[str], None]) -> Iterator[None]:
    """Say every ten seconds how far a loop is and how long it still takes, where it shows no bar."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


@contextmanager
def progress_bar(
    what: str, total: int, *, shown: bool, done: int = 0
) -> Iterator[Callable[[int, str], None]]:
    """Show a bar; the block calls what it gets with the steps done so far, and figures to show."""
    line = _TELL.get()
    if line is not None and not shown:
        yield _Lines(what, total, done, line)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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


class _Lines:
    """Says how far a loop is when nothing has been said of it for ten seconds."""

    def __init__(self, what: str, total: int, done: int, line: Callable[[str], None]) -> None:
        self._what, self._total, self._done, self._line = what, total, done, line
        self._began = self._said = time.monotonic()

    def __call__(self, now: int, figures: str) -> None:
        at = time.monotonic()
        if at - self._said < _SILENCE or not self._done < now < self._total:
            return
        self._said = at
        left = (at - self._began) * (self._total - now) / (now - self._done)
        self._line(f"{self._what}: {now:,} of {self._total:,}, about {duration(left)} left")


@contextmanager
def stages(*, first: str = "", shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Say what is being done: a line for each stage that the block names, and in a terminal a spinner."""
    from rich.console import Console
    from rich.text import Text

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
