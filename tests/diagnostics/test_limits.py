"""Every limit lies where it is said to, and figures are printed on the side of it that they lie on."""

import dataclasses
import math
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from chain_cases import restaurant_draws

from pyroclust.calibration import Certificate, judge_certificate
from pyroclust.calibration.certificate import MixtureRow
from pyroclust.diagnostics import (
    Agreement,
    ClusterContrasts,
    EvidenceMethod,
    Familiarity,
    Finding,
    LogEvidence,
    Trust,
    Verdict,
    compare_sources,
    evidence_headline,
    judge,
    judge_draws,
    likely_outliers,
    limits,
)
from pyroclust.diagnostics.chains import num_large_clusters
from pyroclust.diagnostics.clusters import ClusterProfiles
from pyroclust.diagnostics.constraint_effect import (
    ConstraintEffect,
    Uncertainty,
    constraint_odds,
    moved_points,
)
from pyroclust.diagnostics.differences import Mixing
from pyroclust.diagnostics.findings import (
    Question,
    agreement_finding,
    agreement_findings,
    certificate_finding,
    clarity_finding,
    convergence_findings,
    familiarity_findings,
    labels_finding,
    near_finding,
    num_doubtful,
    share_together,
    split_finding,
    weight_quality_finding,
    weighted_finding,
    weights_findings,
)
from pyroclust.diagnostics.importance import can_tell
from pyroclust.diagnostics.judging import (
    baseline_finding,
    calibrated_finding,
    certificate_verdict,
    judge_calibration,
    judge_local_calibration,
    tail_summary,
    verdict_of_set,
    weights_finding,
)
from pyroclust.diagnostics.likeness import Likeness, WeightQuality
from pyroclust.diagnostics.limits import tolerance_of, written, written_pair
from pyroclust.diagnostics.short_chains import CheckedRound
from pyroclust.diagnostics.sources import Effect, VariationBlocks, judge_sources
from pyroclust.diagnostics.split_clusters import OtherShape, SplitClusters

SMALL = Effect("other difference", 0.1, 0.05, 0.15, 0.5)
WELL = Mixing(900.0, 1.002, constant=False)


def split(gain: float) -> SplitClusters:
    return SplitClusters((OtherShape((0, 1), 90, gain, "heavy-tailed"),), 2, 1)


def two_sizes(num_points: int, smaller: int) -> np.ndarray:
    return (np.arange(num_points) < smaller).astype(np.int64)


def rhat(value: float) -> str:
    return of_chains(value)[0].answer


def worth(value: float) -> str:
    return of_chains(1.0, value)[1].answer


def clarity(value: float) -> str:
    return clarity_finding(np.full(4, value)).answer


def familiar(overall: float, num_points: int = 5) -> tuple[bool, ...]:
    found = Familiarity(0.5, 1, 1, 99, overall=overall, num_points=num_points, training_points=(3, 8))
    return tuple(one.passed for one in familiarity_findings(found))


def level(*effects: Effect) -> Trust:
    blocks = VariationBlocks(1.0, 1.0, 1.0, 0.0)
    return judge_sources(effects, (WELL, WELL), names=("A", "B"), variation=blocks).level


def by_chance(p_value: float, *others: Effect) -> bool:
    return level(Effect("difference", 0.4, 0.05, 0.15, p_value), *others) is Trust.UNKNOWN


@cache
def limit_of(words: str) -> float:
    draws = restaurant_draws(np.random.default_rng(0), (200,), num_points=5, concentration=1.0)
    found = compare_sources(draws, draws, seed=0, num_permutations=19)
    (limit,) = {one.limit for one in found.effects if words in one.name}
    return limit


def calibrated(*p_values: float) -> bool:
    named = {f"part {place}": p for place, p in enumerate(p_values)}
    return (
        judge_calibration(named, num_datasets=9, num_points=9, worst_functional="entropy").level
        is Trust.AVERAGE
    )


def near(p_value: float) -> bool:
    nearest = Verdict(Trust.AVERAGE, "Calibrated.")
    return judge_local_calibration(nearest, p_value_data=p_value).level is Trust.AVERAGE


def high_share(number: float) -> bool:
    return bool(weights_finding(number / 700, num_points=9, num_datasets=700).passed)


def stable(stability: float) -> bool:
    none = np.empty(0)
    return ClusterProfiles(none, np.array([stability]), *[none] * 6).num_stable == 1


