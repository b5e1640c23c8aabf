"""Point estimates against every partition, credible balls and modes by hand, large tables."""

import itertools
import tracemalloc

import numpy as np
import pytest

from pyroclust import diagnostics
from pyroclust.diagnostics import (
    AdjustedRand,
    Binder,
    DrawsSearch,
    EnumerationSearch,
    LinkageSearch,
    NormalisedVariationOfInformation,
    SalsoSearch,
    VariationOfInformation,
    credible_ball,
    pairwise_loss,
    partition_modes,
    point_estimate,
    variation_of_information,
)
from pyroclust.diagnostics.differences import marginals
from pyroclust.diagnostics.frequencies import MAX_PAIRED_POINTS, count_clusters, paired_points
from pyroclust.diagnostics.point_estimates import medoids, silhouette
from pyroclust.diagnostics.sources import largest_pair
from pyroclust.partitions import Draws, enumerate_partitions
from pyroclust.partitions.raw_labels import renumbered
from pyroclust.results.summaries import DrawsSummary

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


@pytest.mark.parametrize("seed", range(8))
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
    draws, found = noisy_draws(np.random.default_rng(2), 400, 60, 6, 0.6), []
    for cores in (1, 3):
        monkeypatch.setattr("pyroclust.core.machine.num_threads", lambda cores=cores: cores)
        found.append(point_estimate(draws, seed=3, loss=Binder()))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("loss", [VariationOfInformation(), Binder(), VariationOfInformation(1.5)])
def test_points_that_are_together_in_all_draws_may_stay_together(loss):
    # What a search of items relies on: no partition that parts them is better than all that do not.
    partitions, rng = enumerate_partitions(6).numpy(), np.random.default_rng(5)
    together = partitions[partitions[:, 1] == partitions[:, 4]]
    for _ in range(20):
        draws = together[rng.integers(len(together), size=rng.integers(2, 6))]
        least = loss.expected(partitions, draws).min()
        assert loss.expected(together, draws).min() == pytest.approx(least, abs=1e-12)


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


CENTRE = [0, 0, 1, 1]


@pytest.fixture
def draws():
    return renumbered(np.random.default_rng(0).integers(3, size=(80, 7)))


def test_a_ball_by_hand():
    # Binder losses from the centre: 0 (five times), 6/16, 8/16, 4/16, 8/16
    draws = np.array([CENTRE] * 5 + [[0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 0, 1]])
    ball = credible_ball(draws, np.array(CENTRE), level=0.6, loss=Binder())
    np.testing.assert_allclose(ball.distances * 16, [0] * 5 + [6, 8, 4, 8])
    assert ball.radius == pytest.approx(4 / 16)
    assert ball.coverage == pytest.approx(6 / 9)
    assert ball.horizontal.tolist() == ball.lower.tolist() == [[0, 1, 2, 3]]
    assert ball.upper.tolist() == [CENTRE]
    assert (ball.level, ball.estimate.tolist()) == (0.6, CENTRE)
    # A level that a ball holds exactly.
    assert credible_ball(draws, np.array(CENTRE), level=5 / 9, loss=Binder()).radius == 0
    whole = credible_ball(draws, np.array(CENTRE), level=1.0, loss=Binder())
    assert (whole.radius, whole.coverage) == (pytest.approx(0.5), pytest.approx(1.0))
    assert sorted(whole.horizontal.tolist()) == [[0, 0, 0, 0], [0, 1, 0, 1]]
    assert whole.upper.tolist() == [[0, 0, 0, 0]]
    assert whole.lower.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.95, 1.0])
@pytest.mark.parametrize("loss", [VariationOfInformation(), Binder()])
def test_the_ball_against_its_definition(draws, level, loss):
    weights = np.random.default_rng(1).random(80)
    estimate = point_estimate(draws, seed=0, weights=weights)
    ball = credible_ball(draws, estimate, level=level, loss=loss, weights=weights)
    away = loss(estimate, draws).round(9)
    share = weights / weights.sum()
    radii = np.unique(away)
    held = np.array([share[away <= radius].sum() for radius in radii])
    radius = radii[held >= level - 1e-9][0]
    inside = away <= radius
    np.testing.assert_allclose(ball.distances, away, atol=1e-8)
    assert ball.radius == pytest.approx(radius, abs=1e-8)
    assert ball.coverage == pytest.approx(share[inside].sum())
    clusters = count_clusters(draws)
    same(ball.horizontal, draws[inside & (away == radius)])
    for rows, number in ((ball.upper, clusters[inside].min()), (ball.lower, clusters[inside].max())):
        chosen = inside & (clusters == number)
        same(rows, draws[chosen & (away == away[chosen].max())])


