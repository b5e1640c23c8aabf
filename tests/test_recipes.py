"""Recipes: reading, errors, and the way from a TOML file to a guide that loads."""

from pathlib import Path

import pytest
import torch

from pyroclust import load_guide
from pyroclust.infer.choices import HardStandardised
from pyroclust.nn import SummedScorer
from pyroclust.recipes import read_recipe, train_recipe

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))
TINY = """
about = "tiny"
[model]
name = "nig_mixture"
dim = 1
[light]
width = 8
num_bandwidths = 2
[order]
class = "DensestFirst"
bandwidth = 0.4
[training]
steps = 3
max_points = 8
[choice]
oversampling = 8
"""


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_shipped_recipes_build_the_guides_on_the_shelf(path: Path) -> None:
    recipe, shipped = read_recipe(path), load_guide(path.stem)
    built = recipe.build()
    assert recipe.about
    assert built.arguments == shipped.arguments
    assert {n: v.shape for n, v in built.state_dict().items()} == {
        n: v.shape for n, v in shipped.state_dict().items()
    }


def test_trains_measures_and_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyroclust import recipes

    small = {"num_exact": 4, "exact_points": 5, "num_sampled": 1, "sampled_points": (6,), "num_draws": 10}
    certify = recipes.certify
    monkeypatch.setattr(recipes, "certify", lambda model, guide: certify(model, guide, **small))
    (tmp_path / "tiny.toml").write_text(TINY)
    result, certificate = train_recipe(tmp_path / "tiny.toml", tmp_path / "out", max_steps=2, progress=False)
    guide = load_guide(tmp_path / "out")
    assert result.settings["steps"] == 2
    assert certificate.exact[0].num_datasets == 4
    assert not guide.training
    assert guide.posterior(torch.randn(5, 1)).sample((3,)).shape == (3, 5)
    assert (tmp_path / "out" / "log.csv").read_text().count("\n") == 3


def test_the_published_scorer_has_a_table_of_its_own(tmp_path: Path) -> None:
    text = TINY.replace("[light]\nwidth = 8\nnum_bandwidths = 2", "[published]\nwidth = 8\nsizes = [6, 7]")
    (tmp_path / "r.toml").write_text(text)
    assert isinstance(read_recipe(tmp_path / "r.toml").build().scorer, SummedScorer)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps", "stepz", "unknown key 'training.stepz', did you mean 'training.steps'"),
        ("nig_mixture", "nig_mixtur", "unknown model 'nig_mixtur', did you mean 'nig_mixture'"),
        ('class = "DensestFirst"', "", "lacks or garbles an entry"),
        ("[order]", "[order", "not valid TOML"),
        ("steps = 3", 'steps = "many"', "lacks or garbles an entry"),
        ("width", "wide", "unknown key 'light.wide', did you mean 'light.width'"),
    ],
)
def test_bad_recipes_are_explained(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(TINY.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_recipe(path)


def test_a_missing_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no recipe"):
        read_recipe(tmp_path / "none.toml")


def test_choice_keeps_half_plain_and_half_standardised() -> None:
    torch.manual_seed(0)
    data = torch.randn(64, 50, 1) * torch.linspace(0.1, 6, 64).view(-1, 1, 1)
    kept = HardStandardised(8, hardness=2)(data, 8)
    assert kept[:4].tolist() == [0, 1, 2, 3]
    assert (data[kept[4:]].std(1).log().abs() < 0.7).all()
    with pytest.raises(ValueError, match="oversampling and hardness are 1 and 4"):
        HardStandardised(1)


def test_choice_learns_which_data_sets_are_hard() -> None:
    """Losses that grow with the spread of the points make it keep spread-out data sets."""
    torch.manual_seed(0)
    clumped = torch.cat([torch.full((40, 1), -1.0), torch.ones(40, 1)]) + 0.01 * torch.randn(64, 80, 1)
    clumped *= 1 + 0.1 * torch.randn(64, 1, 1)
    data = torch.cat([clumped, torch.randn(64, 80, 1)])[torch.randperm(128)]
    spread = data.abs().std(1).squeeze(-1)
    choice = HardStandardised(16, hardness=4)
    for _ in range(20):
        choice.learn(80 * spread[choice(data, 8)])
    hard = choice(data[torch.argsort(spread)], 8)[4:]
    assert (hard >= 64).all()