def settled(
    *,
    p_value: float = 0.5,
    nested_rhat: float = 1.0,
    start_p_value: float = 0.5,
    effective: float = 900.0,
    chains: int = 1000,
) -> bool:
    return CheckedRound(
        20, p_value, "entropy", 0.1, nested_rhat, start_p_value, effective, chains
    ).has_settled


def estimate(method: EvidenceMethod, *, error: float = 0.1, k: float = 0.1, spread: float = np.nan) -> bool:
    return LogEvidence(method, -100.0, error, k, spread).is_reliable


def stated(apart: float) -> bool:
    pair = [LogEvidence(EvidenceMethod.ANNEALED, -100.0 - by, 0.5, np.nan) for by in (0.0, apart)]
    return evidence_headline(pair).best is not None


# What is asked of a figure, the last figure with the answer yes, and the first with no.
def changed(value: float) -> ConstraintEffect:
    """Two points whose co-assignment probability changed as much."""
    one, doubt = np.ones(1), Uncertainty(1.0, 1.0, 1, 1.0, 0.0)
    both = np.ones((2, 2))
    change, points = np.full(2, value), np.arange(2)
    return ConstraintEffect(change, np.zeros(2), points, doubt, doubt, 1, one, one, both, both)


def told_by_draws(value: float) -> bool:
    """So many effective draws keep constraints."""
    kept = np.ones(20, dtype=bool)
    return constraint_odds([], [], log_prior=-1.0, kept=kept, effective_draws=value).method != ""


def mixture_passes(*, ece: float = 0.0, cluster_error: float = 0.0) -> bool:
    row = MixtureRow(9, 9, 0.0, None, None, (0.0, 1.0), (0.0, 1.0), (1, 1), ece, cluster_error)
    return judge_certificate(Certificate(1, mixture=(row,))).level is Trust.AVERAGE


