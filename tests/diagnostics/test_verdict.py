import dataclasses
import json
import math

import numpy as np
import pytest

from pyroclust.diagnostics import (
    Agreement,
    Answer,
    Finding,
    GuideFigures,
    Mark,
    RefinedFigures,
    Round,
    Trust,
    Verdict,
    judge,
    judge_draws,
)
from pyroclust.diagnostics.simulations.familiarity import Familiarity
from pyroclust.diagnostics.verdicts.findings import (
    Question,
    agreement_finding,
    clarity_finding,
    convergence_findings,
    labels_finding,
)
from pyroclust.diagnostics.verdicts.judging import judge_alone

CLOSE = Agreement(0.03, 0.05, 0.01, 0.02, 0.04, 0.01)
FAR = Agreement(0.30, 0.40, 0.10, 0.02, 0.04, 0.01)
GOOD = GuideFigures(CLOSE, CLOSE, max_rhat=1.005, min_ess=900.0, pareto_k=0.3, effective_draws=800.0)


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, Trust.TRUST, "agrees with MCMC"),
        ({"max_rhat": 1.03}, Trust.TRUST, "roughly converged"),
        ({"min_ess": 200.0}, Trust.TRUST, "roughly converged"),
        ({"max_rhat": 1.2}, Trust.UNKNOWN, "R-hat 1.200"),
        ({"max_rhat": math.inf}, Trust.UNKNOWN, "not converged"),
        ({"min_ess": 12.0}, Trust.UNKNOWN, "fewest effective draws 12"),
        ({"guide": FAR}, Trust.CORRECT, "importance weights"),
        ({"guide": FAR, "pareto_k": math.nan}, Trust.CORRECT, "cannot be fitted"),
        ({"guide": FAR, "pareto_k": -math.inf}, Trust.CORRECT, "bounded"),
        (
            {"guide": FAR, "pareto_k": 0.9},
            Trust.MCMC,
            "cannot correct them (Pareto k 0.90, wanted below 0.7)",
        ),
        ({"guide": FAR, "effective_draws": 3.0}, Trust.MCMC, "(worth 3 draws, wanted at least 100)"),
        ({"guide": FAR, "corrected": FAR}, Trust.MCMC, "does not help"),
        (
            {"guide": dataclasses.replace(FAR, noise_largest_difference=0.3), "corrected": FAR},
            Trust.UNKNOWN,
            "run MCMC longer",
        ),
    ],
)
def test_levels(changes, level, words):
    verdict = judge(dataclasses.replace(GOOD, **changes))
    assert verdict.level is level
    assert words in verdict.sentence
    assert verdict.sentence.endswith(".")


NO_WEIGHTS = dataclasses.replace(GOOD, corrected=None, pareto_k=None, effective_draws=None, has_weights=False)


@pytest.mark.parametrize(
    ("changes", "level", "answer", "words"),
    [
        ({}, Trust.TRUST, Answer.GUIDE, "The guide can be trusted here"),
        ({"guide": FAR}, Trust.MCMC, Answer.MCMC, "there are no importance weights to correct them"),
        (
            {"guide": dataclasses.replace(FAR, noise_largest_difference=0.3)},
            Trust.UNKNOWN,
            None,
            "run MCMC longer",
        ),
        ({"guide": None}, Trust.UNKNOWN, Answer.MCMC, "could not be computed"),
        ({"max_rhat": 1.2}, Trust.UNKNOWN, None, "not converged"),
    ],
)
def test_nothing_is_asked_of_weights_where_there_are_none(changes, level, answer, words):
    verdict = judge(dataclasses.replace(NO_WEIGHTS, **changes))
    assert (verdict.level, verdict.answer) == (level, answer), verdict
    assert words in verdict.sentence
    asked = {one.question for one in verdict.findings}
    assert asked.isdisjoint({Question.TAIL.value, Question.WORTH.value, Question.WEIGHTED.value})


LAST = Round(40, 0.4, "entropy", 0.01, 1.01, 0.3, 900.0, 1000)
SETTLED = RefinedFigures(CLOSE, LAST)
MOVING = dataclasses.replace(SETTLED, last=dataclasses.replace(LAST, p_value=0.001))
AWAY = dataclasses.replace(SETTLED, agreement=FAR)
BETWEEN = dataclasses.replace(CLOSE, largest_difference=0.12)
NOISY = dataclasses.replace(BETWEEN, noise_largest_difference=0.2)
FAR_NOISY = dataclasses.replace(FAR, noise_largest_difference=0.2)


