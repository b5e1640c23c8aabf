"""A guide whose model has no likelihood: its draws alone, from the figures to the command line."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from report_pages import alone_case, alone_comparison, alone_world, stored_certificate
from synthetic_comparison import filled

from pyroclust import Analysis, compare, to_arviz
from pyroclust.cli import main
from pyroclust.diagnostics import Trust
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.infer.simulation import simulate
from pyroclust.models import warped_clusters
from pyroclust.nn import NearestNext, NeighbourScorer
from pyroclust.report import page_of, render_page
from pyroclust.saving.guides import save_guide

LABELS = np.repeat(["0", "1"], 6).astype(object)


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, Trust.AVERAGE, "2 of 2 tests passed"),
        ({"certificate": stored_certificate(True, False)}, Trust.UNKNOWN, "1 of 2 tests passed"),
        ({"certificate": {}}, Trust.UNKNOWN, "no certificate"),
        ({"certificate": stored_certificate()}, Trust.UNKNOWN, "no certificate"),
        ({"data": np.full((12, 2), 50.0)}, Trust.DISTRUST, "unlike those it was trained on"),
    ],
)
def test_verdicts(changes, level, words):
    found = alone_comparison(**{"certificate": stored_certificate(True, True)} | changes)
    judged = filled(found, world=alone_world())
    assert judged.verdict.level is level
    assert words in judged.verdict.sentence


def test_the_words_of_stored_findings_play_no_part():
    certificate = stored_certificate(True, True, False)
    for one in certificate["verdict"]["findings"]:
        one["what"] = "a test by another name"
    found = filled(alone_comparison(certificate=certificate), world=alone_world())
    assert found.results["certificate"] == {"tests": 3, "passed": 2}


def test_more_points_than_in_training_cannot_be_told():
    found = filled(alone_comparison(), world=alone_world(training_points=(1, 9)))
    assert found.verdict.level is Trust.UNKNOWN
    assert "12 points, trained on 1 to 9" in found.verdict.sentence


@pytest.fixture(scope="module")
def alone():
    return alone_case(labels=LABELS)


def test_figures(alone):
    summary = alone.summary("guide")
    values, probabilities = summary.short_figures()["num_clusters"].values()
    assert (values.tolist(), probabilities.tolist()) == ([2, 3], [0.75, 0.25])
    assert summary.estimate.adjusted_rand == 1
    assert summary.co_assignment[6, 11] == 0.75
    assert alone.seconds_each("guide") == pytest.approx(0.002)
    figures = json.loads(json.dumps(alone.to_dict(), allow_nan=False))
    assert figures["certificate"] == {"tests": 1, "passed": 1}
    assert figures["verdict"]["level"] == "trust on average"
    assert figures["point_estimates"]["guide"]["num_clusters"] == 2
    assert figures["weights"] is figures["evidence"] is figures["agreement"] is None


def test_page_says_what_is_missing_and_asks_nothing_of_the_network(alone):
    html = render_page(page_of(alone))
    assert "has no formula" in html
    assert html.count("<img") > 5
    assert "http:" not in html
    assert "https:" not in html
    # Draws that nothing weighs are not called effective.
    costs = [one for one in page_of(alone).sections if one.title == "Cost"]
    assert "per effective draw" not in str(costs)


@pytest.mark.parametrize("location", [(0.0, 0.0), (70.0, 0.0)])
def test_page_and_files_have_the_units_of_the_table(location):
    found = filled(alone_comparison(location=location), world=alone_world())
    value = found.data.values[0, 0] + location[0]
    assert f"<td>{value:.6g}</td>" in render_page(page_of(found))
    assert found.frame()["x"][0] == value


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


def test_command_line(folder, tmp_path, capsys):
    arguments = ["compare", str(folder / "arcs.csv"), "--guide", str(folder / "guide"), "--raw"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--label", "arc", "--draws", "20", "--out", str(tmp_path / "out"), "--json"])
    out, err = capsys.readouterr()
    assert end.value.code == 0, err
    printed = json.loads(out)
    assert printed == json.loads((tmp_path / "out/summary.json").read_text())
    assert printed["verdict"]["level"] == "cannot tell"
    assert any("trained on up to 20 points" in note for note in printed["notes"])
    assert any("no MCMC" in one["sentence"] for one in printed["findings"])
    assert printed["sources"].keys() == {"guide"}
    frame = pd.read_csv(tmp_path / "out/assignments.csv")
    expected = ["row", "cluster", "probability", "uncertainty", "x", "y", "label"]
    assert frame.columns.tolist() == expected
    with xr.open_dataset(tmp_path / "out/draws.nc", group="posterior", engine="h5netcdf") as posterior:
        assert posterior["assignments"].shape == (1, 20, 30)
        assert "log_joint" not in posterior
        assert "log_prob" in posterior
    again = Analysis.read(tmp_path / "out")
    assert (again.verdict.level, list(again.draws)) == (Trust.UNKNOWN, ["guide"])
    assert again.frame()["cluster"].tolist() == frame["cluster"].tolist()


def test_same_seed_same_draws_and_the_caller_keeps_his_numbers(folder):
    state = torch.random.get_rng_state()
    settings = {"guide": str(folder / "guide"), "columns": ["x", "y"], "raw": True, "num_draws": 10}
    one = compare(str(folder / "arcs.csv"), seed=4, **settings)
    assert torch.equal(state, torch.random.get_rng_state())
    torch.manual_seed(99)
    two = compare(str(folder / "arcs.csv"), seed=4, **settings)
    np.testing.assert_array_equal(one.draws["guide"].assignments, two.draws["guide"].assignments)
    assert one.results["familiarity"] == two.results["familiarity"]
    assert to_arviz(one).posterior["assignments"].dtype == np.int64
