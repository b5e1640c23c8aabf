"""Properties of what pyroclust.diagnostics says of draws: frequencies, losses, estimates, differences."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from properties.calls import Call
from properties.hostile import any_labels, chains, finite, points, seeds, weights

from pyroclust import diagnostics
from pyroclust.diagnostics import Binder, VariationOfInformation

LOSSES = st.sampled_from([VariationOfInformation(), Binder(0.5), diagnostics.AdjustedRand()])
EITHER = st.sampled_from([diagnostics.DrawsSearch(), diagnostics.LinkageSearch()])
SEARCHES = EITHER | st.just(diagnostics.SalsoSearch(num_starts=2))
INSIDE = frozenset({"loss", "search", "names"})


def flat(draws: np.ndarray) -> np.ndarray:
    draws = np.asarray(draws)
    return draws.reshape(-1, draws.shape[-1]).astype(np.int64)


def shares(weights: Any, count: int) -> np.ndarray:
    """Normalise weights, however large or small they are."""
    if weights is None:
        return np.full(count, 1 / count)
    found = np.asarray(weights, dtype=np.float64).reshape(-1)
    found = found / found.max()
    return found / found.sum()


def close(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), atol=tolerance, rtol=1e-5)


@st.composite
def weighted(
    draw: DrawFn, *, seed: bool = False, estimate: bool = False, least: int = 1, **others: SearchStrategy[Any]
) -> dict[str, Any]:
    """Draws, their weights, and what else a function takes."""
    found: dict[str, Any] = {"draws": draw(chains(least=least))}
    width = found["draws"].shape[-1]
    found["weights"] = draw(weights(found["draws"].size // width))
    if seed:
        found["seed"] = draw(seeds)
    if estimate:
        found["estimate"] = draw(any_labels(width))
    return found | {name: draw(one) for name, one in others.items()}


@st.composite
def pair_of_sources(draw: DrawFn, *, tests: bool = False) -> dict[str, Any]:
    width, least = draw(st.integers(1, 5)), 2 if tests else 1
    found = {f"draws_{one}": draw(chains(points=width, least=least)) for one in "ab"}
    found["weights"] = draw(st.none() if tests else weights(found["draws_a"].size // width))
    return found | ({"seed": draw(seeds), "num_permutations": draw(st.integers(1, 20))} if tests else {})


@st.composite
def two_partitions(draw: DrawFn, *, weight: bool = False) -> dict[str, Any]:
    width = draw(st.integers(1, 6))
    shapes = draw(st.sampled_from([((), ()), ((2,), ()), ((3, 1), (2,)), ((4,), (4,))]))
    found: dict[str, Any] = {
        name: draw(any_labels(*shape, width)) for name, shape in zip("ab", shapes, strict=True)
    }
    return found | ({"weight": draw(st.floats(0.1, 1.9))} if weight else {})


@st.composite
def two_sets(draw: DrawFn) -> dict[str, Any]:
    width = draw(st.integers(1, 6))
    return {name: draw(chains(points=width)) for name in "ab"} | {"loss": draw(LOSSES)}


@st.composite
def pairs_to_ask(draw: DrawFn) -> dict[str, Any]:
    found = draw(weighted(number=st.integers(1, 4), tolerance=st.sampled_from([0.0, 0.1, 1.0])))
    every = [[i, j] for i, j in np.ndindex(2 * found["draws"].shape[-1:]) if i != j]
    some = st.lists(st.sampled_from(every), min_size=1).map(np.array) if every else st.none()
    return found | {"candidates": draw(st.none() | some)}


@st.composite
def described(draw: DrawFn) -> dict[str, Any]:
    found = draw(weighted(estimate=True))
    return found | {"data": draw(points(found["draws"].shape[-1]))}


@st.composite
def similarities(draw: DrawFn) -> dict[str, Any]:
    return {"similarity": diagnostics.co_assignment(draw(chains()))}


@st.composite
def spread(draw: DrawFn) -> dict[str, Any]:
    found = draw(weighted())
    return found | {"data": draw(points(found["draws"].shape[-1]))}


@st.composite
def divided(draw: DrawFn) -> dict[str, Any]:
    width = draw(st.integers(1, 6))
    return {"partition": draw(any_labels(width)), "data": draw(points(width))}


PROBABILITIES = st.integers(1, 5).flatmap(
    lambda size: finite(size, extreme=False).map(lambda row: (abs(row) + 0.01) / (abs(row) + 0.01).sum())
)


@st.composite
def two_laws(draw: DrawFn) -> dict[str, Any]:
    row = draw(PROBABILITIES)
    return {"p": row, "q": row[::-1].copy()}


def shares_sum_to_one(found: tuple[np.ndarray, np.ndarray], **_: Any) -> None:
    close(found[1].sum(), 1)


def together(found: np.ndarray, *, draws: np.ndarray, weights: Any) -> None:
    same = flat(draws)[:, :, None] == flat(draws)[:, None]
    close(found, np.einsum("s,sij->ij", shares(weights, len(same)), same))
    np.testing.assert_array_equal(found, found.T)


def uncertain(found: Any, **_: Any) -> None:
    assert 0 <= found.coverage <= 1 + 1e-12
    assert math.isnan(found.corrected) or found.corrected >= 0


def ball(found: Any, *, level: float, **_: Any) -> None:
    assert found.coverage >= level - 1e-8


def modes(found: Any, **_: Any) -> None:
    close(found.weights.sum(), 1)


def profiled(found: Any, *, estimate: np.ndarray, **_: Any) -> None:
    assert found.sizes.sum() == len(estimate)
    assert ((found.stability >= 0) & (found.stability <= 1 + 1e-12)).all()
    assert (found.share_low <= found.share_high).all()
    assert ((found.centre_low <= found.centre_high) | np.isnan(found.centres)).all()


def compared(found: Any, **_: Any) -> None:
    for one in (found.total_variation, found.noise_total_variation, found.noise_largest_difference):
        assert -1e-12 <= one <= 1 + 1e-6


def tested(found: Any, *, num_permutations: int, **_: Any) -> None:
    assert len(found.null) == num_permutations
    assert np.isfinite(found.null).all()
    assert 1 / (1 + num_permutations) - 1e-12 <= found.p_value <= 1


def sourced(found: Any, *, draws_a: np.ndarray, **_: Any) -> None:
    assert found.to_dict()["verdict"]["level"] in {"agree", "differ", "cannot tell"}
    assert found.vi_between >= 0
    assert 0 <= found.effective_a <= len(flat(draws_a)) + 1e-6
    assert all(0 <= one.p_value <= 1 for one in found.effects)


def in_order(found: np.ndarray, *, similarity: np.ndarray) -> None:
    assert sorted(found.tolist()) == list(range(len(similarity)))


def between_clusters(found: Any, **_: Any) -> None:
    assert (found.mean <= 1 + 1e-9).all()
    assert (found.low <= found.high).all()


def _call(name: str, arguments: SearchStrategy[dict[str, Any]], right: Any = None) -> Call:
    return Call(f"diagnostics.{name}", getattr(diagnostics, name), arguments, right, never_broken=INSIDE)


def _loss(name: str, arguments: SearchStrategy[dict[str, Any]]) -> Call:
    def called(*, a: Any, b: Any, **weight: float) -> Any:
        return getattr(diagnostics, name)(**weight)(a, b)

    return Call(f"diagnostics.{name}", called, arguments, never_broken=INSIDE)


MODE_LOSSES = st.sampled_from([VariationOfInformation(), Binder()])
CALLS = [
    _call("co_assignment", weighted(), together),
    _call("cluster_count_posterior", weighted(), shares_sum_to_one),
    _call("ranked_partitions", weighted()),
    _call("partition_entropy", weighted(), uncertain),
    _call("point_estimate", weighted(seed=True, loss=LOSSES, search=SEARCHES)),
    _call("point_uncertainty", weighted(estimate=True)),
    _call("credible_ball", weighted(estimate=True, loss=LOSSES, level=st.floats(0.01, 1)), ball),
    _call("partition_modes", weighted(seed=True, loss=MODE_LOSSES), modes),
    _call("most_informative_pairs", pairs_to_ask()),
    _call("cluster_profiles", described(), profiled),
    _call("column_shares", spread(), between_clusters),
    _call("cluster_contrasts", divided()),
    _call("likely_outliers", weighted(fewest=st.integers(2, 5))),
    _call("outlier_probabilities", weighted(fewest=st.integers(2, 5))),
    _call("variation_of_information", two_partitions(weight=True)),
    _loss("Binder", two_partitions(weight=True)),
    _loss("NormalisedVariationOfInformation", two_partitions()),
    _loss("AdjustedRand", two_partitions()),
    _call("pairwise_loss", two_sets()),
    _call("agreement", pair_of_sources(), compared),
    _call("mmd_test", pair_of_sources(tests=True), tested),
    _call("classifier_test", pair_of_sources(tests=True), tested),
    _call("count_test", pair_of_sources(tests=True), tested),
    _call("compare_sources", pair_of_sources(tests=True), sourced),
    _call("dendrogram_order", similarities(), in_order),
    _call("total_variation", two_laws()),
]
