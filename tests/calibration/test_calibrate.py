"""Calibration of samplers: exact ones pass, over the model and near given data; distorted ones do not."""

import numpy as np
import pandas as pd
import pytest
import torch
from cases import short_and_long
from exact_guides import EnumeratedGuide
from scipy import stats
from torch import Tensor

from pyroclust.calibration import Calibration, calibrate, calibrate_near
from pyroclust.diagnostics import Trust
from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior
from pyroclust.infer.simulation import simulate
from pyroclust.models import Mixture, gaussian2d, overlap2d, sensitivity2d, table_mixture
from pyroclust.partitions import num_clusters

MODEL = overlap2d()
MORE = Mixture(ChineseRestaurantPrior(1.4), MODEL.component)


def choose(partitions: Tensor, log_probs: Tensor, num_draws: int = 99) -> Tensor:
    return partitions[torch.distributions.Categorical(logits=log_probs).sample((num_draws,))]


def exact(data: Tensor) -> Tensor:
    return choose(*exact_posterior(MODEL, data))


def tempered(data: Tensor) -> Tensor:
    partitions, log_probs = exact_posterior(MODEL, data)
    return choose(partitions, 0.8 * log_probs)


def doubled(data: Tensor) -> Tensor:
    return choose(*exact_posterior(MORE, data))


def merged(data: Tensor) -> Tensor:
    """Exact draws whose last cluster is lost: its points join the one before."""
    draws = exact(data)
    last = num_clusters(draws).unsqueeze(-1) - 1
    return torch.where((draws == last) & (last > 0), last - 1, draws)


def capped(data: Tensor) -> Tensor:
    """The posterior of at most three clusters."""
    partitions, log_probs = exact_posterior(MODEL, data)
    return choose(partitions, log_probs.masked_fill(num_clusters(partitions) > 3, -torch.inf))


def found(sampler, seed: int = 0, **sizes) -> Calibration:
    return calibrate(sampler, MODEL, seed=seed, **({"num_points": 6, "num_datasets": 300} | sizes))


@short_and_long("num_seeds", 8, 20)
def test_exact_draws_pass_over_seeds(num_seeds: int) -> None:
    """Rejections of each part are binomial, at the level of the issue and at looser ones."""
    results = [found(exact, seed) for seed in range(num_seeds)]
    parts = {part: np.array([one.p_values[part] for one in results]) for part in results[0].p_values}
    assert list(parts) == [
        "functionals",
        "credible balls",
        "pair probabilities",
        "averaged number of clusters",
    ]
    parts["overall"] = np.array([one.p_value for one in results])
    for p in parts.values():
        for level in (0.01, 0.1, 0.3):
            assert (p < level).sum() <= stats.binom.ppf(0.999, num_seeds, level)
        assert np.median(p) > 0.15
    assert sum(not one.passed for one in results) <= 2
    # Not by being blind: p-values are not all large.
    assert min(parts["credible balls"]) < 0.4
    assert min(parts["pair probabilities"]) < 0.3


@pytest.mark.parametrize(
    ("sampler", "parts"),
    [
        pytest.param(
            tempered, {"functionals", "credible balls", "pair probabilities"}, marks=pytest.mark.prove
        ),
        pytest.param(
            doubled,
            {"functionals", "pair probabilities", "averaged number of clusters"},
            marks=pytest.mark.prove,
        ),
        (merged, {"functionals", "credible balls", "pair probabilities", "averaged number of clusters"}),
        (capped, {"functionals", "averaged number of clusters"}),
    ],
    ids=["tempered", "doubled", "merged", "capped"],
)
def test_distorted_draws_are_rejected(sampler, parts: set[str]) -> None:
    result = found(sampler)
    assert not result.passed
    assert result.verdict.level is Trust.DISTRUST
    assert result.verdict.sentence.startswith("Not calibrated on 300 data sets of 6 points: ")
    # Each part by itself needs more data sets.
    more = found(sampler, 9, num_datasets=1000)
    assert {part for part, p in more.p_values.items() if p < 0.0025} >= parts
    assert "functionals (worst: " in more.verdict.sentence


