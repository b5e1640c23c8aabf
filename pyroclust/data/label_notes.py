"""What is said of labels that are missing, or that somebody may have meant otherwise, and of totals."""

import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.text import listed, short, visible
from pyroclust.data.delimited.numerals import MISSING

__all__ = ["about_alike", "about_labels", "about_na", "about_partial", "footer_note"]

# Words that stand for no label in many files, and are labels here.
_NO_LABEL = frozenset(
    ("?", "-", "--", ".", "..", "*", "none", "nil", "missing", "unknown", "n.a.", "unlabelled")
)
_CODE = re.compile("[A-Z]{2}")
_FOOTERS = frozenset(
    (
        *("total", "totals", "subtotal", "sum", "mean", "average", "avg", "median", "gesamt", "insgesamt"),
        *("summe", "mittelwert", "somme", "moyenne", "totale", "media", "promedio"),
    )
)


def about_labels(labels: NDArray[np.object_], column: str, name: str) -> list[str]:
    """Return notes on labels that are missing, or that somebody may have meant otherwise."""
    classes, lost = _classes(labels)
    if not classes:
        raise ValueError(f"{name}: column '{column}' holds no label; leave --label out")
    named = _that_stand_for_none(classes)
    said = {
        f"{lost:,} of {len(labels):,} rows have no label in '{column}': they are clustered, and left out "
        "where a clustering is compared with the labels.": lost > 0,
        f"In '{column}' {named} is the name of a class like any other; a row without a label has an empty "
        "cell.": named != "",
        f"In '{column}' all labels are the same one, “{short(visible(classes[0]), 30)}”.": len(classes) == 1,
        f"In '{column}' every row has a label of its own: it looks like an identifier.": (
            len(classes) == len(labels) > 2
        ),
    }
    return [*(note for note, is_so in said.items() if is_so), *about_alike(classes, column)]


def about_partial(labels: NDArray[np.object_], column: str, name: str) -> list[str]:
    """Return notes on partial labels that somebody may have meant otherwise."""
    classes, lost = _classes(labels)
    said = f"{name}: column '{column}'"
    if not classes:
        raise ValueError(f"{said} holds no label, expected some rows with one; leave --partial-labels out")
    if len(classes) == len(labels):
        raise ValueError(
            f"{said} gives every row a label of its own, expected empty cells where nothing is known: name "
            "another column with --partial-labels"
        )
    if named := _that_stand_for_none(classes):
        raise ValueError(
            f"{said} holds {named}, which would be a class like any other, expected empty cells where "
            "nothing is known: empty these cells"
        )
    notes = about_alike(classes, column)
    if len(labels) < 2 * min(2 * len(classes), len(labels) - lost):
        notes.append(
            f"In '{column}' {len(classes):,} labels are known of {len(labels) - lost:,} rows, as of a "
            "measurement: rows of different labels are kept apart."
        )
    return notes


def _classes(labels: NDArray[np.object_]) -> tuple[list[str], int]:
    """Return the different labels, and how many rows have none."""
    known = [label for label in labels if label is not None]
    return list(dict.fromkeys(known)), len(labels) - len(known)


def _that_stand_for_none(classes: Sequence[str]) -> str:
    return listed(f"“{one}”" for one in classes if one in MISSING or _plain(one) in _NO_LABEL)


def about_alike(classes: Iterable[str], column: str, what: str = "classes") -> list[str]:
    """Return a note on two texts that differ in no more than spaces, capitals or zeros."""
    seen: dict[object, str] = {}
    for label in classes:
        key: object = _plain(label)
        with suppress(ValueError):
            key = float(label)
        if (other := seen.setdefault(key, label)) is not label:
            one, two = (short(visible(alike), 30) for alike in (other, label))
            return [f"In '{column}' “{one}” and “{two}” are two {what}, as written."]
    return []


def about_na(cells: NDArray[np.object_], levels: Sequence[str], column: str) -> list[str]:
    """Return a note on cells that are missing as they hold NA, where all else are codes of two letters."""
    lost = sum(cell is not None and cell.strip() == "NA" for cell in cells)
    if not lost or "NA" in levels or not all(map(_CODE.fullmatch, levels or ("",))):
        return []
    return [
        f"In '{short(column, 60)}' {lost:,} cell(s) written NA were read as missing, beside codes such as "
        f"{levels[0]}: if NA is a code too, give --missing {shlex.quote(f'{column}=')}."
    ]


def footer_note(last: Sequence[str]) -> str | None:
    """Say where the last row looks like a total of the others."""
    for text in last:
        words = text.strip(" :.").casefold().split()
        if words and len(words) <= 3 and _FOOTERS & {words[0], words[-1]}:
            said = short(visible(text.strip()), 30)
            return f"The last row, with “{said}”, was read as a point: if it is no point, remove it."
    return None


def _plain(label: str) -> str:
    """Return what is seen of a label: no forms of letters, capitals, repeated or invisible characters."""
    seen = unicodedata.normalize("NFKC", label).casefold()
    return " ".join("".join(one for one in seen if unicodedata.category(one) != "Cf").split())
