"""Ranks and tests of uniformity: exact levels, known alternatives."""

import numpy as np
import pytest
from scipy import stats

from pyroclust.diagnostics import sbc, uniformity
from pyroclust.diagnostics.ranks import ecdf_band, goodness_of_fit, rank_statistics

SEEDS = range(20)


def found(seed: int, *, scale: float = 1.0, shift: float = 0.0, step: float = 1e-9):
    """Two functionals that depend on each other, of 300 data sets with 99 draws."""
    rng = np.random.default_rng(seed)
    truth, draws = rng.standard_normal(300), shift + scale * rng.standard_normal((99, 300))
    return sbc(
        {"value": np.round(truth / step), "size": np.abs(np.round(truth / step))},
        {"value": np.round(draws / step), "size": np.abs(np.round(draws / step))},
        seed=seed,
    )


@pytest.mark.parametrize("step", [1e-9, 0.7, 4.0])
def test_one_more_draw_passes(step: float) -> None:
    p = np.array([found(seed, step=step).p_value for seed in SEEDS])
    for level in (0.01, 0.1, 0.3):
        assert (p < level).sum() <= stats.binom.ppf(0.999, len(SEEDS), level)
    assert np.median(p) > 0.2


@pytest.mark.parametrize("change", [{"scale": 0.7}, {"scale": 1.5}, {"shift": 0.4}])
def test_other_laws_are_rejected(change: dict[str, float]) -> None:
    assert max(found(seed, **change).p_value for seed in SEEDS) < 0.01


def test_the_worst_functional_is_named() -> None:
    shifted, narrow = found(0, shift=0.3), found(0, scale=0.6)
    assert (shifted.worst.name, narrow.worst.name) == ("value", "size")
    assert shifted.rows[0].mean_rank < 0.45
    assert shifted.p_value == pytest.approx(min(1, 2 * min(row.p_value for row in shifted.rows)))
    calm = found(0)
    assert calm.p_value == pytest.approx(min(1, 2 * min(row.p_value for row in calm.rows)))


def test_ties_are_broken_for_each_functional_anew() -> None:
    truth, draws = np.zeros(500), np.zeros((9, 500))
    result = sbc({"a": truth, "b": truth}, {"a": draws, "b": draws}, seed=1, num_bins=10)
    assert abs(np.corrcoef(result.ranks["a"], result.ranks["b"])[0, 1]) < 0.2
    again = sbc({"a": truth}, {"a": draws}, seed=1, num_bins=10)
    np.testing.assert_array_equal(again.ranks["a"], result.ranks["a"])
    other = sbc({"a": truth}, {"a": draws}, seed=2, num_bins=10)
    assert (again.ranks["a"] != other.ranks["a"]).any()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="functionals a and draws b"):
        sbc({"a": np.zeros(3)}, {"b": np.zeros((9, 3))}, seed=0)
    with pytest.raises(ValueError, match="at least one"):
        sbc({}, {}, seed=0)
    with pytest.raises(ValueError, match="expected equal ones"):
        sbc(
            {"a": np.zeros(3), "b": np.zeros(3)},
            {"a": np.zeros((9, 3)), "b": np.zeros((19, 3))},
            seed=0,
            num_bins=10,
        )
    with pytest.raises(ValueError, match="a divisor of the 10 possible ranks"):
        sbc({"a": np.zeros(3)}, {"a": np.zeros((9, 3))}, seed=0)


def test_ranks_count_the_draws_below() -> None:
    draws = np.arange(20.0).reshape(5, 4)
    assert rank_statistics(draws[2] + 0.5, draws, seed=0).tolist() == [3, 3, 3, 3]
    assert rank_statistics(np.full(4, -1.0), draws, seed=0).tolist() == [0, 0, 0, 0]
    assert rank_statistics(np.full(4, 99.0), draws, seed=0).tolist() == [5, 5, 5, 5]