LIMITS: dict[str, tuple[Callable[[float], bool], float, float]] = {
    "MAX_RHAT": (lambda value: rhat(value) != "No", 1.05, 1.0501),
    "GOOD_RHAT": (lambda value: rhat(value) == "Yes", 1.01, 1.0101),
    "MAX_RHAT of short chains": (lambda value: settled(nested_rhat=value, start_p_value=0.0), 1.05, 1.0501),
    "GOOD_ESS of short chains": (lambda value: settled(effective=value, start_p_value=0.0), 400.0, 399.9),
    "GOOD_ESS of few short chains": (
        lambda value: settled(effective=value, start_p_value=0.0, chains=100),
        50.0,
        49.9,
    ),
    "MIN_ESS": (lambda value: worth(value) != "No", 100.0, 99.9),
    "MIN_ESS of weighted draws": (lambda value: weights_findings(0.1, value)[1].passed, 100.0, 99.9),
    "GOOD_ESS": (lambda value: worth(value) == "Yes", 400.0, 399.9),
    "MAX_DIFFERENCE": (lambda value: agreement_finding("?", value, "", noise=0.0).passed, 0.15, 0.1501),
    "MAX_DIFFERENCE in number": (lambda value: weighted_finding(value, 0.0, noise=0.0).passed, 0.15, 0.1501),
    "MAX_DIFFERENCE of pairs": (lambda value: weighted_finding(0.0, value, noise=0.0).passed, 0.15, 0.1501),
    "MAX_DIFFERENCE of noise": (
        lambda value: agreement_finding("?", 0.2, "", noise=value).passed is False,
        0.15,
        0.1501,
    ),
    "MAX_DIFFERENCE of sources": (lambda value: value <= limit_of("number of clusters"), 0.15, 0.1501),
    "MAX_REFINED_DIFFERENCE": (lambda value: value <= tolerance_of(None, refined=True), 0.1, 0.1001),
    "MAX_EXCESS": (lambda value: value <= limit_of("excess"), 0.15, 0.1501),
    "MAX_SEPARATION": (lambda value: value <= limit_of("separation"), 0.3, 0.3001),
    "MAX_PARETO_K": (lambda value: weights_findings(value, 900.0)[0].passed, 0.6999, 0.7),
    "MAX_PARETO_K of one data set among many": (
        lambda value: verdict_of_set(0.95, value, num_draws=100) == "sure",
        0.6999,
        0.7,
    ),
    "MAX_DIFFERENCE of draws without their weights": (
        lambda value: verdict_of_set(1 / (1 + 4 * value**2), 0.1, num_draws=100) == "sure",
        0.1499,
        0.1501,
    ),
    "MIN_SET_ESS": (
        lambda value: verdict_of_set(value / 100, 0.1, num_draws=100) == "weights needed",
        25.0,
        24.9,
    ),
    "MAX_PARETO_K of evidence": (lambda value: estimate(EvidenceMethod.IMPORTANCE, k=value), 0.6999, 0.7),
    "MAX_BRIDGE_ERROR": (lambda value: estimate(EvidenceMethod.BRIDGE, error=value), 0.3, 0.3001),
    "MAX_EVIDENCE_ERROR": (lambda value: estimate(EvidenceMethod.ANNEALED, error=value), 1.5, 1.5001),
    "MAX_EVIDENCE_SPREAD": (lambda value: estimate(EvidenceMethod.ANNEALED, spread=value), 2.0, 2.0001),
    "MAX_EVIDENCE_ERRORS_APART": (stated, 4 * 0.5 * 2**0.5, 4.001 * 0.5 * 2**0.5),
    "MAX_PARETO_K of shares": (lambda value: tail_summary(np.array([value]))[1] == 0, 0.7, 0.7001),
    "MAX_CHANCE": (by_chance, 0.01, 0.00999),
    "MAX_CHANCE of two": (lambda value: by_chance(value, SMALL), 0.005, 0.00499),
    "MIN_FAMILIARITY": (lambda value: familiar(value)[0], 0.0101, 0.01),
    "MIN_WEIGHT_QUALITY": (
        lambda value: weight_quality_finding(WeightQuality((), value, 199, 32, 9)).passed,
        0.0501,
        0.05,
    ),
    "MIN_ALIKE": (lambda value: not Likeness(np.zeros(1), value).is_unlike, 0.01, 0.00999),
    "LIKELY": (
        lambda value: (
            len(likely_outliers(np.array([[0, 1], [0, 0]]), weights=np.array([value, 1 - value]))) == 2
        ),
        0.5,
        0.4999,
    ),
    "TELLING_EFFECT": (
        lambda value: ClusterContrasts(*[np.zeros((1, 1))] * 4, np.array([[value]])).telling(0) == [0],
        0.5,
        0.4999,
    ),
    "MIN_CALIBRATION": (calibrated, 0.01, 0.00999),
    "MIN_CALIBRATION of two": (lambda value: calibrated(value, 0.5), 0.005, 0.00499),
    "MIN_CALIBRATION near data": (near, 0.01, 0.00999),
    "MIN_CERTIFIED": (lambda value: calibrated_finding("?", value, num_points=9).passed, 0.005, 0.00499),
    "MIN_SETTLED": (lambda value: settled(p_value=value), 0.0501, 0.05),
    "MIN_SETTLED of starts": (lambda value: settled(nested_rhat=2.0, start_p_value=value), 0.05, 0.0499),
    # At a quarter, 194 or more of 700 have the probability 0.054, and 195 or more have 0.046.
    "MAX_HIGH_K_SHARE": (high_share, 194, 195),
    "MIN_CHANCE": (high_share, 194, 195),
    "MAX_ERRORS_BEHIND": (lambda value: baseline_finding(value, 1.0, num_points=9).passed, -2.6, -2.601),
    "MAX_MEMBERSHIP_ERROR": (lambda value: mixture_passes(ece=value), 0.02, 0.0201),
    "MAX_CLUSTER_ERROR": (lambda value: mixture_passes(cluster_error=value), 0.2, 0.2001),
    "CERTAIN": (lambda value: share_together(np.array([value])) == 1, 0.9, 0.8999),
    "DOUBTFUL": (lambda value: num_doubtful(np.array([value])) == 0, 0.5, 0.5001),
    "STABLE": (stable, 0.75, 0.7499),
    "CLEAR": (lambda value: clarity(value) == "Yes", 0.1, 0.1001),
    "CLEAR, passed": (lambda value: clarity_finding(np.full(4, value)).passed, 0.1, 0.1001),
    "PARTLY_CLEAR": (lambda value: clarity(value) != "No", 0.3, 0.3001),
    "CLOSE_TO_LABELS": (lambda value: labels_finding(value).answer == "Closely", 0.9, 0.8999),
    "MAX_GAIN": (lambda value: split_finding(split(value)).passed, 5.0, 5.01),
    "MIN_TELLING_SHARE": (can_tell, 0.05, 0.0499),
    "LARGE_ROWS": (lambda value: num_large_clusters(two_sizes(10, value)).item() == 2, 2, 1),
    "LARGE_SHARE": (lambda value: num_large_clusters(two_sizes(1000, value)).item() == 2, 10, 9),
    "MIN_CHANGE": (lambda value: not len(moved_points(changed(value))), 0.05, 0.0501),
    "MIN_KEPT": (told_by_draws, 10.0, 9.99),
    "PARTLY_LABELS": (lambda value: labels_finding(value).answer != "Hardly", 0.5, 0.4999),
}