@pytest.mark.parametrize(
    ("changes", "level", "answer", "words"),
    [
        # Refined draws that settled and agree come first, whatever the others do.
        ({"refined": SETTLED}, Trust.TRUST, Answer.REFINED, "refined draws can be trusted here"),
        (
            {"refined": SETTLED, "guide": FAR, "corrected": FAR},
            Trust.TRUST,
            Answer.REFINED,
            "0.1 for refined",
        ),
        ({"refined": SETTLED, "max_rhat": 1.03}, Trust.TRUST, Answer.REFINED, "only roughly converged"),
        # MCMC cannot confirm them.
        ({"refined": SETTLED, "max_rhat": 1.2}, Trust.UNCONFIRMED, Answer.REFINED, "nothing confirms them"),
        ({"refined": SETTLED, "min_ess": 9.0}, Trust.UNCONFIRMED, Answer.REFINED, "has not converged"),
        ({"refined": SETTLED, "max_rhat": math.nan}, Trust.UNCONFIRMED, Answer.REFINED, "cannot be told"),
        ({"refined": MOVING, "max_rhat": 1.2}, Trust.UNKNOWN, None, "have not settled"),
        ({"max_rhat": 1.2}, Trust.UNKNOWN, None, "There is no answer to write"),
        (
            {"refined": dataclasses.replace(SETTLED, agreement=NOISY), "guide": FAR_NOISY, "corrected": FAR},
            Trust.UNCONFIRMED,
            Answer.REFINED,
            "two halves of MCMC differ from each other too",
        ),
        (
            {"refined": dataclasses.replace(SETTLED, agreement=None), "guide": None, "corrected": None},
            Trust.UNCONFIRMED,
            Answer.REFINED,
            "how far they agree with MCMC cannot be told",
        ),
        # They did not pass: weighted draws, then draws as drawn, then MCMC.
        ({"refined": MOVING}, Trust.TRUST, Answer.WEIGHTED, "The refined draws have not settled (40 sweeps"),
        ({"refined": AWAY, "guide": FAR}, Trust.CORRECT, Answer.WEIGHTED, "do not agree with MCMC"),
        ({"refined": AWAY, "pareto_k": 0.9}, Trust.TRUST, Answer.GUIDE, "as drawn"),
        ({"refined": AWAY, "corrected": FAR}, Trust.TRUST, Answer.GUIDE, "The answer is that of the guide's"),
        (
            {"refined": AWAY, "guide": FAR, "corrected": FAR},
            Trust.MCMC,
            Answer.MCMC,
            "that of the draws of",
        ),
        (
            {"refined": MOVING, "guide": FAR, "pareto_k": None},
            Trust.UNKNOWN,
            Answer.MCMC,
            "could not",
        ),
        ({"refined": MOVING, "guide": None, "corrected": None}, Trust.UNKNOWN, Answer.MCMC, "how far the gu"),
        ({"refined": MOVING, "guide": FAR_NOISY, "corrected": FAR}, Trust.UNKNOWN, None, "run MCMC longer"),
        # Without refined draws.
        ({}, Trust.TRUST, Answer.WEIGHTED, "may differ by 0.15."),
        ({"guide": FAR}, Trust.CORRECT, Answer.WEIGHTED, "with their importance weights"),
        ({"guide": FAR, "corrected": FAR}, Trust.MCMC, Answer.MCMC, "and not the guide"),
        (
            {"guide": FAR, "corrected": FAR, "min_ess": 200.0},
            Trust.MCMC,
            Answer.MCMC,
            "MCMC itself is only roughly",
        ),
    ],
)
def test_the_answer_is_the_best_that_passed(changes, level, answer, words):
    verdict = judge(dataclasses.replace(GOOD, **changes))
    assert (verdict.level, verdict.answer) == (level, answer), verdict.sentence
    assert words in verdict.sentence
    assert ("There is no answer" in verdict.sentence) == (answer is None)
    assert answer is None or f"The answer is that of {answer.draws}." in verdict.sentence


@pytest.mark.parametrize(
    ("tolerance", "passed"), [(None, (True, True, False)), (0.2, (True,) * 3), (0.05, (False,) * 3)]
)
def test_the_tolerance_is_that_of_pairs(tolerance, passed):
    refined = dataclasses.replace(SETTLED, agreement=BETWEEN)
    figures = dataclasses.replace(
        GOOD, guide=BETWEEN, corrected=BETWEEN, refined=refined, tolerance=tolerance
    )
    verdict = judge(figures)
    findings = {one.question: one for one in verdict.findings}
    questions = (Question.PAIRS, Question.WEIGHTED, Question.REFINED)
    assert tuple(findings[one.value].passed for one in questions) == passed
    assert findings[Question.COUNTS.value].limit == 0.15
    said = "0.1 for refined draws, 0.15 for others" if tolerance is None else f"{tolerance:g}"
    assert f"Co-assignment probabilities may differ by {said}." in verdict.sentence


