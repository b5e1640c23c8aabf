"""Divergences and efficiencies of guides, against plain sums."""

import pytest
import torch
from exact_guides import EnumeratedGuide
from torch import Tensor

from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.distributions.protocols import PartitionGuide
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import divergences, efficiencies, exact_posterior, log_evidence, quality, simulate
from pyroclust.infer.quality import amortization_gap, log_importance_weights
from pyroclust.models import Mixture, overlap2d
from pyroclust.nn import DensestFirst


def test_divergences_agree_with_plain_sums() -> None:
    guide = PredictiveFilter(overlap2d())
    data, _ = simulate(guide.model, torch.empty(7, 5, 2))
    torch.manual_seed(3)
    found = divergences(guide.model, guide, data)
    torch.manual_seed(3)
    posterior = guide.posterior(data)
    partitions, log_p = exact_posterior(guide.model, data)
    log_q = torch.stack([posterior.log_prob(one.expand(7, -1)) for one in partitions], -1)
    torch.testing.assert_close(found, (log_p.exp() * (log_p - log_q)).sum(-1))
    assert (divergences(guide.model, EnumeratedGuide(guide.model), data).abs() < 1e-9).all()


def test_divergences_come_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = EnumeratedGuide(overlap2d(), power=0.7)
    data, _ = simulate(guide.model, torch.empty(7, 5, 2))
    whole = divergences(guide.model, guide, data)
    monkeypatch.setattr(quality, "_PARTITIONS_AT_ONCE", 110)
    torch.testing.assert_close(divergences(guide.model, guide, data), whole)


def test_efficiencies_agree_with_importance_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = PredictiveFilter(overlap2d())
    data, _ = simulate(guide.model, torch.empty(5, 9, 2))
    torch.manual_seed(3)
    found = efficiencies(guide.model, guide, data, num_draws=30)
    torch.manual_seed(3)
    log_weights = log_importance_weights(guide.model, guide, data, num_draws=30)
    weights = log_weights.softmax(0)
    torch.testing.assert_close(found, 1 / (30 * weights.square().sum(0)))
    monkeypatch.setattr(quality, "_POINTS_AT_ONCE", 600)
    assert efficiencies(guide.model, guide, data, num_draws=30).shape == (5,)
    exact = efficiencies(guide.model, EnumeratedGuide(guide.model), data[:, :6], num_draws=30)
    torch.testing.assert_close(exact, torch.ones(5, dtype=torch.float64))


def filter_guide(model: Mixture) -> PredictiveFilter:
    return PredictiveFilter(model, order=DensestFirst(1.4))


class PriorGuide:
    """Draws partitions from the prior, whatever the data."""

    def posterior(self, data: Tensor) -> ChineseRestaurantProcess:
        return ChineseRestaurantProcess(0.7, data.shape[-2]).expand(data.shape[:-2])


class AllInOne:
    """Knows one partition only: all points together."""

    def posterior(self, data: Tensor) -> "AllInOne":
        self.shape = data.shape[:-1]
        return self

    def sample(self, sample_shape: tuple[int, ...]) -> Tensor:
        return torch.zeros(*sample_shape, *self.shape, dtype=torch.int64)

    def log_prob(self, value: Tensor) -> Tensor:
        return torch.where((value == 0).all(-1), 0.0, -torch.inf).double()


def simulated(model: Mixture, num_datasets: int, num_points: int) -> Tensor:
    torch.manual_seed(3)
    return simulate(model, torch.empty(num_datasets, num_points, 2))[0]


