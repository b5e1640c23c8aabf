"""Options of ``compare`` and ``cluster``: which are taken, which are repeated, and what they can ask."""

import numpy as np
import pytest

from pyroclust import cluster, compare, forest

ROWS = np.concatenate([np.zeros(6), np.ones(6)]) + np.linspace(0, 0.1, 12)
FEW = {"num_chains": 1, "mcmc_draws": 10, "warmup": 10}


@pytest.mark.parametrize(
    ("guide", "possible"),
    [
        ("none", "baselines, evidence"),
        (None, "baselines, calibration, evidence, familiarity, refining, two_samples, witnesses"),
    ],
)
def test_a_question_that_nobody_knows_is_refused_with_those_that_can_be_asked_here(guide, possible):
    with pytest.raises(ValueError, match=f"unknown step 'nonsense'. Known: {possible}$"):
        compare(ROWS, guide=guide, also=["nonsense"], **FEW)


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (cluster, {"kernel": "gibbs", "refine": True}, "no kernel and no refine: pyroclust.compare does"),
        (cluster, {"column": "a"}, "unknown option 'column', did you mean 'columns'?"),
        (compare, {"expected": 3}, "unknown option 'expected', did you mean 'expected_clusters'?"),
        (forest, {"num_cluster": 3}, "unknown option 'num_cluster', did you mean 'num_clusters'?"),
    ],
)
def test_an_option_that_is_not_taken_is_refused(function, options, said):
    with pytest.raises(TypeError, match=said.replace("?", r"\?")):
        function(ROWS, **options)


def test_what_was_given_is_repeated_and_nothing_else():
    stages = []
    found = cluster(ROWS, guide="none", prior="crp", num_draws=None, progress=stages.append, seed=2, **FEW)
    assert found.repeat.arguments == {"prior": "crp", **FEW}
    assert found.repeat.seed == 2
    assert "running 1 chain of merge-split+gibbs" in stages
    again = compare(ROWS, guide="none", conditions={}, also=[], columns=None, **FEW)
    assert again.repeat.arguments == {"guide": "none", **FEW}


def test_the_order_of_questions_is_no_other_run(tmp_path):
    asked = ["baselines", "evidence"]
    for also in (asked, asked[::-1]):
        cluster(ROWS, also=also, out=tmp_path, **FEW)
    with pytest.raises(ValueError, match="holds the results of another run"):
        cluster(ROWS, also=asked[:1], out=tmp_path, **FEW)
