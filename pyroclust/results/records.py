"""What an analysis keeps of its model and its guide, and what repeats it."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from pyroclust.core.machine import versions

# What is no name and no file cannot be typed.
_ELLIPSIS = "..."
# Options whose flag has another name than the parameter.
_FLAGS = {
    **{"num_draws": "draws", "num_chains": "chains", "num_clusters": "clusters"},
    **{"leave_out": "except", "conditions": "condition", "as_json": "json"},
}
# Options that are given once for each value, and those whose flag has an opposite.
_ONE_BY_ONE, _WITH_OPPOSITE = ("conditions", "missing", "chains"), ("header", "transpose")


@dataclass(frozen=True)
class ModelRecord:
    """The model whose posterior is drawn from."""

    name: str
    in_words: str = ""  # which model it is, in words and as a formula
    # What builds it again, as cards have it; None where nothing does.
    description: Mapping[str, Any] | None = None
    has_likelihood: bool = True  # whether a partition has a log joint density


@dataclass(frozen=True)
class GuideRecord:
    """A guide beside its draws."""

    name: str
    num_orders: int = 1  # visiting orders that share its draws in equal parts, one after the other
    # What its card says was measured; empty without one.
    certificate: Mapping[str, Any] = field(default_factory=dict)
    is_asked_for: bool = False  # whether somebody named it, so that its draws are the answer where they agree


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """What repeats an analysis: what was typed, and all that the result depends on besides."""

    name: str = ""  # of the command; empty where nobody typed one
    sources: Sequence[str] = ()  # what it was typed with; what is no name and no file is an ellipsis
    # The options, by the names of their parameters, as JSON holds them.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    run: str = ""  # checksum of all that the result depends on
    table: str = ""  # checksum of the table; empty without one
    guide: str = ""  # checksum of the guide's weights; empty without one
    # Of the libraries that make the draws.
    versions: Mapping[str, str] = field(default_factory=versions)

    @classmethod
    def of(cls, name: str, sources: Sequence[Any], options: Mapping[str, Any], **fields: Any) -> "Repeat":
        """Take sources and options as functions of Python have them, and the other fields as they are."""
        return cls(
            name=name,
            sources=[str(one) if isinstance(one, str | PathLike) else _ELLIPSIS for one in sources],
            # Without those that were not given.
            arguments={
                key: _as_json(one)
                for key, one in options.items()
                if one is not None and (one is not False or key in _WITH_OPPOSITE)
            },
            **fields,
        )

    @property
    def command(self) -> str:
        """As it can be typed; empty where nobody typed one."""
        return self.as_command(self.name)

    def as_command(self, name: str, *, without: Collection[str] = (), **more: Any) -> str:
        """Return a command with the same sources and seed, without some of the options, and with more.

        Example:
            >>> options = {"num_clusters": 3, "raw": False, "header": False}
            >>> typed = Repeat.of("forest", ["my table.csv"], options)
            >>> typed.command
            "pyroclust forest 'my table.csv' --no-header --clusters 3"
            >>> typed.as_command("cluster", without=["num_clusters"], thorough=True)
            "pyroclust cluster 'my table.csv' --no-header --thorough"
        """
        if not self.name:
            return ""
        options = {key: one for key, one in self.arguments.items() if key not in without} | more
        words = [f"pyroclust {name}", *map(shlex.quote, self.sources)]
        words += [_option(key, one) for key, one in sorted(options.items())]
        return " ".join([*words, f"--seed {self.seed}"] if self.seed else words)

    def figures(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of it: the command as it can be typed stands for its name."""
        return {"command": self.command} | {key: one for key, one in vars(self).items() if key != "name"}


def flag_of(name: str) -> str:
    """Return the flag of a parameter, as it is typed."""
    return "--" + _FLAGS.get(name, name).replace("_", "-")


def _as_json(value: Any) -> Any:
    # Commands have their flags from here, and their help loads no numpy.
    import numpy as np

    from pyroclust.core.numbers import json_values

    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping | tuple | list | np.generic):
        return json_values(dict(value) if isinstance(value, Mapping) else value)
    return value if isinstance(value, str | int | float) else _ELLIPSIS


def _option(name: str, value: Any) -> str:
    flag = flag_of(name)
    if isinstance(value, bool):
        return flag if value else flag.replace("--", "--no-", 1)
    if name in ("must_link", "cannot_link") and isinstance(value, list):
        return f"{flag} {_ELLIPSIS}"
    if name == "clusters" and isinstance(value, list):
        return f"{flag} {'-'.join(map(str, value))}"
    if isinstance(value, Mapping):
        value = [f"{key}={one:g}" if isinstance(one, float) else f"{key}={one}" for key, one in value.items()]
    if not isinstance(value, list):
        return f"{flag} {shlex.quote(str(value))}"
    if name in _ONE_BY_ONE:
        return " ".join(f"{flag} {shlex.quote(str(one))}" for one in value)
    if all(isinstance(one, float | int) for one in value):
        return f"{flag} {' '.join(f'{one:g}' for one in value)}"
    # Quotes stand around a name with a comma.
    together = ",".join(f'"{one}"' if "," in str(one) else str(one) for one in value)
    return f"{flag} {shlex.quote(together)}"
