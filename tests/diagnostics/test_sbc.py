"""Simulation-based calibration: one more draw passes, other laws do not."""

import numpy as np
import pytest
from scipy import stats

from pyroclust.diagnostics import sbc
from pyroclust.diagnostics.simulations.sbc import rank_counts

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


def test_rows_follow_from_the_ranks() -> None:
    result = found(3)
    assert (result.num_draws, result.num_datasets) == (99, 300)
    for row in result.rows:
        ranks = result.ranks[row.name]
        np.testing.assert_array_equal(row.counts, rank_counts(ranks, num_draws=99, num_bins=20))
        assert row.mean_rank == pytest.approx(ranks.mean() / 99)
        assert row.p_value == pytest.approx(min(1, 2 * min(row.chi_square, row.ecdf)))


def test_ranks_by_hand() -> None:
    truth, draws = {"x": np.array([2.0, 0.0])}, {"x": np.array([[1.0, 3.0], [0.0, 4.0], [9.0, 5.0]])}
    assert sbc(truth, draws, seed=0, num_bins=4).ranks["x"].tolist() == [2, 0]


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
