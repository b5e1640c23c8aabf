"""Ctrl-C takes effect between steps, never inside one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupt", "interrupt_between_steps"]


class Interrupt:
    """Whether somebody asked to stop.

    Attributes:
        requested: a first Ctrl-C came; a second one is raised at once.
    """

    requested = False


@contextmanager
def interrupt_between_steps() -> Iterator[Interrupt]:
    """Take a first Ctrl-C as a request to stop after the present step, in the main thread.

    Weights half-way through an optimiser's step are no weights to keep.

    Example:
        >>> with interrupt_between_steps() as interrupt:
        ...     signal.raise_signal(signal.SIGINT)
        ...     interrupt.requested
        True
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def note(number: int, frame: FrameType | None) -> None:
        if interrupt.requested:
            raise KeyboardInterrupt
        interrupt.requested = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
