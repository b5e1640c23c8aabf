"""Folders of results: earlier results are replaced file by file, and only when asked; all else stays."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from faults.cases import Run, run_command, snapshot, table
from faults.processes import broken, left_over, without_room

import pyroclust
from pyroclust import Analysis, diagnose
from pyroclust.core.files import JOURNAL, write_file
from pyroclust.results.files import name_of_run, results_folder, write_files, write_json

CASES, _case, case = table("outputs")

_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
_FILES = ["assignments.csv", "clusters.csv", "draws.nc", "report.html", "summary.json"]
_THEIRS = ["notes.txt", "points.csv"]
_SMALL = ["--guide", "filter-nig1d", "--draws", "20", "--mcmc-draws", "20", "--chains", "2", "--quiet"]
_OTHERS, _NO_RESULT = "holds the results of another run", "is no earlier result"


def _draws(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(2, size=(2, 30, 6))


def _diagnose(out: str | Path, draws: int = 0, **told: Any) -> None:
    """Write results with a page without pictures."""
    with mock.patch("pyroclust.report.writing.render_page", lambda page: page.title + "\n" * 30_000):
        diagnose(_draws(draws), out=out, **told)


def _refused(out: Path, words: str, draws: int = 0, **told: Any) -> str:
    before = snapshot(out)
    with pytest.raises(ValueError, match=words) as caught:
        _diagnose(out, draws, **told)
    assert snapshot(out) == before, "a file was changed"
    return str(caught.value).replace(str(out), "out")


def _written_twice(place: Callable[[Path], str | Path]) -> Run:
    def run(folder: Path) -> None:
        (folder / "real").mkdir()
        (folder / "link").symlink_to(folder / "real")
        os.chdir(folder / "real")
        out = place(folder)
        for _ in range(2):
            _diagnose(out)
            assert sorted(os.listdir(out)) == _FILES
        assert sorted(os.listdir(folder)) == sorted(
            {"real", "link", os.path.relpath(out, folder).split("/")[0]}
        )
        assert (folder / "link").is_symlink()

    return run


def _theirs(out: Path) -> dict[str, str]:
    for name in _THEIRS:
        (out / name).write_text("mine")
    return snapshot(out)


@case("--overwrite on another run, beside files of the user", "all files of the new one; theirs stay")
def _overwrite_beside(folder: Path) -> None:
    out = folder / "out"
    _diagnose(out)
    before = _theirs(out)
    _diagnose(out, 1, overwrite=True)
    after = snapshot(out)
    assert after.keys() == before.keys()
    assert [after[name] for name in _THEIRS] == [before[name] for name in _THEIRS]
    assert after["summary.json"] != before["summary.json"]


@case("--overwrite on results of check", "they go where they are unchanged")
def _overwrite_a_certificate(folder: Path) -> None:
    """The results of another command go, but those that somebody changed stay."""
    out = folder / "out"
    for changed in (False, True):
        with (
            results_folder(out, run="check", record="certificate.json", overwrite=True),
            write_files(out) as part,
        ):
            write_json(part / "certificate.json", {"run": "check"})
            (part / "certificate.png").write_bytes(b"png")
        assert sorted(os.listdir(out)) == ["certificate.json", "certificate.png"]
        if changed:
            (out / "certificate.png").write_bytes(b"mine")
        _diagnose(out, overwrite=True)
        assert sorted(os.listdir(out)) == sorted([*_FILES, *["certificate.png"] * changed])
    assert (out / "certificate.png").read_bytes() == b"mine"


@case("--overwrite on results of version 0.1", "those of its run are replaced")
def _of_0_1(folder: Path) -> str:
    out = folder / "out"
    _diagnose(out)
    summary = json.loads((out / "summary.json").read_text())
    del summary["files"]
    (out / "summary.json").write_text(json.dumps(summary))
    _theirs(out)
    (out / "report.html").unlink()
    _diagnose(out, 1, overwrite=True)
    assert sorted(os.listdir(out)) == sorted([*_FILES, *_THEIRS])
    for name in _THEIRS:
        (out / name).unlink()
    (out / "summary.json").write_text(json.dumps(summary | {"run": None}))
    return _refused(out, _NO_RESULT, 1)


def _saved_meanwhile(name: str, words: str) -> Run:
    """Somebody saves a file into the folder while the report is written."""

    def run(folder: Path) -> str:
        out = folder / "out"
        _diagnose(out)
        before = snapshot(out)

        def page(page: Any) -> str:
            (out / name).write_text("mine")
            return str(page.title)

        with mock.patch("pyroclust.report.writing.render_page", page):
            if words:
                with pytest.raises(ValueError, match=words):
                    diagnose(_draws(), out=out)
                assert snapshot(out) | {name: ""} == before | {name: ""}
            else:
                diagnose(_draws(), out=out)
                assert snapshot(out).keys() == {*before, name}
        assert (out / name).read_text() == "mine"
        assert not left_over(folder)
        return "it stays; " + ("the old results too" if words else "beside the new results")

    return run


def _fails_at(function: str, call: int) -> Run:
    def run(folder: Path) -> None:
        out = folder / "out"
        _diagnose(out)
        (out / "notes.txt").write_text("mine")
        before = snapshot(folder)
        with broken(function, call, _FULL) as calls, pytest.raises(OSError, match="No space left"):
            _diagnose(out, 1, overwrite=True)
        assert len(calls) >= call
        assert snapshot(folder) == before
        assert not left_over(folder)

    return run


@case("a disk without hard links", "replaced; files of the user stay")
def _no_hard_links(folder: Path) -> None:
    out = folder / "out"
    _diagnose(out)
    before = _theirs(out)
    refused = PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    with mock.patch("os.link", side_effect=refused):
        _diagnose(out, 1, overwrite=True)
        assert snapshot(out) != before
        _saved_meanwhile("notes.txt", "")(folder / "other")
    assert sorted(os.listdir(out)) == sorted([*_FILES, *_THEIRS])


_KILLED = """
import json, os, shutil, sys
from pathlib import Path
from pyroclust.core.files import checksum, exchange_results, sealed, settle_results, unfinished

