"""Cards of format version 1 load as ever: those of the shelf, and one of every kind that could be saved."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors import torch as safetensors
from saved_guides import GUIDES, make

from pyroclust.guides.base import parts_of
from pyroclust.saving.cards import CARD_FILE, WEIGHTS_FILE, modernised, read_card, shelf
from pyroclust.saving.codec import describe
from pyroclust.saving.guides import load_guide, save_guide
from pyroclust.saving.models import describe_model

OLD = Path(__file__).parent / "version_1"
CARDS = json.loads((OLD / "cards.json").read_text())
SHELF = json.loads((OLD / "shelf.json").read_text())


def described(guide):
    return describe(guide, where="guide", context=parts_of(guide.model)), describe_model(guide.model)


@pytest.mark.parametrize("name", SHELF)
def test_old_cards_of_the_shelf_give_the_guides_of_the_shelf(name, tmp_path):
    shutil.copytree(shelf() / name, tmp_path / name)
    (tmp_path / name / CARD_FILE).write_text(json.dumps(SHELF[name]))
    old, new = load_guide(tmp_path / name), load_guide(name)
    assert described(old) == described(new)
    assert all(torch.equal(one, new.state_dict()[key]) for key, one in old.state_dict().items())
    card, today = read_card(tmp_path / name), read_card(shelf() / name)
    assert (card.dim, card.arguments, card.model_arguments) == (
        today.dim,
        today.arguments,
        today.model_arguments,
    )


@pytest.mark.parametrize("name", CARDS)
def test_old_cards_of_every_kind_give_the_guide_that_was_saved(name, tmp_path):
    guide, card = make(name), CARDS[name]
    state = {key: one.contiguous().clone() for key, one in guide.state_dict().items()}
    if state:
        (tmp_path / WEIGHTS_FILE).write_bytes(safetensors.save(state))
        card = card | {
            "weights": {"sha256": hashlib.sha256((tmp_path / WEIGHTS_FILE).read_bytes()).hexdigest()}
        }
    (tmp_path / CARD_FILE).write_text(json.dumps(card))
    old = load_guide(tmp_path)
    assert described(old)[0] == described(guide)[0]
    save_guide(old, tmp_path / "again")
    assert described(load_guide(tmp_path / "again")) == described(old)
    same_draws(guide, old)


def test_parts_in_lists_take_todays_form_too():
    old = {"class": "Product", "parts": [{"class": "BernoulliBeta", "dim": 2}]}
    parts = [{"class": "BernoulliBeta", "arguments": {"dim": 2}}]
    assert modernised(old) == {"class": "Product", "arguments": {"parts": parts}}


def same_draws(guide, again):
    torch.manual_seed(3)
    values = dict.fromkeys(guide.conditions, 2.0)
    event = guide.model.event_shape
    # Rows of a batch of hyperparameters need as many data sets.
    data = torch.rand(2, 5, *event).round()
    found = []
    for one in (guide, again):
        one = one.condition(**values) if values else one
        torch.manual_seed(4)
        draws, log_prob = one.posterior(data).sample_and_log_prob((3,))
        found += [(draws, log_prob)]
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)


@pytest.mark.parametrize("name", GUIDES)
def test_every_kind_of_guide_comes_back(name, tmp_path):
    guide = make(name)
    save_guide(guide, tmp_path / "guide")
    again = load_guide(tmp_path / "guide")
    assert described(again)[0] == described(guide)[0]
    assert all(torch.equal(one, again.state_dict()[key]) for key, one in guide.state_dict().items())
    assert json.loads((tmp_path / "guide" / CARD_FILE).read_text())["format_version"] == 2
    same_draws(guide, again)
