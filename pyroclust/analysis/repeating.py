"""The command that repeats an analysis, as it can be typed."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["arguments_of", "command_line"]

_OPTIONS = {"num_draws": "draws", "num_chains": "chains", "num_clusters": "clusters"}


def arguments_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that were given as JSON holds them."""
    return {
        name: sorted(value)
        if isinstance(value, frozenset)
        else value
        if isinstance(value, str | int | float | bool | list)
        else str(value)
        if isinstance(value, os.PathLike)
        else repr(value)
        for name, value in options.items()
        if _is_given(name, value)
    }


def command_line(command: str, sources: Sequence[Any], options: Mapping[str, Any], seed: int) -> str:
    """Return a command with its sources and options; what is no name and no file is an ellipsis.

    Example:
        >>> command_line("forest", ["my table.csv"], {"num_clusters": 3, "raw": False, "header": False}, 0)
        "pyroclust forest 'my table.csv' --no-header --clusters 3"
    """
    words = [f"pyroclust {command}"]
    words += [shlex.quote(str(one)) if isinstance(one, str | os.PathLike) else "..." for one in sources]
    words += [_option(name, value) for name, value in sorted(options.items()) if _is_given(name, value)]
    words += [f"--seed {seed}"] if seed else []
    return " ".join(words)


def _is_given(name: str, value: Any) -> bool:
    return value is not None and (value is not False or name == "header")


def _option(name: str, value: Any) -> str:
    if name == "header":
        return "--header" if value else "--no-header"
    is_plain = isinstance(value, str | int | float | os.PathLike)
    option = "--" + _OPTIONS.get(name, name).replace("_", "-")
    if value is True:
        return option
    if name == "conditions":
        return " ".join(f"--condition {shlex.quote(f'{key}={one:g}')}" for key, one in value.items())
    if isinstance(value, Mapping):
        value = [f"{key}={one}" for key, one in value.items()]
    if isinstance(value, frozenset):
        value = sorted(value)
    if isinstance(value, tuple | list) and name not in ("must_link", "cannot_link"):
        if all(isinstance(one, float | int) for one in value):
            return f"{option} {' '.join(f'{one:g}' for one in value)}"
        return f"{option} {shlex.quote(','.join(map(str, value)))}"
    return f"{option} {shlex.quote(str(value)) if is_plain else '...'}"
