"""Ctrl-C and SIGTERM at any moment: a run that was stopped says so, and never passes for a whole one."""

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from faults.cases import Run, run_command, table
from faults.processes import a_day_later, left_over, run_and_signal

from pyroclust import diagnose, save_guide, to_arviz
from pyroclust.core.files import unfinished
from pyroclust.core.long_runs import interrupt_between_steps
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import fine_tune
from pyroclust.infer.mcmc import CollapsedGibbs, CompanionNUTS
from pyroclust.infer.mcmc.compiled_kernel import CompiledTransition
from pyroclust.models import companion, nig_mixture, overlap2d
from pyroclust.partitions import Draws

CASES, _case, case = table("interrupts")

_FILTER = ["--guide", "filter-nig1d", "--draws", "20"]
_OTHER = {"compare": "x.csv", "diagnose": "d.npy", "check": "filter-nig1d"}


def _pressed_at(draw: int) -> Any:
    """Press Ctrl-C while a compiled kernel makes its n-th draw, those of the warm-up included."""
    blocks, advance = [], CompiledTransition.advance

    def pressed(self: Any, states: Any, num_draws: int, *, every: int = 1) -> Any:
        before = sum(blocks)
        blocks.append(num_draws * every)
        if before < draw <= sum(blocks):
            signal.raise_signal(signal.SIGINT)
        return advance(self, states, num_draws, every=every)

    return mock.patch.object(CompiledTransition, "advance", pressed)


def _run(draw: int, *, num_draws: int = 200_000, warmup: int = 1) -> Draws:
    kernel = CollapsedGibbs(nig_mixture(1))
    with _pressed_at(draw):
        return kernel.run(torch.linspace(-1, 1, 12).unsqueeze(1), num_draws=num_draws, warmup=warmup, seed=0)


@case("Ctrl-C in kernel.run", "the draws so far; they and to_arviz say that they are interrupted")
def _kernel_marked(folder: Path) -> str:
    found, last = _run(3), _run(2, num_draws=1)
    assert found.assignments.shape[1] < 200_000
    assert last.assignments.shape[1] == 1
    assert found.interrupted
    assert last.interrupted
    notes = to_arviz(found).posterior.attrs["notes"]
    assert "was interrupted" in str(notes)
    return repr(found)