def test_every_limit_of_the_library_is_here():
    assert {name.split()[0].removesuffix(",") for name in LIMITS} == {
        name for name in vars(limits) if name.isupper() and not name.startswith("_")
    }


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_kept_up_to_where_it_is_and_no_further(name):
    keeps, last, beyond = LIMITS[name]
    assert bool(keeps(last)) is True
    assert bool(keeps(beyond)) is False


def test_a_difference_is_large_beyond_its_limit_and_sure_beyond_its_noise():
    certain = Effect("difference", 0.15, 0.05, 0.15, 0.0001)
    assert level(certain) is Trust.AGREE
    assert level(Effect("difference", 0.1501, 0.05, 0.15, 0.0001)) is Trust.DIFFER
    assert level(Effect("difference", 0.4, 0.4, 0.15, 0.0001)) is Trust.UNKNOWN
    assert level(Effect("difference", 0.4, 0.3999, 0.15, 0.0001)) is Trust.DIFFER


def test_sizes_of_training_include_both_ends():
    assert [familiar(0.5, size)[1] for size in (2, 3, 8, 9)] == [False, True, True, False]


def test_calibration_near_data_is_answered_by_its_verdict():
    levels = (Trust.AVERAGE, Trust.DISTRUST, Trust.UNKNOWN)
    found = [near_finding(Verdict(one, ""), 0.5, num_nearest=9, num_simulations=99).passed for one in levels]
    assert found == [True, False, None]


CLOSE = Agreement(0.03, 0.05, 0.01, 0.02, 0.04, 0.01)
MIXED = Mixing(900.0, 1.001, constant=False)
GOOD = Verdict(Trust.AVERAGE, "Calibrated.")


def of_guide(found):
    chains = judge_draws("MCMC", num_chains=4, num_draws=4000, max_rhat=1.005, min_ess=900.0)
    return judge({"agreement": agreement_findings(found, limits.MAX_DIFFERENCE)}, chains=chains).sentence


def of_guide_alone(overall):
    beside = Finding(Question.BESIDE.value, None, None, None, "no MCMC")
    checks = {
        "familiarity": familiarity_findings(familiarity_of(overall)),
        "certificate": (certificate_finding(1, 1),),
    }
    return judge({"agreement": (beside,)} | checks)


def of_sources(value, noise=0.01, p_value=0.0001):
    effect = Effect("excess", value, noise, limits.MAX_DIFFERENCE, p_value)
    blocks = VariationBlocks(9.0, 9.0, 9.0, 9.0)
    return judge_sources([effect], (MIXED, MIXED), names=("A", "B"), variation=blocks)


def familiarity_of(overall):
    return Familiarity(0.5, 1.0, 1.0, 199, overall=overall)


def of_calibration(p_value):
    return judge_calibration({"pairs": p_value}, num_datasets=9, num_points=9, worst_functional="entropy")


def of_chains(max_rhat, min_ess=9e3):
    return convergence_findings("it", max_rhat=max_rhat, min_ess=min_ess)


def of_weighted(total_variation, largest_difference):
    return weighted_finding(total_variation, largest_difference, noise=0.0)


def near_data(p_value):
    return near_finding(GOOD, p_value, num_nearest=9, num_simulations=9)