def test_guides_have_a_rank_of_log_q() -> None:
    guide = EnumeratedGuide(MODEL)
    result = found(guide, num_draws=19, num_bins=10)
    names = [row.name for row in result.sbc.rows]
    assert names == [
        "num_clusters",
        "entropy",
        "together",
        "pairs",
        "neighbours",
        "log_prob",
        "log_joint",
    ]
    assert result.passed
    assert result.p_value == min(1.0, 4 * min(result.p_values.values()))
    assert (result.num_points, result.num_datasets, result.num_draws) == (6, 300, 19)
    assert result.verdict.level is Trust.AVERAGE
    assert "300 data sets of 6 points" in result.verdict.sentence
    assert [one.value for one in result.verdict.findings] == list(result.p_values.values())
    assert repr(result).startswith("Calibration(300 data sets of 6 points, 19 draws each: passed, p = ")
    for part in (result.sbc, result.sbc.worst, result.coverage, result.reliability):
        assert len(repr(part)) < 110
    wrong = found(EnumeratedGuide(MODEL, power=0.5), num_draws=19, num_bins=10)
    assert not wrong.passed
    assert wrong.p_value == pytest.approx(4 * min(wrong.p_values.values()))
    assert min(row.p_value for row in wrong.sbc.rows if row.name.startswith("log")) < 1e-6


def test_arrays_and_any_labels_will_do() -> None:
    first = found(exact, num_datasets=60)

    def renamed(data: Tensor) -> np.ndarray:
        return 50 - 7 * exact(data).numpy()

    again = found(renamed, num_datasets=60)
    assert again.p_values == first.p_values
    assert first.sbc.rows[-1].name == "log_joint"


def test_the_truth_is_not_among_the_draws() -> None:
    """One cluster always: the averaged posterior is that, whatever the truth."""

    def one_cluster(data: Tensor) -> Tensor:
        return torch.zeros(19, *data.shape[:2], dtype=torch.int64)

    result = found(one_cluster, num_draws=19, num_datasets=100)
    assert result.num_clusters.averaged[0] == 1
    assert result.num_clusters.simulated[0] < 1
    assert result.reliability.predicted[-1] > 0.9
    assert result.reliability.brier > 0.1
    assert result.coverage.ranks.max() == 19


def test_every_figure_comes_from_the_same_seed() -> None:
    before = torch.get_rng_state()
    first, again, other = found(exact, 3, num_datasets=50), found(exact, 3, num_datasets=50), found(exact, 4)
    assert torch.equal(before, torch.get_rng_state())
    assert first.p_values == again.p_values
    assert first.num_clusters == again.num_clusters
    assert first.num_clusters.simulated != other.num_clusters.simulated


def test_progress_is_told():
    told: list[str] = []
    found(exact, num_datasets=30, progress=told.append)
    assert told == ["simulations, 30 data sets of 6 points", "draws, 30 of 30 data sets"]


def test_conditions_are_drawn_from_their_priors() -> None:
    guide = PredictiveFilter(sensitivity2d(), conditions=["concentration", "prior_scale"])
    result = calibrate(guide, guide.model, num_points=5, num_datasets=24, num_draws=19, num_bins=4)
    assert result.num_datasets == 24
    assert result.num_clusters.prior is not None


def test_single_points_have_no_pairs() -> None:
    result = found(lambda data: torch.zeros(19, len(data), 1, dtype=torch.int64), num_points=1, num_draws=19)
    assert result.reliability is None
    assert result.passed


def wide(data: Tensor) -> Tensor:
    """Whether the points of a data set lie far apart."""
    return data.std(-2).norm(dim=-1) > 5.0


def wrong_where_wide(data: Tensor) -> Tensor:
    """Exact draws, but one cluster for data that lie far apart."""
    return torch.where(wide(data)[:, None], 0, exact(data))


def test_exact_draws_pass_near_any_data() -> None:
    """Selection by the data leaves truth and draws exchangeable, wherever the data lie."""
    places = torch.tensor([0.02, 1.0, 4.0])
    data = torch.randn(6, 2)
    results = [
        calibrate_near(exact, MODEL, scale * data, num_simulations=500, num_nearest=150, seed=seed)
        for scale in places
        for seed in range(3)
    ]
    p = np.array([one.calibration.p_value for one in results])
    assert (p < 0.01).sum() <= stats.binom.ppf(0.999, len(p), 0.01)
    assert (p < 0.3).sum() <= stats.binom.ppf(0.999, len(p), 0.3)
    assert all(one.radius < one.median_distance for one in results)
    assert "averaged number of clusters" not in results[0].calibration.p_values
    assert results[0].calibration.num_clusters.prior is None


def test_local_errors_are_found_where_they_are() -> None:
    tight = torch.randn(6, 2)
    near, far = (
        calibrate_near(wrong_where_wide, MODEL, one, num_simulations=1500, num_nearest=100)
        for one in (tight, torch.cat([tight[:3], 8 + tight[3:]]))
    )
    assert near.verdict.level is Trust.AVERAGE
    assert far.verdict.level is Trust.DISTRUST
    assert far.calibration.num_datasets == 100


