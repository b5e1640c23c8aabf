"""Simulated spikes: shapes, noise, what varies within a neuron, and what is refused."""

import pytest
import torch
from pyro import poutine
from pyro.distributions import Gamma

from pyroclust.distributions import ChineseRestaurantPrior, PitmanYorPrior
from pyroclust.infer import simulate
from pyroclust.models import SpikeRecording, SpikeWaveforms
from pyroclust.models.spike_waveforms import _noise
from pyroclust.partitions import is_canonical
from pyroclust.saving.models import build_model, describe_model


def test_simulated_recordings() -> None:
    torch.manual_seed(0)
    waves, neurons = simulate(SpikeWaveforms(), torch.empty(2, 3, 40, 7, 32))
    assert waves.shape == (2, 3, 40, 7, 32)
    assert neurons.shape == (2, 3, 40)
    assert is_canonical(neurons).all()
    assert waves.isfinite().all()


def test_noise_has_standard_deviation_one_and_is_correlated() -> None:
    torch.manual_seed(0)
    noise = _noise(4000, 5, 20)
    assert noise.shape == (4000, 5, 20)
    assert abs(noise.std() - 1) < 0.01
    assert (noise[:, 1:] * noise[:, :-1]).mean() > 0.2
    assert (noise[..., 1:] * noise[..., :-1]).mean() > 0.5
    assert abs((noise[:, 0, 0] * noise[:, 4, 19]).mean()) < 0.1


def test_spikes_of_a_neuron_are_alike_and_those_of_others_are_not() -> None:
    torch.manual_seed(0)
    neurons = torch.arange(6).repeat_interleave(100).expand(20, 600)
    waves = SpikeRecording(neurons, num_channels=7, num_samples=32).sample().flatten(2)
    means = waves.view(20, 6, 2, 50, -1).mean(3)
    own = (means[:, :, 0] - means[:, :, 1]).norm(dim=-1).median()
    other = (means[:, :, 0] - means[:, :, 0].roll(1, 1)).norm(dim=-1).median()
    assert other > 3 * own
    # Noise alone has a standard deviation of 1, which amplitudes, shifts and drift exceed at the trough.
    assert waves.view(20, 6, 100, -1).std(2).amax(-1).mean() > 1.3


def test_the_trough_is_the_largest_deflection_and_lies_at_a_third() -> None:
    torch.manual_seed(0)
    neurons = torch.zeros(40, 200, dtype=torch.int64)
    means = SpikeRecording(neurons, num_channels=7, num_samples=32).sample().mean(1)
    place = means.flatten(1).argmin(-1) % 32
    assert (place - 11).abs().float().median() <= 1
    assert (means.amin((1, 2)).abs() > means.amax((1, 2))).float().mean() > 0.8


def test_a_card_builds_the_same_model_again() -> None:
    model = SpikeWaveforms(PitmanYorPrior(0.2, 1.0), num_channels=4, num_samples=20)
    assert build_model(describe_model(model)) == model
    assert hash(build_model(describe_model(model))) == hash(model)
    default = SpikeWaveforms()
    assert build_model(describe_model(default)) == default
    assert model != default


def test_there_is_no_density() -> None:
    law = SpikeRecording(torch.zeros(2, dtype=torch.int64), num_channels=2, num_samples=8)
    assert law.expand((3,)).sample((4,)).shape == (4, 3, 2, 2, 8)
    with pytest.raises(NotImplementedError, match="can only be simulated"):
        law.log_prob(torch.zeros(2, 2, 8))
    assert not SpikeWaveforms().has_likelihood


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"num_channels": 0}, "num_channels is 0"),
        ({"num_samples": 4}, "num_samples is 4"),
        ({"prior": ChineseRestaurantPrior(Gamma(1.0, 1.0))}, "prior has the random"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        SpikeWaveforms(**arguments)


def test_waveforms_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="data has shape"):
        poutine.uncondition(SpikeWaveforms())(torch.empty(3, 20, 7, 30))