SENTENCES = {
    "largest R-hat": (
        lambda x: of_chains(x)[0],
        limits.MAX_RHAT,
        "R-hat ",
    ),
    "good R-hat": (
        lambda x: of_chains(x)[0],
        limits.GOOD_RHAT,
        "R-hat ",
    ),
    "fewest draws": (
        lambda x: of_chains(1.0, x)[1],
        limits.MIN_ESS,
        "draws ",
    ),
    "enough draws": (
        lambda x: of_chains(1.0, x)[1],
        limits.GOOD_ESS,
        "draws ",
    ),
    "Pareto k": (lambda x: weights_findings(x, 900.0)[0], limits.MAX_PARETO_K, "k "),
    "weighted draws": (lambda x: weights_findings(0.3, x)[1], limits.MIN_ESS, "worth "),
    "weighted counts": (
        lambda x: weighted_finding(x, 0.0, noise=0.0),
        limits.MAX_DIFFERENCE,
        "total variation ",
    ),
    "weighted pairs": (lambda x: of_weighted(0.0, x), limits.MAX_DIFFERENCE, "of a pair "),
    "clear": (lambda x: clarity_finding(np.array([x])), limits.CLEAR, "of a row "),
    "partly clear": (lambda x: clarity_finding(np.array([x])), limits.PARTLY_CLEAR, "of a row "),
    "close to labels": (labels_finding, limits.CLOSE_TO_LABELS, "index "),
    "partly labels": (labels_finding, limits.PARTLY_LABELS, "index "),
    "familiarity": (lambda x: familiarity_findings(familiarity_of(x))[0], limits.MIN_FAMILIARITY, "p = "),
    "unfamiliar": (of_guide_alone, limits.MIN_FAMILIARITY, "p = "),
    "near": (
        lambda x: near_finding(GOOD, x, num_nearest=9, num_simulations=9),
        limits.MIN_CALIBRATION,
        "p = ",
    ),
    "certified": (lambda x: calibrated_finding("it", x, num_points=9), limits.MIN_CERTIFIED, "p = "),
    "high k": (lambda x: weights_finding(x, num_points=9, num_datasets=10**6), limits.MAX_HIGH_K_SHARE, "^"),
    "calibration": (of_calibration, limits.MIN_CALIBRATION, "p = "),
    "findings of a calibration": (lambda x: of_calibration(x).findings[0], limits.MIN_CALIBRATION, "p = "),
    "local calibration": (
        lambda x: judge_local_calibration(GOOD, p_value_data=x).findings[0],
        limits.MIN_CALIBRATION,
        "p = ",
    ),
    "chains": (
        lambda x: judge_draws("it", num_chains=4, num_draws=4000, max_rhat=x, min_ess=900.0),
        limits.MAX_RHAT,
        "R-hat ",
    ),
    "counts of a guide": (
        lambda x: of_guide(dataclasses.replace(CLOSE, total_variation=x)),
        limits.MAX_DIFFERENCE,
        "number of clusters ",
    ),
    "pairs of a guide": (
        lambda x: of_guide(dataclasses.replace(CLOSE, largest_difference=x)),
        limits.MAX_DIFFERENCE,
        "differ by at most ",
    ),
    "sources": (lambda x: of_sources(x).findings[-1], limits.MAX_DIFFERENCE, "^"),
    "listed sources": (of_sources, limits.MAX_DIFFERENCE, "excess "),
    "chance": (lambda x: of_sources(0.5, p_value=x).findings[-1], limits.MAX_CHANCE, "p = "),
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


@pytest.mark.parametrize("p_value", [limits.MIN_CERTIFIED, 0.0049999, 0.0050001, 0.00012])
def test_failed_tests_of_a_certificate_do_not_seem_passed(p_value):
    sentence = certificate_verdict([calibrated_finding("it", p_value, num_points=9)]).sentence
    assert ("Failed" in sentence) == (p_value < limits.MIN_CERTIFIED)
    assert p_value >= limits.MIN_CERTIFIED or printed(sentence, r"\(") < limits.MIN_CERTIFIED


@pytest.mark.parametrize("error", [0.05, 0.0475, 0.04753, 0.1, 0.0])
@pytest.mark.parametrize("step", [0.0, 1e-3, -1e-3, 4e-4, -4e-4, 1e-5, -1e-5, 1e-9, -1e-9])
def test_a_guide_and_its_baseline_are_printed_as_they_are_judged(error, step):
    found = baseline_finding(-limits.MAX_ERRORS_BEHIND * error + step, error, num_points=9)
    assert (printed(found.sentence, "^") >= printed(found.wanted, "at least ")) == found.passed


@pytest.mark.parametrize("number", range(1, 8))
@pytest.mark.parametrize("factor", [1.0, 0.999, 1.001, 0.99, 1.01, 1 - 1e-9, 1 + 1e-9])
def test_parts_of_a_calibration_are_printed_as_they_are_judged(number, factor):
    p_values = {str(part): limits.MIN_CALIBRATION / number * factor for part in range(number)}
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