def same(found, expected):
    assert {tuple(row) for row in found} == {tuple(row) for row in expected}
    assert len({tuple(row) for row in found}) == len(found)


def test_draws_without_weight_are_no_bounds():
    draws = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
    ball = credible_ball(draws, np.array([0, 0, 0]), level=1.0, weights=np.array([0.5, 0.5, 0]))
    assert ball.horizontal.tolist() == [[0, 0, 1]]
    assert ball.coverage == pytest.approx(1.0)


def test_the_loss_takes_the_estimate_first():
    every = enumerate_partitions(4).numpy()
    loss = VariationOfInformation(weight=0.2)
    ball = credible_ball(every, every[5], loss=loss)
    np.testing.assert_allclose(ball.distances, loss(every[5], every), atol=1e-12)
    assert not np.allclose(ball.distances, loss(every, every[5]))


FIRST, SECOND = np.repeat(np.arange(3), 20), np.tile(np.arange(2), 30)


def around(partition, rng, num_draws, noise):
    wrong = rng.random((num_draws, len(partition))) < noise
    return np.where(wrong, rng.integers(partition.max() + 1, size=wrong.shape), partition)


@pytest.mark.parametrize("seed", range(5))
def test_two_modes_are_found_with_their_weights(seed):
    rng = np.random.default_rng(seed)
    draws = np.concatenate([around(FIRST, rng, 140, 0.05), around(SECOND, rng, 60, 0.05)])
    found = partition_modes(draws.reshape(2, 100, 60), seed=seed)
    assert found.weights == pytest.approx([0.7, 0.3])
    np.testing.assert_array_equal(found.members, np.repeat([0, 1], [140, 60]))
    for mode, truth in zip(found.partitions, (FIRST, SECOND), strict=True):
        assert variation_of_information(mode, truth) < 0.5
    for k, mode in enumerate(found.partitions):
        away = variation_of_information(mode, draws[found.members == k])
        assert found.spread[k] == pytest.approx(away.mean())


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3, 1.0])
def test_one_mode_is_enough(seed, noise):
    rng = np.random.default_rng(seed)
    draws = around(FIRST, rng, 200, noise)
    found = partition_modes(draws, seed=seed)
    assert found.weights.tolist() == [1.0]
    assert (found.members == 0).all()


def test_one_undecided_point_and_rare_outliers_are_no_modes():
    rng = np.random.default_rng(0)
    large = np.repeat(np.arange(4), 50)
    draws = np.repeat(large[None], 200, axis=0)
    draws[rng.random(200) < 0.5, 0] = 1
    assert len(partition_modes(draws, seed=0).weights) == 1
    outliers = np.concatenate([around(FIRST, rng, 195, 0.02), around(SECOND, rng, 5, 0.02)])
    assert len(partition_modes(outliers, seed=0).weights) == 1
    assert partition_modes(outliers, seed=0, num_modes=2).weights == pytest.approx([0.975, 0.025])


def test_more_distinct_draws_than_are_searched(monkeypatch):
    monkeypatch.setattr("pyroclust.diagnostics.point_estimates.paired_draws", lambda _: 60)
    rng = np.random.default_rng(3)
    draws = np.concatenate([around(FIRST, rng, 140, 0.05), around(SECOND, rng, 60, 0.05)])
    found = partition_modes(draws, seed=0)
    assert found.weights == pytest.approx([0.7, 0.3])
    assert len(found.members) == 200
    again = partition_modes(draws, seed=0)
    np.testing.assert_array_equal(found.partitions, again.partitions)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_medoids_are_the_best_of_all_subsets(number):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        places = rng.normal(size=(14, 2)) + 3 * rng.integers(3, size=(14, 1))
        losses = np.linalg.norm(places[:, None] - places, axis=-1) * rng.uniform(0.9, 1.1, size=(14, 14))
        np.fill_diagonal(losses, 0)
        mass = rng.dirichlet(np.ones(14))
        subsets = itertools.combinations(range(14), number)
        best = min(losses[list(subset)].min(0) @ mass for subset in subsets)
        chosen = medoids(losses, mass, number, rng)
        assert losses[chosen].min(0) @ mass == pytest.approx(best, rel=1e-9)


def test_silhouette_by_hand():
    places = np.array([0.0, 1.0, 4.0])
    losses, mass = np.abs(places[:, None] - places), np.array([0.2, 0.2, 0.6])
    # a = (1/2, 1/2, 0), b = (4, 3, 3.5)
    expected = 0.2 * 3.5 / 4 + 0.2 * 2.5 / 3 + 0.6
    assert silhouette(losses, mass, np.array([0, 0, 1])) == pytest.approx(expected)


