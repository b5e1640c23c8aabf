"""Every example runs from another directory, in a small setting, and writes its figure."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {
    "asking": ["--answers", "2", "--draws", "40", "--repeats", "1"],
    "cluster_a_graph": ["--draws", "100"],
    "cluster_handwriting": ["--images", "30", "--draws", "40"],
    "cluster_spikes": ["--spikes", "40", "--draws", "40"],
    "clusters_beyond_training": ["--steps", "10", "--width", "16", "--sets", "2"],
    "filter_curved_clusters": ["--points", "150"],
    "compare_galaxies": ["--draws", "50", "--guide", "filter-nig1d"],
    "deep_digits": ["--steps", "60", "--width", "16", "--images", "80", "--draws", "80"],
    "fine_tune": ["--datasets", "2", "--points", "5", "--steps", "2", "--particles", "4"],
    "forest_digits": ["--steps", "2", "--draws", "10"],
    "pairs_of_digits": ["--forms", "1", "--draws", "30"],
    "forest_shapes": ["--points", "40", "--pairs", "6", "--draws", "30"],
    "posterior_predictive": ["--draws", "40"],
    "prior_of_tables": ["--datasets", "1"],
    "prior_predictive": ["--datasets", "1"],
    "prior_sensitivity": ["--steps", "10", "--draws", "50"],
    "train_and_compare": ["--steps", "20"],
}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_writes_its_figure(path, tmp_path, monkeypatch):
    figure = tmp_path / "figure.png"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), "--out", str(figure), *SMALL.get(path.stem, [])])
    runpy.run_path(str(path), run_name="__main__")
    assert figure.stat().st_size > 5_000
