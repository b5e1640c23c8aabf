import numpy as np
import pytest

from pyroclust.diagnostics import (
    AdjustedRand,
    Binder,
    DrawsSearch,
    EnumerationSearch,
    LinkageSearch,
    NormalisedVariationOfInformation,
    SalsoSearch,
    VariationOfInformation,
    point_estimate,
)
from pyroclust.partitions import enumerate_partitions
from pyroclust.partitions.raw_labels import renumbered

LOSSES = [
    VariationOfInformation(),
    VariationOfInformation(weight=0.6),
    Binder(),
    Binder(weight=1.5),
    NormalisedVariationOfInformation(),
    AdjustedRand(),
]
SEARCHES = [DrawsSearch(), LinkageSearch(), SalsoSearch(num_starts=4), EnumerationSearch()]


def noisy_draws(rng, num_draws, num_points, num_clusters, noise):
    """Draws around a random partition, each point on its own wrong with some probability."""
    truth = rng.integers(num_clusters, size=num_points)
    wrong = rng.random((num_draws, num_points)) < noise
    return np.where(wrong, rng.integers(num_clusters, size=wrong.shape), truth)


def random_posterior(seed):
    """Weighted draws of 2 to 8 points, spread over all partitions or gathered around one."""
    rng = np.random.default_rng(seed)
    num_points, num_draws = int(rng.integers(2, 9)), int(rng.integers(2, 50))
    every = enumerate_partitions(num_points).numpy()
    draws = every[rng.integers(len(every), size=num_draws)]
    if seed % 2:
        draws = noisy_draws(rng, num_draws, num_points, min(3, num_points), 0.4)
    return draws, rng.dirichlet(np.full(num_draws, 0.7))


def reached(search, draws, weights, loss, seed=0):
    found = point_estimate(draws, seed=seed, weights=weights, loss=loss, search=search)
    return float(loss.expected(found[None], draws, weights=weights)[0])


@pytest.mark.parametrize("part", range(4))
def test_salso_finds_the_optimum_of_200_random_posteriors(part):
    for seed in range(50 * part, 50 * part + 50):
        draws, weights = random_posterior(seed)
        loss = LOSSES[seed % len(LOSSES)]
        best = reached(EnumerationSearch(), draws, weights, loss)
        assert reached(SalsoSearch(), draws, weights, loss) == pytest.approx(best, abs=1e-10), (seed, loss)


@pytest.mark.parametrize("seed", range(20))
def test_enumeration_is_the_minimum_over_all_partitions(seed):
    draws, weights = random_posterior(seed)
    every = enumerate_partitions(draws.shape[1]).numpy()
    for loss in LOSSES:
        least = loss.expected(every, draws, weights=weights).min()
        assert reached(EnumerationSearch(), draws, weights, loss) == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_quick_searches_are_the_best_of_their_candidates(loss):
    for seed in range(10):
        draws, weights = random_posterior(seed)
        least = loss.expected(draws, draws, weights=weights).min()
        assert reached(DrawsSearch(), draws, weights, loss) == pytest.approx(least, abs=1e-12)
    for truth in (np.arange(5), np.zeros(5, dtype=int), np.array([0, 0, 1, 1, 2])):
        draws = np.concatenate([np.repeat(truth[None], 9, axis=0), [[0, 1, 0, 1, 0]]])
        assert point_estimate(draws, seed=0, loss=loss, search=LinkageSearch()).tolist() == truth.tolist()


def test_a_single_candidate_is_the_heaviest_draw():
    draws = np.array([[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 0, 0]])
    found = point_estimate(
        draws, seed=0, weights=np.array([1, 2, 4, 3]), search=DrawsSearch(max_candidates=1)
    )
    assert found.tolist() == [0, 1, 1]


def test_too_many_cells_for_the_memory(monkeypatch):
    monkeypatch.setattr("pyroclust.diagnostics.searches._MAX_CELLS", 5000)
    draws = noisy_draws(np.random.default_rng(5), 200, 50, 4, 0.4)
    cheap = reached(SalsoSearch(num_starts=2), draws, None, VariationOfInformation())
    monkeypatch.undo()
    assert cheap == pytest.approx(reached(SalsoSearch(), draws, None, VariationOfInformation()), rel=0.05)


