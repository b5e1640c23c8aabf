"""Spikes of neurons as several channels of a probe record them: a model to simulate from."""

from dataclasses import dataclass
from typing import Any

import pyro
import torch
from pyro.distributions import Poisson
from torch import Size, Tensor
from torch.distributions import constraints
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions import FiniteMixturesPrior, PartitionPrior
from pyroclust.distributions.hyperparameters import check_known
from pyroclust.distributions.points import check_shape
from pyroclust.distributions.protocols import LawWithoutDensity, Model, SimulatedFromArguments

# The trough of a spike lies at this share of its samples.
_TROUGH = 0.34


@dataclass(frozen=True)
class _Neurons:
    """Shapes of the neurons of B data sets, ``(B, K)`` each; times in samples, places in channels."""

    place: Tensor
    reach: Tensor
    size: Tensor
    width: Tensor
    after: Tensor
    after_width: Tensor
    after_size: Tensor
    before_size: Tensor
    speed: Tensor

    @classmethod
    def drawn(cls, datasets: int, number: int, *, num_channels: int) -> "_Neurons":
        def uniform(low: float, high: float) -> Tensor:
            return low + (high - low) * torch.rand(datasets, number)

        return cls(
            place=uniform(-0.5, num_channels - 0.5),
            reach=uniform(0.6, 1.8),
            size=uniform(0.7, 2.5).exp(),
            width=uniform(1.0, 2.5),
            after=uniform(3.0, 9.0),
            after_width=uniform(2.0, 5.0),
            after_size=uniform(0.05, 0.7),
            before_size=uniform(0.0, 0.3),
            speed=uniform(-0.6, 0.6),
        )

    def of(self, row: Tensor, label: Tensor) -> "_Neurons":
        found = {name: values[row, label].view(-1, 1, 1) for name, values in vars(self).items()}
        return _Neurons(**found)

    def waves(self, channels: Tensor, times: Tensor, *, moved: Tensor) -> Tensor:
        away = channels - (self.place + moved)
        since = times - self.speed * away.abs()

        def bump(centre: Tensor, width: Tensor) -> Tensor:
            return torch.exp(-0.5 * ((since - centre) / width) ** 2)

        trough = bump(torch.zeros_like(self.width), self.width)
        hump = self.after_size * bump(self.after, self.after_width)
        early = self.before_size * bump(-2.5 * self.width, self.width)
        return self.size * torch.exp(-away.abs() / self.reach) * (hump + early - trough)


