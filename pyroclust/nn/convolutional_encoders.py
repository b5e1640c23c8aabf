"""Residual convolutional networks from images, and from waveforms of several channels, to vectors."""

from torch import Tensor, nn

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.nn.encoders import (
    FIRST_SPREAD,
    Encoder,
    ResidualBlock,
    keep_differences,
    single_points,
)

# Mean and standard deviation of the pixels of light writing on a dark ground, in 0..1.
_CENTRE, _SPREAD = 0.25, 0.35


@register(Encoder)
class ImageEncoder(nn.Module):
    """Turn every image of a data set into a vector, trained with the guide.

    A convolution, which halves images of 16 pixels and more, then stages of a residual block each; between
    stages images are halved and channels doubled, until the shorter side is below 4 pixels or there are 4 C
    channels. Then two linear layers. Cost O(H W C^2) an image.

    Args:
        height: H, at least 4.
        width: W, at least 4.
        dim: E, of the vectors.
        channels: C, of the first convolution.

    Shape:
        images: ``(B, N, H, W)`` or, as tables have them, ``(B, N, H W)``, pixels in 0..1; output:
        ``(B, N, E)``.

    Raises:
        ValueError: if a side is below 4 pixels, or another argument is no count.

    Example:
        >>> import torch
        >>> ImageEncoder(8, 8, dim=5)(torch.zeros(2, 7, 64)).shape
        torch.Size([2, 7, 5])

    References:
        He et al. (2016), Identity mappings in deep residual networks. https://arxiv.org/abs/1603.05027
    """

    def __init__(self, height: int, width: int, *, dim: int = 64, channels: int = 16) -> None:
        super().__init__()
        height, width = check_count("height", height), check_count("width", width)
        if min(height, width) < 4:
            raise ValueError(f"height and width are {height} and {width}, expected at least 4 pixels each")
        dim, channels = check_count("dim", dim), check_count("channels", channels)
        self.height, self.width, self.dim, self.channels = height, width, dim, channels
        large = min(height, width) >= 16
        first = (
            nn.Conv2d(1, channels, 5, stride=2, padding=2) if large else nn.Conv2d(1, channels, 3, padding=1)
        )
        layers: list[nn.Module] = [first]
        now, (rows, columns) = channels, _halved(height, width) if large else (height, width)
        while min(rows, columns) >= 4 and now < 4 * channels:
            layers += [_image_block(now), nn.Conv2d(now, 2 * now, 3, stride=2, padding=1)]
            now, (rows, columns) = 2 * now, _halved(rows, columns)
        rows, columns = min(rows, 4), min(columns, 4)
        layers += [_image_block(now), nn.SiLU(), nn.AdaptiveAvgPool2d((rows, columns)), nn.Flatten()]
        hidden, last = nn.Linear(now * rows * columns, 4 * channels), nn.Linear(4 * channels, dim)
        layers += [hidden, nn.SiLU(), last]
        self.layers = nn.Sequential(*layers)
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                keep_differences(layer)
        keep_differences(last, gain=FIRST_SPREAD)

    def forward(self, images: Tensor) -> Tensor:
        single = single_points(images, (self.height, self.width)).unsqueeze(1)
        single = (single.to(next(self.parameters()).dtype) - _CENTRE) / _SPREAD
        vectors: Tensor = self.layers(single)
        return vectors.view(*images.shape[:2], self.dim)


def _image_block(channels: int) -> ResidualBlock:
    block = ResidualBlock(*(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)))
    # Once more, as trained guides had it: the same seeds give the same first weights.
    keep_differences(block.second, gain=0.3)
    return block


def _halved(rows: int, columns: int) -> tuple[int, int]:
    """Return the size of what a convolution of stride 2 leaves."""
    return (rows + 1) // 2, (columns + 1) // 2


@register(Encoder)
class WaveformEncoder(nn.Module):
    """Turn every waveform of a data set into a vector: :class:`ImageEncoder` over time.

    The first convolution takes all channels in; stages go on until fewer than 8 samples are left or there are
    4 W features. Cost O(T C W + T W^2) a waveform of C channels and T samples.

    Args:
        num_channels: C.
        num_samples: T, at least 4.
        dim: E, of the vectors.
        width: W, features of the first convolution.
        scale: that the numbers are divided by; the size of a typical spike in units of the noise.

    Shape:
        waveforms: ``(B, N, C, T)`` or, as tables have them, ``(B, N, C T)``; output: ``(B, N, E)``.

    Example:
        >>> import torch
        >>> WaveformEncoder(7, 32, dim=5)(torch.zeros(2, 9, 7, 32)).shape
        torch.Size([2, 9, 5])
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
            layers += [_time_block(now), nn.Conv1d(now, 2 * now, 3, stride=2, padding=1)]
            now, samples = 2 * now, (samples + 1) // 2
        kept = min(samples, 8)
        hidden, last = nn.Linear(now * kept, 4 * width), nn.Linear(4 * width, dim)
        layers += [_time_block(now), nn.SiLU(), nn.AdaptiveAvgPool1d(kept), nn.Flatten()]
        layers += [hidden, nn.SiLU(), last]
        self.layers = nn.Sequential(*layers)
        for layer in self.layers:
            if isinstance(layer, nn.Conv1d | nn.Linear):
                keep_differences(layer)
        keep_differences(last, gain=FIRST_SPREAD)

    def forward(self, waveforms: Tensor) -> Tensor:
        single = single_points(waveforms, (self.num_channels, self.num_samples))
        vectors: Tensor = self.layers(single.to(next(self.parameters()).dtype) / self.scale)
        return vectors.view(*waveforms.shape[:2], self.dim)


def _time_block(features: int) -> ResidualBlock:
    return ResidualBlock(*(nn.Conv1d(features, features, 3, padding=1) for _ in range(2)))