def test_one_start_without_help_descends_by_itself(monkeypatch):
    # Neither draws nor cuts among the ends: what is left is the compiled search.
    monkeypatch.setattr("pyroclust.diagnostics.searches.SalsoSearch._starts", lambda *_: np.full((1, 60), -1))
    rng = np.random.default_rng(0)
    draws = noisy_draws(rng, 300, 60, 4, 0.4)
    for loss in LOSSES:
        alone = reached(SalsoSearch(num_starts=1), draws, None, loss)
        assert alone < 0.98 * reached(DrawsSearch(), draws, None, loss)
        neighbours = single_moves(point_estimate(draws, seed=0, loss=loss, search=SalsoSearch(num_starts=1)))
        assert loss.expected(neighbours, draws).min() >= alone - 1e-10


def single_moves(labels):
    """All partitions that differ in the place of one point, in another cluster or in one of its own."""
    clusters = min(len(labels), labels.max() + 2)
    moved = np.repeat(labels[None], len(labels) * clusters, axis=0)
    moved[np.arange(len(moved)), np.arange(len(moved)) // clusters] = np.arange(len(moved)) % clusters
    return renumbered(moved)


@pytest.mark.parametrize("search", [DrawsSearch(), SalsoSearch(num_starts=4), EnumerationSearch()])
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_with_weights_are_repeated_rows(loss, search):
    rng = np.random.default_rng(3)
    for num_points in (3, 4, 5) * 3:
        weights = rng.integers(1, 3, num_points)
        repeated = np.repeat(np.arange(num_points), weights)
        draws = noisy_draws(rng, 40, num_points, 3, 0.4)
        found = point_estimate(draws, seed=0, row_weights=weights, loss=loss, search=search)
        every = point_estimate(draws[:, repeated], seed=0, loss=loss, search=search)
        np.testing.assert_array_equal(found[repeated], every)
        least = loss.expected(found[None], draws, row_weights=weights)
        np.testing.assert_allclose(least, loss.expected(every[None], draws[:, repeated]), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_salso_is_never_worse_than_the_quick_searches(loss):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        draws, weights = noisy_draws(rng, 150, 40, 5, 0.2 + 0.2 * seed), rng.dirichlet(np.full(150, 0.5))
        found = reached(SalsoSearch(num_starts=2), draws, weights, loss)
        assert found <= reached(DrawsSearch(), draws, weights, loss) + 1e-12
        assert found <= reached(LinkageSearch(), draws, weights, loss) + 1e-12


@pytest.mark.parametrize("search", SEARCHES)
def test_estimates_are_canonical_and_repeatable(search):
    draws = noisy_draws(np.random.default_rng(1), 60, 9, 3, 0.5).reshape(3, 20, 9)
    found = point_estimate(draws, seed=5, search=search)
    assert found.dtype == np.int64
    assert found.shape == (9,)
    assert renumbered(found[None])[0].tolist() == found.tolist()
    np.testing.assert_array_equal(found, point_estimate(draws, seed=5, search=search))
    assert point_estimate(np.zeros((3, 1), dtype=int), seed=0, search=search).tolist() == [0]


def test_number_of_threads_does_not_matter(monkeypatch):
    draws = noisy_draws(np.random.default_rng(2), 100, 60, 6, 0.6)
    expected = point_estimate(draws, seed=3, loss=Binder())
    monkeypatch.setattr("pyroclust.diagnostics.searches.num_threads", lambda: 1)
    np.testing.assert_array_equal(point_estimate(draws, seed=3, loss=Binder()), expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_most_clusters(loss):
    rng = np.random.default_rng(3)
    draws = noisy_draws(rng, 80, 12, 5, 0.3)
    for most in (1, 2, 3):
        search = SalsoSearch(num_starts=6, max_clusters=most)
        assert point_estimate(draws, seed=0, loss=loss, search=search).max() < most
    every = np.array([[i // 32, i // 16 % 2, i // 8 % 2, i // 4 % 2, i // 2 % 2, i % 2] for i in range(64)])
    small = draws[:, :6]
    small = renumbered(np.minimum(small, 5))
    least = loss.expected(every, small).min()
    assert reached(SalsoSearch(max_clusters=2), small, None, loss) == pytest.approx(least, abs=1e-10)


def test_more_clusters_than_any_draw_where_that_is_best():
    draws = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0]])
    assert point_estimate(draws, seed=0, loss=Binder()).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SalsoSearch(num_starts=0), "num_starts is 0"),
        (lambda: SalsoSearch(max_clusters=0), "max_clusters is 0"),
        (lambda: SalsoSearch(num_zealous=-1), "num_zealous is -1"),
        (lambda: DrawsSearch(max_candidates=0), "max_candidates is 0"),
        (
            lambda: point_estimate(np.zeros((2, 11), dtype=int), seed=0, search=EnumerationSearch()),
            "11 points, expected at most 10",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