def test_ties_are_broken_uniformly_and_by_the_seed() -> None:
    found = rank_statistics(np.zeros(4000), np.zeros((3, 4000)), seed=1)
    assert stats.chisquare(np.bincount(found, minlength=4)).pvalue > 0.001
    np.testing.assert_array_equal(found, rank_statistics(np.zeros(4000), np.zeros((3, 4000)), seed=1))
    assert (found != rank_statistics(np.zeros(4000), np.zeros((3, 4000)), seed=2)).any()


def test_ties_are_broken_by_the_numbers_given():
    truth, draws = np.array([1.0, 1.0, 1.0]), np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 2.0], [1.0, 1.0, 2.0]])
    uniforms = np.array([0.7, 0.99, 0.5], dtype=np.float32)
    # Of 3, 4 and 1 places above 1, 0 and 0 smaller draws.
    assert rank_statistics(truth, draws, seed=0, uniforms=uniforms).tolist() == [3, 3, 0]
    largest = np.full(1000, np.nextafter(np.float32(1), np.float32(0)))
    found = rank_statistics(np.zeros(1000), np.zeros((999, 1000)), seed=0, uniforms=largest)
    assert found.max() == 999


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_bands_cover_as_they_say(level: float) -> None:
    low, high = ecdf_band(200, 10, level=level)
    draws = np.random.default_rng(0).multinomial(200, np.full(10, 0.1), size=40_000)
    ecdf = draws.cumsum(1)[:, :-1] / 200
    covered = ((ecdf >= low) & (ecdf <= high)).all(1).mean()
    # Counts are whole numbers: the band covers a little more than asked for.
    assert level - 0.01 < covered < level + 0.05


def test_the_ecdf_test_has_its_level() -> None:
    draws = np.random.default_rng(0).multinomial(100, np.full(10, 0.1), size=400)
    p = np.array([uniformity(row).ecdf for row in draws])
    for level in (0.05, 0.2, 0.5):
        assert level - 0.1 < (p <= level).mean() < level + 0.05


def test_the_p_value_of_a_few_counts_by_enumeration() -> None:
    """Four values in three bins: every outcome, by its multinomial probability."""
    outcomes = [(a, b, 4 - a - b) for a in range(5) for b in range(5 - a)]
    mass = np.array([stats.multinomial.pmf(one, 4, [1 / 3] * 3) for one in outcomes])

    def gamma(one: tuple[int, ...]) -> float:
        below, z = np.cumsum(one)[:-1], np.array([1, 2]) / 3
        tails = np.minimum(stats.binom.cdf(below, 4, z), stats.binom.sf(below - 1, 4, z))
        return min(1.0, 2 * tails.min())

    gammas = np.array([gamma(one) for one in outcomes])
    for one, own in zip(outcomes, gammas, strict=True):
        expected = mass[gammas <= own * (1 + 1e-9)].sum()
        assert uniformity(np.array(one)).ecdf == pytest.approx(expected, abs=1e-9)


def test_goodness_of_fit_has_its_level_and_pools_the_tail() -> None:
    law = np.array([0.3, 0.4, 0.2, 0.07, 0.02, 0.007, 0.003])
    rng = np.random.default_rng(0)
    p = np.array([goodness_of_fit(row, law) for row in rng.multinomial(300, law, size=1500)])
    for level in (0.01, 0.1, 0.5):
        assert abs((p <= level).mean() - level) < 3.5 * (level * (1 - level) / 1500) ** 0.5 + 0.005
    other = np.roll(law, 1)
    assert goodness_of_fit(rng.multinomial(300, other), law) < 1e-6
    assert goodness_of_fit(np.array([2, 1]), np.array([0.5, 0.5])) == 1.0
    # Fewer than five are expected beyond the first value: too few for a chi-square of their own.
    assert goodness_of_fit(np.array([297, 0, 3]), np.array([0.99, 0.009, 0.001])) == 1.0
    assert goodness_of_fit(np.array([3, 0, 297]), np.array([0.001, 0.009, 0.99])) == 1.0


def test_impossible_values_are_not_forgiven() -> None:
    assert goodness_of_fit(np.array([100, 80, 20]), np.array([0.55, 0.45, 0.0])) < 0.01
