"""A figure that is printed beside a limit lies on the side of the limit that its value lies on."""

import dataclasses
import math
import re

import numpy as np
import pytest

from pyroclust.diagnostics import Agreement, Familiarity, Finding, Trust, Verdict, judge, judge_draws
from pyroclust.diagnostics.differences import Mixing
from pyroclust.diagnostics.findings import (
    Question,
    agreement_findings,
    certificate_finding,
    clarity_finding,
    convergence_findings,
    familiarity_findings,
    labels_finding,
    near_finding,
    weighted_finding,
    weights_findings,
)
from pyroclust.diagnostics.judging import (
    baseline_finding,
    calibrated_finding,
    judge_calibration,
    judge_local_calibration,
    weights_finding,
)
from pyroclust.diagnostics.limits import (
    CLEAR,
    CLOSE_TO_LABELS,
    GOOD_ESS,
    GOOD_RHAT,
    MAX_CHANCE,
    MAX_DIFFERENCE,
    MAX_ERRORS_BEHIND,
    MAX_HIGH_K_SHARE,
    MAX_PARETO_K,
    MAX_RHAT,
    MIN_CALIBRATION,
    MIN_CERTIFIED,
    MIN_ESS,
    MIN_FAMILIARITY,
    PARTLY_CLEAR,
    PARTLY_LABELS,
    written,
    written_pair,
)
from pyroclust.diagnostics.sources import Effect, VariationBlocks, judge_sources

SMALL = Agreement(0.03, 0.05, 0.01, 0.02, 0.04, 0.01)
MIXED = Mixing(900.0, 1.001, constant=False)
GOOD = Verdict(Trust.AVERAGE, "Calibrated.")


def of_guide(found):
    chains = judge_draws("MCMC", num_chains=4, num_draws=4000, max_rhat=1.005, min_ess=900.0)
    return judge({"agreement": agreement_findings(found, MAX_DIFFERENCE)}, chains=chains).sentence


def of_guide_alone(overall):
    beside = Finding(Question.BESIDE.value, None, None, None, "no MCMC")
    checks = {
        "familiarity": familiarity_findings(familiar(overall)),
        "certificate": (certificate_finding(1, 1),),
    }
    return judge({"agreement": (beside,)} | checks)


def of_sources(value, noise=0.01, p_value=0.0001):
    effect = Effect("excess", value, noise, MAX_DIFFERENCE, p_value)
    blocks = VariationBlocks(9.0, 9.0, 9.0, 9.0)
    return judge_sources([effect], (MIXED, MIXED), names=("A", "B"), variation=blocks)


def familiar(overall):
    return Familiarity(0.5, 1.0, 1.0, 199, overall=overall)


def of_calibration(p_value):
    return judge_calibration({"pairs": p_value}, num_datasets=9, num_points=9, worst_functional="entropy")


SENTENCES = {
    "largest R-hat": (lambda x: convergence_findings("it", max_rhat=x, min_ess=9e3)[0], MAX_RHAT, "R-hat "),
    "good R-hat": (lambda x: convergence_findings("it", max_rhat=x, min_ess=9e3)[0], GOOD_RHAT, "R-hat "),
    "fewest draws": (lambda x: convergence_findings("it", max_rhat=1.0, min_ess=x)[1], MIN_ESS, "draws "),
    "enough draws": (lambda x: convergence_findings("it", max_rhat=1.0, min_ess=x)[1], GOOD_ESS, "draws "),
    "Pareto k": (lambda x: weights_findings(x, 900.0)[0], MAX_PARETO_K, "k "),
    "weighted draws": (lambda x: weights_findings(0.3, x)[1], MIN_ESS, "worth "),
    "weighted counts": (lambda x: weighted_finding(x, 0.0, noise=0.0), MAX_DIFFERENCE, "total variation "),
    "weighted pairs": (lambda x: weighted_finding(0.0, x, noise=0.0), MAX_DIFFERENCE, "of a pair "),
    "clear": (lambda x: clarity_finding(np.array([x])), CLEAR, "of a row "),
    "partly clear": (lambda x: clarity_finding(np.array([x])), PARTLY_CLEAR, "of a row "),
    "close to labels": (labels_finding, CLOSE_TO_LABELS, "index "),
    "partly labels": (labels_finding, PARTLY_LABELS, "index "),
    "familiarity": (lambda x: familiarity_findings(familiar(x))[0], MIN_FAMILIARITY, "p = "),
    "unfamiliar": (of_guide_alone, MIN_FAMILIARITY, "p = "),
    "near": (lambda x: near_finding(GOOD, x, num_nearest=9, num_simulations=9), MIN_CALIBRATION, "p = "),
    "certified": (lambda x: calibrated_finding("it", x, num_points=9), MIN_CERTIFIED, "p = "),
    "high k": (lambda x: weights_finding(x, num_points=9, num_datasets=10**6), MAX_HIGH_K_SHARE, "^"),
    "calibration": (of_calibration, MIN_CALIBRATION, "p = "),
    "findings of a calibration": (lambda x: of_calibration(x).findings[0], MIN_CALIBRATION, "p = "),
    "local calibration": (
        lambda x: judge_local_calibration(GOOD, p_value_data=x).findings[0],
        MIN_CALIBRATION,
        "p = ",
    ),
    "chains": (
        lambda x: judge_draws("it", num_chains=4, num_draws=4000, max_rhat=x, min_ess=900.0),
        MAX_RHAT,
        "R-hat ",
    ),
    "counts of a guide": (
        lambda x: of_guide(dataclasses.replace(SMALL, total_variation=x)),
        MAX_DIFFERENCE,
        "number of clusters ",
    ),
    "pairs of a guide": (
        lambda x: of_guide(dataclasses.replace(SMALL, largest_difference=x)),
        MAX_DIFFERENCE,
        "differ by at most ",
    ),
    "sources": (lambda x: of_sources(x).findings[-1], MAX_DIFFERENCE, "^"),
    "listed sources": (of_sources, MAX_DIFFERENCE, "excess "),
    "chance": (lambda x: of_sources(0.5, p_value=x).findings[-1], MAX_CHANCE, "p = "),
}


