"""Nothing is lost: ways to stop, checkpoints, resumption to the same weights, full disks, damaged files."""

import csv
import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from training_cases import TINY, new_guide, run, same, with_steps

from pyroclust.core.long_runs import interrupt_between_steps
from pyroclust.infer import FitSettings, InclusiveKL, Validation
from pyroclust.infer.simulation import HardSimulations
from pyroclust.infer.training import engine, files
from pyroclust.infer.training.files import CHECKPOINT_FILE, LOG_FILE, VALIDATION_FILE, read_checkpoint

QUICK = Validation(every=4, num_datasets=3, exact_points=4, sampled_points=6, num_draws=5)

# A training for each line that is read, in a process of its own: what a training loads is loaded once.
SCRIPT = """
import os, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
import lightning_fabric, tensorboardX, torch
torch.set_num_threads(1)
from training_cases import run, with_steps
from pyroclust.infer.training import engine
engine._CHECKPOINT_SECONDS = 0.0
for _ in sys.stdin:
    child = os.fork()
    if not child:
        weights, result = run(Path(sys.argv[1]), settings=with_steps(60), resume=True)
        torch.save(weights, sys.argv[2])
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.parametrize("stop", [1, 5, 11])
@pytest.mark.parametrize("hard", [False, True])
def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path, stop: int, hard: bool) -> None:  # noqa: FBT001
    def choice() -> HardSimulations | None:
        return HardSimulations(1.0, 3) if hard else None

    whole, _ = run(choice=choice(), validation=QUICK)
    _, first = run(tmp_path, choice=choice(), max_steps=stop)
    torch.rand(7)
    resumed, last = run(tmp_path, choice=choice(), validation=QUICK, resume=True)
    assert (first.steps, last.steps) == (stop, TINY.steps)
    assert same(whole, resumed)
    assert last.seconds > first.seconds


def test_logs_have_each_step_once_after_a_resumption(tmp_path: Path) -> None:
    run(tmp_path, max_steps=5, validation=QUICK)
    with (tmp_path / LOG_FILE).open("a") as stream:
        stream.write("5,7,1.0,1.0,1.0,1.0,1.0\n6,12,0.")  # written after the checkpoint, then killed
    run(tmp_path, resume=True, validation=QUICK)
    with (tmp_path / LOG_FILE).open() as stream:
        assert [int(row["step"]) for row in csv.DictReader(stream)] == list(range(TINY.steps))
    with (tmp_path / VALIDATION_FILE).open() as stream:
        assert [int(row["step"]) for row in csv.DictReader(stream)] == [4, 5, 8, 12]
    assert any((tmp_path / "tensorboard").iterdir())


def test_tables_are_written_without_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    run(tmp_path, max_steps=3, validation=QUICK)
    assert not (tmp_path / "tensorboard").exists()
    with (tmp_path / LOG_FILE).open() as stream:
        assert len(list(csv.DictReader(stream))) == 3


def test_killed_at_any_moment_it_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    script = SCRIPT.format(tests=str(Path(__file__).parents[2]))
    folder, weights = tmp_path / "run", tmp_path / "weights.pt"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", script, str(folder), str(weights)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:

        def says() -> int:
            return int(process.stdout.readline())

        for more in (2, 20):
            process.stdin.write("\n")
            child = says()
            wait_for_steps(folder, more, process)
            os.kill(child, signal.SIGKILL)
            assert says() == -signal.SIGKILL
        assert not weights.exists()
        process.stdin.write("\n")
        process.stdin.close()
        says()
        assert says() == 0
    whole, _ = run(settings=with_steps(60))
    assert same(torch.load(weights), whole)


def wait_for_steps(folder: Path, steps: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        path = folder / CHECKPOINT_FILE
        if path.exists() and read_checkpoint(path)["done"] >= steps:
            return
        time.sleep(0.02)
    raise AssertionError(f"no {steps} steps")


def test_another_training_is_not_overwritten(tmp_path: Path) -> None:
    run(tmp_path, max_steps=2)
    with pytest.raises(ValueError, match="holds a checkpoint already; go on with --resume"):
        run(tmp_path)
    with pytest.raises(ValueError, match=r"made with other settings \(learning_rate\)"):
        run(tmp_path, resume=True, settings=FitSettings(**{**vars(TINY), "learning_rate": 1e-4}))
    with pytest.raises(ValueError, match="another guide or choice"):
        run(tmp_path, resume=True, choice=HardSimulations(1.0, 3))


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign"])
def test_damaged_checkpoints_are_refused(tmp_path: Path, damage: str) -> None:
    run(tmp_path, max_steps=2)
    path = tmp_path / CHECKPOINT_FILE
    content = bytearray(path.read_bytes())
    if damage == "foreign":
        files.write_checkpoint(path, {"format": 99})
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content[:-100] if damage == "cut" else content))
    with pytest.raises(ValueError, match="another format" if damage == "foreign" else "cut off or changed"):
        run(tmp_path, resume=True)


def test_a_full_disk_stops_with_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_CHECKPOINT_SECONDS", 0.0)
    real, calls = engine.write_checkpoint, []

    def full(path: Path, state: dict) -> None:
        calls.append(state["done"])
        if len(calls) > 6:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        real(path, state)

    monkeypatch.setattr(engine, "write_checkpoint", full)
    guide = new_guide()
    with pytest.raises(ValueError, match=r"No space left on device.*last good checkpoint has 6 steps"):
        run(tmp_path, guide=guide)
    assert not guide.training
    monkeypatch.setattr(engine, "write_checkpoint", real)
    assert same(run(tmp_path, resume=True)[0], run()[0])


def test_a_really_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files makes the kernel refuse the write half-way."""
    run(tmp_path, max_steps=3)
    before = (tmp_path / CHECKPOINT_FILE).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
        with pytest.raises(ValueError, match=r"File too large.*last good checkpoint has 3 steps"):
            run(tmp_path, resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (tmp_path / CHECKPOINT_FILE).read_bytes() == before
    assert not list(tmp_path.glob(".*.part"))
    assert same(run(tmp_path, resume=True)[0], run()[0])


def after(calls: int, what: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the loss of a later step do something else."""
    real, count = InclusiveKL.per_dataset, iter(range(1000))

    def per_dataset(self: InclusiveKL, *arguments: Any) -> Tensor:
        loss = real(self, *arguments)
        return what(loss) if next(count) == calls else loss

    monkeypatch.setattr(InclusiveKL, "per_dataset", per_dataset)


@pytest.mark.parametrize("what", ["loss", "gradient norm"])
def test_nan_keeps_the_last_good_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    good, _ = run(max_steps=7)

    def spoil(loss: Tensor) -> Tensor:
        return (
            loss * torch.nan if what == "loss" else loss + loss.sum() * (loss - loss.detach() + 1e-45).sqrt()
        )

    after(7, spoil, monkeypatch)
    guide = new_guide()
    with pytest.raises(ValueError, match=f"{what} is (nan|inf) at step 7.*last good checkpoint has 7 steps"):
        run(tmp_path, guide=guide)
    assert same(good, dict(guide.state_dict()))
    assert read_checkpoint(tmp_path / "checkpoint.pt")["done"] == 7


def test_ctrl_c_finishes_the_step_and_leaves_a_usable_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(loss: Tensor) -> Tensor:
        signal.raise_signal(signal.SIGINT)
        return loss

    with monkeypatch.context() as patch:
        after(4, press, patch)
        guide = new_guide()
        _, result = run(tmp_path, guide=guide)
    assert result.interrupted
    assert 5 <= result.steps < TINY.steps
    assert guide.posterior(torch.randn(6, 2)).sample((2,)).shape == (2, 6)
    resumed, last = run(tmp_path, resume=True)
    assert not last.interrupted
    assert same(resumed, run()[0])


def press_twice() -> None:
    with interrupt_between_steps() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.requested
        signal.raise_signal(signal.SIGINT)


def test_a_second_ctrl_c_is_obeyed_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        press_twice()


def test_the_callers_random_numbers_are_left_alone() -> None:
    guide = new_guide()
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    run(guide=guide)
    assert torch.equal(torch.rand(4), expected)


def test_max_steps_stops_on_the_schedule_of_the_whole_training(tmp_path: Path) -> None:
    run(tmp_path, max_steps=5)
    last = (tmp_path / "log.csv").read_text().splitlines()[-1].split(",")
    assert float(last[4]) == pytest.approx(TINY.learning_rate_at(4))
