"""Partitions drawn from the light scorer in compiled code: the law that torch computes."""

from typing import Any

import pytest
import torch
from torch import Tensor

from pyroclust import load_guide
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
)
from pyroclust.guides import NeuralClusteringProcess, light_scorer_for
from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture
from pyroclust.nn.scorers.light_scorer import LightScorer

SHELF = ["gaussian2d", "overlap2d", "niw2d", "niw3d", "niw4d", "py2d", "mfm2d", "nig1d", "spikes", "glyphs8"]


def points_of(guide: Any, *shape: int) -> Tensor:
    group = torch.randint(0, 3, (*shape, *(1 for _ in guide.model.event_shape)))
    return torch.rand(*shape, *guide.model.event_shape) + 2.0 * group


def by_torch(law: Any, draws: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Tensor, Tensor]:
    with monkeypatch.context() as patched:
        patched.setattr(LightScorer, "label_points", lambda *_: None)
        torch.manual_seed(0)
        found: tuple[Tensor, Tensor] = law.sample_and_log_prob((draws,))
        return found


@pytest.mark.parametrize("name", SHELF)
def test_draws_and_log_q_are_those_of_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guide: Any = load_guide(f"ncp-{name}")
    torch.manual_seed(1)
    law = guide.posterior(points_of(guide, 2, 25))
    assert guide.scorer.label_points(law.encoding, torch.tensor([0])) is not None
    expected, log_q = by_torch(law, 30, monkeypatch)
    torch.manual_seed(0)
    draws, found = law.sample_and_log_prob((30,))
    assert torch.equal(draws, expected)
    torch.testing.assert_close(found, log_q, rtol=0, atol=1e-4)
    torch.testing.assert_close(law.merged_log_prob(draws), log_q, rtol=0, atol=1e-4)
    # With gradients, by torch.
    torch.testing.assert_close(law.log_prob(draws).detach().double(), log_q, rtol=0, atol=1e-4)


FAMILIES = [
    NormalKnownVariance(2),
    NormalInverseWishart(2, 0.2, dof=4.0, scale=0.5),
    # Its own functions, not vector units.
    NormalInverseGamma(2, 0.2, shape=2.0, rate=0.4),
]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)
def test_frequencies_are_the_probabilities_of_all_partitions(family: Any) -> None:
    torch.manual_seed(2)
    model = Mixture(ChineseRestaurantPrior(0.7), family, name="small")
    guide: Any = NeuralClusteringProcess(model, scorer=light_scorer_for(model, foresight=3))
    with torch.no_grad():
        for one in (guide.scorer.trust, guide.scorer.to_join, guide.scorer.to_open):
            one.weight.normal_(std=0.3)
    data, number = 2 * torch.randn(7, 2), 40_000
    partitions, _ = exact_posterior(model, data)
    law = guide.posterior(data)
    # With gradients, by torch.
    expected = law.log_prob(partitions).detach().double().exp()
    torch.testing.assert_close(expected.sum(), torch.ones((), dtype=torch.float64), rtol=0, atol=1e-4)
    draws, _ = law.sample_and_log_prob((number,))
    same = (draws.unsqueeze(1) == partitions.unsqueeze(0)).all(-1)
    frequency = same.double().mean(0)
    assert float(frequency.sum()) == pytest.approx(1.0)
    spread = (expected * (1 - expected) / number).sqrt()
    # Of partitions that are expected fewer than five times, all together.
    often = expected * number > 5
    assert bool(((frequency - expected).abs() < 5 * spread)[often].all())
    rest = expected[~often].sum()
    assert abs(float(frequency[~often].sum() - rest)) < 5 * float((rest / number).sqrt()) + 1e-9


def test_many_points_are_thinned_and_many_clusters_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyroclust.nn.look_ahead._REFERENCES", 10)
    model = Mixture(ChineseRestaurantPrior(20.0), NormalKnownVariance(2), name="many")
    torch.manual_seed(3)
    guide: Any = NeuralClusteringProcess(model, scorer=light_scorer_for(model, foresight=5))
    law = guide.posterior(20 * torch.randn(35, 2))
    expected, log_q = by_torch(law, 8, monkeypatch)
    torch.manual_seed(0)
    draws, found = law.sample_and_log_prob((8,))
    assert torch.equal(draws, expected)
    assert int(draws.max()) > 16
    torch.testing.assert_close(found, log_q, rtol=0, atol=1e-4)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    guide: Any = load_guide("ncp-niw2d")
    torch.manual_seed(4)
    law = guide.posterior(points_of(guide, 20))
    torch.manual_seed(0)
    alone = law.sample_and_log_prob((50,))
    monkeypatch.setattr("pyroclust.nn.compiled.prefixes._CANDIDATES_A_THREAD", 1)
    monkeypatch.setattr("pyroclust.nn.compiled.filter_tables.num_threads", lambda: 3)
    torch.manual_seed(0)
    for one, other in zip(alone, law.sample_and_log_prob((50,)), strict=True):
        assert torch.equal(one, other)


def test_data_sets_in_turn_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    guide: Any = load_guide("ncp-niw2d")
    torch.manual_seed(4)
    law = guide.posterior(torch.stack([points_of(guide, 12) for _ in range(5)]))
    torch.manual_seed(0)
    together = law.sample_and_log_prob((7,))
    monkeypatch.setattr("pyroclust.nn.compiled.prefixes._DRAWS_AT_ONCE", 10)
    torch.manual_seed(0)
    for one, other in zip(together, law.sample_and_log_prob((7,)), strict=True):
        assert torch.equal(one, other)
    torch.testing.assert_close(law.merged_log_prob(together[0]), together[1], rtol=0, atol=1e-9)
