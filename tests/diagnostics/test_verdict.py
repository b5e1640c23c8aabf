import dataclasses
import json
import math

import numpy as np
import pytest

from pyroclust.diagnostics import Agreement, Answer, Finding, Trust, judge, judge_draws
from pyroclust.diagnostics.findings import (
    Question,
    agreement_findings,
    certificate_finding,
    familiarity_findings,
    settled_finding,
    weighted_finding,
    weights_findings,
)
from pyroclust.diagnostics.judging import with_unanswered
from pyroclust.diagnostics.likeness import Familiarity
from pyroclust.diagnostics.limits import tolerance_of
from pyroclust.diagnostics.short_chains import CheckedRound

CLOSE = Agreement(0.03, 0.05, 0.01, 0.02, 0.04, 0.01)
FAR = Agreement(0.30, 0.40, 0.10, 0.02, 0.04, 0.01)
LAST = CheckedRound(40, 0.4, "entropy", 0.01, 1.01, 0.3, 900.0, 1000)
MOVING = dataclasses.replace(LAST, p_value=0.001)
BETWEEN = dataclasses.replace(CLOSE, largest_difference=0.12)
NOISY = dataclasses.replace(BETWEEN, noise_largest_difference=0.2)
FAR_NOISY = dataclasses.replace(FAR, noise_largest_difference=0.3)


def beside(found, question, limit):
    return weighted_finding(
        found.total_variation,
        found.largest_difference,
        noise=found.noise_largest_difference,
        tolerance=limit,
        question=question,
    )


def judged(
    *,
    max_rhat=1.005,
    min_ess=900.0,
    guide=CLOSE,
    corrected=CLOSE,
    pareto_k=0.3,
    effective_draws=800.0,
    refined=None,
    last=LAST,
    tolerance=None,
    prefers_guide=True,
):
    """Judge a guide beside MCMC; what is ``None`` was not computed."""
    limit = tolerance_of(tolerance, refined=False)
    checks = {}
    if guide is not None:
        checks["agreement"] = agreement_findings(guide, limit)
    if pareto_k is not None:
        checks["weights"] = weights_findings(pareto_k, effective_draws)
    if corrected is not None:
        checks["weighted"] = (beside(corrected, Question.WEIGHTED, limit),)
    if refined is not None:
        checks["settled"] = (settled_finding(last),)
        checks["refined"] = (beside(refined, Question.REFINED, tolerance_of(tolerance, refined=True)),)
    chains = judge_draws("MCMC", num_chains=4, num_draws=4000, max_rhat=max_rhat, min_ess=min_ess)
    return judge(checks, chains=chains, prefers_guide=prefers_guide)


@pytest.mark.parametrize(
    ("changes", "level", "answer", "words"),
    [
        ({}, Trust.TRUST, Answer.GUIDE, "The guide can be trusted here"),
        ({"guide": FAR}, Trust.MCMC, Answer.MCMC, "there are no importance weights to correct them"),
        ({"guide": FAR_NOISY}, Trust.UNKNOWN, Answer.MCMC, "longer"),
        ({"max_rhat": 1.2}, Trust.UNKNOWN, None, "not converged"),
    ],
)
def test_nothing_is_asked_of_weights_where_there_are_none(changes, level, answer, words):
    verdict = judged(**{"corrected": None, "pareto_k": None} | changes)
    assert (verdict.level, verdict.answer) == (level, answer), verdict
    assert words in verdict.sentence
    asked = {one.question for one in verdict.findings}
    assert asked.isdisjoint({Question.TAIL.value, Question.WORTH.value, Question.WEIGHTED.value})


