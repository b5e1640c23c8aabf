"""Environment variables of others, small limits of the shell, and machine code that is damaged."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from faults.cases import Case

_COMPARE = (
    "compare t.csv --guide filter-nig1d --draws 20 --mcmc-draws 20 --chains 2 --quiet --no-header --out out"
)
_TABLE = "\n".join(f"{0.1 * k * (-1) ** k:.2f}" for k in range(1, 13)) + "\n"
_TWICE = "from pyroclust.core.compiling import compiled\n\n@compiled\ndef twice(x):\n    return 2 * x\n"


def _run(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _compared(name: str, before: str = "", words: str = "", **variables: str) -> Case:
    """A comparison below a limit of the shell, or with variables; done, or refused with words."""

    def run(folder: Path) -> str:
        (folder / "t.csv").write_text(_TABLE)
        done = _run(f'{before} "{sys.executable}" -m pyroclust {_COMPARE}', folder, **variables)
        assert done.returncode == (2 if words else 0), f"exit code {done.returncode}: {done.stderr}"
        assert words in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) <= 1, done.stderr
        assert (folder / "out" / "summary.json").exists() != bool(words)
        return done.stderr.strip() or "done"

    return Case("environments", name, f"exit 2: “{words}”" if words else "exit 0", run, slow=True)


def _damaged(name: str, damage: Callable[[bytes], bytes]) -> Case:
    """Machine code on disk that is not what was written: it is compiled anew."""

    def run(folder: Path) -> str:
        (folder / "doubled.py").write_text(_TWICE)
        line = f"\"{sys.executable}\" -c 'from doubled import twice; print(twice(21))'"
        kept = folder / "kept"
        kept.mkdir()
        assert _run(line, folder, NUMBA_CACHE_DIR=str(kept)).stdout == "42\n"
        files = list(kept.rglob("*.nbc"))
        assert files, "nothing was kept"
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
        done = _run(line, folder, NUMBA_CACHE_DIR=str(kept))
        assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
        return "compiled anew"

    return Case("environments", f"machine code on disk: {name}", "compiled anew", run, slow=True)


CASES = [
    _compared(
        "NUMBA_NUM_THREADS=0", words="NUMBA_NUM_THREADS is 0, expected 1 or more", NUMBA_NUM_THREADS="0"
    ),
    _compared("NUMBA_DISABLE_JIT=1", words="NUMBA_DISABLE_JIT is set", NUMBA_DISABLE_JIT="1"),
    _compared("a folder that is gone", before="mkdir gone; cd gone; rmdir ../gone;", words="is gone: change"),
    _compared("MPLBACKEND names nothing", MPLBACKEND="nonsense"),
    _compared("NUMBA_CACHE_DIR cannot be written", NUMBA_CACHE_DIR="/proc/nowhere"),
    _compared("a shell that knows ASCII alone", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
    _compared("files of 32 kB at most", before="ulimit -f 32;", words="File too large"),
    _compared("too few open files", before="ulimit -n 32;"),
    _damaged("an empty file", lambda content: b""),
    _damaged("cut off", lambda content: content[: len(content) // 2]),
    _damaged("every byte in its middle changed", lambda content: content[:200] + bytes(len(content) - 200)),
    _damaged("no machine code at all", lambda content: b"\x80\x04nonsense" * 40),
]
