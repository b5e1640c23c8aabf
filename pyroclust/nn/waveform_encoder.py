"""A residual network over time from waveforms of several channels to vectors."""

from torch import Tensor, nn

from pyroclust.counts import check_count, check_number
from pyroclust.nn.encoders import Encoder
from pyroclust.registry import register

__all__ = ["WaveformEncoder"]

# Standard deviation of the vectors at the start, in units of a typical cluster.
_FIRST_SPREAD = 2.0


@register(Encoder)
class WaveformEncoder(nn.Module):
    """Turn every waveform of a data set into a vector, trained with the guide.

    A convolution over time that takes all channels in, then stages of a residual block each; between stages
    the samples are halved and the features doubled, until fewer than 8 samples are left or there are 4 W
    features. Then two linear layers. The first weights keep the differences between waveforms. Cost
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
                _keep_differences(layer)
        nn.init.normal_(last.weight, std=_FIRST_SPREAD / (4 * width) ** 0.5)

    def forward(self, waveforms: Tensor) -> Tensor:
        """Encode each waveform on its own."""
        datasets, points = waveforms.shape[:2]
        single = waveforms.reshape(datasets * points, self.num_channels, self.num_samples)
        vectors: Tensor = self.layers(single.to(next(self.parameters()).dtype) / self.scale)
        return vectors.view(datasets, points, self.dim)


class _ResidualBlock(nn.Module):
    """Add to a signal what two convolutions make of it."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(features, features, 3, padding=1)
        self.second = nn.Conv1d(features, features, 3, padding=1)
        _keep_differences(self.first)
        nn.init.normal_(self.second.weight, std=0.3 / (3 * features) ** 0.5)
        nn.init.zeros_(self.second.bias)  # type: ignore[arg-type]

    def forward(self, signal: Tensor) -> Tensor:
        silu = nn.functional.silu
        added: Tensor = self.second(silu(self.first(silu(signal))))
        return signal + added


def _keep_differences(layer: nn.Conv1d | nn.Linear) -> None:
    """Start with weights under which the variance of what comes in goes out again."""
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
