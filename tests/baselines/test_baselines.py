import numpy as np
import pytest
import torch
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from pyroclust.baselines import (
    BASELINES,
    Agglomerative,
    DensityBased,
    EMGaussianMixture,
    KMeans,
    VariationalGaussianMixture,
    run_baselines,
)
from pyroclust.baselines.points import choose_by_silhouette, refuses_one_cluster
from pyroclust.diagnostics import co_assignment, functionals, point_estimate
from pyroclust.partitions import is_canonical

# Fewer starts and clusters than by default: many small data sets are clustered here.
QUICK = (
    KMeans(max_clusters=5, num_starts=3),
    EMGaussianMixture(max_clusters=5, num_starts=2),
    VariationalGaussianMixture(max_clusters=6, num_starts=2),
    DensityBased(),
    Agglomerative(max_clusters=5),
)
NAMES = [type(baseline).__name__ for baseline in QUICK]


def blobs(num_clusters: int, *, size: int = 40, dimensions: int = 2, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(num_clusters), size)
    centres = 12 * np.eye(num_clusters, dimensions) if dimensions >= num_clusters else None
    centres = 12 * np.arange(num_clusters)[:, None] * np.ones(dimensions) if centres is None else centres
    order = rng.permutation(len(truth))
    return (centres[truth] + rng.normal(size=(len(truth), dimensions)))[order], truth[order]


@pytest.mark.parametrize("baseline", QUICK, ids=NAMES)
class TestEveryBaseline:
    @pytest.mark.parametrize(("num_clusters", "dimensions"), [(3, 2), (2, 1), (4, 4)])
    def test_finds_blobs_far_apart(self, baseline, num_clusters, dimensions):
        data, truth = blobs(num_clusters, dimensions=dimensions)
        found = baseline.partition(data, seed=0)
        assert adjusted_rand_score(truth, found.assignments) > 0.97
        assert found.num_clusters == num_clusters

    def test_result_has_the_common_face(self, baseline):
        data, _ = blobs(3)
        found = baseline.partition(data, seed=1)
        assert found.name == baseline.name
        assert found.assignments.dtype == np.int64
        assert found.assignments.shape == (120,)
        assert bool(is_canonical(torch.from_numpy(found.assignments)))
        assert found.num_clusters == found.assignments.max() + 1
        assert found.seconds > 0
        assert found.about.endswith(".")
        assert functionals(found.draws)["num_clusters"].shape == (1, 1)
        assert set(np.unique(co_assignment(found.draws))) <= {0.0, 1.0}
        np.testing.assert_array_equal(point_estimate(found.draws, seed=0), found.assignments)
        again = baseline.partition(data, seed=1).assignments
        np.testing.assert_array_equal(again, found.assignments)

    def test_one_gaussian_is_one_cluster(self, baseline):
        data = np.random.default_rng(3).normal(size=(200, 2))
        assert baseline.partition(data, seed=0).num_clusters == 1

    @pytest.mark.parametrize(("factor", "shift"), [(1e6, 3e7), (1e-6, 0.0)])
    def test_units_and_constant_columns_do_not_matter(self, baseline, factor, shift):
        data, _ = blobs(3)
        wide = np.column_stack([data * factor + shift, np.full(len(data), 0.1)])
        plain, scaled = (baseline.partition(x, seed=0) for x in (data, wide))
        np.testing.assert_array_equal(plain.assignments, scaled.assignments)

    @pytest.mark.parametrize("size", [2, 3, 5])
    def test_few_points(self, baseline, size):
        found = baseline.partition(np.arange(float(size))[:, None] ** 2, seed=0)
        assert 1 <= found.num_clusters <= size

    def test_equal_points_share_a_cluster(self, baseline):
        data = np.repeat(np.array([[0.0], [1.0], [10.0]]), 15, axis=0)
        found = baseline.partition(data, seed=0)
        assert all(len(set(block.tolist())) == 1 for block in found.assignments.reshape(3, 15))

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (np.zeros((1, 2)), r"data has 1 point\(s\), expected at least 2"),
            (np.zeros(3), r"data has shape \(3,\), expected \(N, D\)"),
            (np.zeros((3, 0)), r"data has shape \(3, 0\)"),
            (np.array([[0.0], [np.nan], [np.inf]]), "data holds 2 missing or infinite numbers"),
            (np.ones((5, 2)), "data is constant"),
            (np.array([[0.0], [1e200]]), "too far from 1"),
            (np.array([[-1e308], [1e308]]), "too far from 1"),
            ([["a"], ["b"]], "not an array of real numbers"),
        ],
    )
    def test_bad_data_are_refused(self, baseline, data, message):
        with pytest.raises(ValueError, match=message):
            baseline.partition(data, seed=0)


