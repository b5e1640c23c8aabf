import math

import numpy as np
import pytest

from pyroclust.diagnostics import EvidenceMethod, LogEvidence, evidence_headline
from pyroclust.diagnostics.weights.evidence import repeated_log_evidence

BRIDGE, IMPORTANCE, ANNEALED = EvidenceMethod.BRIDGE, EvidenceMethod.IMPORTANCE, EvidenceMethod.ANNEALED


def of(method, estimate, error, pareto_k=math.nan, spread=math.nan):
    return LogEvidence(method, estimate, error, pareto_k, spread)


def test_the_bridge_is_stated_where_the_weights_have_failed():
    # Miles per gallon, weight and horsepower of 392 cars, ncp-niw3d: weights at -990.77 with error 0.46.
    weights = of(IMPORTANCE, -990.77, 0.46, 2.91)
    bridge = of(BRIDGE, -982.88, 0.2, 3.08)
    assert evidence_headline([weights, bridge]).best is bridge


def test_unknown_where_nothing_can_be_relied_on():
    found = evidence_headline([of(BRIDGE, -982.9, 1.08, 3.1), of(IMPORTANCE, -990.8, 0.46, 2.9)])
    assert found.best is None
    assert math.isnan(found.estimate)
    assert "bridge sampling has a standard error of 1.08 nats, more than 0.3" in found.reason
    assert "importance sampling has Pareto k 2.90, not below 0.7" in found.reason
    assert found.figures()["reason"] == found.reason


def test_annealing_is_stated_where_the_others_fail():
    annealed = of(ANNEALED, -982.0, 0.5, spread=1.2)
    assert evidence_headline([of(BRIDGE, -982.9, 1.08, 3.1), annealed]).best is annealed


def test_unknown_where_estimates_disagree():
    found = evidence_headline([of(BRIDGE, -10.0, 0.05, 0.1), of(IMPORTANCE, -10.5, 0.05, 0.1)])
    assert found.best is None
    assert found.reason == (
        "bridge sampling says -10.00 with standard error 0.05 and importance sampling says -10.50 with "
        "standard error 0.05: they differ by more than chance"
    )
    near = evidence_headline([of(BRIDGE, -10.0, 0.04, 0.1), of(IMPORTANCE, -10.2, 0.05, 0.1)])
    assert near.best.estimate == -10.0


@pytest.mark.parametrize(
    ("one", "reliable"),
    [
        (of(IMPORTANCE, 0.0, 0.1, 0.69), True),
        (of(IMPORTANCE, 0.0, 0.1, 0.7), False),
        (of(IMPORTANCE, 0.0, 0.1), False),
        (of(IMPORTANCE, 0.0, 0.0, -math.inf), True),
        (of(BRIDGE, 0.0, 0.3, 4.0), True),
        (of(BRIDGE, 0.0, 0.31, 0.1), False),
        (of(BRIDGE, 0.0, math.nan, 0.1), False),
        (of(ANNEALED, 0.0, 0.9, spread=2.0), True),
        (of(ANNEALED, 0.0, 0.9, spread=2.01), False),
        (of(ANNEALED, 0.0, 1.51, spread=1.0), False),
        (of(EvidenceMethod.RECIPROCAL, 0.0, 0.01, 0.1), False),
    ],
)
def test_what_can_be_relied_on(one, reliable):
    assert one.is_reliable is reliable
    assert bool(one.why_not) is not reliable


def test_nothing_is_unknown():
    assert evidence_headline([]).reason == "nothing estimates it"


def test_repetitions_far_apart_have_an_error_above_one():
    estimate, error, spread = repeated_log_evidence(np.array([-10.0, -20.0, -30.0, -40.0]))
    assert estimate == pytest.approx(-10.0 - math.log(4), abs=1e-3)
    assert spread == pytest.approx(np.std([10, 20, 30, 40], ddof=1))
    assert error == pytest.approx(spread / 2)


def test_repetitions_close_together_have_the_error_of_their_mean():
    values = np.log(np.random.default_rng(0).gamma(100.0, 0.01, 400))
    estimate, error, _ = repeated_log_evidence(values)
    assert abs(estimate) < 4 * error
    assert error == pytest.approx(0.1 / 20, rel=0.1)
