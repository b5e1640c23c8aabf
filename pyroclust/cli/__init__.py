"""The command line: results on standard output, progress on standard error, exit code 2 on bad input."""

import gc
import os
import sys
from collections import namedtuple
from collections.abc import Callable, Sequence

from pyroclust.cli.console import discard, usable_streams
from pyroclust.core.long_runs import command_signals, exit_code, was_interrupted

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with ``sys.argv`` or the given arguments, and exit."""
    code: int | str | None
    usable_streams()
    # Pictures go into files; the backend of a notebook or screen, which may not be installed, is not asked.
    os.environ["MPLBACKEND"] = "agg"
    # The collector would look through all that imports load again and again, for half a second.
    gc.set_threshold(100_000)
    with command_signals(ends_process=arguments is None):
        try:
            from pyroclust.cli.commands import app

            code = _run(
                lambda: app(args=None if arguments is None else list(arguments), prog_name="pyroclust")
            )
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            # Some libraries turn an interrupt during their import into an error of their own.
            if not isinstance(error, KeyboardInterrupt) and not was_interrupted():
                raise
            print("pyroclust: interrupted", file=sys.stderr)
            code = exit_code()
        if was_interrupted() and code in (None, 0, 1):
            code = exit_code()
    # Where Ctrl-C broke into code that a library runs from text, python -m would end by the signal itself and
    # not with the exit code; the next code that runs from text, as that of a named tuple, takes that back.
    namedtuple("End", "")
    raise SystemExit(code)


def _run(command: Callable[[], None]) -> int:
    """Run a command; where its help or version cannot be written, end as for its results."""
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as error:
        if not error.strerror:
            raise
        print(f"pyroclust: {error.strerror}", file=sys.stderr)
        discard(sys.stdout)
        return 2
    return 0
