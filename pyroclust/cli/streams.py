"""Standard streams that can be written to, whatever the shell left of them."""

import io
import os
import sys
from contextlib import suppress

__all__ = ["discard_output", "usable_streams"]


def usable_streams() -> None:
    """Give closed streams a place to write to, and let streams of few characters write escapes.

    With ``>&-`` Python has no standard output at all; in an ASCII locale it cannot write a dash.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, _nowhere())
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Write nothing more to standard output, whose reader has gone away, as ``head`` does."""
    with suppress(OSError, ValueError, io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _nowhere() -> io.TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")
