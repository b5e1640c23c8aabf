"""Recipes that are written for a table's own model: they are read again as that model, and train."""

import tomllib

import numpy as np
import pandas as pd
import pytest
import torch

from pyroclust.calibration import CertificateSettings
from pyroclust.cli import main
from pyroclust.models import FAMILIES, PRIORS, default_mixture, niw_mixture, standardised_mixture
from pyroclust.recipes import read_recipe, recipe_for, write_recipe
from pyroclust.saving.cards import read_card
from pyroclust.saving.guides import load_guide


@pytest.mark.parametrize("dim", [1, 3, 13])
@pytest.mark.parametrize(("family", "prior"), [(one, other) for one in FAMILIES for other in PRIORS])
def test_a_recipe_is_read_as_the_model_it_was_written_of(family, prior, dim, tmp_path):
    model = standardised_mixture(dim, family=family, prior=prior)
    path = tmp_path / "mine.toml"
    path.write_text(write_recipe(model, num_points=178, name='my "table"'), encoding="utf-8")
    found = read_recipe(path)
    guide = found.finished(found.build())
    assert guide.model == model
    assert (found.model == model) == (family not in ("normal", "diagonal"))
    assert found.training.max_points == 178
    assert found.about.endswith('of up to 178 points, as my "table"')
    assert found.build().model == found.model


@pytest.mark.parametrize(("num_points", "most"), [(2, 20), (300, 300), (40_000, 1000)])
def test_sizes_are_kept_within_what_is_worth_training(num_points, most):
    content = tomllib.loads(write_recipe(niw_mixture(2), num_points=num_points))
    assert content["training"]["max_points"] == most


@pytest.mark.parametrize("dim", [2, 3])
def test_the_models_of_the_shelf_get_the_networks_of_the_shelf(dim):
    written = tomllib.loads(write_recipe(niw_mixture(dim), num_points=500))
    shipped = read_recipe(f"ncp-niw{dim}d").content
    for table in ("model", "light", "order", "data"):
        assert written[table] == shipped[table]


def test_a_table_says_the_number_of_columns_and_rows():
    table = np.random.default_rng(0).standard_normal((60, 7))
    content = tomllib.loads(recipe_for(table, pca=5, family="nig", prior="gamma-crp", expected_clusters=4.0))
    assert content["model"]["component"] == {
        "class": "NormalInverseGamma", "dim": 5, "kappa": 0.08, "shape": 2.0, "rate": 0.2, "mean": 0.0,
    }  # fmt: skip
    assert content["training"]["max_points"] == 60
    model = standardised_mixture(5, family="nig", prior="gamma-crp", expected_clusters=4.0, num_points=60)
    assert content["model"]["prior"]["rate"] == model.prior.rate


def test_the_command_writes_a_recipe_that_trains(tmp_path, capsys, monkeypatch):
    nothing = classmethod(lambda cls: CertificateSettings.nothing())
    monkeypatch.setattr(CertificateSettings, "quick", nothing)
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).standard_normal((25, 6)))
    with pytest.raises(SystemExit) as end:
        main(["recipe", str(tmp_path / "wide.npy"), "--prior", "mfm"])
    assert end.value.code == 0
    quick = "[validation]\nnum_datasets = 2\nexact_points = 3\nsampled_points = 5\nnum_draws = 5\n"
    (tmp_path / "mine.toml").write_text(capsys.readouterr().out + quick, encoding="utf-8")
    folder = tmp_path / "mine"
    with pytest.raises(SystemExit) as end:
        main(["train", str(tmp_path / "mine.toml"), "--out", str(folder), "--max-steps", "2", "--quick"])
    assert end.value.code == 0
    assert load_guide(folder).model == standardised_mixture(6, prior="mfm")
    assert read_card(folder).max_points == 25


def test_what_cannot_be_is_refused_in_a_sentence(capsys):
    with pytest.raises(SystemExit) as end:
        main(["recipe", "iris", "--family", "gauss"])
    assert end.value.code == 2
    assert "unknown family 'gauss'" in capsys.readouterr().err


def test_a_table_of_several_kinds_with_gaps_has_a_recipe_of_its_own_model(tmp_path):
    frame = pd.DataFrame(
        {
            "age": [31.5, 29.2, 64.1, 58.7, None, 61.9],
            "visits": [0, 1, 7, 9, 0, 8],
            "smoker": ["no", "no", "yes", "yes", "no", None],
        }
    )
    (tmp_path / "mine.toml").write_text(recipe_for(frame, kinds={"visits": "count"}))
    recipe = read_recipe(tmp_path / "mine.toml")
    mean = float(frame["visits"].mean())
    columns = {"numbers": 1, "count_means": [mean], "yes_no": 1, "missing": True}
    guide = recipe.finished(recipe.build())
    assert guide.model == default_mixture(**columns)
    assert guide.fits_any_model
    assert guide.posterior(torch.tensor([[0.1, 2.0, 1.0], [torch.nan, 0.0, 0.0]])).sample().shape == (2,)
