"""Tables of a TOML file as dataclasses: known keys, right types, and errors that name the nearest key."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pyroclust.errors import unknown_name

__all__ = ["check_keys", "part_of", "read_typed"]

T = TypeVar("T")

_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", dict: "a table"}


def check_keys(content: Mapping[str, Any], known: set[str], *, where: str = "") -> None:
    """Refuse keys that nobody reads.

    Raises:
        ValueError: with the nearest known key.

    Example:
        >>> check_keys({"stepz": 3}, {"steps"}, where="training.")
        Traceback (most recent call last):
        ValueError: unknown key 'training.stepz', did you mean 'training.steps'? Known: training.steps
    """
    for key in sorted(set(content) - known):
        raise ValueError(unknown_name("key", where + key, sorted(where + name for name in known)))


def part_of(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the table of a name, empty if it is not there.

    Raises:
        ValueError: if something else has that name.
    """
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise ValueError(f"'{name}' is {table!r}, expected a table [{name}]")
    return dict(table)


def read_typed(cls: type[T], content: Mapping[str, Any], *, where: str) -> T:
    """Build a dataclass from a table.

    Args:
        cls: a dataclass whose fields have the types int, float, str, bool, tuple or dict, or one of them
            and ``None``.
        content: the table.
        where: its name, for errors.

    Raises:
        ValueError: if a key is unknown or missing, or a value has another type or is out of range.

    Example:
        >>> from pyroclust.infer import FitSettings
        >>> read_typed(FitSettings, {"steps": 10}, where="training").steps
        10
    """
    names = {one.name for one in fields(cls)}  # type: ignore[arg-type]
    check_keys(content, names, where=f"{where}.")
    hints = get_type_hints(cls)
    for one in fields(cls):  # type: ignore[arg-type]
        if one.name not in content and one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"'{where}.{one.name}' is missing")
    values = {name: _value(hints[name], value, f"{where}.{name}") for name, value in content.items()}
    try:
        return cls(**values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _value(hint: Any, value: Any, where: str) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] if _is_union(hint) else [hint]
    for kind in kinds:
        base = get_origin(kind) or kind
        if base is tuple and isinstance(value, list):
            return tuple(value)
        if base is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, base) and not (isinstance(value, bool) and base is not bool):
            return value
    words = " or ".join(_WORDS.get(get_origin(kind) or kind, "a list") for kind in kinds)
    raise ValueError(f"'{where}' is {value!r}, expected {words}")


def _is_union(hint: Any) -> bool:
    return isinstance(hint, UnionType)
