"""Every guide on the shelf works in ``compare`` on data of its dimension."""

import json

import networkx
import numpy as np
import pytest
import torch
from cases import points_for
from quick_comparisons import quick_comparisons  # noqa: F401  (a fixture of every test here)

from pyroclust import compare
from pyroclust.protocols import is_of_graphs
from pyroclust.saving.cards import list_guides
from pyroclust.saving.guides import load_guide

SETTINGS = {"num_draws": 20, "num_chains": 1, "mcmc_draws": 20, "warmup": 20}


@pytest.mark.parametrize("card", list_guides(), ids=lambda card: card.name)
def test_every_guide_compares(card):
    guide = load_guide(card.name)
    torch.manual_seed(0)
    points = points_for(guide.model, 16).numpy()
    points = networkx.from_numpy_array(points) if is_of_graphs(guide.model) else points
    told = {name: 1.0 for name in getattr(guide, "conditions", ())}
    result = compare(points, guide=card.name, conditions=told, **SETTINGS)
    assert result.draws["guide"].assignments.shape == (1, 20, 16)
    assert np.isfinite(result.draws["guide"].log_prob).all()
    assert result.verdict.sentence


@pytest.mark.parametrize("name", ["ccp-gaussian2d", "ncp-warped2d"])
def test_files_where_log_q_is_estimated_and_where_there_is_no_likelihood(name, tmp_path):
    points = np.random.default_rng(0).standard_normal((16, 2))
    result = compare(points, guide=name, out=tmp_path / "out", **SETTINGS)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "assignments.csv",
        "clusters.csv",
        "draws.nc",
        "report.html",
        "summary.json",
    ]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["guide"] == name
    assert summary["verdict"]["sentence"] == result.verdict.sentence
