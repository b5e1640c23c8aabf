"""Guides carried over to another model."""

import pytest
import torch

from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.guides.base import retarget
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import FitSettings, fit
from pyroclust.infer.quality import amortization_gap
from pyroclust.infer.simulation import simulate
from pyroclust.models import Mixture, SpikeWaveforms, gaussian2d, overlap2d
from pyroclust.nn import RandomOrder, WaveformEncoder


def crowded() -> Mixture:
    return Mixture(ChineseRestaurantPrior(2.0), NormalKnownVariance(2, prior_scale=3.0), name="crowded")


def without_filter(seed: int = 0) -> NeuralClusteringProcess:
    torch.manual_seed(seed)
    scorer = light_scorer_for(gaussian2d(), width=16, num_bandwidths=3, use_filter=False)
    return NeuralClusteringProcess(gaussian2d(), scorer=scorer)


def forward_kl(model: Mixture, guide: NeuralClusteringProcess) -> float:
    torch.manual_seed(5)
    data, _ = simulate(model, torch.empty(60, 6, 2))
    return amortization_gap(model, guide, data).forward_kl.mean().item()


def test_training_on_the_new_model_lowers_the_divergence_and_leaves_the_old_guide_alone() -> None:
    old = without_filter()
    settings = FitSettings(steps=150, max_points=12, points_per_step=300, warmup_steps=20)
    fit(old.model, old, settings=settings, progress=False)
    weights = {name: value.clone() for name, value in old.state_dict().items()}
    new = retarget(old, crowded())
    assert all(torch.equal(value, weights[name]) for name, value in new.state_dict().items())
    untuned = forward_kl(new.model, new)
    fit(new.model, new, settings=settings, progress=False)
    assert forward_kl(new.model, new) < 0.5 * untuned
    assert old.model.name == "gaussian2d"
    assert all(torch.equal(value, weights[name]) for name, value in old.state_dict().items())


def test_the_filter_of_the_new_model_is_used() -> None:
    guide = NeuralClusteringProcess(gaussian2d(), scorer=light_scorer_for(gaussian2d(), width=8))
    new = retarget(guide, crowded())
    data = torch.randn(3, 5, 2)
    labels = torch.tensor([0, 1, 0, 2, 1]).expand(3, -1)
    # An untrained guide with a filter is the filter: its head starts at zero.
    expected = PredictiveFilter(crowded(), order=guide.order).posterior(data).log_prob(labels)
    torch.testing.assert_close(new.posterior(data).log_prob(labels), expected, atol=1e-4, rtol=0)
    assert (guide.posterior(data).log_prob(labels) - expected).abs().min() > 0.1


def test_mode_of_training_and_order_are_kept() -> None:
    assert not retarget(without_filter().eval(), crowded()).training
    assert retarget(without_filter().train(), crowded()).training
    assert type(retarget(PredictiveFilter(gaussian2d()), crowded()).order) is RandomOrder


def test_dimensions_must_agree() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(2,\) .* 'gaussian2d'"):
        retarget(without_filter(), overlap2d(3))


def test_shapes_of_points_must_agree() -> None:
    encoder = WaveformEncoder(4, 8, dim=3, width=4)
    scorer = light_scorer_for(SpikeWaveforms(num_channels=4, num_samples=8), width=8, encoder=encoder)
    guide = NeuralClusteringProcess(
        SpikeWaveforms(num_channels=4, num_samples=8), scorer=scorer, order=RandomOrder()
    )
    with pytest.raises(ValueError, match=r"shape \(2, 16\), expected \(4, 8\) .* 'spike_waveforms'"):
        retarget(guide, SpikeWaveforms(num_channels=2, num_samples=16))


def test_a_module_that_cannot_be_rebuilt_is_refused() -> None:
    from pyro.nn import PyroModule

    with pytest.raises(ValueError, match="guide is a PyroModule, expected a registered class"):
        retarget(PyroModule("plain"), crowded())
