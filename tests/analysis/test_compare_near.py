"""A comparison that also calibrates the guide on simulations near the data."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from near_cases import near_case
from synthetic_comparison import make_comparison

from pyroclust import compare
from pyroclust.cli import main
from pyroclust.diagnostics import Mark, Trust
from pyroclust.guides import PredictiveFilter
from pyroclust.models import overlap2d
from pyroclust.report import render
from pyroclust.results.comparison_figures import summarise

POINTS = np.array([[0.1, 0.0], [0.2, 0.3], [-0.4, 0.2], [2.0, 1.9], [2.2, 2.0]])
QUICK = {"raw": True, "num_draws": 20, "mcmc_draws": 20, "num_chains": 2}


def test_calibration_is_made_where_it_is_asked_for_and_changes_no_draw():
    guide = PredictiveFilter(overlap2d())
    without, with_it = (compare(POINTS, guide=guide, calibrate=asked, **QUICK) for asked in (False, True))
    assert without.summary.calibration is None
    found = with_it.summary.calibration
    assert (found.num_simulations, found.calibration.num_datasets, found.calibration.num_points) == (
        2000,
        200,
        5,
    )
    for source in ("guide", "mcmc"):
        first, second = (getattr(one.comparison, source).assignments for one in (without, with_it))
        np.testing.assert_array_equal(first, second)
    figures = json.loads(json.dumps(with_it.summary.to_dict()))["calibration_near_data"]
    assert figures["p_value"] == pytest.approx(found.calibration.p_value)
    assert without.summary.to_dict()["calibration_near_data"] is None


def test_command_line(tmp_path, capsys):
    path = tmp_path / "points.npy"
    np.save(path, np.random.default_rng(0).standard_normal((6, 1)))
    arguments = ["--guide", "filter-nig1d", "--draws", "20", "--mcmc-draws", "20", "--calibrate"]
    with pytest.raises(SystemExit) as end:
        main(["compare", str(path), *arguments, "--out", str(tmp_path / "out")])
    out = capsys.readouterr().out
    assert end.value.code == 0
    assert "calibrated on" in out
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["calibration_near_data"]["nearest"] == 200
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Is the guide calibrated near these data" in page


@pytest.mark.parametrize(
    ("case", "answer", "mark"),
    [
        ({}, "Yes", Mark.GOOD),
        ({"wrong": True}, "No", Mark.BAD),
        ({"far": True}, "Cannot tell", Mark.UNKNOWN),
    ],
)
def test_verdicts(case, answer, mark):
    row = near_case(**case).finding
    assert (row.answer, row.mark) == (answer, mark)
    comparison = replace(make_comparison(num_points=20, draws=60), calibration=near_case(**case))
    page = render(summarise(comparison))
    assert near_case(**case).verdict.sentence.split("(")[0] in page


def test_what_cannot_be_calibrated_is_said(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise ValueError("model has no simulations")

    monkeypatch.setattr("pyroclust.analysis.comparing.calibrate_near", refuse)
    found = compare(POINTS, guide=PredictiveFilter(overlap2d()), calibrate=True, **QUICK)
    sentence = (
        "The calibration of guide 'PredictiveFilter' near the data could not be made and is left out: "
        "model has no simulations."
    )
    figures = found.to_dict()
    assert sentence in figures["failures"]
    assert sentence in figures["notes"]
    question = "Is the guide calibrated on simulations near these data?"
    (finding,) = [one for one in found.summary.findings if one.question == question]
    assert (finding.passed, finding.mark) == (None, Mark.UNKNOWN)
    assert finding.sentence == "could not be computed: model has no simulations"
    assert found.verdict.sentence.endswith(f"Because a part failed, there is no answer to: {question}")
    assert figures["verdict"]["sentence"] == found.verdict.sentence


def test_a_wrong_guide_is_not_trusted_alone():
    from report_pages import alone_case

    assert alone_case(calibration=near_case()).verdict.level is Trust.AVERAGE
    verdict = alone_case(calibration=near_case(wrong=True)).verdict
    assert verdict.level is Trust.DISTRUST
    assert "not calibrated on 200 data sets of 4 points" in verdict.sentence


def test_the_callers_random_numbers_are_left_alone():
    guide = PredictiveFilter(overlap2d())
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    compare(POINTS, guide=guide, calibrate=True, **QUICK)
    assert torch.equal(torch.rand(2), expected)