FAILED = {"guide": None, "corrected": None, "pareto_k": None}
ALL_FAR = {"refined": FAR, "guide": FAR, "corrected": FAR}
NOT_SETTLED = {"refined": CLOSE, "last": MOVING}
CASES = [
    # Refined draws that settled and agree come first, whatever the others do.
    ({"refined": CLOSE}, Trust.TRUST, Answer.REFINED, "refined draws can be trusted here"),
    ({"refined": CLOSE, "guide": FAR, "corrected": FAR}, Trust.TRUST, Answer.REFINED, "have settled"),
    ({"refined": CLOSE, "max_rhat": 1.03}, Trust.TRUST, Answer.REFINED, "only roughly converged"),
    # MCMC cannot confirm them.
    ({"refined": CLOSE, "max_rhat": 1.2}, Trust.UNCONFIRMED, Answer.REFINED, "nothing confirms them"),
    ({"refined": CLOSE, "min_ess": 9.0}, Trust.UNCONFIRMED, Answer.REFINED, "has not converged"),
    ({"refined": CLOSE, "max_rhat": math.nan}, Trust.UNCONFIRMED, Answer.REFINED, "cannot be told"),
    (NOT_SETTLED | {"max_rhat": 1.2}, Trust.UNKNOWN, None, "have not settled"),
    ({"max_rhat": 1.2}, Trust.UNKNOWN, None, "There is no answer to write"),
    ({"max_rhat": math.inf}, Trust.UNKNOWN, None, "not converged"),
    ({"min_ess": 12.0}, Trust.UNKNOWN, None, "fewest effective draws 12"),
    # They did not pass: weighted draws, then draws as drawn, then MCMC.
    (NOT_SETTLED, Trust.TRUST, Answer.WEIGHTED, "The guide can be trusted here"),
    (NOT_SETTLED | {"guide": FAR}, Trust.CORRECT, Answer.WEIGHTED, "refined draws have not settled (40"),
    ({"refined": FAR, "guide": FAR}, Trust.CORRECT, Answer.WEIGHTED, "do not agree with MCMC"),
    ({"refined": FAR, "pareto_k": 0.9}, Trust.TRUST, Answer.GUIDE, "as drawn"),
    ({"refined": FAR, "corrected": FAR}, Trust.TRUST, Answer.GUIDE, "The answer is that of the guide's"),
    (ALL_FAR, Trust.MCMC, Answer.MCMC, "that of the draws of"),
    (ALL_FAR | {"refined": NOISY, "guide": FAR_NOISY}, Trust.UNKNOWN, Answer.MCMC, "cannot be told"),
    ({"refined": FAR} | FAILED, Trust.UNKNOWN, Answer.MCMC, "how far it agrees with MCMC could not"),
    (FAILED, Trust.TRUST, Answer.MCMC, "The 4 chains of MCMC agree"),
    # Without refined draws.
    ({}, Trust.TRUST, Answer.WEIGHTED, "with their importance weights"),
    ({"guide": FAR}, Trust.CORRECT, Answer.WEIGHTED, "with their importance weights"),
    ({"guide": FAR, "pareto_k": math.nan}, Trust.CORRECT, Answer.WEIGHTED, "cannot be fitted"),
    ({"guide": FAR, "pareto_k": -math.inf}, Trust.CORRECT, Answer.WEIGHTED, "bounded"),
    ({"guide": FAR, "pareto_k": 0.9}, Trust.MCMC, Answer.MCMC, "(Pareto k 0.90, wanted below 0.7)"),
    ({"guide": FAR, "corrected": FAR}, Trust.MCMC, Answer.MCMC, "does not help"),
    ({"guide": FAR, "corrected": FAR, "min_ess": 200.0}, Trust.MCMC, Answer.MCMC, "itself is only roughly"),
]


@pytest.mark.parametrize(("changes", "level", "answer", "words"), CASES)
def test_the_answer_is_the_best_that_passed_where_a_guide_was_asked_for(changes, level, answer, words):
    verdict = judged(**changes)
    assert (verdict.level, verdict.answer) == (level, answer), verdict.sentence
    assert words in verdict.sentence
    assert ("There is no answer" in verdict.sentence) == (answer is None)
    assert answer is None or f"The answer is that of {answer.draws}." in verdict.sentence


@pytest.mark.parametrize(("changes", "level", "answer", "words"), CASES)
def test_the_answer_is_that_of_mcmc_wherever_it_has_converged(changes, level, answer, words):
    verdict = judged(**changes, prefers_guide=False)
    assert verdict.level is level
    has_converged = verdict.findings[0].passed and verdict.findings[1].passed
    assert verdict.answer is (Answer.MCMC if has_converged else answer)


@pytest.mark.parametrize(
    ("tolerance", "passed"), [(None, (True, True, False)), (0.2, (True,) * 3), (0.05, (False,) * 3)]
)
def test_the_tolerance_is_that_of_pairs(tolerance, passed):
    verdict = judged(guide=BETWEEN, corrected=BETWEEN, refined=BETWEEN, tolerance=tolerance)
    findings = {one.question: one for one in verdict.findings}
    questions = (Question.PAIRS, Question.WEIGHTED, Question.REFINED)
    assert tuple(findings[one.value].passed for one in questions) == passed
    assert findings[Question.COUNTS.value].limit == 0.15


