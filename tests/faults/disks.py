"""Full disks, failing disks, kills, links and locks: a file is the old one or the new one."""

import errno
import os
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from faults.cases import Run, refused, snapshot, table
from faults.processes import broken, without_room

from pyroclust import cluster_many, load_guide, save_guide
from pyroclust.core.files import LOCK_FILE, clear_leftovers, locked_folder, new_part, replace_file
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.models import overlap2d
from pyroclust.saving.guides import write_guide_files

CASES, _case, case = table("disks")

_FULL, _DISK = (OSError(number, os.strerror(number)) for number in (errno.ENOSPC, errno.EIO))
_MODEL = overlap2d()


def _guide(seed: int) -> NeuralClusteringProcess:
    torch.manual_seed(seed)
    return NeuralClusteringProcess(_MODEL, scorer=light_scorer_for(_MODEL, width=8, num_bandwidths=2))


def _weights(folder: Path) -> float:
    return float(sum(one.double().sum() for one in load_guide(folder).state_dict().values()))


def _write_fails(function: str, error: BaseException) -> Run:
    def run(folder: Path) -> str:
        path = folder / "note.txt"
        path.write_bytes(b"old")
        before = snapshot(folder)
        with broken(function, 1, error), pytest.raises(type(error)):
            replace_file(path, b"new" * 1000)
        assert snapshot(folder) == before
        return f"{type(error).__name__}; the old file, and nothing beside it"

    return run


@case("the disk is full half-way through a file", "the old file; its name is said")
def _half_written(folder: Path) -> str:
    path = folder / "note.txt"
    path.write_bytes(b"old")
    with without_room(2000), pytest.raises(OSError, match="too large") as caught:
        replace_file(path, b"new" * 1000)
    assert caught.value.filename == str(path)
    assert os.listdir(folder) == ["note.txt"]
    assert path.read_bytes() == b"old"
    return str(caught.value)


@case("links planted where a file is written", "what they point to stays")
def _planted_link(folder: Path) -> None:
    precious, path = folder / "precious", folder / "card.json"
    precious.write_bytes(b"precious")
    for name in (".card.json.part", "card.json.part", ".part-card.json"):
        (folder / name).symlink_to(precious)
    path.symlink_to(precious)
    replace_file(path, b"new")
    assert not path.is_symlink()
    assert path.read_bytes() == b"new"
    guessed = folder / ".part-guessed"
    guessed.symlink_to(precious)
    with mock.patch("pyroclust.core.files.new_part", return_value=guessed), pytest.raises(FileExistsError):
        replace_file(path, b"newer")
    assert precious.read_bytes() == b"precious"


@case("permissions of written files, one with the longest name that there is", "those of any other file")
def _permissions(folder: Path) -> None:
    before, longest = os.umask(0o027), "n" * 255
    try:
        replace_file(folder / longest, b"1")
    finally:
        os.umask(before)
    (folder / "own").write_bytes(b"1")
    (folder / "own").chmod(0o604)
    replace_file(folder / "own", b"2")
    found = [stat.S_IMODE((folder / name).stat().st_mode) for name in (longest, "own")]
    assert found == [0o640, 0o604], [oct(one) for one in found]


@case("what killed processes left", "removed a day later, nothing else; links are not followed")
def _leftovers(folder: Path) -> None:
    (folder / "mine").mkdir()
    parts = [new_part(folder), new_part(folder), folder / ".part-abcdefgh"]
    others = [folder / ".part-of-a-user", folder / "part-1", folder / "mine" / "file"]
    parts[0].mkdir()
    for path in (parts[0] / "file", *parts[1:], *others):
        path.write_bytes(b"being written")
    link = new_part(folder)
    link.symlink_to(folder / "mine")
    clear_leftovers(folder)
    assert all(path.exists() for path in (link, *parts))
    old = os.stat(others[0]).st_mtime - 100_000
    for path in (link, *parts, *others):
        os.utime(path, (old, old), follow_symlinks=False)
    clear_leftovers(folder)
    assert [path.exists() for path in (link, *parts, *others)] == [False] * 4 + [True] * 3
    assert not link.is_symlink()


@case("many data sets: the disk is full half-way", "the first stay; the same call goes on there", slow=True)
def _many_sets(folder: Path) -> str:
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(20, 1)) for _ in range(70)]
    options: dict[str, Any] = {"guide": "filter-nig1d", "num_draws": 20, "budget": 0}
    whole, stages = cluster_many(sets, **options), []
    with without_room(22_000), pytest.raises(OSError, match="goes on there") as caught:
        cluster_many(sets, out=folder / "many", **options)
    found = cluster_many(sets, out=folder / "many", progress=stages.append, **options)
    assert "32 data sets are done already" in stages
    assert all((found.draws(name).assignments == whole.draws(name).assignments).all() for name in whole)
    return str(caught.value)


