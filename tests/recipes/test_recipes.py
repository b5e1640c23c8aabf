"""Recipes: reading, errors, and the way from a TOML file to a guide that loads."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from pyroclust import compare, load_guide
from pyroclust.calibration.certifying import CertificateSettings
from pyroclust.diagnostics import Trust
from pyroclust.nn import SummedScorer
from pyroclust.recipes import list_recipes, read_recipe
from pyroclust.recipes.training_runs import train_recipe
from pyroclust.saving.cards import read_card
from pyroclust.saving.guides import describe_guide

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
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


# Guides of one collection of data, which nobody but its owner needs, are not on the shelf.
OF_DATA = {"deep-digits", "few-labels-digits"}


@pytest.mark.parametrize(
    "path", [one for one in RECIPES if one.stem not in OF_DATA], ids=lambda path: path.stem
)
def test_shipped_recipes_build_the_guides_on_the_shelf(path: Path) -> None:
    recipe, shipped = read_recipe(path), load_guide(path.stem)
    built = recipe.finished(recipe.build())
    assert recipe.about
    assert describe_guide(built) == describe_guide(shipped)
    assert {n: v.shape for n, v in built.state_dict().items()} == {
        n: v.shape for n, v in shipped.state_dict().items()
    }


SMALL = CertificateSettings(
    num_exact=4,
    exact_points=5,
    num_sampled=1,
    sampled_points=(6,),
    num_draws=10,
    num_truths=2,
    num_calibrated=0,
    num_ordered=0,
    num_timed=0,
)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def test_trains_measures_and_saves(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = train_recipe(tiny, out, max_steps=2, progress=False, certificate=SMALL)
    again = load_guide(out)
    assert first.result.steps == 2
    assert first.certificate is not None
    assert first.certificate.exact[0].num_datasets == 4
    assert read_card(out).certificate["exact"][0]["num_datasets"] == 4
    assert read_card(out).recipe["trained"]["steps"] == 2
    assert not again.training
    assert again.posterior(torch.randn(5, 1)).sample((3,)).shape == (3, 5)
    assert (out / "log.csv").read_text().count("\n") == 3
    assert (out / "training.png").read_bytes()[1:4] == b"PNG"


def test_resumes_to_the_same_guide(tiny: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train_recipe(tiny, whole, progress=False, certificate=SMALL)
    train_recipe(tiny, parts, max_steps=1, progress=False, certificate=SMALL)
    train_recipe(parts / "recipe.toml", parts, resume=True, progress=False, certificate=SMALL)
    assert (whole / "weights.safetensors").read_bytes() == (parts / "weights.safetensors").read_bytes()
    with pytest.raises(ValueError, match="holds a checkpoint already"):
        train_recipe(tiny, parts, progress=False)
    tiny.write_text(TINY.replace("width = 8", "width = 9"))
    with pytest.raises(ValueError, match="holds a training of another recipe"):
        train_recipe(tiny, parts, resume=True, progress=False)


def test_starts_from_an_existing_guide(tiny: Path, tmp_path: Path, monkeypatch) -> None:
    # A recipe names nothing that lies outside of the working folder.
    monkeypatch.chdir(tmp_path)
    train_recipe(tiny, tmp_path / "first", progress=False, certificate=SMALL)
    start = tmp_path / "start.toml"
    start.write_text(
        """
        [model]
        name = "nig_mixture"
        dim = 1
        kappa = 0.4
        [start]
        guide = "first"
        [training]
        steps = 2
        max_points = 8
        """
    )
    recipe = read_recipe(start)
    first, new = load_guide(tmp_path / "first"), recipe.build()
    assert (new.model.component.kappa, first.model.component.kappa) == (0.4, 0.08)
    assert torch.equal(new.scorer.head[2].weight, first.scorer.head[2].weight)
    train_recipe(start, tmp_path / "second", progress=False, certificate=SMALL)
    assert load_guide(tmp_path / "second").model.component.kappa == 0.4


def test_a_latent_is_added_to_memberships_that_had_none(tmp_path: Path) -> None:
    shipped = read_recipe("dacx-mog")
    first, again = shipped.build(), shipped.build()
    old = load_guide("dac-mog")
    assert (first.network.num_values, first.every_round, old.network.num_values) == (8, True, 0)
    assert torch.equal(first.network.embed.weight, old.network.embed.weight)
    assert all(torch.equal(*pair) for pair in zip(first.parameters(), again.parameters(), strict=True))
    text = Path("recipes/dacx-mog.toml").read_text().replace('"dac-mog"', '"ccx-mog"')
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ValueError, match="num_values is 8 for a ClusterwiseClusteringProcess, expected"):
        read_recipe(tmp_path / "wrong.toml").build()


def test_a_guide_with_conditions(tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(
        """
        [model]
        name = "sensitivity2d"
        [guide]
        conditions = ["concentration", "prior_scale"]
        [light]
        width = 8
        [training]
        steps = 2
        max_points = 8
        """
    )
    train_recipe(tiny, tmp_path / "out", progress=False, certificate=SMALL)
    guide = load_guide(tmp_path / "out").condition(concentration=0.7, prior_scale=3.0)
    assert guide.posterior(torch.randn(5, 2)).sample().shape == (5,)


# More in tests/faults/recipes.py.
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps", "stepz", "unknown argument 'training.stepz', did you mean 'training.steps'"),
        (
            "DensestFirst",
            "DensestLast",
            "guide.order: unknown class 'DensestLast', did you mean 'DensestFirst'",
        ),
        ("steps = 3", "steps = true", "training.steps is True, expected a whole number"),
        ("width", "wide", "unknown argument 'light.wide', did you mean 'light.width'"),
        ("[choice]", "[choise]", "unknown key 'choise', did you mean 'choice'"),
        ("[light]", "light = 3\n[lights]", "'light|lights"),
        ("[model]", "[models]", r"expected either \[model\]|unknown key 'models', did you mean 'model'"),
        ("[choice]", "[start]\nguide = 'ncp-nig1d'\n[choice]", r"\[start\] and \[light\] exclude each other"),
        ("[choice]", "[guide]\nconditions = ['rate']\n[choice]", "rate"),
        ("[choice]", "[clusterwise]\n[choice]", r"\[clusterwise\] and \[light\] exclude each other"),
        (
            "[light]",
            "[guide]\nconditions = ['rate']\n[clusterwise]",
            "unknown argument 'guide.conditions'",
        ),
        ("[light]", "[attentive]\nanchord = true", "unknown argument 'attentive.anchord', did you mean"),
    ],
)
def test_bad_recipes_are_explained(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(TINY.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_recipe(path).build()


def test_shipped_recipes_have_names(tmp_path: Path) -> None:
    assert list_recipes() == tuple(path.stem for path in RECIPES)
    assert (
        read_recipe("ncp-overlap2d").content == read_recipe(RECIPES[0].parent / "ncp-overlap2d.toml").content
    )
    assert repr(read_recipe("ncp-mfm2d")) == "Recipe(finite_mixtures_2d, from ncp-niw2d, 3500 steps)"
    assert repr(read_recipe("ncp-overlap2d")) == "Recipe(overlap2d, light, 8000 steps)"
    with pytest.raises(ValueError, match="unknown recipe 'ncp-overlap', did you mean 'ncp-overlap2d'"):
        read_recipe("ncp-overlap")
    with pytest.raises(ValueError, match="there is no recipe"):
        read_recipe(tmp_path / "none.toml")


def test_a_recipe_may_have_the_form_of_a_card(tiny: Path) -> None:
    guide = """
        [guide]
        class = "NeuralClusteringProcess"
        [guide.scorer]
        class = "SummedScorer"
        dim = 1
        width = 8
        sizes = [6, 7]
    """
    tiny.write_text(TINY.replace("[light]\nwidth = 8\nnum_bandwidths = 2", guide))
    built = read_recipe(tiny).build()
    assert isinstance(built.scorer, SummedScorer)
    assert built.scorer.sizes == (6, 7)
    tiny.write_text(TINY.replace("[light]", guide + "[light]"))
    with pytest.raises(ValueError, match=r"\[light\] says which guide it makes, \[guide\] has a class"):
        read_recipe(tiny)


def test_trains_on_a_folder_of_labelled_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    generator = np.random.default_rng(0)
    for position in range(3):
        kind = generator.integers(0, 3, 60)
        values = generator.normal(size=(60, 2)) + 5 * kind[:, None]
        table = pd.DataFrame(values, columns=["a", "b"]).assign(kind=kind)
        table.to_csv(tables / f"{position}.csv", index=False)
    (tmp_path / "labelled.toml").write_text(
        """
        [tables]
        folder = "tables"
        label = "kind"
        prior = { class = "ChineseRestaurantPrior", concentration = 0.5 }
        [light]
        width = 8
        [training]
        steps = 3
        max_points = 12
        """
    )
    trained = train_recipe(tmp_path / "labelled.toml", tmp_path / "out", progress=False, certificate=SMALL)
    guide = load_guide(tmp_path / "out")
    data = torch.randn(9, 2)
    assert trained.result.validation.keys() == {"log_prob_truth"}
    labels, order = torch.zeros(9, dtype=torch.int64), torch.arange(9)
    expected = trained.guide.posterior(data, order=order).log_prob(labels)
    assert torch.equal(guide.posterior(data, order=order).log_prob(labels), expected)
    with pytest.raises(ValueError, match="stands for labelled tables"):
        guide.model(data)
    found = compare(data.numpy(), guide=tmp_path / "out", num_draws=20)
    assert found.verdict.level is Trust.UNKNOWN
    assert any("familiarity" in one for one in found.failures), found.failures


DATA = """
about = "rows of a file"
[model]
name = "semi_supervised_clustering"
event_shape = [2]
num_classes = 2
feature_dim = 4
decoder = { class = "DenseDecoder", dim = 6, event_shape = [2], widths = [8] }
[data]
source = "rows.csv"
label = "kind"
labels_per_class = 3
[guide]
class = "SemiSupervisedGuide"
encoder = { class = "DenseEncoder", event_shape = [2], widths = [8] }
[training]
steps = 6
min_points = 12
max_points = 12
points_per_step = 12
averaging = 0.0
[validation]
every = 3
num_datasets = 2
sampled_points = 12
"""


def write_rows(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    lines = [f"{place % 2 * 4 + place / 50},{place / 30},{'ab'[place % 2]}" for place in range(40)]
    (folder / "rows.csv").write_text("\n".join(["x,y,kind", *lines]))


def test_a_recipe_names_the_data_and_the_training_resumes(tmp_path: Path) -> None:
    write_rows(tmp_path)
    (tmp_path / "one.toml").write_text(DATA)
    recipe = read_recipe(tmp_path / "one.toml")
    assert recipe.data.points.shape == (40, 2)
    assert recipe.data.points.mean(0).abs().max() < 1e-6
    assert sorted(recipe.data.labels.tolist())[-6:] == [0, 0, 0, 1, 1, 1]
    said: list[str] = []
    whole = train_recipe(tmp_path / "one.toml", tmp_path / "whole", say=said.append, progress=False)
    assert whole.certificate is None
    assert "no certificate" in said[-1]
    first = train_recipe(
        tmp_path / "one.toml", tmp_path / "half", max_steps=3, say=said.append, progress=False
    )
    again = train_recipe(
        tmp_path / "one.toml", tmp_path / "half", resume=True, say=said.append, progress=False
    )
    assert first.result.steps == 3
    for one, other in zip(whole.guide.state_dict().values(), again.guide.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    for name in ("whole", "half"):
        header = (tmp_path / name / "log.csv").read_text().splitlines()[0]
        assert header.endswith("reconstruction,code,assignment,feature")
        assert len((tmp_path / name / "validation.csv").read_text().splitlines()) == 3
        assert (tmp_path / name / "training.png").stat().st_size > 5000
    loaded = load_guide(tmp_path / "half")
    torch.testing.assert_close(loaded.features(torch.zeros(3, 2)), again.guide.features(torch.zeros(3, 2)))


POOL = """
[model]
name = "gaussian2d"
dim = 2
[light]
width = 8
[order]
class = "RandomOrder"
[data]
prior = 0.2
tables = 0.4
folder = "tables"
distorted = 0.4
partitions = 2
burn_in = 4
[training]
steps = 6
max_points = 20
points_per_step = 60
[validation]
every = 6
num_datasets = 2
exact_points = 3
sampled_points = 5
num_draws = 4
"""


def test_a_recipe_names_tables_and_shares_beside_its_model(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    lines = [f"{place % 7 + place / 50},{place / 30}" for place in range(40)]
    (tmp_path / "tables" / "rows.csv").write_text("\n".join(["x,y", *lines]))
    (tmp_path / "one.toml").write_text(POOL)
    recipe = read_recipe(tmp_path / "one.toml")
    assert [one.name for one in recipe.data.laws] == ["unlabelled_tables", "distorted_clusters"]
    before = recipe.build().state_dict()
    found = train_recipe(tmp_path / "one.toml", tmp_path / "out", certificate=SMALL, progress=False)
    assert found.result.steps == 6
    assert any(not torch.equal(value, before[name]) for name, value in found.guide.state_dict().items())
    assert read_card(tmp_path / "out").certificate["exact"][0]["num_datasets"] == 4


ANY_TABLE = """
[model]
name = "table"
[model.prior]
class = "GammaConcentration"
shape = 2.0
rate = 4.0
[model.component]
class = "PartlyObserved"
num_groups = 2
part = { class = "NormalInverseGamma", dim = 1, kappa = 0.08, shape = 2.0, rate = 0.2 }
[columns]
width = 8
column_width = 4
foresight = 0
[data]
most_columns = 3
noisy = 0.5
tables = 0.5
folder = "tables"
"""


def test_a_recipe_of_tables_of_any_columns_names_its_laws(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    lines = [f"{place / 7:.2f},{'abc'[place % 3]},{'' if place == 5 else place % 2}" for place in range(30)]
    (tmp_path / "tables" / "rows.csv").write_text("\n".join(["x,kind,flag", *lines]))
    (tmp_path / "tables" / "dates.csv").write_text("day,x\n2020-01-01,1\n2020-01-02,2\n")
    (tmp_path / "one.toml").write_text(ANY_TABLE)
    recipe = read_recipe(tmp_path / "one.toml")
    assert [type(one).__name__ for one in recipe.data.laws] == ["NoisyTables", "RowsOfTables"]
    assert recipe.data.laws[1].num_tables == 1
    assert recipe.build().fits_any_model
    (tmp_path / "plain.toml").write_text(ANY_TABLE.partition("noisy")[0])
    assert repr(read_recipe(tmp_path / "plain.toml").data) == "AnyTable(2 to 3 columns, up to 30% lost)"


@pytest.mark.parametrize(
    ("recipe", "old", "new", "words"),
    [
        (DATA, "event_shape = [2]", "event_shape = [3]", "expected \\(3,\\) as the model"),
        (DATA, "label = ", "labels = ", "unknown argument 'data.labels', did you mean 'data.label'"),
        (DATA, 'label = "kind"\n', 'label = "sort"\n', "sort"),
        (DATA, "rows.csv", "columns.csv", "columns.csv"),
        (DATA, "labels_per_class = 3", "labels_per_class = -3", "labels_per_class is -3"),
        (DATA, "[data]", "[datum]", "datum"),
        (POOL, 'folder = "tables"\n', "", "tables is 0.4, expected a folder of tables"),
        (POOL, 'folder = "tables"', 'folder = "nowhere"', "holds no file with the ending csv"),
        (POOL, "tables = 0.4", "table = 0.4", "did you mean 'data.tables'"),
        (POOL, "distorted = 0.4", "distorted = -0.4", "distorted is -0.4, expected"),
        (POOL, "partitions = 2", "partitions = 0", "partitions is 0"),
        (POOL, "dim = 2", "dim = 3", "none with 3 columns"),
        (
            POOL,
            "max_points = 20",
            "max_points = 50",
            "max_points is 50, expected at most 40, the rows",
        ),
        (ANY_TABLE, 'folder = "tables"\n', "", "tables is 0.5, expected a folder of tables"),
        (ANY_TABLE, "most_columns = 3", "most_columns = 1", "most_columns is 1"),
        (ANY_TABLE, "noisy = 0.5", "noisy = -1.0", "noisy is -1"),
        (ANY_TABLE, "noisy = 0.5", "noise = 0.5", "did you mean 'data.noisy'"),
    ],
)
def test_wrong_data_of_a_recipe_are_named(recipe, old, new, words: str, tmp_path: Path) -> None:
    write_rows(tmp_path)
    write_rows(tmp_path / "tables")
    if recipe is POOL:
        numbers = pd.read_csv(tmp_path / "rows.csv").drop(columns="kind")
        numbers.to_csv(tmp_path / "tables" / "rows.csv", index=False)
    (tmp_path / "one.toml").write_text(recipe.replace(old, new))
    with pytest.raises(ValueError, match=words):
        read_recipe(tmp_path / "one.toml")
