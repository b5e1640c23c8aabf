"""`pyroclust compare` writes five files that open, and prints what they say."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from faults.cases import run_command
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from pyroclust import compare
from pyroclust.data.datasets import read_table
from pyroclust.models import in_words, normal_mixture, standardised_mixture

QUICK = "--draws 60 --mcmc-draws 40 --chains 2 --warmup 40"
FEW = {"num_draws": 20, "mcmc_draws": 10, "num_chains": 2, "warmup": 20}


def run(line: str, *more: str, code: int = 0) -> tuple[str, str]:
    found, out, err = run_command([*line.split(), *more])
    assert found == code, err
    return out, err


def draws_of(folder: Path, group: str = "posterior") -> xr.Dataset:
    with xr.open_dataset(folder / "draws.nc", group=group, engine="h5netcdf") as found:
        return found.load()


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """The folder, what was printed and what was said of a comparison."""
    folder = tmp_path_factory.mktemp("iris") / "results"
    return folder, *run(f"compare iris --guide filter-niw2d --json {QUICK} --out", str(folder))


def test_five_files_and_nothing_else(iris):
    names = ["assignments.csv", "clusters.csv", "draws.nc", "report.html", "summary.json"]
    assert sorted(path.name for path in iris[0].iterdir()) == names


def test_assignments_have_the_original_units(iris):
    frame, table = pd.read_csv(iris[0] / "assignments.csv"), read_table("iris")
    np.testing.assert_allclose(frame[list(table.columns)], table.data)
    assert frame["label"].tolist() == table.labels.tolist()
    assert frame["cluster"].iloc[0] == 1
    for name in frame.filter(regex="uncertainty|probability"):
        assert frame[name].between(0, 1).all()
    clusters = pd.read_csv(iris[0] / "clusters.csv")
    assert clusters["rows"].tolist() == frame["cluster"].value_counts().sort_index().tolist()


def test_draws_and_summary_fit_together_and_are_what_is_printed(iris):
    folder, printed, _ = iris
    summary = json.loads(printed)
    assert summary == json.loads((folder / "summary.json").read_text())
    posterior = draws_of(folder)
    assert posterior["assignments"].shape == (2, 40, 150)
    clusters = posterior["num_clusters"].values
    found = dict(zip(summary["num_clusters"]["values"], summary["num_clusters"]["mcmc"], strict=True))
    assert found[int(clusters.max())] == pytest.approx((clusters == clusters.max()).mean())
    assert (summary["guide"], summary["guide_draws"]) == ("filter-niw2d", 60)
    assert summary["verdict"]["sentence"] in (folder / "report.html").read_text()


def test_a_line_a_stage_on_standard_error(iris):
    stages = iris[2].splitlines()
    assert "running 2 chains of merge-split+gibbs" in stages
    # Where a stage takes long its progress is told as well.
    assert [one for one in stages if not one.startswith("pictures: ")][-1] == "writing the report"


def test_same_seed_same_draws_and_the_default_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(1).standard_normal((12, 3))
    pd.DataFrame(points, columns=list("abc")).to_csv("mine.csv", index=False)
    line, folder = f"compare mine.csv --pca 2 --guide filter-niw2d --seed 5 {QUICK}", Path("compare-mine")
    printed, _ = run(line)
    first = draws_of(folder, "guide")["assignments"].values
    torch.manual_seed(99)
    state = torch.random.get_rng_state()
    assert run(f"{line} --quiet")[1] == ""
    assert torch.equal(state, torch.random.get_rng_state())
    np.testing.assert_array_equal(first, draws_of(folder, "guide")["assignments"].values)
    columns = pd.read_csv(folder / "assignments.csv").columns
    assert columns[:7].tolist() == ["row", "cluster", "probability", "uncertainty", "a", "b", "c"]
    summary = json.loads((folder / "summary.json").read_text())
    assert any("2 principal component(s) of 3" in one for one in summary["notes"])
    # How long longer chains may take is measured in each run.
    assert summary["answer_in_words"]["rely"].split(" --thorough")[0] in " ".join(printed.split())


def test_chosen_columns_pick_a_guide_of_that_dimension(tmp_path):
    line = f"compare iris --columns petal_width_cm --guide filter-nig1d --raw --json {QUICK} --out"
    assert json.loads(run(line, str(tmp_path / "o"))[0])["columns"] == ["petal_width_cm"]


def test_a_comparison_without_a_verdict_is_written_and_printed_before_it_ends_strictly(tmp_path, monkeypatch):
    # Forty draws are too few for a verdict.
    monkeypatch.setattr("pyroclust.analysis.drawing._REFINING_SECONDS", 0.0)
    np.save(tmp_path / "p.npy", np.random.default_rng(0).standard_normal((6, 1)))
    few = "--guide filter-nig1d --draws 20 --mcmc-draws 20 --chains 2 --warmup 0 --json --strict"
    out, _ = run("compare", str(tmp_path / "p.npy"), *few.split(), "--out", str(tmp_path / "o"), code=3)
    found = json.loads(out)
    assert (found["verdict"]["level"], found["answer"]) == ("cannot tell", None)
    assert (found["refining"], found["weights"]["draws"]) == (None, 20)
    written = json.loads((tmp_path / "o" / "summary.json").read_text(encoding="utf-8"))
    assert written["verdict"] == found["verdict"]


@pytest.mark.parametrize(
    ("load", "dim", "rows"),
    [pytest.param(load_wine, 13, 16, marks=pytest.mark.prove), (load_breast_cancer, 30, 12)],
)
def test_many_columns_end_in_a_posterior_and_a_verdict(load, dim, rows, tmp_path):
    table = load(as_frame=True).data[:rows]
    found = compare(table, out=tmp_path / "out", **FEW)
    assert found.data.values.shape[1] == dim
    assert (found.guide.name, found.model.name) == ("exact filter", "normal_mixture")
    assert found.model.in_words == in_words(normal_mixture(dim))
    assert any(note.startswith("There is no trained guide of the model normal") for note in found.notes)
    assert found.verdict.sentence
    assert found.model.in_words.split(";")[0] in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert len(pd.read_csv(tmp_path / "out" / "assignments.csv")) == len(table)


def test_without_a_guide_mcmc_stands_alone_with_page_files_and_verdict(tmp_path):
    folder, table = tmp_path / "alone", str(tmp_path / "iris.csv")
    load_iris(as_frame=True).data[::4].to_csv(table, index=False)
    options = "--guide none --draws 20 --mcmc-draws 10 --chains 2 --warmup 20 --quiet --out"
    summary = json.loads(run("compare", table, *options.split(), str(folder), "--json")[0])
    assert summary == json.loads((folder / "summary.json").read_text("utf-8"))
    assert (summary["guide"], summary["model"], summary["mcmc_chains"]) == (None, "normal_mixture", 2)
    assert summary["findings"][0]["question"].startswith("Did ")
    assert summary["verdict"]["sentence"].split(" (")[0] in (folder / "report.html").read_text("utf-8")
    frame = pd.read_csv(folder / "assignments.csv")
    assert "cluster" in frame
    assert not [name for name in frame if name.endswith("_cluster")]
    assert draws_of(folder)["assignments"].shape == (2, 10, 38)
    assert "Convergence" in run("compare", table, *options.split(), str(folder), "--verbose")[0]


def test_mcmc_alone_is_judged_by_its_convergence():
    points = np.concatenate([np.zeros((10, 1)), np.ones((10, 1))]) + np.linspace(0, 0.01, 20)[:, None]
    long = compare(points, guide="none", num_chains=4, mcmc_draws=400)
    assert list(long.draws) == ["mcmc"]
    assert (long.verdict.level.value, long.answer) == ("trust", "mcmc")
    assert repr(long) == f"Analysis(compare {long.name}: {long.in_words.how_many}; trust)"
    short = compare("galaxies", guide="none", num_chains=2, mcmc_draws=10)
    assert short.verdict.level.value != "trust"
    assert short.model.in_words == in_words(normal_mixture(1))


def test_a_family_that_is_not_conjugate_is_drawn_by_mcmc_alone():
    points = np.random.default_rng(0).standard_normal((15, 2))
    result = compare(points, family="student-t", prior="py", **FEW)
    assert list(result.draws) == ["mcmc"]
    assert result.draws["mcmc"].log_joint is None
    assert result.model.name == "student-t-py"
    assert any(note.endswith("This is MCMC alone.") for note in result.notes)


def test_models_by_name_reach_guide_and_mcmc():
    points = np.random.default_rng(0).standard_normal((15, 2))
    model = standardised_mixture(2, family="nig", prior="crp", expected_clusters=4.0, num_points=15)
    found = compare(points, family="nig", prior="crp", expected_clusters=4.0, **FEW)
    assert found.model.in_words == in_words(model)
    same = compare(points, guide="none", family="nig", prior="crp", expected_clusters=4.0, **FEW)
    np.testing.assert_array_equal(found.draws["mcmc"].assignments, same.draws["mcmc"].assignments)
    other = compare(points, guide="none", family="nig", prior="crp", concentration=9.0, **FEW)
    assert (found.draws["mcmc"].assignments != other.draws["mcmc"].assignments).any()