def test_counts_have_their_own_limit_beside_the_tolerance():
    many = dataclasses.replace(CLOSE, total_variation=0.16)
    refined = dataclasses.replace(SETTLED, agreement=many)
    found = judge(dataclasses.replace(GOOD, refined=refined, tolerance=0.5)).findings[-1]
    assert (found.passed, found.value, found.limit) == (False, 0.16, 0.15)


def test_the_failed_limit_is_named_and_the_kept_one_is_not():
    uneven = dataclasses.replace(GOOD, guide=FAR, pareto_k=0.52, effective_draws=89.0)
    sentence = judge(uneven).sentence
    assert "worth 89 draws, wanted at least 100" in sentence
    assert "Pareto k" not in sentence


FINDINGS = {
    "converge?": ({"max_rhat": 1.05}, {"max_rhat": 1.0501}),
    "enough effective draws": ({"min_ess": 100.0}, {"min_ess": 99.9}),
    "number of clusters?": (
        {"guide": dataclasses.replace(CLOSE, total_variation=0.15)},
        {"guide": dataclasses.replace(CLOSE, total_variation=0.151)},
    ),
    "rows belong together?": (
        {"guide": dataclasses.replace(CLOSE, largest_difference=0.15)},
        {"guide": dataclasses.replace(CLOSE, largest_difference=0.151)},
    ),
    "weights short?": ({"pareto_k": 0.699}, {"pareto_k": 0.7}),
    "worth enough?": ({"effective_draws": 100.0}, {"effective_draws": 99.9}),
    "weighted draws agree": (
        {"corrected": dataclasses.replace(CLOSE, total_variation=0.15)},
        {"corrected": dataclasses.replace(CLOSE, total_variation=0.151)},
    ),
}


@pytest.mark.parametrize("words", FINDINGS)
def test_findings_change_at_their_limits(words):
    kept, broken = (judge(dataclasses.replace(GOOD, **one)).findings for one in FINDINGS[words])
    (place,) = [number for number, one in enumerate(kept) if words in one.question]
    assert (kept[place].passed, broken[place].passed) == (True, False)
    assert [one.passed for number, one in enumerate(broken) if number != place] == [True] * 6


@pytest.mark.parametrize(
    ("max_rhat", "min_ess", "answers"),
    [
        (1.0, np.inf, ["Yes", "Yes"]),
        (1.01, 400, ["Yes", "Yes"]),
        (1.011, 399, ["Roughly", "Roughly"]),
        (1.051, 99, ["No", "No"]),
        (np.nan, np.nan, ["Cannot tell", "Cannot tell"]),
    ],
)
def test_convergence_is_answered_by_its_limits(max_rhat, min_ess, answers):
    found = convergence_findings("MCMC", max_rhat=max_rhat, min_ess=min_ess)
    assert [one.answer for one in found] == answers


def test_distances_between_sources_that_differ_from_themselves_cannot_be_told():
    found = [
        agreement_finding("?", f, "gap", noise=n).passed for f, n in ((0.15, 0.2), (0.2, 0.2), (0.2, 0.1))
    ]
    assert found == [True, None, False]


def test_clarity_and_labels_are_answered_by_their_limits():
    values = (0.1, 0.3, 0.6)
    assert [clarity_finding(np.full(4, value)).answer for value in values] == ["Yes", "Partly", "No"]
    assert "4 of 4 rows" in clarity_finding(np.full(4, 0.6)).sentence
    assert [labels_finding(rand).answer for rand in (0.95, 0.6, 0.1)] == ["Closely", "Partly", "Hardly"]
    assert labels_finding(0.1).mark is Mark.PLAIN


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, Trust.TRUST, "The 4 chains of mine agree and can be used"),
        ({"num_chains": 1}, Trust.AVERAGE, "halves of the one chain of mine agree"),
        ({"max_rhat": 1.03}, Trust.TRUST, "rough convergence only"),
        ({"max_rhat": 1.2}, Trust.DISTRUST, "the 4 chains of mine differ"),
        ({"max_rhat": 1.2, "num_chains": 1}, Trust.DISTRUST, "two halves of the one chain of mine differ"),
        ({"min_ess": 50.0}, Trust.UNKNOWN, "too few effective draws"),
        ({"min_ess": np.nan}, Trust.UNKNOWN, "effective draws could not be computed"),
        ({"max_rhat": np.nan}, Trust.UNKNOWN, "R-hat could not be computed"),
        ({"min_ess": np.inf, "max_rhat": 1.0}, Trust.AVERAGE, "constant over 4000 draws"),
        ({"min_ess": np.inf, "max_rhat": 1.0, "num_draws": 50}, Trust.UNKNOWN, "all 50 draws are alike"),
    ],
)
def test_verdicts_on_draws(changes, level, words):
    figures = {"num_chains": 4, "num_draws": 4000, "max_rhat": 1.001, "min_ess": 900.0} | changes
    verdict = judge_draws("mine", **figures)
    assert verdict.level is level
    assert words in verdict.sentence
    assert len(verdict.findings) == 2
    assert repr(verdict) == f"Verdict({level.value}: {verdict.sentence})"


