"""Folders of results: earlier results are replaced file by file, and only when asked; all else stays."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from faults.cases import Case, Run, run_command, snapshot
from faults.processes import broken, left_over, run_and_signal, without_room

from pyroclust import Analysis, diagnose
from pyroclust.core.files import JOURNAL, check_outside_the_package, unfinished, write_file
from pyroclust.results.files import name_of_run, results_folder, write_files, write_json

_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
_FILES = ["assignments.csv", "clusters.csv", "draws.nc", "report.html", "summary.json"]
_THEIRS = ["notes.txt", "points.csv"]
_SMALL = ["--guide", "filter-nig1d", "--draws", "20", "--mcmc-draws", "20", "--chains", "2", "--quiet"]

CASES: list[Case] = []


def _draws(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(2, size=(2, 30, 6))


def _case(name: str, expected: str, run: Run, *, slow: bool = False) -> Case:
    """Make a case; the quick ones write a page without pictures."""

    def quickly(folder: Path) -> str | None:
        with mock.patch("pyroclust.report.writing.render_page", lambda page: page.title + "\n" * 30_000):
            return run(folder)

    return Case("outputs", name, expected, run if slow else quickly, slow)


def case(name: str, expected: str, *, slow: bool = False) -> Callable[[Run], Run]:
    """Add the function below to the cases."""

    def add(run: Run) -> Run:
        CASES.append(_case(name, expected, run, slow=slow))
        return run

    return add


def _refused(out: Path, *, seed: int = 0, words: str) -> str:
    before = snapshot(out)
    with pytest.raises(ValueError, match=words) as caught:
        diagnose(_draws(seed), out=out)
    assert snapshot(out) == before, "a file was changed"
    return str(caught.value).replace(str(out), "out")


@case("the very same diagnosis again", "replaced")
def _same_again(folder: Path) -> None:
    for _ in range(2):
        diagnose(_draws(), out=folder / "out")
        assert sorted(os.listdir(folder / "out")) == _FILES
    assert os.listdir(folder) == ["out"]


@case("other draws, the same folder", "refused")
def _other_draws(folder: Path) -> str:
    diagnose(_draws(), out=folder / "out")
    return _refused(folder / "out", seed=1, words="holds the results of another run")


@case("another seed, the same folder", "refused")
def _other_seed(folder: Path) -> None:
    diagnose(_draws(), out=folder / "out")
    before = snapshot(folder)
    with pytest.raises(ValueError, match="holds the results of another run"):
        diagnose(_draws(), out=folder / "out", seed=1)
    assert snapshot(folder) == before


def _foreign(name: str, words: str) -> Run:
    def run(folder: Path) -> str:
        (folder / "out").mkdir()
        (folder / "out" / name).write_text("mine")
        return _refused(folder / "out", words=words)

    return run


def _theirs(out: Path) -> dict[str, str]:
    for name in _THEIRS:
        (out / name).write_text("mine")
    return snapshot(out)


@case("--overwrite on another run", "all files of the new one")
def _overwrite(folder: Path) -> None:
    out = folder / "out"
    diagnose(_draws(), out=out)
    before = (out / "summary.json").read_bytes()
    diagnose(_draws(1), out=out, overwrite=True)
    assert sorted(os.listdir(out)) == _FILES
    assert (out / "summary.json").read_bytes() != before


@case("--overwrite beside files of the user", "they stay as they are")
def _overwrite_beside(folder: Path) -> None:
    out = folder / "out"
    diagnose(_draws(), out=out)
    before = _theirs(out)
    diagnose(_draws(1), out=out, overwrite=True)
    after = snapshot(out)
    assert after.keys() == before.keys()
    assert [after[name] for name in _THEIRS] == [before[name] for name in _THEIRS]


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
        diagnose(_draws(), out=out, overwrite=True)
        assert sorted(os.listdir(out)) == sorted([*_FILES, *["certificate.png"] * changed])
    assert (out / "certificate.png").read_bytes() == b"mine"


@case("--overwrite on results of version 0.1", "those of its run are replaced")
def _of_0_1(folder: Path) -> str:
    out = folder / "out"
    diagnose(_draws(), out=out)
    summary = json.loads((out / "summary.json").read_text())
    del summary["files"]
    (out / "summary.json").write_text(json.dumps(summary))
    _theirs(out)
    (out / "report.html").unlink()
    diagnose(_draws(1), out=out, overwrite=True)
    assert sorted(os.listdir(out)) == sorted([*_FILES, *_THEIRS])
    for name in _THEIRS:
        (out / name).unlink()
    (out / "summary.json").write_text(json.dumps(summary | {"run": None}))
    return _refused(out, seed=1, words="is no earlier result")


def _saved_meanwhile(name: str, words: str) -> Run:
    """Somebody saves a file into the folder while the report is written."""

    def run(folder: Path) -> str:
        out = folder / "out"
        diagnose(_draws(), out=out)
        before = snapshot(out)

        def page(page: Any) -> str:
            (out / name).write_text("mine")
            return str(page.title)

        with mock.patch("pyroclust.report.writing.render_page", page):
            if words:
                with pytest.raises(ValueError, match=words):
                    diagnose(_draws(), out=out)
                assert {one: told for one, told in snapshot(out).items() if one != name} == {
                    one: told for one, told in before.items() if one != name
                }
            else:
                diagnose(_draws(), out=out)
                assert snapshot(out).keys() == {*before, name}
        assert (out / name).read_text() == "mine"
        assert not left_over(folder)
        return "it stays; " + ("the old results too" if words else "beside the new results")

    return run


def _fails_at(function: str, call: int, *, beside: bool) -> Run:
    def run(folder: Path) -> None:
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

    return run


@case("a disk without hard links", "replaced; files of the user stay")
def _no_hard_links(folder: Path) -> None:
    out = folder / "out"
    diagnose(_draws(), out=out)
    before = _theirs(out)
    refused = PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    with mock.patch("os.link", side_effect=refused):
        diagnose(_draws(1), out=out, overwrite=True)
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
    diagnose(_draws(), out=out)
    before = snapshot(out)
    with (
        mock.patch("pyroclust.core.files.move_to_new", _stopped_after_the_journal),
        mock.patch("pyroclust.core.files.settle_results", side_effect=[None, OSError("dead")]),
        pytest.raises(SystemExit),
    ):
        diagnose(_draws(1), out=out, overwrite=True)
    aside = next(out.glob("earlier-results-*")).name
    with pytest.raises(ValueError, match=f"unfinished results.*lie in '{aside}'") as caught:
        Analysis.read(out)
    with pytest.raises(ValueError, match="results of another run"):
        diagnose(_draws(1), out=out)
    assert snapshot(out) == before
    return str(caught.value).replace(str(out), "out")


@case("the disk is full half-way through the report", "the old run as a whole")
def _small_disk(folder: Path) -> None:
    out = folder / "out"
    diagnose(_draws(), out=out)
    before = snapshot(folder)
    with without_room(10_000), pytest.raises(OSError, match="too large") as caught:
        diagnose(_draws(1), out=out, overwrite=True)
    assert str(caught.value.filename) == str(out)
    assert snapshot(folder) == before
    assert not left_over(folder)


@case("the working folder as the place of results", "written twice")
def _working_folder(folder: Path) -> None:
    for _ in range(2):
        diagnose(_draws(), out=".")
        assert sorted(os.listdir(folder)) == _FILES
    assert Path.cwd() == folder


@case("a link to a folder as the place of results", "the link stays")
def _link_to_a_folder(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "out").symlink_to(folder / "real")
    for _ in range(2):
        diagnose(_draws(), out=folder / "out")
    assert (folder / "out").is_symlink()
    assert sorted(os.listdir(folder / "real")) == _FILES


@case("links planted under the names of results", "refused")
def _planted_link(folder: Path) -> str:
    precious, out = folder / "precious", folder / "out"
    precious.write_text("precious")
    out.mkdir()
    for name in _FILES:
        (out / name).symlink_to(precious)
    before = snapshot(folder)
    for overwrite in (False, True):
        with pytest.raises(ValueError, match="is a link, and is never replaced") as caught:
            diagnose(_draws(), out=out, overwrite=overwrite)
        assert snapshot(folder) == before
    return str(caught.value).replace(str(out), "out")


@case("permissions of results", "those of other files")
def _permissions(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        diagnose(_draws(), out=folder / "new")
        (folder / "own").mkdir(mode=0o750)
        diagnose(_draws(), out=folder / "own")
    finally:
        os.umask(before)
    found = [(folder / name).stat().st_mode & 0o777 for name in ("new", "own", "new/report.html")]
    assert found == [0o755, 0o750, 0o644], [oct(one) for one in found]


@case("two runs into one folder at once", "the second is refused")
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


@case("a run that fails in a new folder", "no folder is left")
def _fails_before(folder: Path) -> None:
    with (
        mock.patch("pyroclust.analysis.diagnose._judge", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        diagnose(_draws(), out=folder / "out")
    assert not os.listdir(folder)


@case("a damaged summary", "refused")
def _damaged_summary(folder: Path) -> str:
    diagnose(_draws(), out=folder / "out")
    (folder / "out" / "summary.json").write_bytes(b"\xff[" * 1000)
    return _refused(folder / "out", words="is no earlier result")


@case("results inside the installed package", "refused")
def _in_the_package(folder: Path) -> str:
    import pyroclust

    place = Path(pyroclust.__path__[0]) / "data"
    return _refused(place, words="lies inside the installed package")


@case("links that point to one another as the place of results", "refused")
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


def _one_stem(first: str, second: str) -> Run:
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


@case("compare, then diagnose into one folder", "the second is refused", slow=True)
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


def _killed(seed: int) -> Run:
    def run(folder: Path) -> str:
        np.save(folder / "d.npy", _draws())
        np.save(folder / "e.npy", _draws(1))
        _command(["diagnose", "d.npy", "--out", "out", "--quiet"], 0)
        old = json.loads((folder / "out" / "summary.json").read_text())
        arguments = ["diagnose", "e.npy", "--out", "out", "--overwrite"]
        code, _, _ = run_and_signal(arguments, folder, signal.SIGKILL, seed=seed)
        if not unfinished(folder / "out"):
            found = json.loads((folder / "out" / "summary.json").read_text())
            assert found["source"] == ("d" if found == old else "e")
            assert sorted(one for one in os.listdir(folder / "out") if not one.startswith(".")) == _FILES
        _command([*arguments, "--quiet"], 0)
        assert sorted(os.listdir(folder / "out")) == _FILES
        assert not left_over(folder)
        return f"code {code}; all files of one run; nothing is left after the next start"

    return run


@case("a pipe named as the journal of unfinished results", "refused, at once")
def _pipe_for_a_journal(folder: Path) -> str:
    (folder / "out").mkdir()
    os.mkfifo(folder / "out" / JOURNAL)
    return _refused(folder / "out", words="holds other files")


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


CASES += [
    _case(
        "a file of the user in the place of a record",
        "refused",
        _record_of_another(lambda at: at.write_text("{}")),
    ),
    _case(
        "a link of the user in the place of a record",
        "refused",
        _record_of_another(lambda at: at.symlink_to("mine.txt")),
    ),
    _case(
        "a folder with notes of the user", "refused", _foreign("notes.txt", "holds other files .notes.txt.")
    ),
    *(
        _case(f"a folder with a {name} of another tool", "refused", _foreign(name, "is no earlier result"))
        for name in ("report.html", "summary.json")
    ),
    _case("notes saved while the report is written", "they stay", _saved_meanwhile("notes.txt", "")),
    _case(
        "a report saved while the report is written",
        "refused; it stays, and the old results",
        _saved_meanwhile("report.html", "was changed since"),
    ),
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
            ("os.link", 1, True),
            ("os.link", 2, True),
            ("os.link", 6, True),
            ("os.mkdir", 4, True),
        )
    ),
    _case(
        "two tables of one name in two folders",
        "the second is refused",
        _one_stem("a/x.csv", "b/x.csv"),
        slow=True,
    ),
    _case("x.csv and x.parquet", "the second is refused", _one_stem("x.csv", "x.parquet"), slow=True),
    *(
        _case(f"kill -9 of diagnose, moment {seed}", "one run as a whole", _killed(seed), slow=True)
        for seed in range(5)
    ),
]
