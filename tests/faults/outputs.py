"""Folders of results: what is there is replaced as a whole, and only when asked."""

import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from faults.cases import Case, run_command, snapshot
from faults.processes import broken, left_over, run_and_signal, without_room

from pyroclust import diagnose
from pyroclust.files import check_outside_the_package
from pyroclust.results.files import name_of_run, results_folder

_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
_FILES = ["assignments.csv", "clusters.csv", "draws.nc", "report.html", "summary.json"]
# Of version 0.1: later runs remove it.
_STALE = "points.csv"
_SMALL = ["--guide", "filter-nig1d", "--draws", "20", "--mcmc-draws", "20", "--chains", "2", "--quiet"]


def _draws(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(2, size=(2, 30, 6))


def _case(name: str, expected: str, run: Callable[[Path], str], *, slow: bool = False) -> Case:
    """Make a case; the quick ones write a page without pictures."""

    def quickly(folder: Path) -> str:
        with mock.patch("pyroclust.report.saving.render_page", lambda page: page.title + "\n" * 30_000):
            return run(folder)

    return Case("outputs", name, expected, run if slow else quickly, slow)


def _refused(out: Path, *, seed: int = 0, words: str) -> str:
    before = snapshot(out)
    with pytest.raises(ValueError, match=words) as caught:
        diagnose(_draws(seed), out=out)
    assert snapshot(out) == before, "a file was changed"
    return str(caught.value).replace(str(out), "out")


def _same_again(folder: Path) -> str:
    for _ in range(2):
        diagnose(_draws(), out=folder / "out")
        assert sorted(os.listdir(folder / "out")) == _FILES
    assert os.listdir(folder) == ["out"]
    return "replaced"


def _other_draws(folder: Path) -> str:
    diagnose(_draws(), out=folder / "out")
    return _refused(folder / "out", seed=1, words="holds the results of another run")


def _other_seed(folder: Path) -> str:
    diagnose(_draws(), out=folder / "out")
    before = snapshot(folder)
    with pytest.raises(ValueError, match="holds the results of another run"):
        diagnose(_draws(), out=folder / "out", seed=1)
    assert snapshot(folder) == before
    return "refused"


def _foreign(name: str, words: str) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        (folder / "out").mkdir()
        (folder / "out" / name).write_text("mine")
        return _refused(folder / "out", words=words)

    return run


def _overwrite(folder: Path) -> str:
    out = folder / "out"
    diagnose(_draws(), out=out)
    (out / _STALE).write_text("of a diagnosis before")
    before = (out / "summary.json").read_bytes()
    diagnose(_draws(1), out=out, overwrite=True)
    assert sorted(os.listdir(out)) == _FILES
    assert (out / "summary.json").read_bytes() != before
    return "all of the new run, nothing of the old"


def _overwrite_beside(folder: Path) -> str:
    out = folder / "out"
    diagnose(_draws(), out=out)
    (out / _STALE).write_text("of a diagnosis before")
    (out / "notes.txt").write_text("mine")
    diagnose(_draws(1), out=out, overwrite=True)
    assert sorted(os.listdir(out)) == sorted(["notes.txt", *_FILES])
    assert (out / "notes.txt").read_text() == "mine"
    return "the notes stay; of the old run nothing"


def _fails_at(function: str, call: int, *, beside: bool) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        out = folder / "out"
        diagnose(_draws(), out=out)
        if beside:
            (out / "notes.txt").write_text("mine")
        before = snapshot(folder)
        with broken(function, call, _FULL) as calls, pytest.raises(OSError, match="No space left"):
            diagnose(_draws(1), out=out, overwrite=True)
        assert len(calls) >= call
        assert snapshot(folder) == before
        assert not left_over(folder)
        return "all files of the old run, nothing beside them"

    return run


def _no_exchange(folder: Path) -> str:
    out = folder / "out"
    diagnose(_draws(), out=out)
    before = snapshot(out)
    with mock.patch("pyroclust.files.folders._exchanged", return_value=False):
        with broken("os.rename", 2, _FULL), pytest.raises(OSError, match="No space left"):
            diagnose(_draws(1), out=out, overwrite=True)
        assert snapshot(out) == before
        diagnose(_draws(1), out=out, overwrite=True)
    assert snapshot(out) != before
    assert sorted(os.listdir(out)) == _FILES
    assert os.listdir(folder) == ["out"]
    return "the old folder after an error, else the new one"


class _KilledError(BaseException):
    """Stands for the end of the process: nothing of the library may run after it."""


def _dies_after(function: str, calls: int) -> Any:
    """Let a process do nothing more to its disk once it has called a function so often."""
    module, _, name = function.rpartition(".")
    real, made = getattr(sys.modules[module], name), []

    def counted(*arguments: Any, **named: Any) -> Any:
        made.append(name)
        if len(made) > calls:
            raise _KilledError
        return real(*arguments, **named)

    def dead(*arguments: Any, **named: Any) -> None:
        if len(made) <= calls:
            removed(*arguments, **named)

    removed = shutil.rmtree
    stack = ExitStack()
    stack.enter_context(mock.patch(function, counted))
    stack.enter_context(mock.patch("shutil.rmtree", dead))
    return stack


def _stopped_after(renames: int, *, whole: bool) -> Callable[[Path], str]:
    """Leave the folder as a process killed after the n-th rename would; ``whole``: as Windows renames."""

    def run(folder: Path) -> str:
        out = folder / "out"
        diagnose(_draws(), out=out)
        if not whole:
            (out / "notes.txt").write_text("mine")
            (out / _STALE).write_text("of a diagnosis before")
        old = json.loads((out / "summary.json").read_text())["run"]
        exchanged = mock.patch("pyroclust.files.folders._exchanged", return_value=False)
        with exchanged, _dies_after("os.rename", renames), pytest.raises(_KilledError):
            diagnose(_draws(1), out=out, overwrite=True)
        with results_folder(out, run="", overwrite=True):
            pass
        held = [name for name in sorted(os.listdir(out)) if not name.startswith(".part-")]
        found = json.loads((out / "summary.json").read_text())["run"]
        theirs = [] if whole else ["notes.txt"]
        stale = [] if whole or found != old else [_STALE]
        assert held == sorted([*theirs, *_FILES, *stale]), held
        points = pd.read_csv(out / "assignments.csv").to_csv()
        (folder / "check").mkdir()
        diagnose(_draws(0 if found == old else 1), out=folder / "check")
        assert pd.read_csv(folder / "check" / "assignments.csv").to_csv() == points
        return f"all files of the {'old' if found == old else 'new'} run after the next start"

    return run


def _small_disk(folder: Path) -> str:
    out = folder / "out"
    diagnose(_draws(), out=out)
    before = snapshot(folder)
    with without_room(10_000), pytest.raises(OSError, match="too large") as caught:
        diagnose(_draws(1), out=out, overwrite=True)
    assert str(caught.value.filename) == str(out)
    assert snapshot(folder) == before
    assert not left_over(folder)
    return "all files of the old run"


def _working_folder(folder: Path) -> str:
    for _ in range(2):
        diagnose(_draws(), out=".")
        assert sorted(os.listdir(folder)) == _FILES
    assert Path.cwd() == folder
    return "written, and the working folder is still there"


def _link_to_a_folder(folder: Path) -> str:
    (folder / "real").mkdir()
    (folder / "out").symlink_to(folder / "real")
    for _ in range(2):
        diagnose(_draws(), out=folder / "out")
    assert (folder / "out").is_symlink()
    assert sorted(os.listdir(folder / "real")) == _FILES
    return "the folder that the link points to is replaced, the link stays"


def _planted_link(folder: Path) -> str:
    precious, out = folder / "precious", folder / "out"
    precious.write_text("precious")
    out.mkdir()
    for name in _FILES:
        (out / name).symlink_to(precious)
    said = _refused(out, words="holds the results of another run")
    diagnose(_draws(), out=out, overwrite=True)
    assert precious.read_text() == "precious"
    return said


def _permissions(folder: Path) -> str:
    before = os.umask(0o022)
    try:
        diagnose(_draws(), out=folder / "new")
        (folder / "own").mkdir(mode=0o750)
        diagnose(_draws(), out=folder / "own")
    finally:
        os.umask(before)
    found = [(folder / name).stat().st_mode & 0o777 for name in ("new", "own", "new/report.html")]
    assert found == [0o755, 0o750, 0o644], [oct(one) for one in found]
    return "those of any other folder and file"


def _two_at_once(folder: Path) -> str:
    with (
        results_folder(folder / "out", run=name_of_run("compare", seed=0)),
        pytest.raises(ValueError, match="another process or thread") as caught,
    ):
        _in_thread(lambda: diagnose(_draws(), out=folder / "out"))
    return str(caught.value).replace(str(folder), "")


def _in_thread(call: Callable[[], object]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(call).result()


def _fails_before(folder: Path) -> str:
    with (
        mock.patch("pyroclust.analysis.diagnose._judge", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        diagnose(_draws(), out=folder / "out")
    assert not os.listdir(folder)
    return "no folder is left"


def _damaged_summary(folder: Path) -> str:
    diagnose(_draws(), out=folder / "out")
    (folder / "out" / "summary.json").write_bytes(b"\xff[" * 1000)
    return _refused(folder / "out", words="holds the results of another run")


def _in_the_package(folder: Path) -> str:
    import pyroclust

    place = Path(pyroclust.__path__[0]) / "data"
    return _refused(place, words="lies inside the installed package")


def _links_in_a_ring(folder: Path) -> str:
    (folder / "one").symlink_to(folder / "other")
    (folder / "other").symlink_to(folder / "one")
    for call in (
        lambda: diagnose(_draws(), out=folder / "one"),
        lambda: check_outside_the_package(folder / "one" / "x"),
    ):
        try:
            call()
        except ValueError as error:
            said = str(error)
    assert "cannot write into the folder" in said, said
    return said


def _command(arguments: list[str], code: int) -> str:
    found, out, err = run_command(arguments)
    assert found == code, out + err
    return " ".join(err.split())


def _one_stem(first: str, second: str) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        rng = np.random.default_rng(0)
        for name in (first, second):
            (folder / name).parent.mkdir(exist_ok=True)
            frame = pd.DataFrame({"a": rng.normal(size=12)})
            frame.to_parquet(folder / name) if name.endswith("parquet") else frame.to_csv(
                folder / name, index=False
            )
        _command(["compare", first, *_SMALL], 0)
        before = snapshot(folder)
        said = _command(["compare", second, *_SMALL], 2)
        assert "holds the results of another run" in said
        assert snapshot(folder) == before
        _command(["compare", first, *_SMALL], 0)
        _command(["compare", second, *_SMALL, "--overwrite"], 0)
        return said

    return run


def _compare_then_diagnose(folder: Path) -> str:
    pd.DataFrame({"a": np.random.default_rng(0).normal(size=12)}).to_csv(folder / "x.csv", index=False)
    np.save(folder / "d.npy", _draws())
    _command(["compare", "x.csv", "--out", "out", *_SMALL], 0)
    before = snapshot(folder)
    said = _command(["diagnose", "d.npy", "--out", "out", "--quiet"], 2)
    assert "holds the results of another run" in said
    assert snapshot(folder) == before
    _command(["diagnose", "d.npy", "--out", "out", "--quiet", "--overwrite"], 0)
    assert sorted(os.listdir(folder / "out")) == _FILES
    return said


def _killed(seed: int) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        np.save(folder / "d.npy", _draws())
        np.save(folder / "e.npy", _draws(1))
        _command(["diagnose", "d.npy", "--out", "out", "--quiet"], 0)
        old = json.loads((folder / "out" / "summary.json").read_text())
        arguments = ["diagnose", "e.npy", "--out", "out", "--overwrite"]
        code, _, _ = run_and_signal(arguments, folder, signal.SIGKILL, seed=seed)
        found = json.loads((folder / "out" / "summary.json").read_text())
        assert found["source"] == ("d" if found == old else "e")
        assert sorted(one for one in os.listdir(folder / "out") if not one.startswith(".")) == _FILES
        _command([*arguments, "--quiet"], 0)
        assert not left_over(folder)
        return f"code {code}; all files of one run; nothing is left after the next start"

    return run


CASES = [
    _case("the very same diagnosis again", "replaced", _same_again),
    _case("other draws, the same folder", "refused", _other_draws),
    _case("another seed, the same folder", "refused", _other_seed),
    _case(
        "a folder with notes of the user", "refused", _foreign("notes.txt", "holds other files .notes.txt.")
    ),
    _case("a folder with a report of another tool", "refused", _foreign("report.html", "another run")),
    _case("a folder with a summary of another tool", "refused", _foreign("summary.json", "another run")),
    _case("a damaged summary", "refused", _damaged_summary),
    _case("--overwrite on another run", "all files of the new one", _overwrite),
    _case("--overwrite beside files of the user", "they stay as they are", _overwrite_beside),
    *(
        _case(
            f"the disk fails at call {call} of {function}{' beside other files' if beside else ''}",
            "the old run as a whole",
            _fails_at(function, call, beside=beside),
        )
        for function, call, beside in (
            ("os.fsync", 1, False),
            ("os.fsync", 3, False),
            ("os.rename", 1, True),
            ("os.rename", 3, True),
            ("os.rename", 4, True),
            ("os.rename", 6, True),
        )
    ),
    *(
        _case(
            f"stopped for ever after rename {call} {'of a folder' if whole else 'beside other files'}",
            "old or new, after the next start",
            _stopped_after(call, whole=whole),
        )
        for whole, calls in ((False, range(12)), (True, range(2)))
        for call in calls
    ),
    _case("the disk is full half-way through the report", "the old run as a whole", _small_disk),
    _case("a system that cannot exchange folders", "old or new", _no_exchange),
    _case("the working folder as the place of results", "written twice", _working_folder),
    _case("a link to a folder as the place of results", "the link stays", _link_to_a_folder),
    _case("links planted under the names of results", "refused", _planted_link),
    _case("permissions of results", "those of other files", _permissions),
    _case("two runs into one folder at once", "the second is refused", _two_at_once),
    _case("a run that fails in a new folder", "no folder is left", _fails_before),
    _case("links that point to one another as the place of results", "refused", _links_in_a_ring),
    _case("results inside the installed package", "refused", _in_the_package),
    _case(
        "two tables of one name in two folders",
        "the second is refused",
        _one_stem("a/x.csv", "b/x.csv"),
        slow=True,
    ),
    _case("x.csv and x.parquet", "the second is refused", _one_stem("x.csv", "x.parquet"), slow=True),
    _case(
        "compare, then diagnose into one folder", "the second is refused", _compare_then_diagnose, slow=True
    ),
    *(
        _case(f"kill -9 of diagnose, moment {seed}", "one run as a whole", _killed(seed), slow=True)
        for seed in range(5)
    ),
]
