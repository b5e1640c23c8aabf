"""What the commands share: where results are printed, and lists in one option."""

import sys

from rich.console import Console

__all__ = ["names_of_columns", "standard_output"]


def standard_output() -> Console:
    """Return the console of standard output; in a pipe tables cut to 80 columns would lose figures."""
    return Console() if sys.stdout.isatty() else Console(width=110)


def names_of_columns(text: str | None) -> list[str] | None:
    """Divide the names of an option at its commas.

    Example:
        >>> names_of_columns("width, height")
        ['width', 'height']
    """
    return None if text is None else [name.strip() for name in text.split(",")]
