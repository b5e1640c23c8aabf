"""Files of others: regular ones of a bounded size are read, and JSON without surprises."""

import json
import math
import os
import reprlib
import stat
from pathlib import Path
from typing import Any

_LARGEST_TEXT = 1 << 24


def read_regular(path: Path, *, largest: int) -> bytes:
    """Return the bytes of a regular file."""
    # A pipe that nobody writes into would wait for ever.
    with open(
        os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb"
    ) as file:
        check_regular(file.fileno())
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it has more than {largest >> 20} MiB, expected a smaller file")
    return content


def check_regular(path: Path | int) -> None:
    """Refuse devices, pipes and folders."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is a device, a pipe or a folder, expected a regular file")


def read_text(path: Path, *, largest: int = _LARGEST_TEXT) -> str:
    """Return the text of a small file, such as a card or a recipe; ``largest`` is in whole MiB."""
    try:
        return read_regular(path, largest=largest).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"its byte {error.start} is no UTF-8, expected plain text") from None


def parse_json(text: str) -> Any:
    """Return what a text of JSON says."""
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite, parse_int=_whole
        )
    except RecursionError:
        raise ValueError("its tables are nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"the key {reprlib.repr(key)} comes twice, expected once")
        content[key] = value
    return content


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"it holds {reprlib.repr(digits)}, which is no number of JSON or too large")
    return number


def _whole(digits: str) -> int:
    if len(digits) > 100:
        raise ValueError(f"it holds a whole number of {len(digits)} digits, expected a smaller one")
    return int(digits)
