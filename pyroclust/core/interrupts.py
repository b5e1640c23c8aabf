"""Ctrl-C takes effect between steps, never inside one; and a command that is stopped says so."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

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