CALLS = ("link", "unlink", "rename", "mkdir", "rmdir", "fsync")
# A disk is not slow here: what counts is where a process ends.
os.fsync = lambda descriptor: None
NAMES = ("assignments.csv", "clusters.csv", "draws.nc", "report.html")


def results(place, run):
    place.mkdir(parents=True)
    for name in NAMES[: 3 if run == "old" else 4]:
        (place / name).write_text("same" if name == "clusters.csv" else f"{name} of {run}")
    text = sealed("summary.json", {"run": run}, {one.name: checksum(one) for one in sorted(place.iterdir())})
    (place / "summary.json").write_text(text)
    return {one.name: checksum(one) for one in place.iterdir()}


def dying(call, what):
    "Do something in a process that ends with its n-th call of the system; return whether it ended so."
    child = os.fork()
    if not child:
        made = []

        def counted(real):
            def stopped(*arguments, **named):
                made.append(real)
                if len(made) > call:
                    os._exit(9)
                return real(*arguments, **named)

            return stopped

        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        what()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def held(folder):
    return {str(one.relative_to(folder)): checksum(one) for one in folder.rglob("*") if one.is_file()}


def check(folder, old, new, notes):
    "See that the folder holds old or new results, or says how to get the old ones back."
    here = held(folder)
    assert here["notes.txt"] == notes
    if any(all(here.get(name) == told for name, told in one.items()) for one in (old, new) if one):
        return
    if not old and not here.keys() & new.keys():
        return
    said = json.loads((folder / "unfinished-results.json").read_text())
    assert unfinished(folder) == said["says"] and (said["aside"] in said["says"]) == bool(old)
    # By hand, as it says.
    for name in said["new"]:
        if (name not in old or f"{said['aside']}/{name}" in here) and here.get(name) == said["new"][name]:
            del here[name]
    for name in old:
        here[name] = here.get(f"{said['aside']}/{name}", here.get(name))
    assert all(here[name] == told for name, told in old.items())


