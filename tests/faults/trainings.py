"""Trainings: stopped, resumed, started twice, corrected; the logs and the guide are never lost."""

import csv
import errno
import hashlib
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyro
import pytest
import torch
from faults.cases import Run, refused, run_command, snapshot, table
from faults.processes import a_day_later, broken, left_over, run_and_signal
from training_cases import TINY, new_guide, recipe, same
from training_cases import run as fit_tiny

from pyroclust import load_guide, save_guide
from pyroclust.calibration import CertificateSettings
from pyroclust.core.files import locked_folder
from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import Validation, fit
from pyroclust.infer.training.engine import Trainer
from pyroclust.infer.training.files import read_checkpoint, write_checkpoint
from pyroclust.models import LabelledTables, Program, overlap2d
from pyroclust.recipes.training_runs import train_recipe

CASES, _case, case = table("trainings")

_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
_QUICK = Validation(every=2, num_datasets=2, exact_points=3, sampled_points=4, num_draws=4)
_SHORT = replace(TINY, steps=6)


def _steps(path: Path) -> list[int]:
    with path.open() as stream:
        return [int(row["step"]) for row in csv.DictReader(stream)]


def _train(folder: Path, **arguments: Any) -> None:
    fit_tiny(folder / "t", validation=_QUICK, **{"settings": _SHORT, **arguments})


def _left_alone(folder: Path, words: str, **arguments: Any) -> str:
    """See that a resumption is refused, and that neither the files nor the guide are changed."""
    before, guide = snapshot(folder), arguments.pop("guide", new_guide)()
    weights = {name: value.clone() for name, value in guide.state_dict().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = refused(lambda: _train(folder, guide=guide, resume=True, **arguments), words)
    assert snapshot(folder) == before
    assert same(weights, guide.state_dict())
    return said.replace(str(folder), "")


def _resume_refused(words: str, **changed: Any) -> Run:
    def run(folder: Path) -> str:
        _train(folder, max_steps=3)
        return _left_alone(folder, words, **changed)

    return run


def _other_model() -> NeuralClusteringProcess:
    model = overlap2d().given({"concentration": 1.5})
    torch.manual_seed(0)
    return NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=16, num_bandwidths=2))


@case("--resume with other versions of the libraries", "refused: which")
def _other_versions(folder: Path) -> str:
    _train(folder, max_steps=3)
    with mock.patch("pyroclust.infer.training.files.version", return_value="9.9"):
        return _left_alone(folder, ", is 9.9")


def _line(scale: float) -> Program:
    def line(data: torch.Tensor) -> None:
        with pyro.plate_stack("datasets", data.shape[:-2]):
            labels = pyro.sample("assignments", ChineseRestaurantProcess(1.0, data.shape[-2]))
            centres = scale * torch.randn_like(labels, dtype=torch.float32).gather(-1, labels)
            pyro.sample("data", pyro.distributions.Normal(centres.unsqueeze(-1), 1.0).to_event(2), obs=data)

    return Program(line, event_shape=(1,), typical_scale=1.0)


def _table(first: float) -> LabelledTables:
    points = np.random.default_rng(0).normal(size=(30, 1))
    points[0] = first
    return LabelledTables([(points, np.arange(30) % 3)], standardise=False)


def _other(make: Callable[[float], Any], words: str) -> Run:
    def train(folder: Path, value: float, **arguments: Any) -> None:
        model = make(value)
        torch.manual_seed(0)
        guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=8, num_bandwidths=2))
        fit(model, guide, settings=_SHORT, folder=folder / "t", progress=False, **arguments)

    def run(folder: Path) -> str:
        train(folder, 5.0, max_steps=3)
        with pytest.raises(ValueError, match=words) as caught:
            train(folder, 6.0, resume=True)
        train(folder, 5.0, resume=True)
        return str(caught.value)

    return run