@pytest.mark.parametrize("kind", [KMeans, Agglomerative, EMGaussianMixture])
class TestGivenNumberOfClusters:
    @pytest.mark.parametrize("num_clusters", [1, 2, 5])
    def test_is_kept(self, kind, num_clusters):
        data, _ = blobs(5)
        found = kind(num_clusters=num_clusters).partition(data, seed=0)
        assert found.num_clusters == num_clusters
        assert "as given" in found.about

    def test_max_clusters_bounds_the_choice(self, kind):
        data, _ = blobs(5)
        assert kind(max_clusters=3).partition(data, seed=0).num_clusters <= 3
        with pytest.raises(ValueError, match="max_clusters is 0"):
            kind(max_clusters=0)
        with pytest.raises(ValueError, match="num_clusters is 4, expected at most 3: the number of points"):
            kind(num_clusters=4).partition(np.arange(3.0)[:, None], seed=0)


def test_wards_cut_equals_scikit_learns():
    data = np.random.default_rng(0).normal(size=(80, 3))
    for num_clusters in (1, 2, 7, 80):
        ours = Agglomerative(num_clusters=num_clusters).partition(data, seed=0).assignments
        theirs = AgglomerativeClustering(num_clusters).fit_predict(data)
        assert adjusted_rand_score(ours, theirs) == 1.0
    # Distances of a grid are tied.
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), -1).reshape(-1, 2)
    assert Agglomerative(num_clusters=5).partition(grid, seed=0).num_clusters == 5


def test_wards_tree_of_some_points_takes_in_the_others():
    data, truth = blobs(3, size=100)
    found = Agglomerative(max_points=90).partition(data, seed=0)
    assert adjusted_rand_score(truth, found.assignments) == 1.0
    assert found.notes == (
        "The tree is of 90 points drawn at random; the other 210 joined the cluster of the nearest of them.",
    )


def test_warnings_become_notes():
    data = np.repeat(np.array([[0.0], [1.0]]), 10, axis=0)
    found = KMeans(num_clusters=4).partition(data, seed=0)
    assert found.num_clusters == 2
    assert len(found.notes) == 1
    assert found.notes[0].startswith("scikit-learn: Number of distinct clusters (2)")


def test_em_prefers_the_smallest_bic():
    # Two overlapping normals that k-means cuts elsewhere: different spreads around one mean.
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(size=(300, 2)), 12 * rng.normal(size=(300, 2))])
    found = EMGaussianMixture(num_starts=1).partition(data, seed=0)
    assert found.num_clusters == 2
    assert "K = 2 of 1 to 10: the smallest BIC" in found.about


def test_em_does_not_chase_a_pair_of_equal_points():
    # Without a floor under variances the likelihood of a component on the pair has no bound.
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(size=(40, 1)), np.full((2, 1), 2.5)])
    assert EMGaussianMixture(max_clusters=5, num_starts=2).partition(data, seed=0).num_clusters == 1


def test_variational_mixture_says_its_truncation():
    data, _ = blobs(3)
    found = VariationalGaussianMixture(max_clusters=6).partition(data, seed=0)
    assert "cut off at 6 components, of which 3 have points" in found.about


@pytest.mark.parametrize(
    ("kind", "argument", "message"),
    [
        (VariationalGaussianMixture, {"concentration": 0.0}, "concentration is 0.0, expected a positive"),
        (DensityBased, {"radius": -1.0}, "radius is -1.0, expected a positive number"),
        (DensityBased, {"min_points": 0}, "min_points is 0, expected at least 1"),
        (Agglomerative, {"max_points": 1}, "max_points is 1, expected at least 2"),
        (KMeans, {"num_clusters": 0}, "num_clusters is 0, expected at least 1"),
    ],
)
def test_wrong_numbers_are_refused(kind, argument, message):
    with pytest.raises(ValueError, match=message):
        kind(**argument)