def by_hand(model: Mixture, guide: PredictiveFilter, data: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Enumerate one data set after the other."""
    rows = []
    for one in data:
        partitions, log_p = exact_posterior(model, one)
        log_q = guide.posterior(one).log_prob(partitions)
        q, p = log_q.exp(), log_p.exp()
        efficiency = 1 / (p.square() / q).sum()
        rows.append(torch.stack([(q * (log_q - log_p)).sum(), (p * (log_p - log_q)).sum(), efficiency]))
    return tuple(torch.stack(rows, 1))


def test_small_data_sets_are_enumerated() -> None:
    model = overlap2d()
    guide, data = filter_guide(model), simulated(model, 5, 6)
    found = amortization_gap(model, guide, data)
    gap, forward, efficiency = by_hand(model, guide, data)
    torch.testing.assert_close(found.gap, gap)
    torch.testing.assert_close(found.forward_kl, forward)
    torch.testing.assert_close(found.efficiency, efficiency)
    torch.testing.assert_close(found.log_evidence, log_evidence(model, data))
    torch.testing.assert_close(found.elbo, found.log_evidence - gap)
    assert (found.gap_error == 0).all()
    assert (found.pareto_k == -torch.inf).all()


@pytest.mark.parametrize("others", [(), (PriorGuide(),)], ids=["alone", "with another"])
def test_estimates_agree_with_enumeration(others: tuple[PriorGuide, ...]) -> None:
    model = overlap2d()
    guide, data = filter_guide(model), simulated(model, 12, 7)
    exact = amortization_gap(model, guide, data)
    draws = 4000
    found = amortization_gap(model, guide, data, num_draws=draws, others=others, max_enumerated=2)
    for name, error in {"gap": "gap_error", "forward_kl": "forward_kl_error"}.items():
        scores = (getattr(found, name) - getattr(exact, name)) / getattr(found, error)
        assert scores.abs().max() < 4.5, name
        assert 0.3 < scores.square().mean() < 2.5, name
    assert (found.log_evidence - exact.log_evidence).abs().max() < 0.2
    assert (found.efficiency - exact.efficiency).abs().median() < 0.05
    assert (found.pareto_k < 1).all()
    torch.testing.assert_close(found.gap, found.log_evidence - found.elbo)


@pytest.mark.parametrize("other", [PriorGuide(), filter_guide(overlap2d())])
def test_errors_are_those_of_repetitions(other: PartitionGuide) -> None:
    model = overlap2d()
    guide, data = filter_guide(model), simulated(model, 6, 6)
    settings = {"num_draws": 300, "others": (other,), "max_enumerated": 2}
    runs = [amortization_gap(model, guide, data, seed=seed, **settings) for seed in range(50)]
    for name, error in {"gap": "gap_error", "forward_kl": "forward_kl_error"}.items():
        spread = torch.stack([getattr(run, name) for run in runs]).std(0)
        said = torch.stack([getattr(run, error) for run in runs]).mean(0)
        ratio = (said / spread).log().mean().exp()
        assert 0.8 < ratio < 1.25, (name, ratio)


def test_a_guide_that_misses_the_rest_needs_another_for_its_gap() -> None:
    model = overlap2d()
    data = torch.tensor([[[0.0, 0.0]] * 3 + [[6.0, 0.0]] * 3])
    exact = amortization_gap(model, AllInOne(), data)
    blind, seeing = (
        amortization_gap(model, AllInOne(), data, others=others, max_enumerated=2)
        for others in ((), (filter_guide(model),))
    )
    assert exact.gap.item() > 5
    assert blind.gap.item() == pytest.approx(0.0, abs=1e-9)
    assert seeing.gap.item() == pytest.approx(exact.gap.item(), abs=0.1)
    assert exact.forward_kl.item() == torch.inf


def test_sizes_are_mixed_and_come_back_in_order() -> None:
    model = overlap2d()
    guide = filter_guide(model)
    data = [simulated(model, 1, n)[0] for n in (6, 4, 6, 5)]
    together = amortization_gap(model, guide, data)
    alone = torch.cat([amortization_gap(model, guide, one).gap for one in data])
    torch.testing.assert_close(together.gap, alone)


def test_batches_are_split_without_changing_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    model = overlap2d()
    guide, data = filter_guide(model), simulated(model, 5, 6)
    whole = amortization_gap(model, guide, data.view(5, 1, 6, 2))
    monkeypatch.setattr(quality, "_PARTITIONS_AT_ONCE", 500)
    torch.testing.assert_close(amortization_gap(model, guide, data).gap, whole.gap)
    monkeypatch.setattr(quality, "_POINTS_AT_ONCE", 2000)
    split = amortization_gap(model, guide, data, max_enumerated=2)
    assert ((split.gap - whole.gap) / split.gap_error).abs().max() < 5


def test_seed_decides_and_the_global_generator_stays() -> None:
    model = overlap2d()
    guide, data = filter_guide(model), simulated(model, 2, 10)
    before = torch.get_rng_state()
    first, second, third = (amortization_gap(model, guide, data, seed=s, num_draws=50) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first.gap, second.gap)
    assert not torch.equal(first.gap, third.gap)


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        (torch.zeros(2, 5, 2), {"num_draws": 1}, "num_draws is 1, expected at least 2"),
        (torch.zeros(2, 5, 2), {"max_enumerated": 10}, "max_enumerated is 10, expected at most 9"),
        (torch.zeros(2, 5, 3), {}, r"data set 0 has shape \(5, 3\), expected \(N, 2\)"),
        (torch.zeros(2), {}, r"data has shape \(2,\)"),
        ([], {}, "data holds no data set"),
        ([torch.zeros(3, 2), torch.zeros(1, 2)], {}, r"data set 1 has shape \(1, 2\)"),
        (torch.full((1, 3, 2), torch.nan), {}, "nan or infinite"),
    ],
)
def test_bad_input(data: Tensor, settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        amortization_gap(overlap2d(), PriorGuide(), data, **settings)
