"""Properties of what pyroclust.diagnostics says of numbers: chains, importance weights, evidence, ranks."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from properties.calls import Call
from properties.draws import close
from properties.hostile import any_labels, chains, finite, seeds

from pyroclust import diagnostics
from pyroclust.diagnostics import Agreement, judge_draws
from pyroclust.diagnostics.findings import agreement_findings, weights_findings
from pyroclust.diagnostics.limits import MAX_DIFFERENCE

SHAPES = st.tuples(st.integers(1, 3), st.sampled_from([1, 2, 4, 9, 30]))
MATRICES = SHAPES.flatmap(lambda shape: finite(*shape))
NATS = st.sampled_from([1, 2, 5, 40]).flatmap(lambda size: finite(size))


@st.composite
def log_weights(draw: DrawFn, *, values: bool = False) -> dict[str, Any]:
    """Log weights, some of them minus infinity, and values of the same draws."""
    found = draw(NATS)
    if draw(st.booleans()) and len(found) > 1:
        found[1:] = np.where(draw(finite(len(found) - 1, extreme=False)) > 2, -np.inf, found[1:])
    return {"log_weights": found} | ({"values": draw(finite(len(found)))} if values else {})


@st.composite
def densities(draw: DrawFn, *, guide: bool = False) -> dict[str, Any]:
    shape, extreme = draw(SHAPES), draw(st.booleans())
    names = ["log_joint", "log_prob", *(["guide_log_joint", "guide_log_prob"] if guide else [])]
    return {name: draw(finite(*shape, extreme=extreme)).clip(-1e12, 1e12) for name in names}


@st.composite
def simulated(draw: DrawFn) -> dict[str, Any]:
    sets, size = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    return {"truth": draw(finite(sets)), "draws": draw(finite(size, sets)), "seed": draw(seeds)}


@st.composite
def functionals_of_simulations(draw: DrawFn) -> dict[str, Any]:
    one = draw(simulated())
    bins = draw(st.sampled_from([b for b in range(2, 11) if not (len(one["draws"]) + 1) % b]))
    return {
        "truth": {"x": one["truth"]},
        "draws": {"x": one["draws"]},
        "seed": one["seed"],
        "num_bins": bins,
    }


@st.composite
def simulated_partitions(draw: DrawFn) -> dict[str, Any]:
    sets, size, width = (draw(st.integers(least, 5)) for least in (1, 1, 2))
    return {
        "truth": draw(any_labels(sets, width)),
        "draws": draw(any_labels(size, sets, width)),
        "seed": draw(seeds),
    }


COUNTS = st.integers(2, 8).flatmap(
    lambda size: any_labels(size, top=9).map(lambda row: row + np.eye(1, size, dtype=np.int64)[0])
)


@st.composite
def data_and_simulations(draw: DrawFn) -> dict[str, Any]:
    width, size = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2, 12]))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    scale = draw(st.sampled_from([0.0, 1.0, 1e-9, 1e6]))
    return {
        "data": rng.standard_normal((size, width)) * scale,
        "simulations": rng.standard_normal((20, size, width)),
        "seed": draw(seeds),
        "training_points": draw(st.sampled_from([None, (1, 5)])),
    } | draw(st.sampled_from([{}, {"log_evidence": -3.0, "simulated_log_evidence": rng.standard_normal(20)}]))


def one_of(**arguments: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(arguments)


def figure(found: float, *, x: np.ndarray) -> None:
    x = np.asarray(x, float)
    if x.shape[1] < 4 or (x == x.flat[0]).all():
        assert math.isnan(found)
    assert math.isnan(found) or found > 0


def converged(found: Any, *, values: dict[str, np.ndarray]) -> None:
    for row, x in zip(found, values.values(), strict=True):
        x = np.asarray(x, float)
        assert row.constant == (x == x.flat[0]).all()
        largest = max(np.abs(x).max(), 1e-300)
        assert np.isfinite([row.mean, row.sd]).all()
        close(row.mean / largest, (x / largest).mean(), 1e-9)
        assert 0 <= row.sd / largest <= 1 + 1e-9


def told_apart(found: dict[str, np.ndarray], *, draws: np.ndarray, **_: Any) -> None:
    draws = np.asarray(draws)
    shape = draws.shape[:2] if draws.ndim == 3 else (1, len(draws))
    assert all(one.shape == shape and np.isfinite(one).all() for one in found.values())


def pairs_worth(found: Any, *, draws: np.ndarray, num_pairs: int, seed: int) -> None:
    width = np.shape(draws)[-1]
    assert len(found.pairs) == min(num_pairs, width * (width - 1) // 2)


def normalised(row: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.exp(row - row.max()) / np.exp(row - row.max()).sum()


def weights_of(found: np.ndarray, *, log_weights: np.ndarray) -> None:
    close(found.sum(), 1, 1e-9)
    assert (found >= 0).all()


def tail(found: float, *, log_weights: np.ndarray) -> None:
    assert found != math.inf
    if np.asarray(log_weights).size < 25:
        assert not math.isfinite(found)


def expectation(found: tuple[float, float, float], *, values: np.ndarray, log_weights: np.ndarray) -> None:
    values = np.asarray(values, float).reshape(-1)
    span = 1e-300 + 1e-9 * np.abs(values).max()
    assert values.min() - span <= found[0] <= values.max() + span
    assert 0 <= found[1] < math.inf


def one_evidence(found: Any, *, log_weights: np.ndarray) -> None:
    row = np.asarray(log_weights, float).reshape(-1)
    with np.errstate(all="ignore"):
        wanted = row.max() + math.log(np.exp(row - row.max()).mean())
    assert math.isclose(found.estimate, wanted, rel_tol=1e-9, abs_tol=1e-9)
    assert found.error >= 0 or len(row) == 1


EVIDENCES = st.lists(
    st.builds(
        diagnostics.LogEvidence,
        st.sampled_from(diagnostics.EvidenceMethod),
        st.floats(-1e6, 1e6),
        st.floats(0, 9) | st.just(float("nan")),
        st.floats(-3, 9) | st.just(float("nan")),
        st.floats(0, 9) | st.just(float("nan")),
    ),
    max_size=4,
)


def stated(found: Any, *, evidences: list[Any]) -> None:
    assert (found.best is None) == bool(found.reason)
    assert found.best is None or (found.best in evidences and found.best.is_reliable)


def bridged(found: Any, **arguments: np.ndarray) -> None:
    for one in found:
        assert math.isfinite(one.estimate)
        assert math.isnan(one.error) or one.error >= 0


def probabilities(found: Any, **_: Any) -> None:
    values = [getattr(found, name) for name in ("p_value", "overall", "brier") if hasattr(found, name)]
    assert all(0 <= one <= 1 for one in values or [found])


def judged(found: Any, **_: Any) -> None:
    assert found.sentence.isprintable()


FIGURES = st.sampled_from([0.0, 0.1, 0.15, 1.0])
AGREEMENTS = st.builds(Agreement, *[FIGURES] * 6)
JUDGED = st.builds(
    lambda agreement, pareto_k, worth: {
        "agreement": agreement_findings(agreement, MAX_DIFFERENCE),
        "weights": weights_findings(pareto_k, worth),
    },
    AGREEMENTS,
    st.sampled_from([math.nan, -math.inf, 0.3, 0.7, 2.0]),
    st.sampled_from([1.0, 99.9, 100.0, 1e6]),
)
RHATS = st.sampled_from([1.0, 1.02, 1.2, math.inf])
EFFECTIVE = st.sampled_from([0.0, 50.0, 1e4, math.inf])
CHAINS = st.builds(
    lambda max_rhat, min_ess: judge_draws(
        "MCMC", num_chains=4, num_draws=4000, max_rhat=max_rhat, min_ess=min_ess
    ),
    RHATS,
    EFFECTIVE,
)
ROWS = st.lists(MATRICES, max_size=2).map(
    lambda found: diagnostics.convergence({str(place): one for place, one in enumerate(found)})
)


def _call(name: str, arguments: SearchStrategy[dict[str, Any]], right: Any = None, **options: Any) -> Call:
    return Call(f"diagnostics.{name}", getattr(diagnostics, name), arguments, right, **options)


def _inside(*names: str) -> dict[str, Any]:
    return {"never_broken": frozenset(names)}


CALLS = [
    _call("rhat", one_of(x=MATRICES), figure),
    _call("ess", one_of(x=MATRICES), figure),
    _call("convergence", one_of(values=st.dictionaries(st.sampled_from("ab"), MATRICES)), converged),
    _call("max_rhat", one_of(rows=ROWS), **_inside("rows")),
    _call("min_ess", one_of(rows=ROWS), **_inside("rows")),
    _call("functionals", one_of(draws=chains(), seed=seeds, num_pairs=st.integers(1, 5)), told_apart),
    _call("co_membership_ess", one_of(draws=chains(), seed=seeds, num_pairs=st.integers(1, 9)), pairs_worth),
    _call("distance_rhat", one_of(draws=chains(), seed=seeds, num_references=st.integers(1, 4))),
    _call("importance_weights", log_weights(), weights_of),
    _call("pareto_k", log_weights(), tail),
    _call("importance_efficiency", log_weights(), probabilities),
    _call("effective_draws", one_of(weights=NATS.map(normalised))),
    _call("weighted_expectation", log_weights(values=True), expectation),
    _call("log_evidences", densities(guide=True), bridged),
    _call("importance_evidence", log_weights(), one_evidence),
    _call("evidence_headline", one_of(evidences=EVIDENCES), stated, **_inside("evidences")),
    _call("sbc", functionals_of_simulations(), probabilities),
    _call("ball_coverage", simulated_partitions(), probabilities),
    _call("pair_reliability", simulated_partitions(), probabilities),
    _call("uniformity", one_of(counts=COUNTS), probabilities),
    _call("familiarity", data_and_simulations(), probabilities),
    _call(
        "judge",
        one_of(checks=JUDGED, chains=CHAINS, prefers_guide=st.booleans()),
        judged,
        **_inside("checks", "chains", "prefers_guide"),
    ),
    _call(
        "judge_draws",
        one_of(
            name=st.sampled_from(["Gibbs", "a [b]"]),
            num_chains=st.integers(1, 4),
            num_draws=st.integers(1, 5000),
            max_rhat=RHATS,
            min_ess=EFFECTIVE,
        ),
        judged,
        **_inside("name", "max_rhat", "min_ess"),
    ),
]
