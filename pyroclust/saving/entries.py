"""Small text files that describe guides, read strictly: what is unusual in them is no accident of theirs."""

import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from pyroclust.core.errors import unknown_name
from pyroclust.core.text import short

__all__ = ["check_keys", "list_entry", "table_entry", "text_entry"]


def check_keys(table: Mapping[str, Any], known: Iterable[str], *, what: str) -> None:
    """Refuse a table with keys that are not known; the nearest known one is offered.

    Raises:
        ValueError: if there are any.

    Example:
        >>> check_keys({"abut": ""}, ["about"], what="entry")
        Traceback (most recent call last):
        ValueError: unknown entry 'abut', did you mean 'about'? Known: about
    """
    for key in sorted(set(table) - set(known)):
        raise ValueError(unknown_name(what, key, known))


def text_entry(table: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Return an entry that is text.

    Raises:
        ValueError: if it is missing and has no default, or is no text.

    Example:
        >>> text_entry({"about": 5}, "about")
        Traceback (most recent call last):
        ValueError: 'about' is 5, expected text
    """
    value = _entry(table, key, default)
    if not isinstance(value, str):
        raise ValueError(f"'{key}' is {short(reprlib.repr(value), 80)}, expected text")
    return value


def table_entry(
    table: Mapping[str, Any], key: str, default: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return an entry that is a table.

    Raises:
        ValueError: if it is missing and has no default, or is no table.
    """
    value = _entry(table, key, default)
    if not isinstance(value, Mapping):
        raise ValueError(f"'{key}' is {short(reprlib.repr(value), 80)}, expected a table")
    return dict(value)


def list_entry(table: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return an entry that is a list of tables, empty where it is missing.

    Raises:
        ValueError: if it is something else.
    """
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError(f"'{key}' is {short(reprlib.repr(value), 80)}, expected a list of tables")
    return [dict(one) for one in value]


def _entry(table: Mapping[str, Any], key: str, default: Any) -> Any:
    if key not in table and default is None:
        raise ValueError(f"'{key}' is missing")
    return table.get(key, default)
