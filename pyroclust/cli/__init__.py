"""The command line: results on standard output, progress on standard error, exit code 2 on bad input."""

from pyroclust.cli.app import main

__all__ = ["main"]
