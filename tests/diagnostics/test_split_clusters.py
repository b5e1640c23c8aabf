"""Skewed and heavy-tailed clusters are told from normal ones, whole or split."""

import numpy as np
import pytest
import scipy

from pyroclust.diagnostics import Mark
from pyroclust.diagnostics.findings import split_finding
from pyroclust.diagnostics.limits import MAX_GAIN
from pyroclust.diagnostics.split_clusters import OtherShape, SplitClusters, split_clusters


def no_model(rows, labels):
    """A model that says nothing of the partition."""
    return np.zeros(len(labels))


def split(data, labels, *, log_joint=no_model, is_independent=False, draws=None):
    draws = np.arange(2 * len(labels)).reshape(2, -1) if draws is None else draws
    return split_clusters(labels, draws=draws, data=data, log_joint=log_joint, is_independent=is_independent)


def gains(data, labels, **options):
    found = split(data, labels, **options)
    return {one.clusters: one for one in found.groups}


def normal_model(rows, labels):
    """Normal clusters with their shares at their largest likelihood, less their parameters."""

    def of(part):
        covariance = np.atleast_2d(np.cov(part.T, bias=True))
        law = scipy.stats.multivariate_normal(part.mean(0), covariance, allow_singular=True)
        return law.logpdf(part).sum() + len(part) * np.log(len(part)) - 2.5 * np.log(len(part))

    return np.array([sum(of(rows[one == k]) for k in np.unique(one)) for one in labels])


def worlds(kind, seed):
    rng = np.random.default_rng(seed)
    root = np.array([[1.0, 0.0], [0.6, 0.5]])
    rows = rng.normal(size=(400, 2))
    if kind == "heavy":
        rows /= np.sqrt(rng.chisquare(4, size=(400, 1)) / 4)
    if kind == "skewed":
        rows = np.exp(0.6 * rows)
    return rows @ root.T


def test_a_normal_cluster_is_normal_and_so_are_two():
    for seed in range(20):
        one = worlds("normal", seed)
        two = np.concatenate([one, one + 4])
        labels = np.repeat([0, 1], 400)
        assert gains(one, labels[:400])[(0,)].gain < MAX_GAIN
        found = gains(two, labels, log_joint=normal_model)
        assert set(found) == {(0,), (1,), (0, 1)}
        assert max(one.gain for one in found.values()) < MAX_GAIN


@pytest.mark.parametrize(("kind", "shape"), [("heavy", "heavy-tailed"), ("skewed", "skewed")])
def test_other_shapes_are_found_whole_and_split(kind, shape):
    rows = worlds(kind, 0)
    centre = np.median(rows, axis=0)
    far = ((rows - centre) ** 2).sum(1)
    labels = (far > np.quantile(far, 0.7)).astype(np.int64)
    found = gains(rows, labels, log_joint=normal_model)
    assert found[0, 1].gain > MAX_GAIN
    assert found[0, 1].shape == shape
    assert found[0, 1].rows == 400
    whole = gains(rows, np.zeros(400, dtype=np.int64))[(0,)]
    assert whole.gain >= found[0, 1].gain
    assert whole.shape == shape


@pytest.mark.parametrize("is_independent", [True, False])
@pytest.mark.parametrize("law", [scipy.stats.t(4), scipy.stats.lognorm(0.8), scipy.stats.norm()])
def test_gains_are_those_of_likelihoods_in_one_column(law, is_independent):
    rows = law.rvs(size=300, random_state=0)
    normal = scipy.stats.norm.logpdf(rows, *scipy.stats.norm.fit(rows)).sum()
    heavy = max(
        scipy.stats.t.logpdf(rows, df, *scipy.stats.t.fit(rows, fdf=df)[1:]).sum()
        for df in (1.5, 2, 3, 4, 6, 10, 20, 50)
    )
    best = scipy.stats.johnsonsu.logpdf(rows, *scipy.stats.johnsonsu.fit(rows)).sum()
    heavy, best = heavy - normal - np.log(300) / 2, best - normal - np.log(300)
    found = gains(rows[:, None], np.zeros(300, dtype=np.int64), is_independent=is_independent)[(0,)]
    # The S_U has a grid, and never gains more than at its best.
    assert max(heavy, best - 2 - best / 20) - 0.1 < found.gain < max(heavy, best) + 0.1


def test_units_and_names_of_clusters_say_nothing():
    rows, labels = worlds("skewed", 1), (np.arange(400) % 2).astype(np.int64)
    first, again = gains(rows, labels), gains(rows * [1000, 0.01] - 7, 1 - labels)
    assert [one.gain for one in again.values()] == pytest.approx([one.gain for one in first.values()])


def test_constant_columns_and_few_rows_are_left_out():
    rows = np.c_[worlds("heavy", 2), np.ones(400)]
    labels = np.zeros(400, dtype=np.int64)
    with_constant = gains(rows, labels)[(0,)].gain
    assert with_constant == pytest.approx(gains(rows[:, :2], labels)[(0,)].gain, abs=0.1)
    assert split(rows[:9, :2], labels[:9]) is None
    same = split(np.ones((400, 2)), labels)
    assert same is None or split_finding(same).passed


def test_a_cluster_alone_counts_where_most_draws_split_it():
    rows, labels = worlds("heavy", 2), np.zeros(400, dtype=np.int64)
    draws = np.tile(labels, (10, 1))
    draws[:5, 7] = 1
    assert split(rows, labels, draws=draws) is None
    draws[5, 8] = 1
    assert split(rows, labels, draws=draws).joined == (((0,), "heavy-tailed"),)


def test_what_the_model_forbids_is_no_group():
    def never(rows, labels):
        return np.where(labels.max(-1) == 0, -np.inf, 0.0)

    rows, labels = worlds("heavy", 3), (np.arange(400) % 2).astype(np.int64)
    assert (0, 1) not in gains(rows, labels, log_joint=never)


def test_groups_that_share_clusters_are_named_together():
    groups = [
        ((0, 2), 30.0, "skewed"),
        ((2, 3), 12.0, "heavy-tailed"),
        ((1,), 6.0, "heavy-tailed"),
        ((3, 4), 2.0, "skewed"),
    ]
    found = SplitClusters(tuple(OtherShape(one, 50, gain, shape) for one, gain, shape in groups), 5, 2)
    assert found.joined == (((0, 2, 3), "skewed"), ((1,), "heavy-tailed"))
    assert found.figures()["num_left"] == found.num_left == 3
    finding = split_finding(found)
    assert not finding.passed
    assert finding.mark is Mark.CAUTION
    assert finding.sentence == (
        "clusters 1, 3 and 4 may be one skewed cluster that is split; cluster 2 is heavy-tailed, and most "
        "draws split it; then 3 of 5 clusters are left"
    )
    of_one_column = split_finding(SplitClusters(found.groups[2:], 5, 1))
    assert of_one_column.sentence == (
        "cluster 2 is heavy-tailed, and most draws split it; compare with --family student-t"
    )
    passed = split_finding(SplitClusters(found.groups[3:], 5, 2))
    assert passed.passed
    assert passed.sentence == "another shape gains at most 2.0 nats"
