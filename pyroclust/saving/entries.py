"""Small text files that describe guides, read strictly: what is unusual in them is no accident of theirs."""

import json
import math
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyroclust.errors import unknown_name
from pyroclust.text import short

__all__ = ["check_keys", "list_entry", "parse_json", "read_text", "table_entry", "text_entry"]

_LARGEST_FILE = 1 << 24


def read_text(path: Path, *, largest: int = _LARGEST_FILE) -> str:
    """Return the text of a card or a recipe.

    Args:
        path: of the file.
        largest: bytes that it may have, whole MiB.

    Raises:
        ValueError: if it is far larger than these are, or is not UTF-8.
        OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it has more than {largest >> 20} MiB, expected a small text file")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"its byte {error.start} is no UTF-8, expected plain text") from None


def parse_json(text: str) -> Any:
    """Return what a text of JSON says.

    Raises:
        ValueError: if it is no JSON, has a key twice in one table, or numbers that JSON does not have.

    Example:
        >>> parse_json('{"a": 1, "a": 2}')
        Traceback (most recent call last):
        ValueError: the key 'a' comes twice, expected once
    """
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite, parse_int=_whole
        )
    except RecursionError:
        raise ValueError("its tables are nested too deeply") from None


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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {reprlib.repr(key)} comes twice, expected once")
        found[key] = value
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"it holds {reprlib.repr(digits)}, which is too large for a number")
    return number


def _whole(digits: str) -> int:
    if len(digits) > 100:
        raise ValueError(f"it holds a whole number of {len(digits)} digits, expected a smaller one")
    return int(digits)
