"""What constraints changed, and what the data say of them, against figures made by hand."""

import math

import numpy as np
import pytest

from pyroclust.diagnostics import EvidenceMethod, LogEvidence, Mark
from pyroclust.diagnostics.constraint_effect import (
    ConstraintOdds,
    constraint_effect,
    constraint_odds,
    moved_points,
    uncertainty_of,
)
from pyroclust.diagnostics.differences import marginals
from pyroclust.diagnostics.judging import judge_forest


def evidence(estimate, error=0.05):
    return LogEvidence(EvidenceMethod.BRIDGE, estimate, error, 0.1)


def odds(**changes):
    given = {
        "constrained": [],
        "free": [],
        "log_prior": -3.0,
        "kept": np.zeros(100),
        "effective_draws": 100.0,
    }
    given |= changes
    return constraint_odds(given.pop("constrained"), given.pop("free"), **given)


def test_the_change_of_a_point_is_the_mean_over_the_others():
    before = np.array([[0, 0, 1, 1], [0, 1, 1, 1]] * 10)
    found = constraint_effect(before, marginals(np.array([[0, 0, 1, 1]])))
    np.testing.assert_allclose(found.change, [1 / 6, 0.5, 1 / 6, 1 / 6])
    np.testing.assert_allclose(found.noise, 0)
    assert moved_points(found).tolist() == [1, 0, 2, 3]
    assert found.counts_before.tolist() == [1.0]
    assert found.clusters_from == 2


def test_what_chance_makes_did_not_move():
    before = np.array([[[0, 0]] * 10, [[0, 1]] * 10])
    found = constraint_effect(before, marginals(np.array([[0, 0], [0, 0], [0, 1]])))
    np.testing.assert_allclose(found.noise, 1)
    assert found.change.max() > 0.05
    assert moved_points(found).tolist() == []


def test_uncertainty_is_that_of_two_draws():
    rng = np.random.default_rng(0)
    draws = rng.integers(3, size=(400, 6))
    found = uncertainty_of(marginals(draws))
    one, other = draws[:200, :, None] == draws[:200, None], draws[200:, :, None] == draws[200:, None]
    by_hand = (one[:, None] != other[None])[..., *np.triu_indices(6, 1)].sum(-1).mean()
    assert found.disagreeing == pytest.approx(by_hand, rel=0.05)
    assert found.num_pairs == 15
    assert uncertainty_of(marginals(np.zeros((3, 4), dtype=int))).pair_entropy == 0


def test_evidences_give_the_bayes_factor():
    found = odds(constrained=[evidence(-12.0)], free=[evidence(-10.0)])
    assert (found.log_posterior, found.log_bayes_factor) == (-2.0, 1.0)
    assert found.error == pytest.approx(math.hypot(0.05, 0.05))
    assert found.sentence == "The data make these constraints 2.7 times more probable than the prior did."
    assert found.finding.answer == "Yes"


def test_draws_give_it_where_no_evidence_does():
    kept = np.arange(1000) < 200
    found = odds(kept=kept, effective_draws=500.0)
    assert found.log_posterior == pytest.approx(math.log(0.2))
    assert found.error == pytest.approx(math.sqrt(0.8 / (0.2 * 500)), rel=0.05)
    assert "share of the draws" in found.method


def test_constraints_that_all_draws_keep_have_probability_1():
    found = odds(kept=np.ones(400), effective_draws=400.0)
    assert found.log_posterior == 0
    assert 0 < found.error < 0.01


def test_the_surer_of_two_is_taken_and_none_where_they_differ():
    kept = np.arange(1000) < 200
    given = {"kept": kept, "effective_draws": 1000.0, "free": [evidence(0.0, 0.2)]}
    agreed = odds(constrained=[evidence(math.log(0.25), 0.2)], **given)
    assert "share of the draws" in agreed.method
    apart = odds(constrained=[evidence(-9.0, 0.2)], **given)
    assert math.isnan(apart.log_posterior)
    assert "differ by more than chance" in apart.sentence
    assert apart.finding.passed is None


def test_nothing_is_said_where_nothing_tells():
    found = odds(kept=np.arange(100) < 3)
    assert found.sentence.startswith("What the data say of these constraints is unknown: 3 of 100 draws")
    assert found.finding.answer == "Cannot tell"
    unknown = odds(log_prior=math.nan, why_no_prior="too many", kept=np.ones(100))
    assert unknown.sentence.endswith("that under the prior is unknown: too many.")
    assert unknown.finding.passed is None


@pytest.mark.parametrize(
    ("log_posterior", "said", "mark"),
    [
        (-0.5, "times more probable", Mark.GOOD),
        (-3.05, "neither for nor against", Mark.PLAIN),
        (-60.0, "10^24.8 times less probable", Mark.CAUTION),
        (-10.0, "1,097 times less probable", Mark.CAUTION),
    ],
)
def test_sentence_and_mark_say_the_same(log_posterior, said, mark):
    found = ConstraintOdds(-3.0, log_posterior, 0.1)
    assert said in found.sentence
    assert found.finding.mark is mark


def test_forests_are_not_confirmed():
    found = judge_forest(num_draws=500, uncertainty=np.zeros(4), excess=0.25)
    assert found.level.value == "not confirmed"
    assert "25.0% of the draws have more" in found.findings[0].sentence
    assert judge_forest(num_draws=50, uncertainty=None, excess=0.0).level.is_refused
