"""`pyroclust compare` writes four files that open, and prints what they say."""

import json
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from pyroclust.cli import main
from pyroclust.data.datasets import read_table

QUICK = ["--draws", "60", "--mcmc-draws", "40", "--chains", "2", "--warmup", "40"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    out, err = capsys.readouterr()
    assert end.value.code == 0, err
    return out


def guide_draws(folder: Path) -> np.ndarray:
    with xr.open_dataset(folder / "draws.nc", group="guide", engine="h5netcdf") as guide:
        return guide["assignments"].values


@pytest.fixture(scope="module")
def iris(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("iris") / "results"
    stages = StringIO()
    with pytest.raises(SystemExit), redirect_stderr(stages):
        main(["compare", "iris", "--guide", "filter-niw2d", "--out", str(folder), *QUICK])
    (folder.parent / "stages.txt").write_text(stages.getvalue(), encoding="utf-8")
    return folder


def test_five_files_and_nothing_else(iris):
    assert sorted(path.name for path in iris.iterdir()) == [
        "assignments.csv",
        "clusters.csv",
        "draws.nc",
        "report.html",
        "summary.json",
    ]


def test_assignments_have_the_original_units(iris):
    frame = pd.read_csv(iris / "assignments.csv")
    table = read_table("iris")
    np.testing.assert_allclose(frame[list(table.columns)], table.data)
    assert frame["label"].tolist() == table.labels.tolist()
    assert frame["cluster"].iloc[0] == 1
    for name in frame.filter(regex="uncertainty|probability"):
        assert frame[name].between(0, 1).all()
    clusters = pd.read_csv(iris / "clusters.csv")
    assert clusters["rows"].tolist() == frame["cluster"].value_counts().sort_index().tolist()


def test_draws_and_summary_fit_together(iris):
    summary = json.loads((iris / "summary.json").read_text())
    with xr.open_dataset(iris / "draws.nc", group="posterior", engine="h5netcdf") as posterior:
        assert posterior["assignments"].shape == (2, 40, 150)
        clusters = posterior["num_clusters"].values
    found = dict(zip(summary["num_clusters"]["values"], summary["num_clusters"]["mcmc"], strict=True))
    assert found[int(clusters.max())] == pytest.approx((clusters == clusters.max()).mean())
    assert summary["guide"] == "filter-niw2d"
    assert summary["guide_draws"] == 60
    assert summary["verdict"]["sentence"] in (iris / "report.html").read_text()


def test_json_alone_on_standard_output_and_quiet(tmp_path, capsys):
    folder = tmp_path / "g"
    arguments = ["compare", "galaxies", "--guide", "filter-nig1d", "--out", str(folder), "--json", "--quiet"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, *QUICK])
    assert end.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    printed = json.loads(out)
    assert printed == json.loads((folder / "summary.json").read_text())


def test_same_seed_same_draws_and_the_default_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(1).standard_normal((12, 3))
    pd.DataFrame(points, columns=list("abc")).to_csv("mine.csv", index=False)
    arguments = ["compare", "mine.csv", "--pca", "2", "--guide", "filter-niw2d", "--seed", "5", *QUICK]
    printed = run(capsys, *arguments)
    first = guide_draws(Path("compare-mine"))
    torch.manual_seed(99)
    state = torch.random.get_rng_state()
    run(capsys, *arguments)
    assert torch.equal(state, torch.random.get_rng_state())
    np.testing.assert_array_equal(first, guide_draws(Path("compare-mine")))
    columns = pd.read_csv("compare-mine/assignments.csv").columns
    assert columns[:7].tolist() == ["row", "cluster", "probability", "uncertainty", "a", "b", "c"]
    summary = json.loads(Path("compare-mine/summary.json").read_text())
    assert any("2 principal component(s) of 3" in one for one in summary["notes"])
    assert summary["answer_in_words"]["rely"] in " ".join(printed.split())


def test_a_line_a_stage_on_standard_error(iris):
    stages = (iris.parent / "stages.txt").read_text(encoding="utf-8").splitlines()
    assert "running 2 chains of merge-split+gibbs" in stages
    # Where a stage takes long its progress is told as well.
    assert [one for one in stages if not one.startswith("pictures: ")][-1] == "writing the report"


@pytest.mark.parametrize("command", ["compare", "diagnose"])
def test_help_fits_80_columns(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    printed = run(capsys, command, "--help").splitlines()
    assert max(map(len, printed)) <= 80
    assert not [line for line in printed if line.rstrip().endswith("…")]


def test_chosen_columns_pick_a_guide_of_that_dimension(tmp_path, capsys):
    arguments = ["--columns", "petal_width_cm", "--guide", "filter-nig1d", "--raw", "--json"]
    printed = json.loads(run(capsys, "compare", "iris", *arguments, "--out", str(tmp_path / "o"), *QUICK))
    assert printed["columns"] == ["petal_width_cm"]


def test_guides_are_listed(capsys):
    assert "filter-nig1d" in run(capsys, "guides")
    assert json.loads(run(capsys, "guides", "--json"))["filter-niw2d"]["model"]["arguments"] == {"dim": 2}


def test_help_and_version(capsys):
    assert "SOURCE" in run(capsys, "compare", "--help")
    assert run(capsys, "--version").startswith("pyroclust 0.")
