"""A table of 8,000 rows is compared like any other, without a number for every pair of rows."""

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from pyroclust import Analysis, compare, read_table

ROWS = 8000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(ROWS, 2)) + 6.0 * rng.integers(3, size=(ROWS, 1))


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """Write bytes to a list: the most that the process took in the block above what it keeps after it.

    Linux knows without looking at every allocation, which doubles the time.
    """
    found: list[int] = []
    reset, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    try:
        reset.write_text("5")
    except OSError:
        tracemalloc.start()
        yield found
        now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        found.append(peak - now)
        return
    yield found
    sizes = dict(line.split(":", 1) for line in status.read_text().splitlines())
    peak, now = (1024 * int(sizes[name].split()[0]) for name in ("VmHWM", "VmRSS"))
    found.append(peak - now)


def test_thousands_of_rows_are_compared_without_a_matrix_of_pairs(table, tmp_path):
    with peak_memory() as taken:
        result = compare(table, num_draws=10, mcmc_draws=10, num_chains=2, warmup=20, out=tmp_path / "out")
    assert taken[0] < 8 * ROWS**2
    assert result.guide.name == "ncp-normal2d on 200 anchors"
    assert result.summary("guide").co_assignment.shape == (2000, 2000)
    labels = result.draws["mcmc"].assignments
    with h5py.File(tmp_path / "out" / "draws.nc") as file:
        assert file["posterior/assignments"].dtype == np.int8
        assert file["posterior/assignments"].compression == "gzip"
    again = Analysis.read(tmp_path / "out").draws["mcmc"].assignments
    assert again.dtype == np.int32
    np.testing.assert_array_equal(again, labels)
    assert len(result.reference.estimate.uncertainty) == ROWS
    assert result.failures == []
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for said in ("2,000 of the 8,000 rows", "at most 343 million times", "among 2,000 of 8,000"):
        assert said in page
    assert len((tmp_path / "out" / "assignments.csv").read_text(encoding="utf-8").splitlines()) == ROWS + 1
    assert (tmp_path / "out" / "draws.nc").stat().st_size < 8 * ROWS**2


READS = """
import resource, sys
from pathlib import Path
import pyroclust
from pyroclust.data.tables import standardise
few, wide = sys.argv[1:]
standardise(pyroclust.read_table(few, columns=["x7", "x3"]))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
limit = 1024 * int(status["VmSize"].split()[0]) + Path(wide).stat().st_size * 3 // 4
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
points = standardise(pyroclust.read_table(wide, columns=["x7", "x3"]))
print(*points.location.tolist())
pyroclust.read_table(wide)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="limits of memory are those of Linux")
def test_of_a_file_that_does_not_fit_into_memory_columns_are_read(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300_000, 60)), columns=[f"x{place}" for place in range(60)])
    frame.to_parquet(tmp_path / "wide.parquet")
    frame.head(1000).to_parquet(tmp_path / "few.parquet")
    command = [sys.executable, "-c", READS, tmp_path / "few.parquet", tmp_path / "wide.parquet"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert list(map(float, run.stdout.split())) == pytest.approx(frame[["x7", "x3"]].mean().tolist())
    assert "the 300,000 rows of" in run.stderr
    assert "take fewer rows" in run.stderr
    with pytest.raises(ValueError, match="x61"):
        read_table(tmp_path / "few.parquet", columns=["x7", "x61"])
