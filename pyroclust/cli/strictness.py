"""``--strict``: an exit code for verdicts that scripts should stop at."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pyroclust.diagnostics import Verdict

__all__ = ["Strict", "end_strictly"]

_REFUSED = 3

Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with 3 if there is no verdict, or it is bad."),
]


def end_strictly(verdict: "Verdict", *, strict: bool) -> None:
    """End a command with exit code 3 where its verdict is bad, or there is none.

    What the command writes and prints is there all the same.

    Args:
        verdict: of the command.
        strict: whether that was asked for.

    Raises:
        Exit: of typer, with code 3.

    Example:
        >>> from pyroclust.diagnostics import Trust, Verdict
        >>> try:
        ...     end_strictly(Verdict(Trust.UNKNOWN, "No verdict."), strict=True)
        ... except typer.Exit as end:
        ...     print(end.exit_code)
        3
    """
    if strict and verdict.level.is_refused:
        sys.stdout.flush()
        raise typer.Exit(_REFUSED)
