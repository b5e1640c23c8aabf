"""The command in a shell that knows ASCII alone."""

import os
import subprocess
import sys


def test_an_ascii_locale_is_enough(tmp_path):
    command = [sys.executable, "-m", "pyroclust", "cluster", "galaxies", "--out", "found"]
    short = ["--mcmc-draws", "10", "--warmup", "10", "--chains", "2"]
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [*command, *short], cwd=tmp_path, env=os.environ | ascii_only, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "found" / "report.html").exists()
    assert "Written" in done.stdout.decode("ascii")
