import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import kstest, rankdata

from pyroclust.diagnostics import drift, nested_rhat
from pyroclust.diagnostics.short_chains import start_memory, start_test


def autoregressive(correlation, num_starts, chains_each, *, seed):
    """Chains at stationarity whose values share a part with those of the same start."""
    rng = np.random.default_rng(seed)
    starts = np.repeat(np.arange(num_starts), chains_each)
    shared = rng.standard_normal(num_starts)[starts]
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.standard_normal(len(starts)), starts


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.5])
def test_nested_rhat_is_one_plus_the_share_of_the_starts(correlation):
    found = [nested_rhat(*autoregressive(correlation, 200, 10, seed=seed)) for seed in range(20)]
    assert np.mean(found) == pytest.approx(np.sqrt(1 / (1 - correlation)), abs=0.02)


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_effective_draws_give_the_variance_of_the_mean(correlation):
    runs = [autoregressive(correlation, 100, 10, seed=seed) for seed in range(300)]
    means = np.array([values.mean() for values, _ in runs])
    effective = np.median([start_memory(*run).effective for run in runs])
    assert 1 / means.var() == pytest.approx(effective, rel=0.25)


def several(correlation, num_starts, chains_each, *, seed):
    """Three functionals of such chains, one of which is 1 for few chains."""
    first, starts = autoregressive(correlation, num_starts, chains_each, seed=seed)
    second, _ = autoregressive(correlation, num_starts, chains_each, seed=1000 + seed)
    return np.stack([first, second, second > 2.5], -1), starts


def test_the_test_of_starts_is_uniform_where_they_do_not_matter():
    values = [start_test(*several(0.0, 50, 4, seed=seed), seed=seed) for seed in range(150)]
    assert kstest(values, "uniform").pvalue > 0.001


def test_the_test_of_starts_finds_what_is_remembered():
    values = [start_test(*several(0.2, 50, 4, seed=seed), seed=seed) for seed in range(50)]
    assert np.mean(np.array(values) < 0.05) > 0.9


def test_few_chains_of_one_start_that_are_equal_by_chance_remember_nothing():
    starts = np.r_[np.arange(990), np.arange(10)]
    rare = np.zeros((1000, 1))
    rare[[3, 500, 700, 800, 940]] = 1
    assert start_memory(rare[:, 0], starts).rhat < np.inf
    rare[3] = 0
    assert start_memory(rare[:, 0], starts).rhat == np.inf
    assert start_test(rare, starts, seed=0) > 0.5


@pytest.mark.parametrize("starts", [np.zeros(4), np.arange(4)])
def test_there_is_nothing_to_test_with_one_start_or_as_many_as_chains(starts):
    assert start_test(np.arange(4.0)[:, None], starts, seed=0) == 1.0


def test_copies_that_never_moved_have_no_nested_rhat_below_infinity():
    found = start_memory(np.array([1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 1, 1]))
    assert found.rhat == np.inf
    assert found.effective == 2


@pytest.mark.parametrize(
    ("values", "starts"),
    [(np.zeros(4), np.array([0, 0, 1, 1])), (np.arange(4.0), np.zeros(4)), (np.arange(4.0), np.arange(4))],
)
def test_where_starts_say_nothing_nested_rhat_is_undefined(values, starts):
    assert np.isnan(nested_rhat(values, starts))


def test_drift_has_uniform_p_values_without_a_drift():
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        before, after = rng.normal(size=(2, 120, 4))
        found.append(drift(before, after, seed=seed, num_permutations=199).p_value)
    assert kstest(found, "uniform").pvalue > 0.001


def test_drift_names_the_functional_that_moves():
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 400, 3))
    after[:, 1] += 0.4
    found = drift(before, after, seed=0)
    assert (found.worst, found.p_value) == (1, 0.001)
    assert found.changes[1] == pytest.approx(0.4, abs=0.15)


def test_what_stands_still_does_not_drift():
    same = np.ones((5, 2))
    found = drift(same, same, seed=0)
    assert (found.p_value, found.worst) == (1.0, -1)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"x and starts have shapes \(3,\) and \(2,\)"):
        start_memory(np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="not finite"):
        start_memory(np.array([np.nan, 1.0]), np.zeros(2))
    with pytest.raises(ValueError, match="before and after have shapes"):
        drift(np.zeros((3, 1)), np.zeros((3, 2)), seed=0)
    with pytest.raises(ValueError, match="before or after"):
        drift(np.full((3, 1), np.inf), np.zeros((3, 1)), seed=0)


def test_nested_rhat_of_unequal_groups_is_the_analysis_of_variance():
    rng = np.random.default_rng(3)
    starts = np.repeat(np.arange(12), [40, *[1, 2, 3] * 3, 5, 5])
    x = rng.normal(size=len(starts)) + rng.normal(size=12)[starts]
    scores = ndtri((rankdata(x) - 0.375) / (len(x) + 0.25))
    groups = [scores[starts == one] for one in range(12)]
    within = sum(((one - one.mean()) ** 2).sum() for one in groups) / (len(x) - 12)
    between = sum(len(one) * (one.mean() - scores.mean()) ** 2 for one in groups) / 11
    # The expected mean square between groups is within + size * variance (Searle 1971, section 9.8).
    size = (len(x) - sum(len(one) ** 2 for one in groups) / len(x)) / 11
    assert nested_rhat(x, starts) == pytest.approx(np.sqrt(1 + (between - within) / size / within))
