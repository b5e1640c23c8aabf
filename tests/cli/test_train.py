"""``pyroclust train``: from a recipe to a guide, Ctrl-C, bad input."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import training_cases

from pyroclust import load_guide
from pyroclust.cli import main


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(training_cases.recipe(3))
    return path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["train", *arguments])
    return int(end.value.code or 0)


def test_trains_and_prints_figures(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(recipe), "--out", str(tmp_path / "out"), "--quick", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["steps"] == 3
    assert content["certificate"]["exact"][0]["mean_kl"] > 0
    assert load_guide(tmp_path / "out").model.name == "overlap2d"


def test_a_second_training_does_not_overwrite_the_first(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyroclust.infer import fit
    from pyroclust.recipes import read_recipe

    known = read_recipe(recipe)
    fit(known.model, known.build(), settings=known.training, folder=tmp_path, progress=False)
    assert run(str(recipe), "--out", str(tmp_path), "--quick") == 2
    assert "holds a checkpoint already; go on with --resume" in " ".join(capsys.readouterr().err.split())


def test_ctrl_c_leaves_a_usable_guide(recipe: Path, tmp_path: Path) -> None:
    recipe.write_text(training_cases.recipe(1_000_000, every=100_000))
    out = tmp_path / "out"
    # Checkpoints and logs after each step, not every 20 seconds: the log says when to interrupt.
    script = (
        "import sys; from pyroclust.cli import main; from pyroclust.infer.training import engine\n"
        "engine._CHECKPOINT_SECONDS = 0.0; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, "train", str(recipe), "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    log = out / "log.csv"
    while not (log.is_file() and log.stat().st_size > 0) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "is usable, --resume goes on" in error
    assert load_guide(out).posterior(torch.randn(5, 2)).sample().shape == (5,)
