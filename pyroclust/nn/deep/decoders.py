"""Decoders: from latent numbers to the outputs that a law of observations takes."""

import math
from collections.abc import Sequence
from typing import Protocol

from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.nn.encoders.dense_encoders import checked_widths, dense_layers


class Decoder(Protocol):
    """A module from latent numbers to points, ``(R, dim) -> (R, *event_shape)``.

    Attributes:
        dim: how many latent numbers it takes.
    """

    dim: int

    def __call__(self, latents: Tensor) -> Tensor: ...


@register(Decoder)
class DenseDecoder(nn.Module):
    """Dense layers, each with batch normalisation and ReLU, and a linear one to the shape of a point.

    Cost O(sum of products of neighbouring widths) a row.

    Args:
        dim: how many latent numbers it takes.
        event_shape: shape of a point.
        widths: of the layers in between.

    Shape:
        latents: ``(R, dim)``; output: ``(R, *event_shape)``.

    Example:
        >>> import torch
        >>> DenseDecoder(5, (8, 8), widths=(32,))(torch.randn(4, 5)).shape
        torch.Size([4, 8, 8])
    """

    def __init__(self, dim: int, event_shape: Sequence[int], *, widths: Sequence[int] = (512, 512)) -> None:
        super().__init__()
        self.dim, self.widths = check_count("dim", dim), checked_widths(widths)
        self.event_shape = tuple(check_count("event_shape", one) for one in event_shape)
        self.layers = dense_layers(self.dim, self.widths)
        self.last = nn.Linear(self.widths[-1], math.prod(self.event_shape))

    def forward(self, latents: Tensor) -> Tensor:
        outputs: Tensor = self.last(self.layers(latents))
        return outputs.unflatten(-1, self.event_shape)


@register(Decoder)
class ImageDecoder(nn.Module):
    """Two dense layers, then transposed convolutions that double the sides, cut to the size of an image.

    Every layer but the last has batch normalisation and ReLU. Cost O(H W C^2) a row.

    Args:
        dim: how many latent numbers it takes.
        height: H, at least 4.
        width: W, at least 4.
        channels: C, before the last doubling.
        hidden: width of the first dense layer.

    Shape:
        latents: ``(R, dim)``; output: ``(R, H, W)``.

    Raises:
        ValueError: if a side is below 4 pixels, or another argument is no count.

    Example:
        >>> import torch
        >>> ImageDecoder(5, 28, 28)(torch.randn(4, 5)).shape
        torch.Size([4, 28, 28])
    """

    def __init__(self, dim: int, height: int, width: int, *, channels: int = 16, hidden: int = 256) -> None:
        super().__init__()
        self.dim, self.hidden = check_count("dim", dim), check_count("hidden", hidden)
        self.height, self.width = check_count("height", height), check_count("width", width)
        self.channels = check_count("channels", channels)
        if min(self.height, self.width) < 4:
            raise ValueError(f"height and width are {height} and {width}, expected at least 4 pixels each")
        doublings = max(1, math.ceil(math.log2(max(self.height, self.width) / 4)))
        deep = channels * 2 ** (doublings - 1)
        layers: list[nn.Module] = [dense_layers(dim, (hidden, deep * 16)), nn.Unflatten(-1, (deep, 4, 4))]
        for _ in range(doublings - 1):
            layers += [
                nn.ConvTranspose2d(deep, deep // 2, 4, stride=2, padding=1),
                nn.BatchNorm2d(deep // 2),
                nn.ReLU(),
            ]
            deep //= 2
        layers.append(nn.ConvTranspose2d(deep, 1, 4, stride=2, padding=1))
        self.layers = nn.Sequential(*layers)

    def forward(self, latents: Tensor) -> Tensor:
        large: Tensor = self.layers(latents).squeeze(1)
        top, left = (large.shape[-2] - self.height) // 2, (large.shape[-1] - self.width) // 2
        return large[..., top : top + self.height, left : left + self.width]