class TestDensityBased:
    line = np.concatenate([np.arange(10.0), 50 + np.arange(10.0), [30.0]])[:, None]

    def test_noise_joins_the_nearest_core_point_or_stays_alone(self):
        found = DensityBased(min_points=4, radius=2.0).partition(self.line, seed=0)
        assert found.num_clusters == 2
        assert found.assignments[-1] == found.assignments[10]
        assert "1 noise point(s) joined the cluster of the nearest core point" in found.about
        alone = DensityBased(min_points=4, radius=2.0, noise_alone=True).partition(self.line, seed=0)
        assert alone.assignments.tolist() == [0] * 10 + [1] * 10 + [2]
        assert "stay alone" in alone.about

    def test_without_core_points_all_are_one_cluster_or_alone(self):
        found = DensityBased(min_points=4, radius=0.5).partition(self.line, seed=0)
        assert found.num_clusters == 1
        assert "no point was a core" in found.about
        assert (
            DensityBased(min_points=4, radius=0.5, noise_alone=True).partition(self.line, seed=0).num_clusters
            == 21
        )

    def test_radius_is_in_the_units_of_the_data(self):
        assert DensityBased(min_points=4, radius=60.0).partition(self.line, seed=0).num_clusters == 1
        assert DensityBased(min_points=4, radius=0.06).partition(self.line / 1000, seed=0).num_clusters == 1
        assert DensityBased(min_points=4, radius=0.0025).partition(self.line / 1000, seed=0).num_clusters == 2

    def test_finds_a_ring_around_a_blob(self):
        rng = np.random.default_rng(0)
        angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
        ring = 10 * np.stack([np.cos(angle), np.sin(angle)], -1) + 0.1 * rng.normal(size=(200, 2))
        data = np.concatenate([ring, rng.normal(size=(100, 2))])
        found = DensityBased().partition(data, seed=0)
        assert adjusted_rand_score(np.repeat([0, 1], [200, 100]), found.assignments) == 1.0

    def test_min_points_follow_columns_and_points(self):
        rng = np.random.default_rng(0)
        # 2 log 50 is 7.8.
        assert "m = 8;" in DensityBased().partition(rng.normal(size=(50, 1)), seed=0).about
        assert "m = 10;" in DensityBased().partition(rng.normal(size=(50, 5)), seed=0).about
        assert "m = 4;" in DensityBased().partition(rng.normal(size=(6, 1)), seed=0).about
        assert "m = 3;" in DensityBased().partition(np.arange(3.0)[:, None], seed=0).about


class TestNumberOfClusters:
    def test_duda_hart_keeps_its_level_on_one_normal(self):
        rng = np.random.default_rng(0)
        refused = 0
        for _ in range(300):
            data = rng.normal(size=(100, 2))
            direction = np.linalg.eigh(np.cov(data.T))[1][:, -1]
            refused += refuses_one_cluster(data, (data - data.mean(0)) @ direction > 0)
        # The best cut of the sample is a little better than the best of the law, so it is not 0.001.
        assert refused <= 6

    def test_silhouette_chooses_the_largest(self):
        data, truth = blobs(3)
        wrong = np.random.default_rng(0).integers(2, size=len(data))
        halves = (truth == 0).astype(int)
        labels = {2: halves, 3: truth, 4: np.where(wrong, 3, truth)}
        found, _ = choose_by_silhouette(data, labels.__getitem__, max_clusters=4, seed=0)
        np.testing.assert_array_equal(found, truth)
        # Of more points some are looked at.
        many, truth = blobs(2, size=3000)
        labels = {2: truth, 3: np.arange(6000) % 3}
        found, _ = choose_by_silhouette(many, labels.__getitem__, max_clusters=3, seed=0)
        np.testing.assert_array_equal(found, truth)


def test_run_baselines_keeps_the_order():
    data, _ = blobs(3)
    found = run_baselines(data, seed=0)
    assert [type(one) for one in BASELINES] == [type(one) for one in QUICK]
    assert [one.name for one in found] == [
        "k-means",
        "EM mixture",
        "variational mixture",
        "DBSCAN",
        "agglomerative",
    ]
    (only,) = run_baselines(data, seed=0, baselines=[KMeans(num_clusters=2)])
    assert only.num_clusters == 2