@case("--resume of a checkpoint of an earlier version", "goes on; refused with another guide")
def _old_checkpoint(folder: Path) -> str:
    """A checkpoint of an earlier version does not say what it was made of."""
    _train(folder, max_steps=3)
    path = folder / "t" / "checkpoint.pt"
    state = read_checkpoint(path)
    del state["made_of"]
    write_checkpoint(path, state)
    model = overlap2d()
    wide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=8, num_bandwidths=2))
    said = _left_alone(folder, "another guide or choice", guide=lambda: wide)
    resumed, _ = fit_tiny(folder / "t", settings=_SHORT, resume=True)
    assert same(resumed, fit_tiny(settings=_SHORT)[0])
    return said


def _logs_survive(call: int, function: str) -> Run:
    def run(folder: Path) -> None:
        _train(folder, max_steps=4)
        logs = [folder / "t" / name for name in ("log.csv", "validation.csv")]
        before = [_steps(path) for path in logs]
        for path in logs:
            with path.open("a") as stream:
                stream.write("4,1.0,")  # half a row, as a killed process leaves it
        with broken(function, call, _FULL), pytest.raises(ValueError, match="No space left"):
            _train(folder, resume=True)
        assert [_steps(path)[: len(rows)] for path, rows in zip(logs, before, strict=True)] == before
        _train(folder, resume=True)
        assert [_steps(path) for path in logs] == [list(range(6)), [2, 4, 6]]

    return run


