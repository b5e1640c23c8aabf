"""How deeply a description may be nested."""

from collections.abc import Mapping
from typing import Any

__all__ = ["check_depth"]

_MOST_NESTED = 24


def check_depth(described: Any, *, where: str) -> None:
    """Refuse what is nested deeply, level by level, without recursion.

    Raises:
        ValueError: if it is.

    Example:
        >>> check_depth({"prior": {"concentration": [0.5, 0.7]}}, where="model")
    """
    level: list[Any] = [described]
    for _ in range(_MOST_NESTED):
        level = [child for one in level for child in _children(one)]
        if not level:
            return
    raise ValueError(
        f"{where} is nested more than {_MOST_NESTED} deep, expected fewer tables inside each other"
    )


def _children(one: Any) -> list[Any]:
    if isinstance(one, Mapping):
        return list(one.values())
    return list(one) if isinstance(one, list | tuple) else []
