"""Which of several arrays, variables or indexed columns holds the labels."""

from collections.abc import Mapping

from pyroclust.errors import unknown_name
from pyroclust.text import listed

__all__ = ["labels_among"]


def labels_among(names: Mapping[str, bool], variable: str | None, where: str) -> str:
    """Return the name that is told, ``assignments``, or the only one that can be draws."""
    if variable is not None and variable not in names:
        raise ValueError(f"{where}: {unknown_name('variable', variable, names)}")
    if variable is not None or "assignments" in names:
        return variable or "assignments"
    found = [name for name, can_be in names.items() if can_be]
    if len(found) != 1:
        raise ValueError(
            f"{where} holds {listed(names) or 'no variables'}, and {len(found)} of them can be draws: name "
            "the labels with variable"
        )
    return found[0]