def test_data_unlike_all_simulations_have_no_verdict() -> None:
    result = calibrate_near(exact, MODEL, 100 * torch.randn(6, 2), num_simulations=400, num_nearest=100)
    assert result.p_value_data == pytest.approx(1 / 401)
    assert result.calibration.passed
    assert result.verdict.level is Trust.UNKNOWN
    assert "unlike all of them" in result.verdict.sentence
    assert not result.verdict.findings[-1].passed
    assert repr(result).startswith("LocalCalibration(100 nearest of 400 data sets of 6 points: cannot tell")
    usual = calibrate_near(exact, MODEL, simulate(MODEL, torch.empty(1, 6, 2))[0][0], num_simulations=400)
    assert usual.p_value_data > 0.01
    assert usual.num_simulations == 400


def test_near_data_in_any_form_and_never_near_nothing() -> None:
    points = np.array([[0.0, 1.0], [2.0, 1.0], [0.5, -1.0]])
    found = [
        calibrate_near(PredictiveFilter(MODEL), MODEL, data, num_simulations=60, num_nearest=30, num_draws=19)
        for data in (torch.from_numpy(points), points, pd.DataFrame(points), points.tolist())
    ]
    assert len({(one.radius, one.calibration.p_value) for one in found}) == 1
    points[1, 0] = np.nan
    with pytest.raises(ValueError, match="data holds 1 nan or infinite values, expected finite numbers"):
        calibrate_near(PredictiveFilter(MODEL), MODEL, points, num_simulations=60, num_nearest=30)


def test_simulations_near_data_with_gaps_have_the_same_gaps() -> None:
    model = table_mixture(numbers=2, yes_no=1, missing=True)
    nan = torch.nan
    data = torch.tensor(
        [[0.1, 1.0, 1.0], [nan, 0.3, 0.0], [1.4, 1.9, nan], [0.2, -1.0, 0.0], [nan, nan, 1.0]]
    )
    seen = []

    def sampler(points: Tensor) -> Tensor:
        seen.append(points.isnan())
        return choose(*exact_posterior(model, points), num_draws=19)

    found = calibrate_near(sampler, model, data, num_simulations=200, num_nearest=80, num_draws=19)
    assert found.calibration.passed
    assert all(torch.equal(one, data.isnan().expand(one.shape)) for one in seen)
    constant = calibrate_near(
        sampler, model, data, num_simulations=60, num_nearest=30, num_draws=19, see=np.zeros_like
    )
    assert constant.radius == 0


def test_the_nearest_are_chosen() -> None:
    """Truths beside far data have more clusters than truths beside points in one place."""
    tight, broad = (
        calibrate_near(exact, MODEL, scale * torch.randn(6, 2), num_simulations=800, num_nearest=100)
        for scale in (0.7, 6.0)
    )

    def average(row) -> float:
        return float(np.dot(np.arange(1, len(row.simulated) + 1), row.simulated))

    assert average(broad.calibration.num_clusters) > average(tight.calibration.num_clusters) + 0.7
    every = calibrate_near(exact, MODEL, torch.randn(6, 2), num_simulations=120, num_nearest=120)
    assert every.radius > every.median_distance


def test_the_order_of_the_points_plays_no_part() -> None:
    data = torch.randn(6, 2)
    first, again = (
        calibrate_near(exact, MODEL, one, num_simulations=300, num_nearest=60) for one in (data, data.flip(0))
    )
    assert first.radius == pytest.approx(again.radius)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"gave draws of shape \(99, 50, 6\), expected \(19, 50, 6\)"):
        found(exact, num_datasets=50, num_draws=19)
    with pytest.raises(ValueError, match="num_draws is 100, expected one less than a multiple"):
        found(exact, num_draws=100)
    with pytest.raises(ValueError, match="num_datasets is 0, expected at least 1"):
        found(exact, num_datasets=0)
    guide = PredictiveFilter(gaussian2d())
    with pytest.raises(ValueError, match=r"shape \(5, 3\), expected \(N, 2\)"):
        calibrate_near(guide, guide.model, torch.zeros(5, 3))
    with pytest.raises(ValueError, match="num_nearest is 200, expected at most num_simulations, 100"):
        calibrate_near(guide, guide.model, torch.zeros(5, 2), num_simulations=100)
    asks = PredictiveFilter(sensitivity2d(), conditions=["concentration", "prior_scale"])
    with pytest.raises(ValueError, match=r"conditions concentration, prior_scale, .* guide.condition"):
        calibrate_near(asks, asks.model, torch.zeros(5, 2))
