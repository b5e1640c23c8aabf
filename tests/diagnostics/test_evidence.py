"""Log-evidence against exact sums over the 52 partitions of five points, and which one is stated."""

import math

import numpy as np
import pytest

from pyroclust.diagnostics import (
    EvidenceMethod,
    LogEvidence,
    evidence_headline,
    log_evidences,
    pareto_k,
    weighted_expectation,
)
from pyroclust.diagnostics.evidence import repeated_log_evidence

EVIDENCE = -7.3
SIZE = 52


def discrete(seed: int, *, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A random posterior and a guide near it, as log-probabilities of all partitions."""
    rng = np.random.default_rng(seed)
    posterior = rng.normal(size=SIZE) * 1.5
    guide = posterior + spread * rng.normal(size=SIZE)
    return tuple(x - np.logaddexp.reduce(x) for x in (posterior, guide))


def states(rng: np.random.Generator, log_probs: np.ndarray, shape: tuple[int, ...], hold: float = 0.0):
    """Draws of the number of a partition, chains that stay where they are with probability ``hold``."""
    fresh = rng.choice(SIZE, size=shape, p=np.exp(log_probs))
    moves = rng.random(shape) >= hold
    moves[..., 0] = True
    source = np.maximum.accumulate(np.where(moves, np.arange(shape[-1]), 0), axis=-1)
    return np.take_along_axis(fresh, source, axis=-1)


def estimates(seed: int, *, hold: float = 0.0, spread: float = 1.0) -> dict[str, tuple[float, float]]:
    posterior, guide = discrete(seed, spread=spread)
    rng = np.random.default_rng(seed + 1000)
    mine, theirs = states(rng, posterior, (4, 500), hold), states(rng, guide, (2000,))
    joint = posterior + EVIDENCE
    ours = {"guide_log_joint": joint[theirs], "guide_log_prob": guide[theirs]}
    found = log_evidences(joint[mine], guide[mine], **ours)
    return {one.method.split()[0]: (one.estimate, one.error) for one in found}


@pytest.mark.parametrize("hold", [0.0, 0.9])
def test_estimates_and_their_errors(hold):
    found = [estimates(seed, hold=hold) for seed in range(60)]
    for name in ("reciprocal", "bridge"):
        scores = np.array([(run[name][0] - EVIDENCE) / run[name][1] for run in found])
        # Errors are honest: neither too small, above all for chains that hardly move, nor too large.
        assert 0.7 < np.sqrt((scores**2).mean()) < 1.4, name
        assert abs(scores.mean()) < 0.5, name
        assert max(run[name][1] for run in found) < 0.6, name


def test_bridge_solves_its_equation():
    posterior, guide = discrete(3)
    rng = np.random.default_rng(0)
    mine, theirs = states(rng, posterior, (1000,)), states(rng, guide, (1000,))
    # Far from 1, so that a sum outside the logarithm would overflow.
    joint = posterior - 2000.0
    log_r = log_evidences(
        joint[mine], guide[mine], guide_log_joint=joint[theirs], guide_log_prob=guide[theirs]
    )[0].estimate
    # Meng and Wong's iteration, with equally many draws of both.
    first, second, r = np.exp(posterior - guide)[mine], np.exp(posterior - guide)[theirs], 1.0
    for _ in range(200):
        r = np.mean(second / (second + r)) / np.mean(1 / (first + r))
    assert log_r == pytest.approx(np.log(r) - 2000.0, abs=0.02)
    assert log_r == pytest.approx(-2000.0, abs=0.2)


def test_a_guide_with_a_missing_part_is_seen():
    posterior, _ = discrete(7)
    kept = np.arange(SIZE) % 2 == 0
    guide = np.where(kept, posterior, -40.0)
    guide -= np.logaddexp.reduce(guide)
    rng = np.random.default_rng(0)
    mine, theirs = states(rng, posterior, (4, 500)), states(rng, guide, (2000,))
    bridge, alone, reciprocal = log_evidences(
        posterior[mine], guide[mine], guide_log_joint=posterior[theirs], guide_log_prob=guide[theirs]
    )
    missing = np.logaddexp.reduce(posterior[kept])
    assert alone.estimate == pytest.approx(missing, abs=1e-6)
    assert alone.error < 0.01
    for found in (reciprocal, bridge):
        assert abs(found.estimate) < 4 * found.error < 0.2
    assert [row.method.split()[0] for row in (alone, reciprocal, bridge)] == [
        "importance",
        "reciprocal",
        "bridge",
    ]


def test_reciprocal_weights_with_a_heavy_tail_have_a_large_k():
    rng = np.random.default_rng(0)
    # Posterior N(0, 1) and a guide three times as wide: q/p has no mean square.
    x = rng.standard_normal((4, 1000))
    joint, wide = -0.5 * x**2, -0.5 * (x / 3) ** 2 - np.log(3)
    found = log_evidences(joint, wide, guide_log_joint=joint, guide_log_prob=wide)
    assert found[2].pareto_k > 0.7
    narrow = -0.5 * (x / 0.7) ** 2 - np.log(0.7)
    assert log_evidences(joint, narrow, guide_log_joint=joint, guide_log_prob=narrow)[2].pareto_k < 0.5


def test_few_draws_do_not_fail():
    ours = {"guide_log_joint": np.zeros(1), "guide_log_prob": np.zeros(1)}
    assert log_evidences(np.zeros(1), np.ones(1), **ours)[2].estimate == pytest.approx(-1.0)
    found = log_evidences(np.zeros((3, 2)), np.arange(6.0).reshape(3, 2), **ours)[2]
    assert math.isfinite(found.estimate)
    assert found.error > 0


def test_expectations_of_weighted_draws():
    # Draws of N(0, 1) for the mean of N(0.5, 1); the evidence is not 1.
    runs = []
    for seed in range(60):
        x = np.random.default_rng(seed).standard_normal(1000)
        runs.append(weighted_expectation(x, 0.5 * x - 0.125 + 123.0))
    scores = np.array([(estimate - 0.5) / error for estimate, error, _ in runs])
    assert 0.7 < scores.std() < 1.4
    assert abs(scores.mean()) < 0.5
    assert max(error for _, error, _ in runs) < 0.1
    assert max(k for *_, k in runs) < 0.7


def test_expectations_of_heavy_tailed_values_have_the_k_of_the_product():
    rng = np.random.default_rng(0)
    flat = np.zeros(4000)
    heavy = rng.pareto(1.25, size=4000)
    assert pareto_k(flat) == -math.inf
    assert weighted_expectation(heavy, flat)[2] > 0.6
    assert weighted_expectation(rng.random(4000), flat)[2] < 0.3
    # The origin of the values does not matter.
    weights = rng.normal(size=4000)
    assert weighted_expectation(heavy + 1000.0, weights)[2] == pytest.approx(
        weighted_expectation(heavy, weights)[2], abs=0.02
    )
    # A constant is known exactly, whatever the weights.
    assert weighted_expectation(np.full(4000, 2.0), weights) == pytest.approx((2.0, 0.0, pareto_k(weights)))
    # A value at the mean has no weight in the tail.
    assert weighted_expectation(np.tile([-1.0, 0.0, 1.0], 100), np.zeros(300))[0] == 0


BRIDGE, IMPORTANCE, ANNEALED = EvidenceMethod.BRIDGE, EvidenceMethod.IMPORTANCE, EvidenceMethod.ANNEALED


def of(method, estimate, error, pareto_k=math.nan, spread=math.nan):
    return LogEvidence(method, estimate, error, pareto_k, spread)


def test_unknown_where_nothing_can_be_relied_on():
    found = evidence_headline([of(BRIDGE, -982.9, 1.08, 3.1), of(IMPORTANCE, -990.8, 0.46, 2.9)])
    assert found.best is None
    assert math.isnan(found.estimate)
    assert "bridge sampling has a standard error of 1.08 nats, more than 0.3" in found.reason
    assert "importance sampling has Pareto k 2.90, not below 0.7" in found.reason
    assert found.figures()["reason"] == found.reason


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
