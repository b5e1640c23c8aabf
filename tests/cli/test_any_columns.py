"""`pyroclust compare` of any number of columns, with models by name and without a guide."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from pyroclust import compare
from pyroclust.cli import main
from pyroclust.models import FAMILIES, PRIORS, in_words, normal_mixture, standardised_mixture

QUICK = {"num_draws": 20, "mcmc_draws": 10, "num_chains": 2, "warmup": 20}
OPTIONS = ["--draws", "20", "--mcmc-draws", "10", "--chains", "2", "--warmup", "20", "--quiet"]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0)


@pytest.mark.parametrize(("load", "dim", "rows"), [(load_wine, 13, 16), (load_breast_cancer, 30, 12)])
def test_many_columns_end_in_a_posterior_and_a_verdict(load, dim, rows, tmp_path):
    table = load(as_frame=True).data[:rows]
    found = compare(table, out=tmp_path / "out", **QUICK)
    assert found.data.values.shape[1] == dim
    assert (found.guide.name, found.model.name) == ("exact filter", "normal_mixture")
    assert found.model.in_words == in_words(normal_mixture(dim))
    assert any(note.startswith("There is no trained guide of the model normal") for note in found.notes)
    assert found.verdict.sentence
    assert found.model.in_words.split(";")[0] in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert len(pd.read_csv(tmp_path / "out" / "assignments.csv")) == len(table)


def test_three_columns_of_a_table_take_the_guide_of_the_shelf():
    result = compare(load_iris().data[::4, [0, 2, 3]], **QUICK)
    assert result.guide.name == "ncp-normal3d"
    assert result.verdict.sentence


def test_without_a_guide_mcmc_stands_alone_with_page_files_and_verdict(tmp_path, capsys):
    folder, table = tmp_path / "alone", str(tmp_path / "iris.csv")
    load_iris(as_frame=True).data[::4].to_csv(table, index=False)
    assert run("compare", table, "--guide", "none", "--out", str(folder), *OPTIONS, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary == json.loads((folder / "summary.json").read_text("utf-8"))
    assert (summary["guide"], summary["model"], summary["mcmc_chains"]) == (None, "normal_mixture", 2)
    assert summary["findings"][0]["question"].startswith("Did ")
    assert summary["verdict"]["sentence"]
    page = (folder / "report.html").read_text("utf-8")
    assert summary["verdict"]["sentence"].split(" (")[0] in page
    frame = pd.read_csv(folder / "assignments.csv")
    assert "cluster" in frame
    assert not [name for name in frame if name.endswith("_cluster")]
    with xr.open_dataset(folder / "draws.nc", group="posterior", engine="h5netcdf") as posterior:
        assert posterior["assignments"].shape == (2, 10, 38)
        clusters = posterior["num_clusters"].values
    shares = dict(zip(summary["num_clusters"]["values"], summary["num_clusters"]["mcmc"], strict=True))
    assert shares[int(clusters.max())] == pytest.approx((clusters == clusters.max()).mean())
    capsys.readouterr()
    assert run("compare", table, "--guide", "none", "--out", str(folder), *OPTIONS, "--verbose") == 0
    assert "Convergence" in capsys.readouterr().out


def test_mcmc_alone_is_judged_by_its_convergence():
    points = np.concatenate([np.zeros((10, 1)), np.ones((10, 1))]) + np.linspace(0, 0.01, 20)[:, None]
    long = compare(points, guide="none", num_chains=4, mcmc_draws=400)
    assert list(long.draws) == ["mcmc"]
    assert (long.verdict.level.value, long.answer) == ("trust", "mcmc")
    short = compare("galaxies", guide="none", num_chains=2, mcmc_draws=10)
    assert short.verdict.level.value != "trust"
    assert repr(long) == f"Analysis(compare {long.name}: {long.in_words.how_many}; trust)"


def test_a_family_that_is_not_conjugate_is_drawn_by_mcmc_alone():
    points = np.random.default_rng(0).standard_normal((15, 2))
    result = compare(points, family="student-t", prior="py", **QUICK)
    assert list(result.draws) == ["mcmc"]
    assert result.draws["mcmc"].log_joint is None
    assert result.model.name == "student-t-py"
    assert any(note.endswith("This is MCMC alone.") for note in result.notes)


def test_models_by_name_reach_guide_and_mcmc():
    points = np.random.default_rng(0).standard_normal((15, 2))
    model = standardised_mixture(2, family="nig", prior="crp", expected_clusters=4.0, num_points=15)
    found = compare(points, family="nig", prior="crp", expected_clusters=4.0, **QUICK)
    assert found.model.in_words == in_words(model)
    same = compare(points, guide="none", family="nig", prior="crp", expected_clusters=4.0, **QUICK)
    np.testing.assert_array_equal(found.draws["mcmc"].assignments, same.draws["mcmc"].assignments)
    other = compare(points, guide="none", family="nig", prior="crp", concentration=9.0, **QUICK)
    assert (found.draws["mcmc"].assignments != other.draws["mcmc"].assignments).any()


def test_one_column_takes_independent_columns():
    found = compare("galaxies", guide="none", **QUICK)
    assert found.model.in_words == in_words(normal_mixture(1))


def test_a_folder_of_the_name_none_is_still_reached(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("none").mkdir()
    assert run("compare", "iris", "--guide", "./none", "--out", "out") == 2
    assert "none" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare", "recipe"])
def test_help_names_every_family_and_prior(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(command, "--help") == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    for name in (*FAMILIES, *PRIORS):
        assert name in printed
