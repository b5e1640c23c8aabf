"""Properties of what pyroclust.diagnostics says of draws: frequencies, losses, estimates, differences."""

import itertools
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


def key(row: np.ndarray) -> tuple[int, ...]:
    names: dict[int, int] = {}
    return tuple(names.setdefault(int(one), len(names)) for one in row)


def masses(draws: np.ndarray, weights: Any) -> dict[tuple[int, ...], float]:
    """Sum the weights of equal partitions."""
    found: dict[tuple[int, ...], float] = {}
    for row, share in zip(flat(draws), shares(weights, len(flat(draws))), strict=True):
        found[key(row)] = found.get(key(row), 0.0) + share
    return found


def close(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), atol=tolerance, rtol=1e-5)


def entropy(row: np.ndarray) -> float:
    sizes = np.unique(row, return_counts=True)[1] / len(row)
    return -sum(float(one) * math.log2(one) for one in sizes)


def direct_vi(a: np.ndarray, b: np.ndarray, weight: float = 1.0) -> float:
    joint = entropy(np.array([hash(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]))
    return weight * (joint - entropy(b)) + (2 - weight) * (joint - entropy(a))


def direct_binder(a: np.ndarray, b: np.ndarray, weight: float = 1.0) -> float:
    one, other = (row[:, None] == row for row in (a, b))
    return float(weight * (~one & other).mean() + (2 - weight) * (one & ~other).mean())


def direct_loss(loss: Any, a: np.ndarray, b: np.ndarray) -> float:
    if isinstance(loss, VariationOfInformation):
        return direct_vi(a, b, loss.weight)
    if isinstance(loss, Binder):
        return direct_binder(a, b, loss.weight)
    return direct_rand(a, b)


def direct_rand(a: np.ndarray, b: np.ndarray) -> float:
    if key(a) == key(b):
        return 0.0
    from sklearn.metrics import adjusted_rand_score

    return 1 - float(adjusted_rand_score(a, b))


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


def together(found: np.ndarray, *, draws: np.ndarray, weights: Any) -> None:
    same = flat(draws)[:, :, None] == flat(draws)[:, None]
    close(found, np.einsum("s,sij->ij", shares(weights, len(same)), same))
    np.testing.assert_array_equal(found, found.T)


def of_clusters(found: tuple[np.ndarray, np.ndarray], *, draws: np.ndarray, weights: Any) -> None:
    counts = np.array([len(set(row)) for row in flat(draws).tolist()])
    share = shares(weights, len(counts))
    close(found[1], [share[counts == one].sum() for one in found[0]])
    close(found[1].sum(), 1)


def ranked(found: Any, *, draws: np.ndarray, weights: Any, **_: Any) -> None:
    wanted = masses(draws, weights)
    for row, probability in zip(found.partitions, found.probabilities, strict=True):
        close(probability, wanted[tuple(row)])


def uncertain(found: Any, *, draws: np.ndarray, weights: Any) -> None:
    mass = np.array([one for one in masses(draws, weights).values() if one > 0])
    close(found.plug_in, -(mass * np.log2(mass)).sum(), 1e-9)
    assert found.num_distinct == len(mass)
    assert 0 <= found.coverage <= 1 + 1e-12
    assert math.isnan(found.corrected) or found.corrected >= 0


def best(found: np.ndarray, *, draws: np.ndarray, weights: Any, loss: Any, search: Any, seed: int) -> None:
    share = shares(weights, len(flat(draws)))

    def expected(row: np.ndarray) -> float:
        return sum(w * direct_loss(loss, row, one) for w, one in zip(share, flat(draws), strict=True))

    assert key(found) == tuple(found)
    if not isinstance(search, diagnostics.LinkageSearch):
        assert expected(found) <= min(expected(row) for row in flat(draws)) + 1e-9


def unsure(found: np.ndarray, *, draws: np.ndarray, weights: Any, estimate: np.ndarray) -> None:
    same = flat(draws)[:, :, None] == flat(draws)[:, None]
    matrix = np.einsum("s,sij->ij", shares(weights, len(same)), same)
    for i, label in enumerate(estimate):
        others = [j for j in range(len(estimate)) if j != i]
        own = [matrix[i, j] for j in others if estimate[j] == label]
        close(found[i], 1 - np.mean(own) if own else max([matrix[i, j] for j in others], default=0.0))


def ball(found: Any, *, draws: np.ndarray, weights: Any, estimate: Any, loss: Any, level: float) -> None:
    share = shares(weights, len(flat(draws)))
    away = np.array([direct_loss(loss, np.asarray(estimate), row) for row in flat(draws)])
    close(found.distances, away, 1e-9)
    inside = away <= found.radius + 1e-8
    close(found.coverage, share[inside].sum())
    assert found.coverage >= level - 1e-8
    assert share[away < found.radius - 1e-8].sum() < level + 1e-8
    counts = [len(set(key(row))) for row, w in zip(flat(draws), share * inside, strict=True) if w > 0]
    assert {len(set(row)) for row in found.upper.tolist()} == {min(counts)}
    assert {len(set(row)) for row in found.lower.tolist()} == {max(counts)}


def informative(
    found: Any, *, draws: np.ndarray, weights: Any, number: int, tolerance: float, candidates: Any
) -> None:
    """Compare with the joint entropy of the answers, pair by pair."""
    share, rows = shares(weights, len(flat(draws))), flat(draws)
    every = list(itertools.combinations(range(rows.shape[1]), 2)) if candidates is None else candidates
    pairs = {tuple(sorted(map(int, pair))) for pair in every}

    def told(asked: list[Any]) -> float:
        mass: dict[Any, float] = {}
        for row, weight in zip(rows, share, strict=True):
            answers = tuple(row[i] == row[j] for i, j in asked)
            mass[answers] = mass.get(answers, 0.0) + weight
        return -sum(one * math.log2(one) for one in mass.values() if one > 0)

    asked: list[Any] = []
    for pair, gain, probability in zip(found.pairs, found.information, found.probability, strict=True):
        close(probability, share[rows[:, pair[0]] == rows[:, pair[1]]].sum(), 1e-9)
        best = max(told([*asked, one]) for one in pairs) - told(asked)
        close(gain, told([*asked, pair]) - told(asked), 1e-9)
        assert tuple(pair) in pairs
        assert best - tolerance - 1e-9 <= gain <= best + 1e-9
        asked.append(pair)
    if len(asked) < int(number):
        assert told([*asked, *pairs]) <= told(asked) + 1e-6


def modes(found: Any, *, draws: np.ndarray, weights: Any, loss: Any, **_: Any) -> None:
    mass = masses(draws, weights)
    assert all(mass[tuple(row)] > 0 for row in found.partitions)
    close(found.weights.sum(), 1)
    share = shares(weights, len(flat(draws)))
    close(np.bincount(found.members, weights=share, minlength=len(found.weights)), found.weights)
    away = np.array([[direct_loss(loss, mode, row) for mode in found.partitions] for row in flat(draws)])
    close(away[np.arange(len(away)), found.members], away.min(1), 1e-9)


def profiled(found: Any, *, draws: np.ndarray, weights: Any, estimate: np.ndarray, data: np.ndarray) -> None:
    labels = np.array(key(estimate))
    data = np.asarray(data, float)
    for k in range(labels.max() + 1):
        close(found.centres[k], data[labels == k].mean(0))
        far = max(1.0, np.abs(data).max())
        close(found.spreads[k] / far, (data[labels == k] / far).std(0), 1e-6)
    assert found.sizes.sum() == len(labels)
    assert ((found.stability >= 0) & (found.stability <= 1 + 1e-12)).all()
    assert (found.share_low <= found.share_high).all()
    assert (found.centre_low <= found.centre_high).all()


def pairs_of(loss: Any) -> Any:
    def right(found: np.ndarray, *, a: np.ndarray, b: np.ndarray, weight: float = 1.0) -> None:
        a, b = np.asarray(a), np.asarray(b)
        shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        rows = [
            np.broadcast_to(one, (*shape, one.shape[-1])).reshape(-1, one.shape[-1]).astype(int)
            for one in (a, b)
        ]
        extra = () if weight == 1.0 else (weight,)
        assert np.shape(found) == shape
        close(np.ravel(found), [loss(x, y, *extra) for x, y in zip(*rows, strict=True)], 1e-9)

    return right


def direct_nvi(a: np.ndarray, b: np.ndarray) -> float:
    joint = entropy(np.array([hash(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]))
    return direct_vi(a, b) / joint if key(a) != key(b) else 0.0


def all_pairs(found: np.ndarray, *, a: np.ndarray, b: np.ndarray, loss: Any) -> None:
    close(found, [[direct_loss(loss, x, y) for y in flat(b)] for x in flat(a)], 1e-9)


def compared(found: Any, *, draws_a: np.ndarray, draws_b: np.ndarray, weights: Any) -> None:
    matrices = []
    for draws, given in ((draws_a, weights), (draws_b, None)):
        same = flat(draws)[:, :, None] == flat(draws)[:, None]
        matrices.append(np.einsum("s,sij->ij", shares(given, len(same)), same))
    gap = np.abs(matrices[0] - matrices[1])
    close(found.largest_difference, gap.max())
    close(found.mean_difference, gap.sum() / max(1, gap.size - len(gap)))
    for one in (found.total_variation, found.noise_total_variation, found.noise_largest_difference):
        assert -1e-12 <= one <= 1 + 1e-6


def tested(found: Any, *, num_permutations: int, **_: Any) -> None:
    assert len(found.null) == num_permutations
    assert np.isfinite(found.null).all()
    assert 1 / (1 + num_permutations) - 1e-12 <= found.p_value <= 1


def sourced(found: Any, *, draws_a: np.ndarray, **_: Any) -> None:
    figures = found.to_dict()
    assert figures["verdict"]["level"] in {"agree", "differ", "cannot tell"}, figures["verdict"]["level"]
    assert found.vi_between >= 0
    assert 0 <= found.effective_a <= len(flat(draws_a)) + 1e-6
    assert all(0 <= one.p_value <= 1 for one in found.effects)
    assert len(repr(found)) < 5000


def in_order(found: np.ndarray, *, similarity: np.ndarray) -> None:
    assert sorted(found.tolist()) == list(range(len(similarity)))


def half_the_distance(found: float, *, p: np.ndarray, q: np.ndarray) -> None:
    close(found, np.abs(np.asarray(p, float) - np.asarray(q, float)).sum() / 2, 1e-9)


PROBABILITIES = st.integers(1, 5).flatmap(
    lambda size: finite(size, extreme=False).map(lambda row: (abs(row) + 0.01) / (abs(row) + 0.01).sum())
)


@st.composite
def two_laws(draw: DrawFn) -> dict[str, Any]:
    row = draw(PROBABILITIES)
    return {"p": row, "q": row[::-1].copy()}


def between_clusters(found: Any, **_: Any) -> None:
    assert (found.mean <= 1 + 1e-9).all()
    assert (found.low <= found.high).all()


def set_apart(found: Any, *, partition: np.ndarray, data: np.ndarray) -> None:
    labels, data = np.array(key(partition)), np.asarray(data, float)
    for k in range(labels.max() + 1):
        close(found.inside[k], data[labels == k].mean(0))
        if (labels != k).any():
            close(found.outside[k], data[labels != k].mean(0))
    assert found.sizes.sum() == len(labels)


def nearly_alone(found: np.ndarray, *, draws: np.ndarray, fewest: int, weights: Any) -> None:
    small = np.array([[np.sum(row == one) < fewest for one in row] for row in flat(draws)])
    close(found, shares(weights, len(small)) @ small)


def mostly_alone(found: np.ndarray, *, draws: np.ndarray, fewest: int, weights: Any) -> None:
    assert len(set(found.tolist())) == len(found)


def _call(name: str, arguments: SearchStrategy[dict[str, Any]], right: Any) -> Call:
    return Call(f"diagnostics.{name}", getattr(diagnostics, name), arguments, right, never_broken=INSIDE)


def _loss(name: str, arguments: SearchStrategy[dict[str, Any]], right: Any) -> Call:
    def called(*, a: Any, b: Any, **weight: float) -> Any:
        return getattr(diagnostics, name)(**weight)(a, b)

    return Call(f"diagnostics.{name}", called, arguments, right, never_broken=INSIDE)


CALLS = [
    _call("co_assignment", weighted(), together),
    _call("cluster_count_posterior", weighted(), of_clusters),
    _call("ranked_partitions", weighted(), ranked),
    _call("partition_entropy", weighted(), uncertain),
    _call("point_estimate", weighted(seed=True, loss=LOSSES, search=SEARCHES), best),
    _call("point_uncertainty", weighted(estimate=True), unsure),
    _call("credible_ball", weighted(estimate=True, loss=LOSSES, level=st.floats(0.01, 1)), ball),
    _call(
        "partition_modes",
        weighted(seed=True, loss=st.sampled_from([VariationOfInformation(), Binder()])),
        modes,
    ),
    _call("most_informative_pairs", pairs_to_ask(), informative),
    _call("cluster_profiles", described(), profiled),
    _call("column_shares", spread(), between_clusters),
    _call("cluster_contrasts", divided(), set_apart),
    _call("likely_outliers", weighted(fewest=st.integers(2, 5)), mostly_alone),
    _call("outlier_probabilities", weighted(fewest=st.integers(2, 5)), nearly_alone),
    _call("variation_of_information", two_partitions(weight=True), pairs_of(direct_vi)),
    _loss("Binder", two_partitions(weight=True), pairs_of(direct_binder)),
    _loss("NormalisedVariationOfInformation", two_partitions(), pairs_of(direct_nvi)),
    _loss("AdjustedRand", two_partitions(), pairs_of(direct_rand)),
    _call("pairwise_loss", two_sets(), all_pairs),
    _call("agreement", pair_of_sources(), compared),
    _call("mmd_test", pair_of_sources(tests=True), tested),
    _call("classifier_test", pair_of_sources(tests=True), tested),
    _call("count_test", pair_of_sources(tests=True), tested),
    _call("compare_sources", pair_of_sources(tests=True), sourced),
    _call("dendrogram_order", similarities(), in_order),
    _call("total_variation", two_laws(), half_the_distance),
]
