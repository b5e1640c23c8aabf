"""Divergences and efficiencies of guides, against plain sums."""

import pytest
import torch
from enumerated_guide import EnumeratedGuide

from pyroclust.guides import PredictiveFilter
from pyroclust.infer import divergences, efficiencies, exact_posterior, quality, simulate
from pyroclust.infer.quality import log_importance_weights
from pyroclust.models import overlap2d


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
    monkeypatch.setattr(quality, "PARTITIONS_AT_ONCE", 110)
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
    monkeypatch.setattr(quality, "POINTS_AT_ONCE", 600)
    assert efficiencies(guide.model, guide, data, num_draws=30).shape == (5,)
    exact = efficiencies(guide.model, EnumeratedGuide(guide.model), data[:, :6], num_draws=30)
    torch.testing.assert_close(exact, torch.ones(5, dtype=torch.float64))
