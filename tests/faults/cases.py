"""What a case of the fault table is, and the ways to write one in a line."""

import contextlib
import hashlib
import importlib
import io
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import faults
import pytest

from pyroclust.cli import main

MAX_SENTENCE = 700
"""Characters; a longer refusal is no sentence that somebody reads."""


Run = Callable[[Path], str | None]


@dataclass(frozen=True)
class Case:
    """One thing that is done to the library, and what has to happen.

    Attributes:
        family: the room of the table, such as "tables".
        name: what is done, in words.
        expected: what has to happen, in words.
        run: does it in an empty folder, which is also the working folder; raises AssertionError where what
            happened is wrong, and may return it in words.
        slow: whether it takes seconds, and is left to ``make faults``.
    """

    family: str
    name: str
    expected: str
    run: Run
    slow: bool = False

    def __str__(self) -> str:
        return f"{self.family}: {self.name}"


def all_cases() -> list[Case]:
    """Collect the cases of every file of this folder that has some."""
    found: list[Case] = []
    for module in pkgutil.iter_modules(faults.__path__):
        if not module.name.startswith(("test_", "conftest")):
            found += getattr(importlib.import_module(f"faults.{module.name}"), "CASES", [])
    return found


def table(family: str) -> tuple[list[Case], Callable[..., Any], Callable[..., Callable[[Run], Run]]]:
    """Return an empty table of a family, what makes a case of it, and what adds the function below."""
    cases: list[Case] = []

    def case(name: str, expected: str, run: Run, *, slow: bool = False) -> Case:
        return Case(family, name, expected, run, slow)

    def added(name: str, expected: str, *, slow: bool = False) -> Callable[[Run], Run]:
        def add(run: Run) -> Run:
            cases.append(case(name, expected, run, slow=slow))
            return run

        return add

    return cases, case, added


def refuses(family: str, name: str, call: Callable[[], Any], words: str, *, slow: bool = False) -> Case:
    """A call from Python that has to end in one sentence, a ValueError with the given words in it."""

    return Case(family, name, f"refused: “{words}”", lambda folder: refused(call, words), slow)


def of_family(family: str) -> tuple[Callable[..., Case], ...]:
    """Return :func:`refuses`, :func:`gives` and :func:`command` of one family."""
    return partial(refuses, family), partial(gives, family), partial(command, family)


def refused(call: Callable[[], Any], words: str) -> str:
    """Return the one sentence, a ValueError with the given words in it, that a call ends in."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the words are looked for below)
        call()
    return _checked_sentence(str(caught.value), words)


def gives(family: str, name: str, call: Callable[[], Any], value: Any, *, slow: bool = False) -> Case:
    """A call from Python that has to return a value; numbers may be off by rounding."""

    def run(folder: Path) -> str:
        found = call()
        same = (
            math.isclose(found, value, rel_tol=1e-9, abs_tol=1e-12)
            if isinstance(value, float)
            else found == value
        )
        assert same, f"got {found!r}, expected {value!r}"
        return repr(found)

    return Case(family, name, f"gives {value!r}", run, slow)


def command(
    family: str,
    name: str,
    arguments: str | list[str],
    *,
    files: Mapping[str, str | bytes] | None = None,
    words: str | None = None,
    says: str = "",
    check: Callable[[Path], None] | None = None,
    slow: bool = False,
) -> Case:
    """A command that has to be refused with ``words``, or has to succeed and say ``says``.

    The files are written first, and have to be there unchanged afterwards; a refusal is one line
    and writes nothing.
    """
    arguments = arguments.split() if isinstance(arguments, str) else arguments

    def run(folder: Path) -> str:
        in_folder(folder, files or {})
        before = snapshot(folder)
        code, out, err = run_command(arguments)
        after = snapshot(folder)
        assert {path: after.get(path) for path in before} == before, "a file of the user was changed or lost"
        if words is not None:
            assert (code, out) == (2, ""), f"exit code {code}, expected 2: {out or err}"
            # What typer itself refuses stands in a frame, below how the command is used.
            assert err.startswith("Usage: pyroclust ") or (
                err.startswith("pyroclust: ") and err.count("\n") == 1
            ), f"more than one line: {err}"
            assert after == before, f"something was written: {after.keys() - before.keys()}"
            return _checked_sentence(err, words)
        assert code == 0, f"exit code {code}, expected 0: {err}"
        said = " ".join((out + err).split())
        assert says in said, f"'{says}' is not in what was said: {said}"
        if check is not None:
            check(folder)
        return f"exit 0; {says or 'done'}"

    expected = (
        f"exit 2: “{words}”" if words is not None else f"exit 0{'; says “' + says + '”' if says else ''}"
    )
    return Case(family, name, expected, run, slow)


def run_command(arguments: list[str]) -> tuple[int, str, str]:
    """Run ``pyroclust`` in this process; anything but SystemExit is a traceback and passes through."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        else:
            code = 0
    assert "Traceback" not in err.getvalue(), err.getvalue()
    return code, out.getvalue(), err.getvalue()


def in_folder(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files; text is UTF-8 and keeps its line ends."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def snapshot(folder: Path) -> dict[str, str]:
    """Return a checksum of every file below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _checked_sentence(text: str, words: str) -> str:
    said = " ".join(text.split())
    assert words in said, f"'{words}' is not in: {said}"
    assert len(said) <= MAX_SENTENCE, f"{len(said)} characters are no sentence: {said[:200]} ..."
    assert said.isprintable(), f"control characters reach the terminal: {said!r}"
    return said
