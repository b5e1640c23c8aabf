"""What users see when their input cannot be used: one sentence, no traceback."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import typer

from pyroclust.cli.streams import discard
from pyroclust.core.errors import lacks_memory
from pyroclust.core.interrupts import exit_code, raise_if_interrupted
from pyroclust.core.text import visible
from pyroclust.core.threads import check_threads

__all__ = ["one_sentence_errors"]

_TRACEBACK = "PYROCLUST_TRACEBACK"
_BAD_INPUT = 2
_ARGUMENT = re.compile(r"^\w+(?= (?:is|given)\b)")


@contextmanager
def one_sentence_errors(flags: Mapping[str, str]) -> Iterator[None]:
    """Turn what is wrong with the input of a command into a sentence on standard error and exit code 2.

    A sentence that begins with the name of an argument of Python begins with its flag.
    """
    # Ctrl-C and SIGTERM also count where some library swallowed the signal.
    try:
        check_threads()
        _check_folder()
        yield
        raise_if_interrupted()
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads has seen enough: that is no error of the command.
        discard(sys.stdout)
        raise typer.Exit from None
    except (ValueError, OSError, MemoryError, RuntimeError) as error:
        is_foreseen = not isinstance(error, RuntimeError) or lacks_memory(error)
        if os.environ.get(_TRACEBACK) or not is_foreseen:
            raise
        said = _ARGUMENT.sub(lambda name: flags.get(name[0], name[0]), _sentence(error))
        print(f"pyroclust: {said}", file=sys.stderr)
        raise typer.Exit(_BAD_INPUT) from None
    except KeyboardInterrupt as error:
        print(visible(" ".join(["pyroclust: interrupted", *map(str, error.args)])), file=sys.stderr)
        raise typer.Exit(exit_code()) from None


def _check_folder() -> None:
    try:
        os.getcwd()
    except FileNotFoundError:
        raise ValueError("the folder that the command runs in is gone: change into another one") from None


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError | RuntimeError):
        return "the memory that is left is not enough; take fewer points or draws, or another machine"
    if isinstance(error, OSError) and error.strerror:
        where = f"'{error.filename}': " if error.filename else ""
        return visible(f"{where}{error.strerror}")
    return visible(" ".join(str(error).split()))