def test_a_given_number_and_loss():
    draws = np.array([[0, 0, 1, 1]] * 3 + [[0, 0, 0, 1]] * 2 + [[0, 1, 2, 3]])
    found = partition_modes(draws, seed=0, num_modes=3, loss=Binder())
    assert found.partitions.tolist() == [[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2, 3]]
    assert found.members.tolist() == [0, 0, 0, 1, 1, 2]
    assert found.spread.tolist() == [0, 0, 0]
    two = partition_modes(draws, seed=0, num_modes=2, loss=Binder())
    losses = pairwise_loss(two.partitions, draws, loss=Binder())
    np.testing.assert_array_equal(losses.argmin(0), two.members)
    with pytest.raises(ValueError, match="num_modes is 4, expected at most 3"):
        partition_modes(draws, seed=0, num_modes=4)
    with pytest.raises(ValueError, match="num_modes is 0"):
        partition_modes(draws, seed=0, num_modes=0)


def _draws(num_points: int, *, number: int = 12, clusters: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    base = rng.integers(clusters, size=num_points)
    moved = rng.random((number, num_points)) < 0.1
    return np.where(moved, rng.integers(clusters, size=(number, num_points)), base)


def test_the_sample_is_the_same_for_every_source_and_sorted():
    chosen = paired_points(9000)
    assert len(np.unique(chosen)) == MAX_PAIRED_POINTS
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, paired_points(9000))
    np.testing.assert_array_equal(paired_points(MAX_PAIRED_POINTS), np.arange(MAX_PAIRED_POINTS))


def test_the_matrix_is_that_of_the_sampled_points():
    draws = _draws(2300)
    found = marginals(draws)
    expected = diagnostics.co_assignment(draws)[np.ix_(found.points, found.points)]
    np.testing.assert_allclose(found.together, expected, atol=1e-12)


def test_labels_above_the_size_of_the_sample_are_told_apart():
    every = np.arange(5000)[None]
    assert marginals(every).together.sum() == MAX_PAIRED_POINTS


def test_the_largest_pair_is_named_by_its_rows():
    first = np.zeros((10, 4000), dtype=np.int64)
    second, moved = first.copy(), paired_points(4000)[[5, 700]]
    second[:, moved[0]] = 1
    second[:, moved[1]] = 1
    second[:5, moved[1]] = 0
    pair = largest_pair(marginals(first), marginals(second))
    assert moved[0] in pair


@pytest.mark.parametrize("num_points", [7, 60])
@pytest.mark.parametrize("weighted", [False, True])
def test_uncertainty_without_a_matrix_is_that_of_the_matrix(num_points: int, *, weighted: bool):
    draws = _draws(num_points, number=40)
    estimate = draws[3].copy()
    estimate[0] = num_points - 1
    estimate[-1] = num_points - 2
    weights = np.random.default_rng(1).random(40) if weighted else None
    similarity = diagnostics.co_assignment(draws, weights=weights)
    np.fill_diagonal(similarity, 0.0)
    together = estimate[:, None] == estimate
    companions = together.sum(-1) - 1
    own = 1 - (similarity * together).sum(-1) / np.maximum(companions, 1)
    expected = np.where(companions > 0, own, similarity.max(-1))
    found = diagnostics.point_uncertainty(draws, estimate, weights=weights)
    np.testing.assert_allclose(found, expected, atol=1e-6 if weighted else 1e-12)


def test_a_summary_and_a_comparison_have_no_matrix_of_all_points():
    num_points = 12_000
    first, second = _draws(num_points), _draws(num_points, seed=1)
    tracemalloc.start()
    summary = DrawsSummary(Draws(assignments=first[None]), name="mine", seed=0)
    summary.figures()
    found = diagnostics.compare_sources(first, second, seed=0, num_permutations=9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert summary.tries.failures == ()
    assert summary.estimate is not None
    assert len(summary.estimate.uncertainty) == num_points
    assert max(found.largest_pair) < num_points
    # A number for every pair would be 1,152 MB; for the pairs among 2,000 points it is 32 MB.
    assert peak < 8 * num_points**2 / 3


def test_an_estimate_that_is_searched_for_with_a_part_of_the_draws_is_the_truth():
    draws = _draws(4000, number=600)
    base = np.random.default_rng(0).integers(4, size=4000)
    assert diagnostics.variation_of_information(diagnostics.point_estimate(draws, seed=0), base) == 0.0
