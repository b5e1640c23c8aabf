"""The two files of a guide, card and weights: changed together, whatever stops the writing."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from pyroclust.core.files import (
    check_outside_the_package,
    check_replaceable,
    checksum,
    clear_leftovers,
    locked_folder,
    parse_json,
    read_regular,
    read_text,
    replace_file,
    sync_folder,
)
from pyroclust.saving.cards import CARD_FILE, WEIGHTS_FILE, parse_card

_LARGEST_WEIGHTS = 1 << 33


def write_guide_files(folder: Path, card: str, weights: bytes | None) -> None:
    """Write card and weights into a folder, in the place of those of another guide.

    The weights are first written under a name that holds their checksum. From the moment that the new card
    takes the place of the old one the folder holds the new guide: :func:`read_weights` finds its weights
    under either name. Before that moment it holds the old one.
    """
    check_outside_the_package(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked_folder(folder):
        clear_leftovers(folder)
        _finish_earlier(folder)
        _check_ours(folder)
        staged = None if weights is None else _staged(folder, hashlib.sha256(weights).hexdigest())
        try:
            if staged is not None and weights is not None:
                replace_file(staged, weights)
            replace_file(folder / CARD_FILE, card.encode())
            if weights is None:
                (folder / WEIGHTS_FILE).unlink(missing_ok=True)
        finally:
            _finish_earlier(folder)


def write_card(folder: Path, card: str) -> None:
    """Replace the card of a guide, whose weights stay."""
    check_outside_the_package(folder)
    with locked_folder(folder):
        _check_ours(folder)
        replace_file(folder / CARD_FILE, card.encode())


def read_weights(folder: Path, sha256: str) -> bytes:
    """Return the weights with a checksum."""
    path = folder / WEIGHTS_FILE
    damaged = None
    # Twice under their own name, which they may get from a writer after it was looked at.
    for one in (path, _staged(folder, sha256), path):
        with suppress(FileNotFoundError, IsADirectoryError):
            try:
                content = read_regular(one, largest=_LARGEST_WEIGHTS)
            except ValueError as error:
                raise ValueError(f"'{one}' is not read: {error}") from None
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
            damaged = content if one == path else damaged
    if damaged is None:
        raise ValueError(f"there is no '{path}'; restore the file or train the guide again")
    raise ValueError(
        f"'{path}' was cut off or changed (sha256 {hashlib.sha256(damaged).hexdigest()[:12]}, its card says "
        f"{sha256[:12]}); restore the file or train the guide again"
    )


def check_guide_files(folder: Path) -> None:
    """Refuse a folder whose files named as card and weights are no guide, or were changed."""
    with locked_folder(folder):
        _finish_earlier(folder)
        _check_ours(folder)


def _check_ours(folder: Path) -> None:
    """Refuse to replace files that are no card, or not the weights that belong to it."""
    path, ours = folder / CARD_FILE, {}
    with suppress(OSError, ValueError):
        card = parse_card(path.read_text(encoding="utf-8"), path)
        ours = {CARD_FILE: checksum(path), WEIGHTS_FILE: card.weights_sha256 or ""}
    for name in (CARD_FILE, WEIGHTS_FILE):
        check_replaceable(folder / name, ours)


def _staged(folder: Path, sha256: str) -> Path:
    return folder / f".weights-{sha256[:32]}.safetensors"


def _finish_earlier(folder: Path) -> None:
    """Give the weights of the present card their name, and remove those that no card came for."""
    sha256 = _sha256_of_card(folder / CARD_FILE)
    for path in sorted(folder.glob(_staged(folder, "?" * 32).name)):
        if sha256 is not None and path == _staged(folder, sha256):
            os.replace(path, folder / WEIGHTS_FILE)
            sync_folder(folder)
        else:
            with suppress(OSError):
                path.unlink()


def _sha256_of_card(path: Path) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        return str(parse_json(read_text(path))["weights"]["sha256"])
    return None