def text_of(said):
    return said if isinstance(said, str) else said.sentence


def printed(text, before):
    """Return the number that a text has after some words; percents as shares."""
    number, percent = re.search(f"{before}([+-]?[0-9.]*[0-9])(%?)", text).groups()
    return float(number) / (100 if percent else 1)


def side(value, limit):
    return (value > limit) - (value < limit)


@pytest.mark.parametrize("case", SENTENCES)
@pytest.mark.parametrize("factor", [1.0, 1 - 1e-3, 1 + 1e-3, 1 - 1e-6, 1 + 1e-6, 1 - 1e-12, 1 + 1e-12])
def test_sentences_keep_the_side_of_the_limit(case, factor):
    make, limit, before = SENTENCES[case]
    text = text_of(make(limit * factor))
    assert text_of(make(np.float64(limit * factor))) == text
    assert side(printed(text, before), limit) == side(limit * factor, limit), text


def test_halves_of_mcmc_that_differ_just_too_much():
    far = Agreement(0.30, 0.40, 0.10, 0.02, 0.1504, 0.01)
    sentence = of_guide(far)
    assert "two halves of the reference by 0.1504" in sentence


@pytest.mark.parametrize("error", [0.05, 0.0475, 0.04753, 0.1, 0.0])
@pytest.mark.parametrize("step", [0.0, 1e-3, -1e-3, 4e-4, -4e-4, 1e-5, -1e-5, 1e-9, -1e-9])
def test_a_guide_and_its_baseline_are_printed_as_they_are_judged(error, step):
    found = baseline_finding(-MAX_ERRORS_BEHIND * error + step, error, num_points=9)
    assert (printed(found.sentence, "^") >= printed(found.wanted, "at least ")) == found.passed


@pytest.mark.parametrize("number", range(1, 8))
@pytest.mark.parametrize("factor", [1.0, 0.999, 1.001, 0.99, 1.01, 1 - 1e-9, 1 + 1e-9])
def test_parts_of_a_calibration_are_printed_as_they_are_judged(number, factor):
    p_values = {str(part): MIN_CALIBRATION / number * factor for part in range(number)}
    verdict = judge_calibration(p_values, num_datasets=9, num_points=9, worst_functional="entropy")
    for found in verdict.findings:
        assert (printed(found.sentence, "p = ") >= printed(found.wanted, "p of at least ")) == found.passed


@pytest.mark.parametrize(("value", "noise"), [(0.302, 0.301), (0.3014, 0.3012), (0.305, 0.305), (0.31, 0.2)])
def test_what_is_beyond_noise_is_printed_beyond_it(value, noise):
    verdict = of_sources(value, noise=noise)
    for text in (verdict.sentence, verdict.findings[-1].sentence):
        assert (printed(text, "(?:excess |^)") > printed(text, "noise ")) == (value > noise), text
    assert (verdict.level is Trust.DIFFER) == (value > noise)


def test_figures_have_no_more_digits_than_they_need():
    assert [written(x, ".2f", 0.15) for x in (0.15, 0.14, 0.1449, 0.154, 0.152, 0.16)] == [
        "0.15",
        "0.14",
        "0.14",
        "0.154",
        "0.152",
        "0.16",
    ]
    assert [written(x, ".0f", 100.0, 400.0) for x in (99.9, 99.4, 399.96, 1234.5)] == [
        "99.9",
        "99",
        "399.96",
        "1234",
    ]
    assert [written(x, ".0%", 0.25) for x in (0.25, 0.252, 0.26)] == ["25%", "25.2%", "26%"]
    assert [written(x, ".2f", 0.7) for x in (math.nan, math.inf, -math.inf)] == ["nan", "inf", "-inf"]
    # A limit with more digits than the usual ones is written out where the value equals it.
    assert written(0.125, ".2f", 0.125) == "0.125"


def test_a_value_and_a_limit_that_is_no_round_number_do_not_look_alike():
    assert written_pair(0.1228, 0.1232, ".3f") == ("0.1228", "0.123")
    assert written_pair(-0.1238, -0.1236, ".3f") == ("-0.124", "-0.1236")
    assert written_pair(0.3, 0.1, "+.3f") == ("+0.300", "+0.100")