class SpikeRecording(LawWithoutDensity):
    r"""Waveforms of spikes whose neurons are known; no density.

    .. math::
        x_i(c, t) = a_i \, w_{k_i}\big(c - d_i, t - s_i\big) + o_i(c, t) + \epsilon_i(c, t)

    Each neuron has a waveform w of its own: a trough with smaller humps before and after, which grows smaller
    and arrives later (or sooner) with the distance from the neuron's place on the probe. Spikes differ by
    their amplitude a, by a shift s of part of a sample, by the drift d of the probe since the beginning of
    the recording, by an overlap o with a spike of a neuron of the same recording, and by noise of standard
    deviation 1 that is correlated in time and between channels. How much a recording drifts and how many
    of its spikes overlap is random. Cost O(C T) a spike.
    """

    support = constraints.independent(constraints.real, 3)

    def __init__(self, neurons: Tensor, *, num_channels: int, num_samples: int) -> None:
        self.neurons, self.num_channels, self.num_samples = neurons, num_channels, num_samples
        event = Size((neurons.shape[-1], num_channels, num_samples))
        super().__init__(neurons.shape[:-1], event, validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "SpikeRecording":
        neurons = self.neurons.expand(*batch_shape, self.neurons.shape[-1])
        return SpikeRecording(neurons, num_channels=self.num_channels, num_samples=self.num_samples)

    def _draw(self, shape: Size) -> Tensor:
        labels = self.neurons.expand(shape[:-2]).reshape(-1, shape[-3]).cpu()
        return self._recorded(labels).to(self.neurons.device).view(shape)

    def _recorded(self, labels: Tensor) -> Tensor:
        datasets, points = labels.shape
        number = int(labels.max()) + 1
        neurons = _Neurons.drawn(datasets, number, num_channels=self.num_channels)
        row = torch.arange(datasets).repeat_interleave(points)
        own = labels.flatten()
        channels = torch.arange(self.num_channels).view(-1, 1)
        times = torch.arange(self.num_samples) - _TROUGH * self.num_samples
        drift = 0.8 * torch.rand(datasets, 1) * (torch.rand(datasets, points) - 0.5)
        moved = drift.view(-1, 1, 1)
        shift = 0.3 * torch.randn(len(own), 1, 1)
        amplitude = (0.1 * torch.randn(len(own), 1, 1)).exp()
        waves = amplitude * neurons.of(row, own).waves(channels, times - shift, moved=moved)
        # Neurons are those that fire in the data set: label 0 to its largest.
        most = labels.max(-1).values + 1
        other = (torch.rand(len(own)) * most[row]).long()
        delay = (torch.rand(len(own), 1, 1) - 0.5) * 1.2 * self.num_samples
        beside = torch.rand(datasets, 1).mul(0.15) > torch.rand(datasets, points)
        overlap = neurons.of(row, other).waves(channels, times - delay, moved=moved)
        waves = waves + beside.view(-1, 1, 1) * overlap
        return waves + _noise(len(own), self.num_channels, self.num_samples)


@register(Model, name="spike_waveforms")
class SpikeWaveforms(SimulatedFromArguments):
    r"""Sets of spikes of unknown neurons, cut out of a recording of several channels: simulation only.

    .. math::
        c \sim \text{prior}, \qquad w_1, w_2, \ldots \sim \text{neurons}, \qquad
        x_i \sim \text{SpikeRecording}(c_i)

    Clusters are the neurons. Within one vary amplitude, a shift of part of a sample, drift of the probe,
    overlaps with other spikes and noise. Cost some .02 ms a spike on one core.

    Args:
        prior: law of the partitions, its hyperparameters known; by default the published mixture of finite
            mixtures, 1 + Poisson(2) neurons with uniform shares.
        num_channels: C of the probe.
        num_samples: T of a waveform.

    Attributes:
        noun: what one point is called.
        typical_scale: standard deviation of the noise.

    Shape:
        data: ``(*batch, N, C, T)``, in units of the noise; assignments: ``(*batch, N)`` int64.

    Raises:
        ValueError: if an argument is out of range, or the prior is random.

    Example:
        >>> from pyroclust.infer import simulate
        >>> waves, neurons = simulate(SpikeWaveforms(), torch.empty(3, 20, 7, 32))
        >>> waves.shape, neurons.shape
        (torch.Size([3, 20, 7, 32]), torch.Size([3, 20]))

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
        Buccino & Einevoll (2021), MEArec: a fast and customizable testbench simulator for ground-truth
        extracellular spiking activity. https://doi.org/10.1007/s12021-020-09467-7
    """

    name = "spike_waveforms"
    noun = "waveform"
    typical_scale = 1.0

    def __init__(
        self, prior: PartitionPrior | None = None, *, num_channels: int = 7, num_samples: int = 32
    ) -> None:
        published = FiniteMixturesPrior(1.0, Poisson(2.0))
        self.prior = published if prior is None else prior
        check_known("prior", self.prior)
        self.num_channels = check_count("num_channels", num_channels, at_most=512)
        self.num_samples = check_count("num_samples", num_samples, at_least=8, at_most=1024)
        self.partition_prior, self.event_shape = self.prior, (self.num_channels, self.num_samples)

    def __call__(self, data: Tensor) -> Tensor:
        check_shape(data, self.event_shape)
        with pyro.plate_stack("datasets", data.shape[: -self.event_dim]):
            labels = pyro.sample("assignments", self.prior.partition(data.shape[-self.event_dim]))
            law = SpikeRecording(
                labels.to(data.device), num_channels=self.num_channels, num_samples=self.num_samples
            )
            return pyro.sample("data", law, obs=data)


def _noise(number: int, num_channels: int, num_samples: int) -> Tensor:
    """Draw noise of standard deviation 1, correlated over some samples and between neighbouring channels."""
    white = torch.randn(number, 1, num_channels + 2, num_samples + 4)
    in_time = torch.tensor([0.15, 0.5, 0.7, 0.5, 0.15])
    between = torch.tensor([0.3, 1.0, 0.3])
    kernel = between[:, None] * in_time
    coloured: Tensor = F.conv2d(white, (kernel / kernel.norm()).view(1, 1, 3, 5))
    return coloured.squeeze(1)
