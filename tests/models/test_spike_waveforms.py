"""Simulated spikes: shapes, noise, what varies within a neuron, and what is refused."""

import pytest
import torch
from torch import Tensor

from pyroclust.models import spike_waveforms
from pyroclust.models.spike_waveforms import SpikeRecording, _Neurons, _noise


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


def test_a_wave_is_largest_at_its_neuron_and_arrives_later_farther_away() -> None:
    one = dict.fromkeys(vars(_Neurons.drawn(1, 1, num_channels=5)), torch.zeros(1, 1, 1))
    ones = torch.ones(1, 1, 1)
    one |= {"place": ones, "reach": 2 * ones, "size": 3 * ones, "width": ones, "speed": 2 * ones}
    one |= {"after_width": ones}
    channels, times = torch.arange(5).view(-1, 1), torch.arange(-4, 11).view(1, 1, -1)
    waves = _Neurons(**one).waves(channels, times, moved=torch.ones(1, 1, 1))[0]
    # Its place is channel 1, and the probe has moved by one channel.
    away = (torch.arange(5) - 2).abs()
    torch.testing.assert_close(waves.amin(-1), -3 * torch.exp(-away / 2))
    assert (waves.argmin(-1) - 4).tolist() == (2 * away).tolist()


@pytest.fixture(scope="module")
def profiles() -> tuple[Tensor, Tensor]:
    """Log sizes of noiseless spikes on the two channels beside their one neuron, and when they come.

    Sums over time know no shift. The distances to two channels with the neuron between them add up to one
    channel: the sum of the log sizes knows no drift, their difference no amplitude.
    """
    torch.manual_seed(0)
    neurons = torch.zeros(100, 300, dtype=torch.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spike_waveforms, "_noise", torch.zeros)
        waves = SpikeRecording(neurons, num_channels=7, num_samples=96).sample()
    sizes = waves.sum(-1).abs()
    best = sizes.median(1).values.topk(2, -1).indices.view(100, 1, 2).expand(-1, 300, -1)
    loudest = waves.gather(2, best[..., :1, None].expand(-1, -1, -1, 96)).squeeze(2)
    times = (loudest * torch.arange(96)).sum(-1) / loudest.sum(-1)
    return sizes.gather(-1, best).log(), times


def test_spikes_of_a_neuron_vary_in_amplitude_by_drift_and_by_shifts(profiles: tuple[Tensor, Tensor]) -> None:
    sizes, times = profiles

    def spread(values: Tensor) -> float:
        """Return a standard deviation that overlaps leave alone, the median over the recordings."""
        away = (values - values.median(1, keepdim=True).values).abs()
        return 1.4826 * float(away.median(1).values.median())

    assert spread(sizes.sum(-1)) == pytest.approx(2 * 0.1, rel=0.2)
    assert 0.05 < spread(sizes.diff(dim=-1)) < 0.4
    assert spread(times) == pytest.approx(0.3, rel=0.2)


def test_some_spikes_overlap_with_others(profiles: tuple[Tensor, Tensor]) -> None:
    both = profiles[0].sum(-1)
    # Six standard deviations of the amplitude: only a second spike adds so much.
    share = ((both - both.median(1, keepdim=True).values).abs() > 1.2).float().mean(1)
    assert 0.01 < share.mean() < 0.075
    assert share.max() < 0.2
    assert share.std() > 0.01


def test_recordings_have_neurons_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr(spike_waveforms, "_noise", torch.zeros)
    # One recording of many neurons, beside others of one.
    neurons = torch.cat([torch.arange(200).unsqueeze(0), torch.zeros(20, 200, dtype=torch.int64)])
    waves = SpikeRecording(neurons, num_channels=7, num_samples=96).sample()
    profile = torch.nn.functional.normalize(waves.sum(-1), dim=-1)
    middle = torch.nn.functional.normalize(profile.median(1, keepdim=True).values, dim=-1)
    own = (profile * middle).sum(-1)
    # Overlaps are with spikes of the same recording, which have the same profile on the channels.
    assert own[1:].abs().min() > 0.8
    assert own[0].abs().min() < 0.3
    among = (middle[1:, 0] @ middle[1:, 0].T).abs()
    assert among.median() < 0.9
