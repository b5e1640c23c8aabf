"""What may be replaced: a file that a run wrote itself and nobody has changed since, and nothing else."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyroclust.core.files.reading import parse_json, read_text
from pyroclust.core.files.writing import replace_file, write_new_file

RESULTS: Mapping[str, tuple[str, ...]] = {
    "summary.json": ("report.html", "draws.nc", "assignments.csv", "clusters.csv"),
    "certificate.json": ("certificate.png",),
}
"""Files of a folder of results by the record that lists them with their checksums, under ``files``."""

_LIBRARY = Path(__file__).parents[2]
_CHANGED = "changed"
_LARGEST_RECORD = 1 << 28


def check_outside_the_package(folder: Path) -> None:
    """Refuse to write into the installed package."""
    # Path.resolve would end in an error of its own where links point to one another.
    if Path(os.path.realpath(folder)).is_relative_to(_LIBRARY.resolve()):
        raise ValueError(
            f"'{folder}' lies inside the installed package, where nothing is written; choose another folder"
        )


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file; nothing where there is none, or a link, a folder or a device."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_replaceable(path: Path, written: Mapping[str, str], inputs: Iterable[Path] = ()) -> None:
    """Refuse a place where anything lies but an unchanged file of ours that is no input."""
    if not os.path.lexists(path):
        return
    if path.is_symlink():
        why = "is a link"
    elif not path.is_file():
        why = "is no file that pyroclust wrote"
    # Of inputs that are folders any file may be read.
    elif any(_is(path, one) or _is(path.parent, one) for one in inputs):
        why = "is an input of this run"
    elif path.name not in written:
        why = "is no earlier result of this command"
    elif written[path.name] != checksum(path):
        why = "was changed since pyroclust wrote it"
    else:
        return
    raise ValueError(
        f"'{path}' {why}, and is never replaced, also not with --overwrite (overwrite=True): choose another "
        "place with --out, or move or delete it yourself"
    )


def _is(path: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(path, other)
    return False


# Folders of results.


def json_text(content: Mapping[str, Any]) -> str:
    """Return the text of a file of JSON; what no file can hold, as in names that are no UTF-8, is escaped."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()


def sealed(name: str, content: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """Return the text of a record that lists files with their checksums, itself last."""
    listed = {**content, "files": dict(files)}
    digest = hashlib.sha256(json_text(listed).encode()).hexdigest()
    return json_text({**content, "files": {**files, name: digest}})


def read_record(path: Path) -> dict[str, Any]:
    """Return what a record holds; nothing where there is none that can be read."""
    with suppress(OSError, ValueError, RecursionError):
        content = parse_json(read_text(path, largest=_LARGEST_RECORD))
        if isinstance(content, dict) and not path.is_symlink():
            return content
    return {}


def written_results(folder: Path) -> dict[str, str]:
    """Return the checksums of the files that the records of a folder list, by name, the records first."""
    records: dict[str, str] = {}
    listed_files: dict[str, str] = {}
    for name, others in RESULTS.items():
        content = read_record(folder / name)
        files = content.get("files")
        if isinstance(files, dict):
            records[name] = checksum(folder / name) if _is_sealed(folder / name, content) else _CHANGED
            listed_files |= {one: str(files[one]) for one in others if one in files}
        elif isinstance(content.get("run"), str):
            records[name] = checksum(folder / name)
            listed_files |= {one: checksum(folder / one) for one in others}
    return records | listed_files


def _is_sealed(path: Path, content: Mapping[str, Any]) -> bool:
    files = {name: digest for name, digest in content["files"].items() if name != path.name}
    with suppress(OSError, ValueError):
        return sealed(path.name, content, files).encode() == path.read_bytes()
    return False


# Files of their own, with a record beside them.


def check_file(path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Refuse a place for a single file where something lies."""
    check_outside_the_package(path)
    written = written_file(path)
    check_replaceable(path, written, inputs)
    if not written:
        check_replaceable(_record_of(path), {})
    if path.exists() and not overwrite:
        raise ValueError(
            f"'{path}' is there already: choose another place with --out, or replace it with --overwrite "
            "(overwrite=True)"
        )


def write_file(path: Path, content: bytes, *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Write a file and the record beside it, by which a later run knows that it may replace the file."""
    digest = hashlib.sha256(content).hexdigest()
    if checksum(path) == digest:
        return
    check_file(path, overwrite=overwrite, inputs=inputs)
    (replace_file if os.path.lexists(path) else write_new_file)(path, content)
    record = {"written_by_pyroclust": path.name, "sha256": digest}
    # Without the record the file counts as changed.
    with suppress(OSError):
        replace_file(_record_of(path), json_text(record).encode())


def written_file(path: Path) -> dict[str, str]:
    """Return the checksum of a single file by its name; nothing where no record beside it says it is ours."""
    record = read_record(_record_of(path))
    return {path.name: str(record.get("sha256"))} if record.get("written_by_pyroclust") == path.name else {}


def _record_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.pyroclust")
