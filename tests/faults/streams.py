"""Standard streams that are full, closed or read no further."""

import subprocess
import sys
from pathlib import Path

from faults.cases import Case


def _stream(name: str, arguments: str, streams: str, code: int, words: str = "") -> Case:
    """A command of the shell with its streams sent somewhere; it ends with a code and without a traceback."""

    def run(folder: Path) -> str:
        line = f'"{sys.executable}" -m pyroclust {arguments} {streams}'
        done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, f"exit code {done.returncode}, expected {code}: {done.stderr}"
        assert words in done.stderr, done.stderr
        return f"exit {code}"

    return Case("streams", name, f"exit {code}{'; says “' + words + '”' if words else ''}", run, slow=True)


_NO_SPACE = "No space left on device"

CASES = [
    _stream("the help into a full device", "--help", ">/dev/full", 2, _NO_SPACE),
    _stream("the version into a full device", "--version", ">/dev/full", 2, _NO_SPACE),
    _stream("the list of guides into a full device", "guides", ">/dev/full", 2, _NO_SPACE),
    _stream("the list of guides to a reader of one line", "guides", "| head -1", 0),
    _stream("no standard stream at all", "guides", "<&- >&- 2>&-", 0),
    _stream("errors into a full device", "compare no.csv", "2>/dev/full", 2),
]
