"""Files that are old or new after a crash, have one writer, and replace only what a run wrote itself."""

import errno
import hashlib
import json
import math
import os
import re
import reprlib
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

_LARGEST_TEXT = 1 << 24
LOCK_FILE = ".pyroclust-lock"
# Names of what is being written; before 0.2 of eight characters.
_PART = re.compile(r"\.part-([0-9a-f]{16}|[a-z0-9_]{8})")
_DAY = 86_400.0
# What a disk without hard links answers.
_NO_LINKS = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
RESULTS: Mapping[str, tuple[str, ...]] = {
    "summary.json": ("report.html", "draws.nc", "assignments.csv", "clusters.csv"),
    "certificate.json": ("certificate.png",),
    "data-sets.json": ("report.html", "summaries.parquet", "assignments.parquet"),
}
"""Files of a folder of results by the record that lists them with their checksums, under ``files``."""
_LIBRARY = Path(__file__).parents[1]
_CHANGED = "changed"
_LARGEST_RECORD = 1 << 28
JOURNAL = "unfinished-results.json"
_ASIDE = re.compile(r"earlier-results-[0-9a-f]{8}")
_NAMES = {*RESULTS, *(name for names in RESULTS.values() for name in names)}


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
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_finite_number,
            parse_float=_finite_number,
            parse_int=_short_integer,
        )
    except RecursionError:
        raise ValueError("its tables are nested too deeply") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"the key {reprlib.repr(key)} comes twice, expected once")
        content[key] = value
    return content


def _finite_number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"it holds {reprlib.repr(digits)}, which is no number of JSON or too large")
    return number


def _short_integer(digits: str) -> int:
    if len(digits) > 100:
        raise ValueError(f"it holds a whole number of {len(digits)} digits, expected a smaller one")
    return int(digits)


def new_part(folder: Path) -> Path:
    """Return a path in a folder for what is being written: nobody else has it, and nobody can guess it."""
    return folder / f".part-{token_hex(8)}"


def clear_leftovers(folder: Path) -> None:
    """Remove what killed processes were writing into a folder, a day later."""
    for path in folder.glob(".part-*"):
        with suppress(OSError):
            status = path.lstat()
            is_own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
            if not _PART.fullmatch(path.name) or not is_own or time.time() - status.st_mtime < _DAY:
                continue
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place, and rename it over the old one, whose permissions it keeps."""

    def take_the_place(part: Path) -> None:
        _keep_permissions(path, part)
        os.replace(part, path)

    _write(path, content, take_the_place)


def write_new_file(path: Path, content: bytes) -> None:
    """Write a file as :func:`replace_file` does, where there is none."""
    _write(path, content, lambda part: move_to_new(part, path))


def move_to_new(source: Path, target: Path) -> None:
    """Give a file another name, unless something else has it already."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source, None, target) from None
        os.rename(source, target)
    else:
        os.unlink(source)


def _write(path: Path, content: bytes, finish: Callable[[Path], None]) -> None:
    """Write a file beside its place, flush it, and finish by giving it its name."""
    part = new_part(path.parent)
    try:
        with os.fdopen(os.open(part, _NEW_FILE, 0o666), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        finish(part)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            # The name of the part would tell a reader nothing.
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, so that they outlast a power cut; some systems cannot."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _keep_permissions(path: Path, part: Path) -> None:
    with suppress(OSError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            part.chmod(stat.S_IMODE(status.st_mode))


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes and threads from writing into a folder; who has the lock may take it again."""
    from filelock import FileLock, Timeout

    path = folder.resolve() / LOCK_FILE
    lock = FileLock(path, timeout=0, is_singleton=True)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"another process or thread is writing into the folder '{folder}', expected to be alone there: "
            "wait for its end, or choose another folder"
        ) from None
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            # While the lock is still held: who locks a file without a name after that tries again.
            with suppress(OSError):
                path.unlink()
        lock.release()


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
    elif any(_is_same_file(path, one) or _is_same_file(path.parent, one) for one in inputs):
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


def _is_same_file(path: Path, other: Path) -> bool:
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
    content = _read_journal(journal)
    if not content:
        return
    sync_folder(folder)
    aside, earlier, new = folder / content["aside"], content["earlier"], content["new"]
    record = next(reversed(new))
    # The new record has the name of the first file that is moved aside: with its checksum there is either
    # the new one, or nothing was moved yet.
    if checksum(folder / record) == new[record]:
        for name, digest in earlier.items():
            _remove_unchanged(aside / name, digest)
    else:
        for name, digest in new.items():
            if name not in earlier or os.path.lexists(aside / name):
                _remove_unchanged(folder / name, digest)
        for name in reversed(earlier):
            if os.path.lexists(aside / name):
                _move_back(aside / name, folder / name)
    with suppress(OSError):
        aside.rmdir()
    journal.unlink()
    sync_folder(folder)


def unfinished(folder: Path) -> str:
    """Return what a folder says of results that are unfinished; nothing where they are not."""
    return str(_read_journal(folder / JOURNAL).get("says", ""))


def _read_journal(journal: Path) -> dict[str, Any]:
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


def _remove_unchanged(path: Path, digest: str) -> None:
    if digest and checksum(path) == digest:
        os.unlink(path)
