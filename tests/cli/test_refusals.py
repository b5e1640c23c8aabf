"""How a command is refused; what is refused, and in which words, are cases of tests/faults/commands.py."""

import subprocess
import sys

import numpy as np
import pytest

from pyroclust.cli import main

EARLY = [
    "compare nosuch.csv",
    "compare iris --columns petal",
    "compare galaxies --guide nosuch",
    "diagnose one.npy",
    "diagnose good.npy --data nosuch.csv",
]


def test_bad_input_is_refused_before_torch_is_loaded(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros(5, dtype=int))
    np.save(tmp_path / "good.npy", np.random.default_rng(0).integers(3, size=(2, 20, 6)))
    script = (
        "import sys\nfrom pyroclust.cli import main\n"
        f"for command in {EARLY}:\n"
        "    try:\n        main(command.split())\n"
        "    except SystemExit as end:\n        assert end.code == 2\n"
        "    assert not {'torch', 'pyro'} & set(sys.modules), command"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stderr=subprocess.PIPE, cwd=tmp_path)


def test_traceback_on_request(monkeypatch):
    monkeypatch.setenv("PYROCLUST_TRACEBACK", "1")
    with pytest.raises(ValueError, match="unknown data set"):
        main(["compare", "galaxy"])