def _save_fails(call: int, error: BaseException, function: str) -> Run:
    def run(folder: Path) -> str:
        save_guide(_guide(0), folder / "g")
        old, other = _weights(folder / "g"), _guide(1)
        save_guide(other, folder / "new")
        new = _weights(folder / "new")
        with broken(function, call, error), pytest.raises(type(error)):
            save_guide(other, folder / "g")
        found = _weights(folder / "g")
        assert found in (old, new)
        save_guide(other, folder / "g")
        assert _weights(folder / "g") == new
        assert sorted(os.listdir(folder / "g")) == ["card.json", "weights.safetensors"]
        return f"the {'old' if found == old else 'new'} guide loads, and saving again works"

    return run


def _stopped_between(call: int) -> Run:
    """Leave the folder as a process killed after the n-th rename would."""

    def run(folder: Path) -> str:
        save_guide(_guide(0), folder / "g")
        old = _weights(folder / "g")
        save_guide(_guide(1), folder / "new")
        new, renames, real = _weights(folder / "new"), [], os.replace

        def replace(source: object, target: object) -> None:
            if len(renames) < call:
                renames.append(target)
                real(source, target)  # type: ignore[arg-type]

        with mock.patch("os.replace", replace):
            save_guide(_guide(1), folder / "g")
        assert _weights(folder / "g") == (new if call > 1 else old)
        save_guide(_guide(0), folder / "g")
        assert _weights(folder / "g") == old
        return f"the {'new' if call > 1 else 'old'} guide loads"

    return run


@case("a guide saved into the installed package", "refused")
def _into_the_package(folder: Path) -> None:
    place = Path(str(sys.modules["pyroclust"].__path__[0])) / "pretrained_guides" / "filter-nig1d"
    before, link = snapshot(place), folder / "link"
    link.symlink_to(place)
    for write in (
        lambda: save_guide(load_guide("filter-nig1d"), place),
        lambda: write_guide_files(link, "{}", None),
    ):
        refused(write, "lies inside the installed package")
    assert snapshot(place) == before


def _second_lock(folder: Path) -> str:
    said = []

    def other() -> None:
        try:
            with locked_folder(folder):
                said.append("got it")
        except ValueError as error:
            said.append(str(error))

    with locked_folder(folder), locked_folder(folder):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    other()
    assert "another process or thread is writing" in said[0]
    assert said[1] == "got it"
    assert not os.listdir(folder)
    return said[0]


@contextmanager
def _no_flock() -> Iterator[None]:
    """Be on a file system without locks, as some of networks are."""
    missing = OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    with mock.patch("fcntl.flock", side_effect=missing), warnings.catch_warnings(action="ignore"):
        yield


@case("the lock of a process after kill -9", "free again", slow=True)
def _lock_of_a_killed_one(folder: Path) -> None:
    code = (
        "import os, signal; from pathlib import Path; from pyroclust.core.files import locked_folder\n"
        "with locked_folder(Path()): os.kill(os.getpid(), signal.SIGKILL)"
    )
    without = "import errno, fcntl\ndef missing(*_): raise OSError(errno.ENOSYS, '')\nfcntl.flock = missing\n"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=False)
    assert os.listdir(folder) == [LOCK_FILE]
    with locked_folder(folder):
        pass
    subprocess.run([sys.executable, "-W", "ignore", "-c", without + code], cwd=folder, check=False)
    with _no_flock(), locked_folder(folder):
        pass


@case("two writers where the system has no flock", "the second is refused")
def _lock_without_flock(folder: Path) -> str:
    with _no_flock():
        return _second_lock(folder)


CASES += [
    *(
        _case(f"{words} while a file is written ({function})", "the old file", _write_fails(function, error))
        for function, error, words in (
            ("os.fsync", _FULL, "a full disk"),
            ("os.replace", _DISK, "a failing disk"),
            ("os.open", PermissionError(13, "Permission denied"), "a read-only folder"),
            ("os.fsync", KeyboardInterrupt(), "Ctrl-C"),
        )
    ),
    *(
        _case(
            f"save_guide: {words} at call {call} of {function}",
            "old or new",
            _save_fails(call, error, function),
        )
        for function, error, words in (
            ("os.fsync", _FULL, "a full disk"),
            ("os.replace", _DISK, "a failing disk"),
            ("os.replace", KeyboardInterrupt(), "Ctrl-C"),
        )
        for call in (1, 3)
    ),
    *(
        _case(f"save_guide: stopped for ever after rename {call}", "old or new guide", _stopped_between(call))
        for call in (0, 1, 2)
    ),
    _case("two writers of one folder", "the second is refused", _second_lock),
]