@case("Ctrl-C in the warm-up of kernel.run", "KeyboardInterrupt")
def _kernel_warmup(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _run(1, warmup=5)


@case("diagnose of interrupted draws", "page and summary.json say so", slow=True)
def _diagnosed(folder: Path) -> str:
    found = diagnose(_run(3), out=folder / "out")
    note = "was interrupted"
    assert any(note in one for one in found.notes)
    for name in ("report.html", "summary.json"):
        assert note in (folder / "out" / name).read_text(encoding="utf-8"), name
    return found.notes[0]


def _compared(draw: int) -> Run:
    """Press Ctrl-C at a draw of a comparison from the command line."""
    line = "compare galaxies --guide filter-nig1d --draws 20 --mcmc-draws 20000 --out out --quiet"

    def run(folder: Path) -> str:
        with _pressed_at(draw):
            code, out, err = run_command(line.split())
        assert code == 130, err
        assert "pyroclust: interrupted" in err
        assert not out
        assert not os.listdir(folder)
        return " ".join(err.split())

    return run


@case("Ctrl-C that a library swallows", "exit 130, a report that says so", slow=True)
def _swallowed(folder: Path) -> str:
    """A library catches what Ctrl-C raises, as some do while they are imported."""
    np.save(folder / "d.npy", np.random.default_rng(0).integers(2, size=(2, 30, 6)))

    from pyroclust.analysis.steps import complete

    def swallow(*arguments: Any) -> Any:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return complete(*arguments)

    with mock.patch("pyroclust.analysis.diagnose.complete", swallow):
        code, out, err = run_command(["diagnose", "d.npy", "--quiet"])
    assert code == 130, err
    assert "Interrupted before it was finished" in out
    assert sorted(os.listdir(folder)) == ["d.npy", "diagnose-d"]
    return " ".join(err.split())


def _guides_while(happens: Callable[[], object]) -> tuple[int, str]:
    """Run ``pyroclust guides`` while something happens."""

    def listed(*arguments: Any, **named: Any) -> tuple[()]:
        happens()
        return ()

    with mock.patch("pyroclust.cli.guides.list_guides", listed):
        code, _, err = run_command(["guides"])
    return code, " ".join(err.split())


@case("Ctrl-C that a library makes an ImportError of", "exit 130, no traceback")
def _turned_into_an_error(folder: Path) -> str:
    def turn() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("numpy.core failed to import") from None

    code, said = _guides_while(turn)
    assert code == 130, said
    return said


@case("Ctrl-C while a library is imported", "exit 130 once it is there")
def _late_import(folder: Path) -> str:
    (folder / "late_module.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\ndone = True\n")

    def load() -> None:
        assert importlib.import_module("late_module").done
        time.sleep(5)

    with mock.patch("sys.path", [str(folder), *sys.path]):
        code, said = _guides_while(load)
    assert code == 130, said
    return said


def _stopped_by(number: int, expected: int) -> Run:
    def run(folder: Path) -> str:
        before = signal.getsignal(number)
        code, said = _guides_while(lambda: signal.raise_signal(number))
        assert code == expected, said
        assert signal.getsignal(number) is before
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        return said

    return run


@case("the terminal is closed under nohup", "goes on")
def _nohup(folder: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        _stopped_by(signal.SIGHUP, 0)(folder)
    finally:
        signal.signal(signal.SIGHUP, before)


@case("Ctrl-C where one loop runs inside another", "both stop")
def _inner_blocks(folder: Path) -> None:
    with interrupt_between_steps() as outer:
        signal.raise_signal(signal.SIGINT)
        with interrupt_between_steps() as inner:
            assert inner.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert outer.requested
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@case("check --save, Ctrl-C while it measures", "exit 130, the card stays")
def _checked(folder: Path) -> str:
    save_guide(PredictiveFilter(nig_mixture(1)), folder / "g")
    before = (folder / "g" / "card.json").read_bytes()

    def pressed(*arguments: Any, **named: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    with mock.patch("pyroclust.calibration.checking.certify", pressed):
        code, out, err = run_command(["check", "./g", "--save", "g", "--out", "out"])
    assert code == 130, err
    assert not out
    assert (folder / "g" / "card.json").read_bytes() == before
    assert os.listdir(folder) == ["g"]
    return " ".join(err.split())


@case("Ctrl-C in kernel.run of NUTS", "marked as interrupted", slow=True)
def _nuts(folder: Path) -> str:
    kernel = CompanionNUTS(companion(overlap2d(), 2))
    calls: list[int] = []
    real = kernel._steps

    def pressed(count: int) -> Any:
        for step in real(count):
            calls.append(1)
            if len(calls) == 4:
                signal.raise_signal(signal.SIGINT)
            yield step

    with mock.patch.object(kernel, "_steps", pressed):
        found = kernel.run(torch.randn(4, 2), num_draws=30, warmup=2, num_chains=2, seed=0)
    assert found.interrupted
    assert found.assignments.shape[0] == 1
    return repr(found)


def _write_inputs(folder: Path) -> None:
    points = np.random.default_rng(0).standard_normal((30, 1))
    np.savetxt(folder / "x.csv", points, delimiter=",", header="a", comments="")
    np.save(folder / "d.npy", np.random.default_rng(0).integers(3, size=(2, 100, 30)))


def _random_moment(command: str, number: int, seed: int) -> Run:
    options = {"compare": [*_FILTER, "--mcmc-draws", "50000"], "diagnose": [], "check": ["--quick"]}[command]

    def run(folder: Path) -> str:
        _write_inputs(folder)
        out = folder / "out"
        arguments = [command, _OTHER[command], "--out", "out", *options]
        code, said, err = run_and_signal(arguments, folder, number, seed=seed, longest=7.0)
        assert "Traceback" not in err, err
        assert "Exception ignored" not in err, err
        wrote = out.is_dir() and bool(os.listdir(out))
        if code == 0:
            assert wrote
            return "it was done before"
        assert code == 128 + number, f"exit code {code}: {err}"
        assert "pyroclust: interrupted" in err
        assert wrote or "Written" not in said
        assert not left_over(folder)
        if wrote and command != "check":
            assert json.loads((out / "summary.json").read_text())["verdict"]
        return err.strip().splitlines()[-1]

    return run


def _killed(command: str, seed: int) -> Run:
    options = {"compare": [*_FILTER, "--mcmc-draws", "20"], "diagnose": [], "check": ["--quick"]}

    def run(folder: Path) -> str:
        _write_inputs(folder)
        arguments = [command, _OTHER[command], "--out", "out", *options[command]]
        code, _, _ = run_and_signal(arguments, folder, signal.SIGKILL, seed=seed, longest=8.0)
        out = folder / "out"
        whole = 2 if command == "check" else 5
        held = [one for one in os.listdir(out) if not one.startswith(".")] if out.is_dir() else []
        assert len(held) in (0, whole) or unfinished(out), held
        a_day_later(folder)
        again, _, err = run_command([*arguments, *([] if command == "check" else ["--quiet"])])
        assert again == 0, err
        assert not left_over(folder)
        return f"code {code}; {len(held)} of {whole} files; a run a day later is whole and leaves nothing"

    return run


_SAVES = """
import sys
from pathlib import Path
import torch
from pyroclust import save_guide
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.models import overlap2d
model = overlap2d()
guides = [NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=16)) for _ in range(2)]
Path("ready").touch()
while True:
    for guide in guides:
        save_guide(guide, "g")
"""


def _saves_killed(seed: int) -> Run:
    def run(folder: Path) -> None:
        from pyroclust import load_guide

        (folder / "saves.py").write_text(_SAVES)
        ready = folder / "g" / "card.json"
        code, _, err = run_and_signal(
            ["saves.py"], folder, signal.SIGKILL, seed=seed, longest=0.5, when=ready.is_file
        )
        assert code == -signal.SIGKILL, err
        guide = load_guide(folder / "g")
        a_day_later(folder)
        save_guide(guide, folder / "g")
        assert sorted(os.listdir(folder / "g")) == ["card.json", "weights.safetensors"]

    return run


@case("Ctrl-C in fine_tune", "marked as interrupted")
def _fine_tuned(folder: Path) -> str:
    from training_cases import new_guide

    guide = new_guide()
    real = torch.optim.Adam.step

    def pressed(self: Any, *arguments: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return real(self, *arguments, **named)

    with mock.patch.object(torch.optim.Adam, "step", pressed):
        done = fine_tune(guide.model, guide, torch.randn(2, 4, 2), steps=50, progress=False)
    assert done.interrupted
    assert len(done.losses) == 1
    return f"interrupted after {len(done.losses)} step"


CASES += [
    *(
        _case(f"compare, Ctrl-C {when}", "exit 130, no report", _compared(draw), slow=True)
        for when, draw in (("in the warm-up", 1), ("during kept draws", 6_000))
    ),
    _case("SIGTERM in a command", "exit 143; handlers are put back", _stopped_by(signal.SIGTERM, 143)),
    _case("the terminal is closed", "exit 129", _stopped_by(signal.SIGHUP, 129)),
    *(
        _case(f"{name} in {command}, moment {seed}", "exit 130 or 143, one sentence", run, slow=True)
        for seed, (command, name, number) in enumerate(
            [
                *[("compare", "Ctrl-C", signal.SIGINT)] * 5,
                *[("compare", "SIGTERM", signal.SIGTERM)] * 3,
                *[("diagnose", "Ctrl-C", signal.SIGINT)] * 3,
                *[("diagnose", "SIGTERM", signal.SIGTERM)] * 2,
                *[("check", "Ctrl-C", signal.SIGINT)] * 3,
                *[("check", "SIGTERM", signal.SIGTERM)] * 2,
            ]
        )
        for run in [_random_moment(command, number, seed)]
    ),
    *(
        _case(f"kill -9 in {command}, moment {seed}", "all files or none", _killed(command, seed), slow=True)
        for command, seeds in (("compare", range(3)), ("check", range(3, 5)), ("diagnose", range(5, 7)))
        for seed in seeds
    ),
    *(
        _case(f"kill -9 in save_guide, moment {seed}", "a whole guide", _saves_killed(seed), slow=True)
        for seed in range(4)
    ),
]
