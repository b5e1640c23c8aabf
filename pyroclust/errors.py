"""Wording of errors about names that are not known."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["unknown_name"]


def unknown_name(what: str, given: str, known: Iterable[str]) -> str:
    """Say that a name is not known, with the nearest known one first and then all of them.

    Example:
        >>> unknown_name("guide", "ncp-nig", ["ncp-nig1d", "ncp-niw2d"])
        "unknown guide 'ncp-nig', did you mean 'ncp-nig1d'? Known: ncp-nig1d, ncp-niw2d"
    """
    names = sorted(known)
    nearest = get_close_matches(given, names, n=1, cutoff=0.5)
    question = f", did you mean '{nearest[0]}'?" if nearest else "."
    return f"unknown {what} '{given}'{question} Known: {', '.join(names)}"