def test_counts_have_their_own_limit_beside_the_tolerance():
    many = dataclasses.replace(CLOSE, total_variation=0.16)
    found = judged(refined=many, tolerance=0.5).findings[-1]
    assert (found.passed, found.value, found.limit) == (False, 0.16, 0.15)


def test_the_failed_limit_is_named_and_the_kept_one_is_not():
    sentence = judged(guide=FAR, pareto_k=0.52, effective_draws=89.0).sentence
    assert "worth 89 draws, wanted at least 100" in sentence
    assert "Pareto k" not in sentence


def test_what_failed_is_named():
    verdict = judged(**FAILED)
    open_one = Finding(Question.PAIRS.value, None, None, None, "could not be computed")
    named = with_unanswered(verdict, (open_one,))
    assert named.sentence.endswith(f"no answer to: {Question.PAIRS.value}")
    assert with_unanswered(verdict, ()) is verdict


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


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "40 sweeps, nothing moved in the last half of them: p = 0.400, largest nested R-hat 1.010"),
        (
            {"p_value": 0.001, "nested_rhat": 1.08},
            "40 sweeps, entropy still moved: p = 0.001, largest nested R-hat 1.080, as by chance: p = 0.300",
        ),
        (
            {"nested_rhat": 1.02, "effective_draws": 120.0},
            "40 sweeps, nothing moved in the last half of them: p = 0.400, largest nested R-hat 1.020, worth "
            "120 draws of 400 wanted, as by chance: p = 0.300",
        ),
        (
            {"nested_rhat": 1.02, "effective_draws": 120.0, "start_p_value": 0.005},
            "40 sweeps, nothing moved in the last half of them: p = 0.400, largest nested R-hat 1.020, worth "
            "120 draws of 400 wanted",
        ),
    ],
)
def test_what_refined_draws_have_settled_by_is_said(changes, sentence):
    assert settled_finding(dataclasses.replace(LAST, **changes)).sentence == sentence


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
        "mark": "good",
    }


LIKE = Familiarity(0.5, 1.0, 1.0, 199, overall=0.4, num_points=50, training_points=(1, 100))
UNLIKE = dataclasses.replace(LIKE, overall=0.005)
NEAR = {
    True: Finding("near?", 0.5, 0.01, True, "p = 0.5"),
    False: Finding("near?", 0.0, 0.01, False, "p = 0"),
}


def judged_alone(*, familiar=LIKE, passed=2, tests=2, near=None, last=None, without=""):
    """Judge a guide that has no MCMC beside it."""
    why = "no MCMC: the likelihood has no formula"
    checks = {
        "agreement": (Finding(Question.BESIDE.value, None, None, None, why),),
        "familiarity": familiarity_findings(familiar),
        "certificate": (certificate_finding(passed, tests),),
        "calibration": () if near is None else (NEAR[near],),
        "settled": () if last is None else (settled_finding(last),),
    }
    return judge({name: one for name, one in checks.items() if one and name != without})


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, Trust.AVERAGE, "2 of 2 tests passed"),
        ({"near": True}, Trust.AVERAGE, "2 of 2 tests passed"),
        ({"familiar": UNLIKE}, Trust.DISTRUST, "unlike those it was trained"),
        ({"near": False}, Trust.DISTRUST, "near this table it is not calibrated (p = 0)"),
        ({"passed": 1}, Trust.UNKNOWN, "1 of 2 tests passed"),
        ({"passed": 0, "tests": 0}, Trust.UNKNOWN, "no certificate"),
        ({"familiar": dataclasses.replace(LIKE, num_points=200)}, Trust.UNKNOWN, "200 points"),
        ({"without": "familiarity"}, Trust.UNKNOWN, "could not be computed"),
        ({"without": "certificate"}, Trust.UNKNOWN, "could not be computed"),
    ],
)
def test_verdicts_on_a_guide_alone(changes, level, words):
    verdict = judged_alone(**changes)
    assert verdict.level is level
    assert words in verdict.sentence
    assert verdict.answer is (Answer.GUIDE if level is Trust.AVERAGE else None)


def test_refined_draws_are_the_answer_where_there_is_no_mcmc():
    found = judged_alone(last=LAST)
    assert (found.level, found.answer) == (Trust.UNCONFIRMED, Answer.REFINED)
    assert "nothing confirms them: there is no MCMC: the likelihood has no formula" in found.sentence
    found = judged_alone(last=MOVING)
    assert (found.level, found.answer) == (Trust.AVERAGE, Answer.GUIDE)
    assert "The refined draws have not settled" in found.sentence
