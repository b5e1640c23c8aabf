"""Installations and environments that nobody wished for: no home, no cache, other streams."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from faults.cases import Case

_WRITES = """
import numpy as np
from pyroclust import to_arviz
to_arviz(np.array([[[0, 0, 1], [0, 1, 1]]])).to_netcdf("draws.nc", engine="h5netcdf")
"""


def _without(folders: Mapping[str, str], name: str) -> Case:
    def run(folder: Path) -> str:
        kept = {one: value for one, value in os.environ.items() if not one.startswith(("XDG_", "MPL"))}
        done = subprocess.run(
            [sys.executable, "-c", _WRITES],
            cwd=folder,
            env={**kept, "MPLBACKEND": "Agg", **folders},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "FutureWarning" not in done.stderr, done.stderr
        assert (folder / "draws.nc").stat().st_size
        return "draws.nc is written"

    return Case("installations", name, "draws.nc is written", run, slow=True)


CASES = [
    _without({"HOME": "/dev/null"}, "draws are written where HOME is no folder"),
    _without(
        dict.fromkeys(("HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR", "TMPDIR"), "/dev/null"),
        "draws are written where no cache folder can be",
    ),
]
