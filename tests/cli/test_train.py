"""``pyroclust train``: from a recipe to a guide; Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import training_cases
from faults.cases import run_command

from pyroclust import load_guide


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(training_cases.recipe(3))
    return path


def test_trains_and_prints_figures(recipe: Path, tmp_path: Path) -> None:
    code, out, err = run_command(["train", str(recipe), "--out", str(tmp_path / "out"), "--quick", "--json"])
    assert code == 0, err
    content = json.loads(out)
    assert content["steps"] == 3
    assert content["certificate"]["exact"][0]["mean_kl"] > 0
    assert load_guide(tmp_path / "out").model.name == "overlap2d"


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
