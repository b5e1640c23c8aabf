"""Every limit of the library lies where it is said to, and belongs to the side that it is said to."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from chain_cases import restaurant_draws

from pyroclust.diagnostics import (
    ClusterContrasts,
    EvidenceMethod,
    LogEvidence,
    Trust,
    compare_sources,
    evidence_headline,
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
    agreement_finding,
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
    judge_calibration,
    judge_local_calibration,
    tail_summary,
    weights_finding,
)
from pyroclust.diagnostics.likeness import Familiarity, Likeness, WeightQuality
from pyroclust.diagnostics.limits import tolerance_of
from pyroclust.diagnostics.short_chains import CheckedRound
from pyroclust.diagnostics.sources import Effect, VariationBlocks, judge_sources
from pyroclust.diagnostics.split_clusters import SplitClusters, UnlikeNormal
from pyroclust.diagnostics.verdict import Verdict

SMALL = Effect("other difference", 0.1, 0.05, 0.15, 0.5)
WELL = Mixing(900.0, 1.002, constant=False)


def split(gain: float) -> SplitClusters:
    return SplitClusters((UnlikeNormal((0, 1), 90, gain, is_heavy=True),), 2, 1)


def two_sizes(num_points: int, smaller: int) -> np.ndarray:
    return (np.arange(num_points) < smaller).astype(np.int64)


def rhat(value: float) -> str:
    return convergence_findings("MCMC", max_rhat=value, min_ess=900.0)[0].answer


def worth(value: float) -> str:
    return convergence_findings("MCMC", max_rhat=1.0, min_ess=value)[1].answer


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
    "CERTAIN": (lambda value: share_together(np.array([value])) == 1, 0.9, 0.8999),
    "DOUBTFUL": (lambda value: num_doubtful(np.array([value])) == 0, 0.5, 0.5001),
    "STABLE": (stable, 0.75, 0.7499),
    "CLEAR": (lambda value: clarity(value) == "Yes", 0.1, 0.1001),
    "CLEAR, passed": (lambda value: clarity_finding(np.full(4, value)).passed, 0.1, 0.1001),
    "PARTLY_CLEAR": (lambda value: clarity(value) != "No", 0.3, 0.3001),
    "CLOSE_TO_LABELS": (lambda value: labels_finding(value).answer == "Closely", 0.9, 0.8999),
    "MAX_SPLIT": (lambda value: split_finding(split(value)).passed, 5.0, 5.01),
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
