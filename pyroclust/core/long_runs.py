"""Long runs: what they show on standard error, and how Ctrl-C stops them between steps, never inside one."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from types import FrameType

from pyroclust.core.messages import duration, visible

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
        # Of some loops nobody knows how long they are.
        if at - self._said < _SILENCE or not self._done < now < (self._total or math.inf):
            return
        self._said = at
        left = (at - self._began) * (self._total - now) / (now - self._done)
        said = f", {figures}" if figures else ""
        if not self._total:
            self._line(f"{self._what}: {now:,}{said}")
            return
        self._line(f"{self._what}: {now:,} of {self._total:,}{said}, about {duration(left)} left")


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


_STOPPED, _SOON = 128, 0.05
# Ended by the terminal or by the system; ignored where the caller had them ignored, as nohup does.
_OTHERS = tuple(one for name in ("SIGTERM", "SIGHUP") if (one := getattr(signal, name, None)) is not None)


class StopRequest:
    """Whether somebody asked to stop."""

    requested = False  # a second Ctrl-C is raised at once


class _Command:
    """What the command that runs was sent, if one runs."""

    runs = False
    received: int | None = None


_command = _Command()
_waiting: list[StopRequest] = []


@contextmanager
def interrupt_between_steps() -> Iterator[StopRequest]:
    """Take a first Ctrl-C (of a command SIGTERM too) as a request to stop after the present step."""
    # Weights half-way through an optimiser's step are no weights to keep.
    if threading.current_thread() is not threading.main_thread():
        yield StopRequest()
        return
    if _waiting:
        yield _waiting[-1]
        return
    interrupt = StopRequest()
    _waiting.append(interrupt)
    try:
        with _handled(signal.SIGINT):
            yield interrupt
    finally:
        _waiting.remove(interrupt)


@contextmanager
def command_signals(*, ends_process: bool = False) -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise ``KeyboardInterrupt`` too while a command runs, and note what came.

    Where the process ends with the command signals are ignored afterwards: a second Ctrl-C would break into
    the interpreter's own last steps.
    """
    if threading.current_thread() is not threading.main_thread() or _command.runs:
        yield
        return
    _command.runs, _command.received = True, None
    try:
        handled = [signal.SIGINT, *(one for one in _OTHERS if signal.getsignal(one) is signal.SIG_DFL)]
        with ExitStack() as stack:
            for one in handled:
                stack.enter_context(_handled(one, ignored_after=ends_process))
            yield
    finally:
        _command.runs, _command.received = False, None


def exit_code() -> int:
    """Return the exit code of a command that was stopped: 130 after Ctrl-C, 143 after SIGTERM."""
    return _STOPPED + (_command.received or signal.SIGINT)


def was_interrupted() -> bool:
    """Return whether a signal came since the command began."""
    return _command.received is not None


def raise_if_interrupted() -> None:
    """Stop a command that was told to, and in which some library swallowed that."""
    if _command.runs and _command.received is not None:
        raise KeyboardInterrupt


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _command.runs and _command.received is None:
        _command.received = number
    if _waiting and not _waiting[-1].requested:
        _waiting[-1].requested = True
    elif _imports(frame):
        # Compiled code that is being loaded ends the process when an error passes through it.
        again = threading.Timer(_SOON, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
    else:
        raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    """Say whether another library is being imported, and none of our own code runs inside of that."""
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("pyroclust."):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _handled(number: int, *, ignored_after: bool = False) -> Iterator[None]:
    before = signal.signal(number, _on_signal)
    after = signal.SIG_IGN if ignored_after else signal.SIG_DFL if before is None else before
    try:
        yield
    finally:
        signal.signal(number, after)
