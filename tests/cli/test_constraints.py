"""`pyroclust compare` and `pyroclust forest` with constraints, and `pyroclust forest` without."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from faults.cases import run_command
from sklearn.cluster import AgglomerativeClustering
from typer.main import get_command

from pyroclust.analysis.forest import NOISE_SCALE
from pyroclust.cli.commands import app

QUICK = "--mcmc-draws 40 --chains 2 --warmup 40 --guide none --columns a,b --quiet"


def run(line: str, *more: str) -> str:
    code, out, err = run_command([*line.split(), *more])
    assert code == 0, err
    return out


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> Path:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 0.5, (8, 2)), rng.normal(2, 0.5, (8, 2))])
    frame = pd.DataFrame(points, columns=["a", "b"])
    frame["known"] = ["x", "x", *[""] * 13, "y"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "must.csv").write_text("first,second\n1,9\n")
    (tmp_path / "cannot.csv").write_text("2,3\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compare_keeps_them_and_says_what_they_changed(files):
    pairs = "--must-link must.csv --cannot-link cannot.csv --partial-labels known"
    summary = json.loads(run(f"compare t.csv {QUICK} {pairs} --out found --json"))
    assert summary == json.loads((files / "found" / "summary.json").read_text("utf-8"))
    assert summary["constraints"]["known"] == {
        "rows": 5,
        "groups": 1,
        "rows_in_groups": 3,
        "pairs_apart": 2,
        "must_link": 1,
        "cannot_link": 1,
        "labelled": 3,
    }
    with xr.open_dataset(files / "found" / "draws.nc", group="posterior", engine="h5netcdf") as posterior:
        draws = posterior["assignments"].values
    assert (draws[..., 0] == draws[..., 8]).all()
    assert (draws[..., 1] != draws[..., 2]).all()
    assert (draws[..., 0] != draws[..., 15]).all()
    page = (files / "found" / "report.html").read_text("utf-8")
    assert "What the constraints changed" in page
    assert summary["constraints"]["odds"]["sentence"] in page
    frame = pd.read_csv(files / "found" / "assignments.csv")
    assert frame["cluster"][0] == frame["cluster"][1] == frame["cluster"][8]
    assert frame["partial_label"].fillna("").tolist() == ["x", "x", *[""] * 13, "y"]


def test_the_terminal_says_it_too():
    out = run(f"compare t.csv {QUICK} --must-link must.csv --verbose")
    assert "2 of them constrained" in out
    assert "What the data say of the constraints" in out
    assert "Uncertainty without and with the constraints" in out


def test_forest_writes_five_files_and_the_same_again(files):
    command = "forest t.csv --columns a,b --clusters 2 --draws 120 --quiet --json"
    summary, again = json.loads(run(command)), json.loads(run(command))
    folder = files / "forest-t"
    assert sorted(path.name for path in folder.iterdir()) == [
        "assignments.csv",
        "clusters.csv",
        "draws.nc",
        "report.html",
        "summary.json",
    ]
    assert summary["point_estimates"] == again["point_estimates"]
    assert (summary["draws"], summary["noise_scale"], summary["asked"]) == (120, 0.1, "2 trees")
    frame = pd.read_csv(folder / "assignments.csv")
    assert frame["cluster"].nunique() == 2
    assert frame["uncertainty"].between(0, 1).all()
    with xr.open_dataset(folder / "draws.nc", group="posterior", engine="h5netcdf") as posterior:
        assert posterior["assignments"].shape == (1, 120, 16)
    assert "no posterior" in (folder / "report.html").read_text("utf-8")


def test_forest_without_noise_is_single_linkage(files):
    points = pd.read_csv(files / "t.csv")[["a", "b"]].to_numpy()
    points = (points - points.mean(0)) / points.std(0)
    usual = AgglomerativeClustering(3, linkage="single").fit_predict(points)
    run("forest t.csv --columns a,b --clusters 3 --noise-scale 0 --draws 10 --quiet")
    found = pd.read_csv(files / "forest-t" / "assignments.csv")["cluster"].to_numpy()
    assert ((found[:, None] == found) == (usual[:, None] == usual)).all()


def test_forest_with_constraints_says_what_they_changed(files):
    options = "--clusters 3 --draws 100 --must-link must.csv --cannot-link cannot.csv --quiet --verbose"
    assert "Uncertainty without and with the constraints" in run(f"forest t.csv --columns a,b {options}")
    page = (files / "forest-t" / "report.html").read_text("utf-8")
    assert "Together: rows 1, 9." in page
    frame = pd.read_csv(files / "forest-t" / "assignments.csv")
    assert frame["cluster"][0] == frame["cluster"][8]
    assert frame["cluster"][1] != frame["cluster"][2]


def test_the_default_of_the_noise_is_that_of_the_library():
    options = {one.name: one for one in get_command(app).commands["forest"].params}
    assert options["noise_scale"].default == NOISE_SCALE
