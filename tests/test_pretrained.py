"""Guides in folders and on the shelf; damaged ones are cases of tests/faults/cards.py and disks.py."""

from pathlib import Path

import pytest
import torch
from cases import points_for

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    NormalKnownVariance,
)
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.models import Mixture, gaussian2d, niw_mixture
from pyroclust.nn import DensestFirst
from pyroclust.saving.cards import find_guide, list_guides, read_card
from pyroclust.saving.guides import load_guide, save_guide
from pyroclust.saving.models import describe_model


def new_guide() -> NeuralClusteringProcess:
    guide = NeuralClusteringProcess(niw_mixture(2), order=DensestFirst(0.37))
    with torch.no_grad():
        for weight in guide.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return guide


@pytest.fixture
def folder(tmp_path) -> Path:
    save_guide(
        new_guide(), tmp_path / "mine", card={"about": "a test", "max_points": 50, "seeds": {"weights": 3}}
    )
    return tmp_path / "mine"


def test_card_records_everything(folder):
    card = read_card(folder)
    assert (card.guide_class, card.model, card.model_arguments) == (
        "NeuralClusteringProcess",
        "niw_mixture",
        {"dim": 2},
    )
    assert (card.about, card.max_points, card.seeds) == ("a test", 50, {"weights": 3})
    assert set(card.versions) >= {"pyroclust", "torch"}


def test_loading_leaves_the_random_state_alone(folder):
    before = torch.random.get_rng_state()
    load_guide(folder)
    assert torch.equal(before, torch.random.get_rng_state())


def test_every_guide_on_the_shelf_loads_and_samples():
    for card in list_guides():
        guide = load_guide(card.name)
        assert guide.model.name == card.model
        if guide.conditions:
            guide = guide.condition(**dict.fromkeys(guide.conditions, 2.0))
        draws, log_prob = guide.posterior(points_for(guide.model, 9)).sample_and_log_prob((4,))
        assert draws.shape == (4, 9)
        assert torch.isfinite(log_prob).all()


def test_models_on_the_shelf_are_described_as_their_cards_say():
    for card in list_guides():
        model = load_guide(card.name).model
        described = describe_model(model)
        assert described == {"name": card.model, "arguments": card.model_arguments}
        assert card.dim is None or model.event_shape == (card.dim,)


def test_a_fine_tuned_network_comes_back(tmp_path):
    trained, model = new_guide(), niw_mixture(2).given({"concentration": 3.0})
    tuned = NeuralClusteringProcess(model, order=DensestFirst(0.37)).eval()
    tuned.load_state_dict(trained.state_dict())
    save_guide(tuned, tmp_path / "mine")
    card, again = read_card(tmp_path / "mine"), load_guide(tmp_path / "mine")
    assert (card.model, card.model_arguments) == ("niw_mixture", {"dim": 2, "concentration": 3.0})
    data, order = torch.randn(3, 12, 2), torch.randperm(12)
    draws = again.posterior(data).sample((2,))
    found, expected = (g.posterior(data, order=order).log_prob(draws) for g in (again, tuned))
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


OTHERS = {
    "prior": gaussian2d().given({"concentration": 1.5}),
    "component": gaussian2d().given({"prior_scale": 1.5}),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("kind", [PredictiveFilter, NeuralClusteringProcess])
def test_a_filter_of_another_model_is_not_saved(tmp_path, kind, other):
    guide = kind(gaussian2d())
    guide.model = other
    with pytest.raises(ValueError, match=r"was made of another .* than that of the guide's model"):
        save_guide(guide, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_guide_whose_weights_its_arguments_do_not_make_is_not_saved(tmp_path):
    guide = new_guide()
    guide.scorer.to_open = torch.nn.Linear(guide.scorer.width, 1, bias=False)
    with pytest.raises(ValueError, match=r"does not fit its card \(missing: scorer.to_open.bias"):
        save_guide(guide, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_name_of_the_shelf_comes_before_a_folder(tmp_path, monkeypatch):
    (tmp_path / "filter-nig1d").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_guide("filter-nig1d").parent == find_guide("filter-niw2d").parent
    assert find_guide("./filter-nig1d").resolve() == tmp_path.resolve() / "filter-nig1d"


def test_unknown_name_offers_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'filter-nig1d'"):
        find_guide("filter-nig1")


def test_only_what_can_be_built_again_is_saved(tmp_path):
    own = Mixture(ChineseRestaurantPrior(0.7), _OwnFamily(2, 5.0), name="mine")
    with pytest.raises(ValueError, match=r"component is of class '_OwnFamily' .* not registered"):
        save_guide(PredictiveFilter(own), tmp_path / "a")
    with pytest.raises(ValueError, match="guide is a Linear, expected a guide"):
        save_guide(torch.nn.Linear(1, 1), tmp_path / "a")
    with pytest.raises(ValueError, match="unknown entry 'sedes', did you mean 'seeds'"):
        save_guide(PredictiveFilter(gaussian2d()), tmp_path / "a", card={"sedes": 1})
    assert not (tmp_path / "a").exists()


class _OwnFamily(NormalKnownVariance):
    pass
