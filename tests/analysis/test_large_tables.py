"""A table of 7,000 rows is compared like any other, without a number for every pair of rows."""

import tracemalloc

import numpy as np
import pytest

from pyroclust import compare

ROWS = 7000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(ROWS, 2)) + 6.0 * rng.integers(3, size=(ROWS, 1))


def test_thousands_of_rows_are_compared_without_a_matrix_of_pairs(table, tmp_path, monkeypatch):
    # Draws of 199 simulations would take longer than all the rest, and are tested elsewhere.
    monkeypatch.setattr("pyroclust.calibration.training_world._SIMULATIONS", 39)
    tracemalloc.start()
    try:
        result = compare(table, num_draws=10, mcmc_draws=10, num_chains=2, warmup=20, out=tmp_path / "out")
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # What is left at the end are results, and modules that were imported.
    assert peak - now < 8 * ROWS**2
    summary = result.summary
    assert summary.comparison.guide_name == "ncp-niw2d on 200 anchors"
    assert summary.guide.co_assignment.shape == (2000, 2000)
    assert len(summary.reference.estimate.uncertainty) == ROWS
    assert summary.failures == ()
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for said in ("2,000 of the 7,000 rows", "at most 357 million times", "among 2,000 of 7,000"):
        assert said in page
    assert len((tmp_path / "out" / "assignments.csv").read_text(encoding="utf-8").splitlines()) == ROWS + 1
    assert (tmp_path / "out" / "draws.nc").stat().st_size < 8 * ROWS**2
