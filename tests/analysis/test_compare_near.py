"""A comparison that also calibrates the guide on simulations near the data."""

import json

import numpy as np
import pytest
import torch

from pyroclust import compare
from pyroclust.diagnostics import Mark
from pyroclust.guides import PredictiveFilter
from pyroclust.models import overlap2d

POINTS = np.array([[0.1, 0.0], [0.2, 0.3], [-0.4, 0.2], [2.0, 1.9], [2.2, 2.0]])
QUICK = {"raw": True, "num_draws": 20, "mcmc_draws": 20, "num_chains": 2, "warmup": 20}
QUESTION = "Is the guide calibrated on simulations near these data?"


def compared(*also: str):
    return compare(POINTS, guide=PredictiveFilter(overlap2d()), also=also, **QUICK)


def test_calibration_is_made_where_it_is_asked_for_and_changes_no_draw_and_no_random_number():
    without = compared()
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    with_it = compared("calibration")
    assert torch.equal(torch.rand(2), expected)
    found = with_it.results["calibration"]
    assert (found.num_simulations, found.calibration.num_datasets, found.calibration.num_points) == (
        2000,
        200,
        5,
    )
    for name in ("guide", "mcmc"):
        np.testing.assert_array_equal(without.draws[name].assignments, with_it.draws[name].assignments)
    figures = json.loads(json.dumps(with_it.to_dict()))["calibration"]
    assert figures["p_value"] == pytest.approx(found.calibration.p_value)
    assert QUESTION in {one.question for one in with_it.findings}
    assert "calibration" not in without.results
    assert without.to_dict()["calibration"] is None
    assert QUESTION not in {one.question for one in without.findings}


def test_what_cannot_be_calibrated_is_said(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise ValueError("model has no simulations")

    monkeypatch.setattr("pyroclust.analysis.of_the_model.calibrate_near", refuse)
    found = compared("calibration")
    (sentence,) = found.failures
    assert sentence.startswith("The calibration of the guide near the data could not be made")
    assert "model has no simulations" in sentence
    assert found.to_dict()["failures"] == [sentence]
    (finding,) = [one for one in found.findings if one.question == QUESTION]
    assert (finding.passed, finding.mark) == (None, Mark.UNKNOWN)
    assert finding.sentence == "could not be computed: model has no simulations"
    assert found.verdict.sentence.endswith(f"Because a part failed, there is no answer to: {QUESTION}")