def _no_log(name: str, content: bytes) -> Run:
    """Where a log is none, the other one is neither cut nor left open."""

    def run(folder: Path) -> str:
        _train(folder, max_steps=3)
        with (folder / "t" / "log.csv").open("a") as stream:
            stream.write("7,1.0\n")
        (folder / "t" / name).write_bytes(content)
        before = snapshot(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            said = refused(lambda: _train(folder, resume=True), "is no table of a training")
        assert snapshot(folder) == before
        return said.replace(str(folder), "")

    return run


@case("two trainings in one folder, of two processes or threads", "the second is refused")
def _locked(folder: Path) -> str:
    (folder / "t").mkdir()
    code = (
        "import sys; from pathlib import Path; from pyroclust.core.files import locked_folder\n"
        "with locked_folder(Path('t')): print('locked', flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        said = refused(lambda: _train(folder), "another process or thread")
        process.kill()
    with locked_folder(folder / "t"), ThreadPoolExecutor(1) as pool:
        assert "another process or thread" in str(pool.submit(_train, folder).exception())
    _train(folder)
    assert not left_over(folder)
    return said


def _recipe(folder: Path, *, steps: int = 2, width: int = 8, rate: float = 0.002) -> str:
    (folder / "r.toml").write_text(recipe(steps, width=width, rate=rate))
    return "r.toml"


def _command(arguments: str, code: int, folder: Path) -> str:
    with mock.patch("pyroclust.recipes.training_runs.draw_training"):
        found, out, err = run_command(["train", _recipe(folder), *arguments.split(), "--json"])
    assert found == code, out + err
    return " ".join(err.split()).replace(str(folder), "")


def _nothing_measured() -> Any:
    nothing = classmethod(lambda cls: CertificateSettings.nothing())
    return mock.patch.object(CertificateSettings, "quick", nothing)


def _quick(arguments: str, code: int, folder: Path) -> str:
    """Train from the command line, with a certificate that measures nothing."""
    with _nothing_measured():
        return _command(f"--out t --quick {arguments}", code, folder)


@case("train --out on a guide without checkpoint", "refused unless --overwrite")
def _guide_without_checkpoint(folder: Path) -> str:
    save_guide(new_guide(), folder / "t")
    before = snapshot(folder / "t")
    said = _quick("", 2, folder)
    for one in (said, _quick("--resume", 2, folder)):
        assert "holds a guide and no checkpoint" in one
    assert snapshot(folder / "t") == before
    _quick("--overwrite", 0, folder)
    assert load_guide(folder / "t").model.name == "overlap2d"
    return said


@case("a failed recipe, corrected", "trained")
def _corrected_recipe(folder: Path) -> None:
    settings = CertificateSettings.nothing()
    _recipe(folder, width=-3)
    with pytest.raises(ValueError):  # noqa: PT011  (any refusal: what follows counts)
        train_recipe("r.toml", folder / "t", progress=False)
    _recipe(folder)
    with (
        mock.patch("pyroclust.recipes.training_runs.fit", side_effect=ValueError("loss is nan")),
        pytest.raises(ValueError, match="loss is nan"),
    ):
        train_recipe("r.toml", folder / "t", progress=False)
    _recipe(folder, steps=1, rate=0.001)
    train_recipe("r.toml", folder / "t", progress=False, certificate=settings)
    assert (folder / "t" / "recipe.toml").read_bytes() == (folder / "r.toml").read_bytes()


def _diverging(at: int) -> Any:
    """Let the loss be nan at a step, as a learning rate that is too high does."""
    real = Trainer._backward

    def backward(self: Trainer, *arguments: Any) -> float:
        found = real(self, *arguments)
        return float("nan") if self.done == at else found

    return mock.patch.object(Trainer, "_backward", backward)


def _diverged(at: int) -> Run:
    """A recipe that goes to nan after some steps binds its folder to nothing."""

    def run(folder: Path) -> None:
        with _diverging(at), _nothing_measured():
            said = _command("--out t --quick", 2, folder)
            assert f"loss is nan at step {at}" in said
            assert not (folder / "t" / "card.json").exists()
            before = snapshot(folder / "t")
            if at:
                assert "holds a checkpoint already" in _command("--out t --quick", 2, folder)
                assert snapshot(folder / "t") == before
            assert f"loss is nan at step {at}" in _command("--out t --quick --resume", 2, folder)
        _recipe(folder, steps=2, rate=0.0001)
        with _nothing_measured(), mock.patch("pyroclust.recipes.training_runs.draw_training"):
            if at:
                code, _, err = run_command(["train", "r.toml", "--out", "t", "--quick", "--resume"])
                assert code == 2
                assert "holds a failed training of another recipe" in " ".join(err.split())
            code, _, err = run_command(["train", "r.toml", "--out", "t", "--quick"])
        assert code == 0, err
        assert (f"(loss is nan at step {at}" in " ".join(err.split())) == bool(at)
        assert _steps(folder / "t" / "log.csv") == [0, 1]
        load_guide(folder / "t")

    return run


@case("--resume with another recipe", "refused")
def _other_recipe(folder: Path) -> str:
    _quick("--max-steps 1", 0, folder)
    before = snapshot(folder / "t")
    _recipe(folder, steps=2, rate=0.5)
    resume = partial(train_recipe, "r.toml", folder / "t", resume=True, progress=False)
    said = refused(resume, "holds a training of another recipe")
    assert snapshot(folder / "t") == before
    return said.replace(str(folder), "")


@case("Ctrl-C while the certificate is measured", "exit 130, the guide is usable")
def _interrupted_in_the_certificate(folder: Path) -> str:
    with mock.patch("pyroclust.recipes.training_runs.certify", side_effect=KeyboardInterrupt):
        said = _command("--out t --quick", 130, folder)
    load_guide(folder / "t")
    _quick("--resume", 0, folder)
    return said


@case("Ctrl-C while the guide is saved", "exit 130, the guide is usable")
def _interrupted_while_saving(folder: Path) -> str:
    real = save_guide

    def pressed(*arguments: Any, **named: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        real(*arguments, **named)

    with mock.patch("pyroclust.recipes.training_runs.save_guide", pressed):
        said = _command("--out t --quick", 130, folder)
    assert "is usable" in said
    load_guide(folder / "t")
    return said


@case("Ctrl-C during the last step", "the result says interrupted")
def _last_step(folder: Path) -> str:
    real = Trainer.step

    def pressed(self: Trainer, *, stop: bool = False) -> Any:
        if self.done == _SHORT.steps - 1:
            signal.raise_signal(signal.SIGINT)
        return real(self, stop=stop)

    with mock.patch.object(Trainer, "step", pressed):
        _, result = fit_tiny(settings=_SHORT)
    assert result.interrupted
    return repr(result.interrupted)


def _long(folder: Path) -> list[str]:
    _recipe(folder, steps=60, rate=0.002)
    script = (
        "import sys\n"
        "from pyroclust.infer.training import engine\n"
        "engine._CHECKPOINT_SECONDS = 0.0\n"
        "from pyroclust.calibration import CertificateSettings\n"
        "CertificateSettings.quick = classmethod(lambda cls: CertificateSettings.nothing())\n"
        "from pyroclust.cli import main\n"
        "if __name__ == '__main__':\n"
        "    open('ready', 'w').close()\n"
        "    main()\n"
    )
    (folder / "train.py").write_text(script)
    return ["train.py", "train", "r.toml", "--out", "t", "--quick", "--resume", "--json"]


def _killed(seed: int, number: int) -> Run:
    def run(folder: Path) -> str:
        arguments, out, ready = _long(folder), folder / "t", folder / "ready"
        codes, rows, measured = [], [], []
        for attempt in range(3):
            log = out / "log.csv"
            # The script's own imports are not the command's: signals come after them.
            ready.unlink(missing_ok=True)
            code, _, err = run_and_signal(
                arguments,
                folder,
                number,
                seed=10 * seed + attempt,
                longest=1.0,
                when=lambda log=log: ready.is_file() and log.is_file() and log.stat().st_size > 40,
            )
            codes.append(code)
            assert "Traceback" not in err, err
            if log.is_file() and (out / "checkpoint.pt").is_file():
                done = read_checkpoint(out / "checkpoint.pt")["done"]
                rows = _steps_whole(log)
                assert rows[:done] == list(range(done)), f"rows before step {done} were lost"
            if (out / "card.json").is_file():
                load_guide(out)
        a_day_later(folder)
        process = subprocess.run(
            [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, process.stderr
        assert _steps(out / "log.csv") == list(range(60))
        measured = _steps(out / "validation.csv")
        assert measured == [50, 60], measured
        assert not left_over(folder)
        load_guide(out)
        return f"codes {codes}; then resumed to the end, every row once"

    return run


def _steps_whole(path: Path) -> list[int]:
    lines = path.read_text().split("\n")
    return [int(one.split(",")[0]) for one in lines[1:-1]]


def _damaged(folder: Path) -> str:
    _train(folder, max_steps=3)
    path = folder / "t" / "checkpoint.pt"
    noise = b"\x80\x02" + path.read_bytes()[-33::-1]
    path.write_bytes(noise + hashlib.sha256(noise).digest())
    return _left_alone(folder, "cannot be read")


CASES += [
    *(
        _case(f"--resume with another {what}", "refused: what it was and is", run)
        for what, run in (
            ("concentration", _resume_refused("model.prior.concentration was", guide=_other_model)),
            ("number in a Pyro program", _other(_line, "model.program.scale was 5.0")),
            ("number in a table", _other(_table, "model._points was")),
        )
    ),
    *(
        _case(f"--resume with a {name} that is no log", "refused, all left as it is", _no_log(name, content))
        for name, content in (("log.csv", b"\xff\x00 notes"), ("validation.csv", b"notes\n"))
    ),
    *(
        _case(f"--resume, a full disk at {function} {call}", "no row is lost", _logs_survive(call, function))
        for function, call in (("os.fsync", 3), ("os.replace", 1))
    ),
    _case("--resume of a checkpoint of noise, and the checksum of that", "refused", _damaged),
    _case("a recipe that goes to nan at its first step, corrected", "trained", _diverged(0)),
    _case("a recipe that goes to nan later, corrected", "trained, and says so", _diverged(1)),
    *(
        _case(f"{name} three times, then --resume", "every row once", _killed(seed, number), slow=True)
        for seed, (number, name) in enumerate(((signal.SIGKILL, "kill -9"), (signal.SIGTERM, "SIGTERM")), 2)
    ),
]
