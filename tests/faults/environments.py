"""Environments that nobody wished for: variables, limits, no home, full streams, damaged machine code."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from faults.cases import Case, Run, table

CASES, _case, _ = table("environments")

_PYTHON = f'"{sys.executable}"'
_OPTIONS = "--guide filter-nig1d --draws 20 --mcmc-draws 20 --chains 2 --quiet --no-header --out out"
_TWICE = "from pyroclust.core.compiling import compiled\n\n@compiled\ndef twice(x):\n    return 2 * x\n"
_WRITES = (
    "import numpy as np; from pyroclust import to_arviz; "
    "to_arviz(np.zeros((1, 2, 3), int)).to_netcdf('draws.nc', engine='h5netcdf')"
)


def _run(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _compared(name: str, before: str = "", words: str = "", **variables: str) -> Case:
    """A comparison below a limit of the shell, or with variables; done, or refused with words."""

    def run(folder: Path) -> str:
        (folder / "t.csv").write_text("".join(f"{0.1 * k * (-1) ** k:.2f}\n" for k in range(1, 13)))
        done = _run(f"{before} {_PYTHON} -m pyroclust compare t.csv {_OPTIONS}", folder, **variables)
        assert done.returncode == (2 if words else 0), f"exit code {done.returncode}: {done.stderr}"
        assert words in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) <= 1, done.stderr
        assert (folder / "out" / "summary.json").exists() != bool(words)
        return done.stderr.strip() or "done"

    return _case(name, f"exit 2: “{words}”" if words else "exit 0", run, slow=True)


def _damaged(damage: Callable[[bytes], bytes]) -> Run:
    """Machine code on disk that is not what was written: it is compiled anew."""

    def run(folder: Path) -> str:
        (folder / "doubled.py").write_text(_TWICE)
        line, kept = f"{_PYTHON} -c 'from doubled import twice; print(twice(21))'", folder / "kept"
        kept.mkdir()
        assert _run(line, folder, NUMBA_CACHE_DIR=str(kept)).stdout == "42\n"
        files = list(kept.rglob("*.nbc"))
        assert files, "nothing was kept"
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
        done = _run(line, folder, NUMBA_CACHE_DIR=str(kept))
        assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
        return "compiled anew"

    return run


def _no_folders(folder: Path) -> str:
    """Write draws where neither a home nor any folder for caches can be."""
    names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "TMPDIR")
    done = _run(f'{_PYTHON} -c "{_WRITES}"', folder, **dict.fromkeys(names, "/dev/null"))
    assert done.returncode == 0, done.stderr
    assert "FutureWarning" not in done.stderr, done.stderr
    assert (folder / "draws.nc").stat().st_size
    return "draws.nc is written"


def _stream(name: str, arguments: str, code: int, words: str = "") -> Case:
    """A command of the shell with its streams sent somewhere; it ends with a code and without a traceback."""

    def run(folder: Path) -> str:
        done = _run(f"{_PYTHON} -m pyroclust {arguments}", folder)
        assert done.returncode == code, f"exit code {done.returncode}, expected {code}: {done.stderr}"
        assert words in done.stderr, done.stderr
        return f"exit {code}"

    return _case(name, f"exit {code}{'; says “' + words + '”' if words else ''}", run, slow=True)


_NO_SPACE = "No space left on device"
CASES += [
    _compared("NUMBA_NUM_THREADS=0", words="NUMBA_NUM_THREADS is 0, expected 1", NUMBA_NUM_THREADS="0"),
    _compared("NUMBA_DISABLE_JIT=1", words="NUMBA_DISABLE_JIT is set", NUMBA_DISABLE_JIT="1"),
    _compared("a folder that is gone", before="mkdir gone; cd gone; rmdir ../gone;", words="is gone: change"),
    _compared("MPLBACKEND names nothing", MPLBACKEND="nonsense"),
    _compared("NUMBA_CACHE_DIR cannot be written", NUMBA_CACHE_DIR="/proc/nowhere"),
    _compared("a shell that knows ASCII alone", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
    _compared("files of 32 kB at most", before="ulimit -f 32;", words="File too large"),
    _compared("too few open files", before="ulimit -n 32;"),
    *(
        _case(f"machine code on disk: {name}", "compiled anew", _damaged(damage), slow=True)
        for name, damage in (
            ("an empty file", lambda content: b""),
            ("every byte in its middle changed", lambda content: content[:200] + bytes(len(content) - 200)),
            ("no machine code at all", lambda content: b"\x80\x04nonsense" * 40),
        )
    ),
    _case("no home, and no folder for caches", "draws.nc is written", _no_folders, slow=True),
    _stream("the list of guides into a full device", "guides >/dev/full", 2, _NO_SPACE),
    _stream("the help into a full device", "--help >/dev/full", 2, _NO_SPACE),
    _stream("the list of guides to a reader of one line", "guides | head -1", 0),
    _stream("no standard stream at all", "guides <&- >&- 2>&-", 0),
    _stream("errors into a full device", "compare no.csv 2>/dev/full", 2),
]
