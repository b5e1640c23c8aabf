"""Standard streams that can be written to, whatever the shell left of them."""

import io
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["discard", "usable_streams"]


def usable_streams() -> None:
    """Give closed streams a place to write to, and let streams of few characters write escapes."""
    # With >&- Python has no standard output at all; in an ASCII locale it cannot write a dash.
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is sys.__stderr__ and type(sys.stderr) is io.TextIOWrapper:
        sys.stderr = _Forgiving(
            sys.stderr.buffer,
            encoding=sys.stderr.encoding,
            errors=sys.stderr.errors,
            line_buffering=True,
        )


def discard(stream: Any) -> None:
    """Write nothing more to a stream, whose reader has gone away, as ``head`` does, or whose disk is full."""
    with suppress(OSError, ValueError, io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class _Forgiving(io.TextIOWrapper):
    """Standard error that nobody reads or that is full: what is said is lost, the results are not."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            discard(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            discard(self)
