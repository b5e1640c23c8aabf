"""Several processes: two on one machine follow one process with the doubled batch."""

import csv
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from training_cases import TINY, run

SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
import torch
torch.set_num_threads(1)
from training_cases import run
import os
folder = Path(sys.argv[1])
weights, _ = run(folder, **eval(sys.argv[2]))
torch.save(weights, folder / f"weights{{os.environ['RANK']}}.pt")
"""


def losses(folder: Path) -> list[float]:
    with (folder / "log.csv").open() as stream:
        return [float(row["nats_per_point"]) for row in csv.DictReader(stream)]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def two_processes(folder: Path, *, arguments: str) -> None:
    script = folder / "train.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parents[2])))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    launcher += ["--master-addr", "127.0.0.1", "--master-port", str(free_port())]
    subprocess.run([*launcher, str(script), str(folder), arguments], check=True, timeout=240)


def test_two_gloo_processes_follow_one_with_the_doubled_batch(tmp_path: Path) -> None:
    two, one = tmp_path / "two", tmp_path / "one"
    two.mkdir()
    two_processes(two, arguments="{}")
    weights, result = run(one, settings=replace(TINY, batches_per_step=2))
    assert losses(two) == pytest.approx(losses(one), rel=1e-4)
    first, second = (torch.load(two / f"weights{rank}.pt") for rank in range(2))
    for name, value in weights.items():
        assert torch.equal(first[name], second[name])
        torch.testing.assert_close(first[name], value, rtol=1e-3, atol=1e-4)
    _, single = run(tmp_path / "single")
    assert losses(two) != pytest.approx(losses(tmp_path / "single"), rel=1e-2)
    assert result.num_datasets == 2 * single.num_datasets
