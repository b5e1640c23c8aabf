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
    written = written_results(folder)
    names = sorted((path.name for path in part.iterdir()), key=lambda name: (name == record, name))
    for name in names:
        check_replaceable(folder / name, written)
    for name in names:
        with (part / name).open("rb") as stream:
            os.fsync(stream.fileno())
    earlier_files = [name for name, digest in written.items() if digest and digest == checksum(folder / name)]
    earlier_files.sort(key=lambda name: (name != record, name not in RESULTS))
    aside = folder / f"earlier-results-{token_hex(4)}"
    journal = {
        "says": (
            "A process that was writing results into this folder was stopped. "
            + (
                f"The earlier results lie in '{aside.name}'. "
                if earlier_files
                else "There were none before. "
            )
            + "The next pyroclust command that writes into this folder puts it in order; or do it yourself: "
            "delete the files of 'new' that are here, move those of the folder back, and delete this file."
        ),
        "aside": aside.name,
        "earlier": {name: written[name] for name in earlier_files},
        "new": {name: checksum(part / name) for name in names},
    }
    try:
        write_new_file(folder / JOURNAL, json_text(journal).encode())
        aside.mkdir()
        for name in earlier_files:
            os.rename(folder / name, aside / name)
            if checksum(aside / name) != written[name]:
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
    content = _read(journal)
    if not content:
        return
    sync_folder(folder)
    aside, earlier, new = folder / content["aside"], content["earlier"], content["new"]
    record = next(reversed(new))
    # The new record has the name of the first file that is moved aside: with its checksum there is either
    # the new one, or nothing was moved yet.
    if checksum(folder / record) == new[record]:
        for name, digest in earlier.items():
            _remove(aside / name, digest)
    else:
        for name, digest in new.items():
            if name not in earlier or os.path.lexists(aside / name):
                _remove(folder / name, digest)
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
        content = parse_json(read_text(journal))
        if isinstance(content, dict) and _ASIDE.fullmatch(str(content.get("aside"))):
            tables = (content.get("earlier"), content.get("new"))
            if all(isinstance(one, dict) and one.keys() <= _NAMES for one in tables) and content["new"]:
                return content
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


def _remove(path: Path, digest: str) -> None:
    if digest and checksum(path) == digest:
        os.unlink(path)