def test_findings_are_plain_in_json():
    found = Finding("?", np.float64(np.inf), 0.5, np.bool_(True), "endless")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == {
        "question": "?",
        "value": None,
        "limit": 0.5,
        "passed": True,
        "answer": "Yes",
        "sentence": "endless",
        "wanted": "",
    }


def test_verdicts_are_plain_in_json():
    verdict = judge(GOOD)
    plain = verdict.to_dict()
    assert (plain["level"], plain["sentence"]) == ("trust", verdict.sentence)
    assert plain["findings"] == [one.to_dict() for one in verdict.findings]
    json.dumps(plain, allow_nan=False)


def test_every_level_is_good_news_or_bad():
    assert {one: one.mark for one in Trust} == {
        Trust.TRUST: Mark.GOOD,
        Trust.AVERAGE: Mark.GOOD,
        Trust.AGREE: Mark.GOOD,
        Trust.CORRECT: Mark.CAUTION,
        Trust.MCMC: Mark.CAUTION,
        Trust.UNCONFIRMED: Mark.CAUTION,
        Trust.UNKNOWN: Mark.UNKNOWN,
        Trust.DISTRUST: Mark.BAD,
        Trust.DIFFER: Mark.BAD,
    }


LIKE = Familiarity(0.5, 1.0, 1.0, 199, overall=0.4)
NOT_CALIBRATED = Verdict(Trust.DISTRUST, "Not calibrated.")


@pytest.mark.parametrize(
    ("familiar", "tests", "near", "level", "words"),
    [
        (LIKE, [True, True], None, Trust.AVERAGE, "passed all 2 calibration tests"),
        (LIKE, [True, True], Verdict(Trust.AVERAGE, "Calibrated."), Trust.AVERAGE, "passed all 2"),
        (dataclasses.replace(LIKE, overall=0.005), [True], None, Trust.DISTRUST, "unlike those it was train"),
        (LIKE, [True, True], NOT_CALIBRATED, Trust.DISTRUST, "near this table it is not calibrated. MCMC"),
        (LIKE, [True, False], None, Trust.UNKNOWN, "passed 1 of 2 calibration tests"),
        (LIKE, [], None, Trust.UNKNOWN, "has no certificate"),
        (
            dataclasses.replace(LIKE, warning="Too many."),
            [True],
            None,
            Trust.UNKNOWN,
            "No verdict: Too many.",
        ),
    ],
)
def test_verdicts_on_a_guide_alone(familiar, tests, near, level, words):
    finding = None if near is None else Finding("near?", 0.5, 0.01, True, "p = 0.5")
    verdict = judge_alone(familiar, tests, near=near, near_finding=finding)
    assert verdict.level is level
    assert words in verdict.sentence
    assert len(verdict.findings) == (3 if near is None else 4)


def test_refined_draws_are_the_answer_where_there_is_no_mcmc():
    told = {"near": None, "near_finding": None}
    found = judge_alone(LIKE, [True], refined=SETTLED, **told)
    assert (found.level, found.answer) == (Trust.UNCONFIRMED, Answer.REFINED)
    assert "nothing confirms them: there is no MCMC (the likelihood has no formula)" in found.sentence
    found = judge_alone(LIKE, [True], refined=MOVING, **told)
    assert (found.level, found.answer) == (Trust.AVERAGE, Answer.GUIDE)
    assert "The refined draws have not settled" in found.sentence
    assert judge_alone(LIKE, [], **told).answer is None
    assert [one.is_refused for one in (Trust.TRUST, Trust.UNCONFIRMED, Trust.UNKNOWN, Trust.DISTRUST)] == [
        False,
        False,
        True,
        True,
    ]
