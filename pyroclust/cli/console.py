"""Where the commands print results, and how what is wrong is said."""

import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from pyroclust.core.long_runs import exit_code, raise_if_interrupted
from pyroclust.core.machine import check_threads
from pyroclust.core.messages import lacks_memory, visible

if TYPE_CHECKING:
    from pyroclust.diagnostics import Verdict
    from pyroclust.results.analysis import Analysis
    from pyroclust.results.data_sets import Analyses


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


def print_data_sets(analyses: "Analyses", folder: Path, *, as_json: bool, strict: bool) -> None:
    """Print the answer over many data sets, or a row for each as JSON; end strictly where one is not good."""
    from pyroclust.report.data_sets import GOOD, answer_of_sets

    if as_json:
        rows = json.loads(analyses.summaries.reset_index().to_json(orient="records", double_precision=15))
        print(json.dumps(rows, indent=2))
    else:
        console = standard_output()
        for question, answer in answer_of_sets(analyses):
            print_plainly(console, f"{question}: {answer}")
        print_plainly(
            console,
            f"Written: {folder / 'report.html'}, summaries.parquet, assignments.parquet, draws.zarr",
        )
    if strict and not analyses.summaries["verdict"].isin(GOOD).all():
        sys.stdout.flush()
        raise typer.Exit(_REFUSED)


def print_plainly(console: Console, text: str) -> None:
    """Print a line with names of files in it: nothing in them is markup or obeyed by a terminal."""
    console.print(Text(visible(text)), soft_wrap=True)


def end_strictly(verdict: "Verdict", *, strict: bool) -> None:
    """End a command with exit code 3 where its verdict is bad, or there is none."""
    if strict and verdict.level.is_refused:
        sys.stdout.flush()
        raise typer.Exit(_REFUSED)


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
