"""Results that replace earlier ones in a folder, file by file, and can be put back at any moment."""

import os
import re
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from pyroclust.core.files.reading import parse_json, read_text
from pyroclust.core.files.records import RESULTS, check_replaceable, checksum, json_text, written_results
from pyroclust.core.files.writing import move_to_new, sync_folder, write_new_file

JOURNAL = "unfinished-results.json"
_ASIDE = re.compile(r"earlier-results-[0-9a-f]{8}")
_NAMES = {*RESULTS, *(name for names in RESULTS.values() for name in names)}


def exchange_results(part: Path, folder: Path, *, record: str) -> None:
    """Move finished results into a folder, in the place of those that earlier runs wrote there."""
    # Earlier files move aside, records first, and go once the new record stands, which comes last; a process
    # that is killed meanwhile leaves a journal, with which settle_results puts them back.
    settle_results(folder)
    ours = written_results(folder)
    names = sorted((path.name for path in part.iterdir()), key=lambda name: (name == record, name))
    for name in names:
        check_replaceable(folder / name, ours)
    for name in names:
        with (part / name).open("rb") as stream:
            os.fsync(stream.fileno())
    kept = [name for name, told in ours.items() if told and told == checksum(folder / name)]
    kept.sort(key=lambda name: (name != record, name not in RESULTS))
    aside = folder / f"earlier-results-{token_hex(4)}"
    journal = {
        "says": (
            "A process that was writing results into this folder was stopped. "
            + (f"The earlier results lie in '{aside.name}'. " if kept else "There were none before. ")
            + "The next pyroclust command that writes into this folder puts it in order; or do it yourself: "
            "delete the files of 'new' that are here, move those of the folder back, and delete this file."
        ),
        "aside": aside.name,
        "earlier": {name: ours[name] for name in kept},
        "new": {name: checksum(part / name) for name in names},
    }
    try:
        write_new_file(folder / JOURNAL, json_text(journal).encode())
        aside.mkdir()
        for name in kept:
            os.rename(folder / name, aside / name)
            if checksum(aside / name) != ours[name]:
                raise ValueError(f"'{folder / name}' was changed while results were written, and stays")
        for name in names:
            move_to_new(part / name, folder / name)
    except BaseException as error:
        with suppress(OSError, ValueError):
            settle_results(folder)
        if isinstance(error, FileExistsError):
            place = error.filename2 or error.filename
            raise ValueError(
                f"'{place}' was saved there while results were written, and is not replaced: choose another "
                "folder with --out, or move it away"
            ) from None
        raise
    with suppress(OSError):
        settle_results(folder)


def settle_results(folder: Path) -> None:
    """Complete what a process was doing in :func:`exchange_results` when it was stopped."""
    journal = folder / JOURNAL
    found = _read(journal)
    if not found:
        return
    sync_folder(folder)
    aside, earlier, new = folder / found["aside"], found["earlier"], found["new"]
    record = next(reversed(new))
    # The new record has the name of the first file that is moved aside: with its checksum there is either
    # the new one, or nothing was moved yet.
    if checksum(folder / record) == new[record]:
        for name, told in earlier.items():
            _remove(aside / name, told)
    else:
        for name, told in new.items():
            if name not in earlier or os.path.lexists(aside / name):
                _remove(folder / name, told)
        for name in reversed(earlier):
            if os.path.lexists(aside / name):
                _move_back(aside / name, folder / name)
    with suppress(OSError):
        aside.rmdir()
    journal.unlink()
    sync_folder(folder)


def unfinished(folder: Path) -> str:
    """Return what a folder says of results that are unfinished; nothing where they are not."""
    return str(_read(folder / JOURNAL).get("says", ""))


def _read(journal: Path) -> dict[str, Any]:
    """Return what a journal says; nothing where there is none of ours."""
    with suppress(OSError, ValueError, RecursionError):
        found = parse_json(read_text(journal))
        if isinstance(found, dict) and _ASIDE.fullmatch(str(found.get("aside"))):
            tables = (found.get("earlier"), found.get("new"))
            if all(isinstance(one, dict) and one.keys() <= _NAMES for one in tables) and found["new"]:
                return found
    return {}


def _move_back(source: Path, target: Path) -> None:
    if os.path.lexists(target) and os.path.samefile(source, target):
        # Killed between the two names.
        os.unlink(source)
        return
    try:
        move_to_new(source, target)
    except FileExistsError:
        raise ValueError(
            f"'{target}' is in the way of '{source}', an earlier result that is to be put back: move one of "
            "them away"
        ) from None


def _remove(path: Path, told: str) -> None:
    if told and checksum(path) == told:
        os.unlink(path)
