"""The guides on the shelf: each carries a certificate, and beats the exact filter on fresh data."""

import pytest
import torch

from pyroclust import load_guide
from pyroclust.cards import list_guides
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import certify

TRAINED = [card.name for card in list_guides() if card.weights_sha256]


def test_the_promised_guides_are_there() -> None:
    assert {"ncp-gaussian2d", "ncp-overlap2d", "ncp-nig1d", "ncp-niw2d"} <= set(TRAINED)


@pytest.mark.parametrize("name", TRAINED)
def test_card_tells_recipe_seeds_and_figures(name: str) -> None:
    card = next(card for card in list_guides() if card.name == name)
    assert card.about
    assert card.max_points == 300
    assert card.recipe["training"]["steps"] > 0
    assert set(card.seeds) == {"weights", "training"}
    assert card.certificate["exact"][0]["num_points"] == 8
    assert [row["num_points"] for row in card.certificate["sampled"]] == [20, 50, 100]


@torch.no_grad()
@pytest.mark.parametrize("name", TRAINED)
def test_guide_beats_the_filter_on_fresh_data(name: str) -> None:
    guide = load_guide(name)
    sizes = {"num_exact": 80, "exact_points": 7, "num_sampled": 16, "sampled_points": (50,), "num_draws": 200}
    ours, baseline = (
        certify(guide.model, candidate, seed=77, **sizes)
        for candidate in (guide, PredictiveFilter(guide.model))
    )
    assert ours.exact[0].mean_kl < 0.6 * baseline.exact[0].mean_kl
    assert ours.sampled[0].median_efficiency > baseline.sampled[0].median_efficiency
    assert ours.sampled[0].log_prob_truth > baseline.sampled[0].log_prob_truth
