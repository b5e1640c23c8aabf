"""Every guide on the shelf works in ``compare`` on data of its dimension."""

import json

import networkx
import numpy as np
import pytest
import torch
from cases import points_for, some_of
from quick_comparisons import quick_comparisons  # noqa: F401  (a fixture of every test here)

from pyroclust import compare
from pyroclust.distributions.protocols import is_of_graphs
from pyroclust.saving.cards import list_guides
from pyroclust.saving.guides import load_guide

SETTINGS = {"num_draws": 20, "num_chains": 1, "mcmc_draws": 20, "warmup": 20}


def kind_of(card):
    """Return what bears on a comparison: classes of guide and scorer, conditions, graphs for points."""
    scorer = card.arguments.get("scorer", {}).get("class")
    return card.guide_class, scorer, "conditions" in card.arguments, card.dim is None


# One of each kind; what the others draw is stored.
CARDS = {card.name: card for card in list_guides()}
ONE_OF_EACH = {kind_of(card): (name,) for name, card in CARDS.items()}.values()


@pytest.mark.parametrize("name", some_of([(name,) for name in CARDS], ONE_OF_EACH))
def test_every_guide_compares(name):
    guide = load_guide(name)
    torch.manual_seed(0)
    points = points_for(guide.model, 10).numpy()
    points = networkx.from_numpy_array(points) if is_of_graphs(guide.model) else points
    told = {name: 1.0 for name in getattr(guide, "conditions", ())}
    result = compare(points, guide=name, conditions=told, **SETTINGS)
    assert result.draws["guide"].assignments.shape == (1, 20, 10)
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
