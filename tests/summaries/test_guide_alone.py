"""A guide whose model has no likelihood: its draws alone, from the figures to the command line."""

import dataclasses
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from certificate_cases import stored_certificate

from pyroclust import compare, to_arviz
from pyroclust.calibration.training_world import TrainingWorld
from pyroclust.cli import main
from pyroclust.diagnostics import Trust
from pyroclust.distributions import ChineseRestaurantPrior, student_t
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer.simulation import simulate
from pyroclust.models import Mixture, gaussian2d, warped_clusters
from pyroclust.nn import NearestNext, NeighbourScorer
from pyroclust.report import render
from pyroclust.results.comparison import PartitionDraws
from pyroclust.results.guide_alone import GuideAlone, summarise_alone
from pyroclust.saving.guides import load_guide, save_guide


def alone(**changes: Any) -> GuideAlone:
    rng = np.random.default_rng(0)
    labels = np.zeros((1, 40, 12), dtype=np.int64)
    labels[:, :, 6:] = 1
    labels[:, :10, 9:] = 2
    return GuideAlone(
        **{
            "source": "made up",
            "model_name": "warped_clusters",
            "guide_name": "a guide",
            "columns": ("x", "y"),
            "data": rng.standard_normal((12, 2)),
            "guide": PartitionDraws("a guide", labels, None, 0.08, np.zeros((1, 40))),
            "world": TrainingWorld(rng.standard_normal((199, 12, 2))),
            "certificate": stored_certificate(True, True),
            "location": np.zeros(2),
            "scale": np.ones(2),
            "true_labels": np.repeat([0, 1], 6),
        }
        | changes
    )


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, Trust.AVERAGE, "passed all 2 calibration tests"),
        ({"certificate": stored_certificate(True, False)}, Trust.UNKNOWN, "passed 1 of 2"),
        ({"certificate": {}}, Trust.UNKNOWN, "has no certificate"),
        ({"certificate": stored_certificate()}, Trust.UNKNOWN, "has no certificate"),
        ({"data": np.full((12, 2), 50.0)}, Trust.DISTRUST, "unlike those it was trained on"),
    ],
)
def test_verdicts(changes, level, words):
    summary = summarise_alone(alone(**changes))
    assert summary.verdict.level is level
    assert words in summary.verdict.sentence


def test_the_words_of_stored_findings_play_no_part():
    certificate = stored_certificate(True, True, False)
    for one in certificate["verdict"]["findings"]:
        one["what"] = "a test by another name"
    summary = summarise_alone(alone(certificate=certificate))
    assert (summary.calibration_passed, summary.calibration_tests) == (2, 3)


def test_more_points_than_in_training_cannot_be_told():
    world = TrainingWorld(np.random.default_rng(0).standard_normal((199, 12, 2)), training_points=(1, 9))
    summary = summarise_alone(alone(world=world))
    assert summary.verdict.level is Trust.UNKNOWN
    assert "12 points, those of training had 1 to 9" in summary.verdict.sentence


def test_figures():
    summary = summarise_alone(alone())
    assert summary.draws.values.tolist() == [2, 3]
    assert summary.draws.probabilities.tolist() == [0.75, 0.25]
    assert summary.estimate.truth_rand == 1
    assert summary.draws.co_assignment[6, 11] == 0.75
    assert summary.guide_seconds == pytest.approx(0.002)
    figures = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert figures["calibration"] == {"tests": 2, "passed": 2}
    assert figures["verdict"]["level"] == "trust on average"
    assert figures["point_estimates"]["guide"]["num_clusters"] == 2


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="data has shape"):
        alone(columns=("x",))
    with pytest.raises(ValueError, match="expected 11"):
        alone(data=np.zeros((11, 2)))


def test_report_says_what_is_missing_and_why():
    page = render(summarise_alone(draws := alone()))
    assert draws.missing.replace("'", "&#39;") in page
    assert page.count("<img") == 11
    assert "http:" not in page
    assert "https:" not in page


