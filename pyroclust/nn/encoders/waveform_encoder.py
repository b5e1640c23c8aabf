"""A residual network over time from waveforms of several channels to vectors."""

from torch import Tensor, nn

from pyroclust.core.counts import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.nn.encoders.encoder import FIRST_SPREAD, Encoder, keep_differences, single_points

__all__ = ["WaveformEncoder"]


@register(Encoder)
class WaveformEncoder(nn.Module):
    """Turn every waveform of a data set into a vector, trained with the guide.

    A convolution over time that takes all channels in, then stages of a residual block each; between stages
    the samples are halved and the features doubled, until fewer than 8 samples are left or there are 4 W
    features. Then two linear layers. The first weights keep the differences between waveforms: see
    :func:`~pyroclust.nn.encoders.encoder.keep_differences`. Cost
    O(T C W + T W^2) a waveform of C channels and T samples.

    Args:
        num_channels: C.
        num_samples: T, at least 4.
        dim: E, of the vectors.
        width: W, features of the first convolution.
        scale: that the numbers are divided by; the size of a typical spike in units of the noise.

    Shape:
        waveforms: ``(B, N, C, T)`` or, as tables have them, ``(B, N, C T)``; output: ``(B, N, E)``.

    Raises:
        ValueError: if an argument is out of range.

    Example:
        >>> import torch
        >>> WaveformEncoder(7, 32, dim=5)(torch.zeros(2, 9, 7, 32)).shape
        torch.Size([2, 9, 5])

    References:
        He et al. (2016), Identity mappings in deep residual networks. https://arxiv.org/abs/1603.05027
    """

    def __init__(
        self, num_channels: int, num_samples: int, *, dim: int = 16, width: int = 32, scale: float = 5.0
    ) -> None:
        super().__init__()
        self.num_channels = check_count("num_channels", num_channels)
        self.num_samples = check_count("num_samples", num_samples, at_least=4)
        self.dim, self.width = check_count("dim", dim), check_count("width", width)
        self.scale = check_number("scale", scale, above=0)
        layers: list[nn.Module] = [nn.Conv1d(num_channels, width, 5, padding=2)]
        now, samples = width, num_samples
        while samples >= 8 and now < 4 * width:
            layers += [_ResidualBlock(now), nn.Conv1d(now, 2 * now, 3, stride=2, padding=1)]
            now, samples = 2 * now, (samples + 1) // 2
        kept = min(samples, 8)
        hidden, last = nn.Linear(now * kept, 4 * width), nn.Linear(4 * width, dim)
        layers += [_ResidualBlock(now), nn.SiLU(), nn.AdaptiveAvgPool1d(kept), nn.Flatten()]
        layers += [hidden, nn.SiLU(), last]
        self.layers = nn.Sequential(*layers)
        for layer in self.layers:
            if isinstance(layer, nn.Conv1d | nn.Linear):
                keep_differences(layer)
        keep_differences(last, gain=FIRST_SPREAD)

    def forward(self, waveforms: Tensor) -> Tensor:
        """Encode each waveform on its own.

        Raises:
            ValueError: if the waveforms have another shape.
        """
        single = single_points(waveforms, (self.num_channels, self.num_samples))
        vectors: Tensor = self.layers(single.to(next(self.parameters()).dtype) / self.scale)
        return vectors.view(*waveforms.shape[:2], self.dim)


class _ResidualBlock(nn.Module):
    """Add to a signal what two convolutions make of it."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(features, features, 3, padding=1)
        self.second = nn.Conv1d(features, features, 3, padding=1)
        keep_differences(self.first)
        keep_differences(self.second, gain=0.3)

    def forward(self, signal: Tensor) -> Tensor:
        silu = nn.functional.silu
        added: Tensor = self.second(silu(self.first(silu(signal))))
        return signal + added
