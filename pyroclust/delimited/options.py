"""What is told of a text file, where it is not to be found out."""

from dataclasses import dataclass

from pyroclust.text import visible

__all__ = ["PLAIN", "ReadingOptions"]

PLAIN = {".csv": ",", ".tsv": "\t"}
"""Suffixes of delimited text, and what divides cells unless a file looks otherwise."""


@dataclass(frozen=True)
class ReadingOptions:
    """What is told of a delimited file; what is ``None`` is found out.

    Attributes:
        delimiter: the character between cells; a space stands for any number of spaces.
        decimal: the decimal mark, a point or a comma.
        header: whether the first line names the columns.
    """

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        """Check the characters."""
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '"\r\n.+-_\x00'):
            raise ValueError(
                f"delimiter is '{visible(mark)}', expected one character: ',', ';', '|', a tab or a space"
            )
        if self.decimal is not None and self.decimal not in (".", ","):
            raise ValueError(f"decimal is '{visible(self.decimal)}', expected '.' or ','")

    @property
    def told(self) -> tuple[str, ...]:
        """Names of what is told."""
        return tuple(name for name in ("delimiter", "decimal", "header") if getattr(self, name) is not None)