def whole(folder, old, new, notes):
    settle_results(folder)
    left = {name: told for name, told in held(folder).items() if not name.startswith(".part")}
    assert left in ({**old, "notes.txt": notes}, {**new, "notes.txt": notes}), left


moments = 0
for had in (False, True):
    first = 0
    while True:
        folder = Path(f"{had}-{first}")
        old = results(folder, "old") if had else folder.mkdir() or {}
        (folder / "notes.txt").write_text("mine")
        notes = checksum(folder / "notes.txt")
        new = results(folder / ".part-new", "new")
        ended = dying(first, lambda: exchange_results(folder / ".part-new", folder, record="summary.json"))
        check(folder, old, new, notes)
        second = 0
        while ended:
            again = Path(f"{folder}-{second}")
            shutil.copytree(folder, again)
            ended = dying(second, lambda: settle_results(again))
            check(again, old, new, notes)
            whole(again, old, new, notes)
            shutil.rmtree(again)
            second += 1
        whole(folder, old, new, notes)
        first, moments = first + 1, moments + max(second, 1)
        if not second:
            break
print(moments)
"""


@case(
    "kill -9 at every moment of an exchange, and of putting it in order",
    "old or new, or says how to get the old ones back",
)
def _killed_in_the_exchange(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200
    return f"{int(done.stdout)} moments"


def _stopped_after_the_journal(source: Path, target: Path) -> None:
    if target.name != JOURNAL:
        raise SystemExit
    source.rename(target)


@case(
    "results whose exchange was stopped are read",
    "refused: where the earlier ones are; the next start puts them back",
)
def _read_unfinished(folder: Path) -> str:
    out = folder / "out"
    _diagnose(out)
    before = snapshot(out)
    with (
        mock.patch("pyroclust.core.files.move_to_new", _stopped_after_the_journal),
        mock.patch("pyroclust.core.files.settle_results", side_effect=[None, OSError("dead")]),
        pytest.raises(SystemExit),
    ):
        _diagnose(out, 1, overwrite=True)
    aside = next(out.glob("earlier-results-*")).name
    with pytest.raises(ValueError, match=f"unfinished results.*lie in '{aside}'") as caught:
        Analysis.read(out)
    with pytest.raises(ValueError, match="results of another run"):
        _diagnose(out, 1)
    assert snapshot(out) == before
    return str(caught.value).replace(str(out), "out")


@case("the disk is full half-way through the report", "the old run as a whole")
def _small_disk(folder: Path) -> None:
    out = folder / "out"
    _diagnose(out)
    before = snapshot(folder)
    with without_room(10_000), pytest.raises(OSError, match="too large") as caught:
        _diagnose(out, 1, overwrite=True)
    assert str(caught.value.filename) == str(out)
    assert snapshot(folder) == before
    assert not left_over(folder)


@case("permissions of results", "those of other files")
def _permissions(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        (folder / "own").mkdir(mode=0o750)
        for name in ("new", "own"):
            _diagnose(folder / name)
    finally:
        os.umask(before)
    found = [(folder / name).stat().st_mode & 0o777 for name in ("new", "own", "new/report.html")]
    assert found == [0o755, 0o750, 0o644], [oct(one) for one in found]


@case("two runs into one folder at once", "the second is refused")
def _two_at_once(folder: Path) -> str:
    with results_folder(folder / "out", run=name_of_run("compare", seed=0)), ThreadPoolExecutor(1) as pool:
        failure = pool.submit(_diagnose, folder / "out").exception()
    assert "another process or thread" in str(failure), failure
    return str(failure).replace(str(folder), "")


@case("a run that fails in a new folder", "no folder is left")
def _fails_before(folder: Path) -> None:
    with (
        mock.patch("pyroclust.analysis.diagnose._judge", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        _diagnose(folder / "out")
    assert not os.listdir(folder)


@case("a damaged summary", "refused")
def _damaged_summary(folder: Path) -> str:
    _diagnose(folder / "out")
    (folder / "out" / "summary.json").write_bytes(b"\xff[" * 1000)
    return _refused(folder / "out", _NO_RESULT)


@case("results inside the installed package", "refused")
def _in_the_package(folder: Path) -> str:
    return _refused(Path(pyroclust.__path__[0]) / "data", "lies inside the installed package")


@case("links that point to one another as the place of results", "refused")
def _links_in_a_ring(folder: Path) -> str:
    (folder / "one").symlink_to(folder / "other")
    (folder / "other").symlink_to(folder / "one")
    with pytest.raises(ValueError, match="cannot write into the folder") as caught:
        _diagnose(folder / "one")
    return str(caught.value)


@case("notes of the user, and a pipe named as the journal of unfinished results", "refused, at once")
def _other_files(folder: Path) -> str:
    (folder / "out").mkdir()
    os.mkfifo(folder / "out" / JOURNAL)
    (folder / "out" / "notes.txt").write_text("mine")
    return _refused(folder / "out", "holds other files")


def _record_of_another(plant: Callable[[Path], object]) -> Run:
    def run(folder: Path) -> str:
        (folder / "mine.txt").write_text("mine")
        plant(folder / ".p.csv.pyroclust")
        before = snapshot(folder)
        with pytest.raises(ValueError, match="is never replaced") as caught:
            write_file(folder / "p.csv", b"rows", overwrite=True)
        assert snapshot(folder) == before
        return str(caught.value).replace(str(folder), ".")

    return run


def _command(arguments: list[str], code: int) -> str:
    found, out, err = run_command(arguments)
    assert found == code, out + err
    return " ".join(err.split())


@case("tables of one name, and diagnose, into one folder", "the second is refused", slow=True)
def _one_stem(folder: Path) -> str:
    """Compare a table, then another of its name, then diagnose draws, each in the place of the first."""
    np.save(folder / "d.npy", _draws())
    for seed, name in enumerate("ab"):
        (folder / name).mkdir()
        points = pd.DataFrame({"a": np.random.default_rng(seed).normal(size=12)})
        points.to_csv(folder / name / "x.csv", index=False)
    _command(["compare", "a/x.csv", "--out", "out", *_SMALL], 0)
    for other in (["compare", "b/x.csv", *_SMALL], ["diagnose", "d.npy", "--quiet"]):
        before = snapshot(folder)
        said = _command([*other, "--out", "out"], 2)
        assert _OTHERS in said
        assert snapshot(folder) == before
        _command([*other, "--out", "out", "--overwrite"], 0)
        assert sorted(os.listdir(folder / "out")) == _FILES
    return said


CASES += [
    *(
        _case(f"written twice into {name}", "replaced", _written_twice(place))
        for name, place in (
            ("a folder", lambda folder: folder / "out"),
            ("the working folder", lambda folder: "."),
            ("a link to a folder", lambda folder: folder / "link"),
        )
    ),
    *(
        _case(f"a {name} of the user in the place of a record", "refused", _record_of_another(plant))
        for name, plant in (
            ("file", lambda at: at.write_text("{}")),
            ("link", lambda at: at.symlink_to("mine.txt")),
        )
    ),
    _case("notes saved while the report is written", "they stay", _saved_meanwhile("notes.txt", "")),
    _case(
        "a report saved while the report is written",
        "refused; it stays, and the old results",
        _saved_meanwhile("report.html", "was changed since"),
    ),
    *(
        _case(f"the disk fails at call {call} of {function}", "the old run", _fails_at(function, call))
        for function, call in (
            ("os.fsync", 1),
            ("os.rename", 1),
            ("os.rename", 4),
            ("os.link", 2),
            ("os.mkdir", 4),
        )
    ),
]