@pytest.mark.parametrize("location", [(0.0, 0.0), (70.0, 0.0)])
def test_report_has_the_units_of_the_table(location):
    draws = dataclasses.replace(alone(), location=np.array(location))
    assert f"<td>{draws.data[0, 0] + location[0]:.6g}</td>" in render(summarise_alone(draws))


def test_which_models_have_a_likelihood():
    assert gaussian2d().has_likelihood
    assert load_guide("filter-niw2d").model.has_likelihood
    assert not warped_clusters().has_likelihood
    assert not Mixture(ChineseRestaurantPrior(1.0), student_t(2)).has_likelihood


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained guide in a folder, beside a table of one simulated data set."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("warped")
    model = warped_clusters()
    guide = NeuralClusteringProcess(model, scorer=NeighbourScorer(width=8), order=NearestNext(0.3))
    save_guide(guide.eval(), path / "guide", card={"max_points": 20})
    data, labels = simulate(model, torch.empty(1, 30, 2))
    frame = pd.DataFrame(data[0].numpy(), columns=["x", "y"]).assign(arc=labels[0].numpy())
    frame.to_csv(path / "arcs.csv", index=False)
    return path


def test_a_described_guide_comes_back(folder):
    guide = load_guide(folder / "guide")
    assert isinstance(guide.scorer, NeighbourScorer)
    assert isinstance(guide.order, NearestNext)
    assert guide.model.name == "warped_clusters"


def test_command_line(folder, tmp_path, capsys):
    arguments = ["compare", str(folder / "arcs.csv"), "--guide", str(folder / "guide"), "--raw"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--label", "arc", "--draws", "20", "--out", str(tmp_path / "out"), "--json"])
    out, err = capsys.readouterr()
    assert end.value.code == 0, err
    printed = json.loads(out)
    assert printed == json.loads((tmp_path / "out/summary.json").read_text())
    assert "no formula" in printed["missing"]
    assert printed["verdict"]["level"] == "cannot tell"
    assert "trained on up to 20 points" in printed["notes"][0]
    frame = pd.read_csv(tmp_path / "out/assignments.csv")
    assert frame.columns.tolist() == ["row", "x", "y", "label", "guide_cluster", "guide_uncertainty"]
    with xr.open_dataset(tmp_path / "out/draws.nc", group="posterior", engine="h5netcdf") as posterior:
        assert posterior["assignments"].shape == (1, 20, 30)
        assert "log_joint" not in posterior
        assert "log_prob" in posterior


def test_draws_that_nothing_weighs_are_not_called_effective():
    page = render(summarise_alone(alone()))
    assert "per draw" in page
    assert "A draw: 2 ms by" in page
    assert "ffective draw" not in page


def test_terminal(folder, tmp_path, capsys):
    arguments = ["compare", str(folder / "arcs.csv"), "--guide", str(folder / "guide"), "--columns", "x,y"]
    with pytest.raises(SystemExit):
        main([*arguments, "--draws", "20", "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    assert "the guide's draws alone" in " ".join(printed.split())
    assert "No verdict: the guide has no certificate" in printed


def test_same_seed_same_draws_and_the_caller_keeps_his_numbers(folder):
    state = torch.random.get_rng_state()
    settings = {"guide": str(folder / "guide"), "columns": ["x", "y"], "raw": True, "num_draws": 10}
    one = compare(str(folder / "arcs.csv"), seed=4, **settings)
    assert torch.equal(state, torch.random.get_rng_state())
    torch.manual_seed(99)
    two = compare(str(folder / "arcs.csv"), seed=4, **settings)
    np.testing.assert_array_equal(one.comparison.guide.assignments, two.comparison.guide.assignments)
    assert one.summary.familiarity == two.summary.familiarity
    assert to_arviz(one.comparison).posterior["assignments"].dtype == np.int64
