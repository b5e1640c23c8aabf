"""`pyroclust diagnose` reads draws of any software, writes its files, and ends as `--strict` says."""

import json

import numpy as np
import pandas as pd
import pytest
import typer
from faults.cases import run_command

from pyroclust.cli.console import end_strictly
from pyroclust.data.datasets import read_table
from pyroclust.diagnostics import Trust, Verdict


def run(*arguments: str, code: int = 0) -> str:
    found, out, err = run_command(["diagnose", *arguments])
    assert found == code, err
    return out


def iris_draws(*, noise: float, seed: int, chains: int = 2, draws: int = 150) -> np.ndarray:
    """Return species labels, each point's own with probability 1 - noise."""
    rng = np.random.default_rng(seed)
    truth = pd.factorize(read_table("iris").labels)[0]
    other = rng.integers(3, size=(chains, draws, len(truth)))
    return np.where(rng.random(other.shape) < noise, other, truth)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("draws")
    first, second = iris_draws(noise=0.1, seed=0), iris_draws(noise=0.1, seed=1)
    chains = np.repeat([1, 2], first.shape[1])
    columns = [f"row{i}" for i in range(first.shape[2])]
    frame = pd.DataFrame(first.reshape(-1, first.shape[2]), columns=columns)
    frame.insert(0, ".chain", chains)
    frame.to_csv(folder / "a.csv", index=False)
    np.save(folder / "b.npy", second)
    np.save(folder / "c.npy", iris_draws(noise=0.6, seed=2))
    return {path.stem: str(path) for path in folder.iterdir()}


def test_one_source_without_model_or_data(files, tmp_path):
    out = run(files["a"], "--verbose", "--out", str(tmp_path / "out"))
    assert "Partitions of 150 points: 2 chains of 150 draws from a." in " ".join(out.split())
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "assignments.csv",
        "clusters.csv",
        "draws.nc",
        "report.html",
        "summary.json",
    ]
    content = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert content["sources"]["first"]["point_estimate"]["num_clusters"] == 3
    assert content["verdict"]["level"] == "trust"
    points = pd.read_csv(tmp_path / "out" / "assignments.csv")
    assert len(points) == 150
    assert points["uncertainty"].between(0, 1).all()


def test_two_sources_with_data_and_labels(files, tmp_path):
    folder = str(tmp_path / "out")
    out = run(files["a"], files["b"], "--data", "iris", "--json", "--out", folder)
    content = json.loads(out)
    assert content["verdict"]["level"] == "agree", content["verdict"]
    assert content["sources"]["first"]["point_estimate"]["adjusted_rand_to_labels"] == 1
    assert {row["name"] for row in content["baselines"]} >= {"k-means"}
    assert content == json.loads((tmp_path / "out" / "summary.json").read_text())


def test_other_posterior_is_flagged(files, tmp_path):
    out = run(files["a"], files["c"], "--json", "--out", str(tmp_path / "out"))
    assert json.loads(out)["verdict"]["level"] == "differ"


def test_same_seed_same_figures(files, tmp_path):
    once, again = (
        json.loads(run(files["a"], "--json", "--seed", "3", "--out", str(tmp_path / place))) for place in "xy"
    )
    # draws.nc says when it was made.
    assert once | {"files": ()} == again | {"files": ()}


@pytest.mark.parametrize("level", Trust)
def test_levels_that_end_a_strict_command(level):
    verdict = Verdict(level, "why")
    end_strictly(verdict, strict=False)
    if level not in (Trust.UNKNOWN, Trust.DISTRUST, Trust.DIFFER):
        end_strictly(verdict, strict=True)
        return
    with pytest.raises(typer.Exit) as end:
        end_strictly(verdict, strict=True)
    assert end.value.exit_code == 3


def test_a_strict_command_writes_and_prints_before_it_ends(tmp_path):
    draws = np.zeros((2, 60, 6), dtype=int)
    draws[1, :, 3:] = 1
    np.save(tmp_path / "d.npy", draws)
    arguments = [str(tmp_path / "d.npy"), "--out", str(tmp_path / "o"), "--json"]
    plain = json.loads(run(*arguments))
    assert json.loads(run(*arguments, "--strict", code=3)) | {"files": ()} == plain | {"files": ()}
    assert plain["verdict"]["level"] in {"do not trust", "cannot tell"}
