"""Posteriors of the number of components and of clusters that others have published."""

import importlib
from pathlib import Path

import numpy as np
import pytest

# Of a mean of batches: Student's t with 39 degrees of freedom is beyond this once in 100,000 times.
DEVIATIONS = 5.0


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    return importlib.import_module("published_posteriors")


# The reference of the eyes made 100,000 sweeps: it has a Monte Carlo error, too.
@pytest.mark.parametrize(("name", "their_sweeps"), [("eyes", 100_000), ("galaxies", np.inf)])
@pytest.mark.parametrize("num_draws", [400, pytest.param(5000, marks=pytest.mark.prove)])
def test_published_figures_come_out(script, name, their_sweeps, num_draws):
    published = script.PUBLISHED[name]
    model, data = published.build()
    draws = script.draw(model, data, num_draws=num_draws, seed=1)
    means, errors = script.batch_means(published.figures(model, draws))
    errors *= np.sqrt(1 + draws.assignments[..., 0].size * script.SWEEPS / their_sweeps)
    rounding = np.where(np.array(published.values) > 1, 0.005, 0.0005)
    assert (abs(means - published.values) < DEVIATIONS * errors + rounding).all()
