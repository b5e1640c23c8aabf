"""Several processes: two on one machine follow one process with the doubled batch."""

import csv
import os
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
    """Start two as torchrun does, whose own process takes as long to start as each of them."""
    script = folder / "train.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parents[2])))
    both = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    both |= {"LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "TORCHELASTIC_RUN_ID": "none"}
    command = [sys.executable, str(script), str(folder), arguments]
    ranks = [
        subprocess.Popen(command, env=os.environ | both | {"RANK": rank, "LOCAL_RANK": rank}) for rank in "01"
    ]
    try:
        assert [one.wait(timeout=240) for one in ranks] == [0, 0]
    finally:
        for one in ranks:
            one.kill()


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
