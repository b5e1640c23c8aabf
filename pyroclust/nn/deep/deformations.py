"""Small random changes of points that leave their cluster as it is."""

import math
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from pyroclust.core.counts import check_number
from pyroclust.core.registry import register

__all__ = ["Deformation", "ImageDeformation", "NormalNoise"]


class Deformation(Protocol):
    """Whatever makes of points others of the same clusters."""

    def __call__(self, data: Tensor) -> Tensor:
        """Return points that are changed, each in its own way.

        Shape:
            data: ``(*batch, *event_shape)``; output: the same.
        """
        ...


@register(Deformation)
class ImageDeformation:
    """Shift, turn, lean and scale images at random, each number uniform between its bound and minus it.

    Pixels from beyond the border are 0, dark. Cost O(H W) an image.

    Args:
        shift: in pixels, along both axes.
        rotation: in degrees.
        shear: how far a row moves to the side for each row up.
        scale: by how much sides are longer or shorter, as a share of 1.

    Raises:
        ValueError: if a bound is negative, or the scale is 1 or more.

    Example:
        >>> ImageDeformation(shift=1, rotation=10)(torch.rand(3, 5, 8, 8)).shape
        torch.Size([3, 5, 8, 8])
    """

    def __init__(
        self, *, shift: float = 1.0, rotation: float = 10.0, shear: float = 0.1, scale: float = 0.1
    ) -> None:
        self.shift = check_number("shift", shift, at_least=0)
        self.rotation = check_number("rotation", rotation, at_least=0, at_most=180)
        self.shear = check_number("shear", shear, at_least=0)
        self.scale = check_number("scale", scale, at_least=0, below=1)

    def __call__(self, data: Tensor) -> Tensor:
        """Return deformed images, each in its own way."""
        if data.dim() < 2:
            raise ValueError(f"data has shape {tuple(data.shape)}, expected images (..., H, W)")
        height, width = data.shape[-2:]
        images = data.reshape(-1, 1, height, width)
        bounds = (self.rotation * math.pi / 180, self.scale, self.shear)
        turn, grow, lean = (bound * _either_way(len(images), data) for bound in bounds)
        cos, sin = turn.cos() * (1 + grow), turn.sin() * (1 + grow)
        across, down = (2 * self.shift / side * _either_way(len(images), data) for side in (width, height))
        maps = torch.stack([cos, lean - sin, across, sin, cos, down], -1).view(-1, 2, 3)
        grid = F.affine_grid(maps, list(images.shape), align_corners=False)
        return F.grid_sample(images, grid, align_corners=False).view(data.shape)


@register(Deformation)
class NormalNoise:
    """Add normal noise to every number.

    Args:
        scale: standard deviation, in units of the data.

    Example:
        >>> NormalNoise(0.1)(torch.zeros(3, 2)).shape
        torch.Size([3, 2])
    """

    def __init__(self, scale: float) -> None:
        self.scale = check_number("scale", scale, at_least=0)

    def __call__(self, data: Tensor) -> Tensor:
        """Return noisy points."""
        return data + self.scale * torch.randn_like(data)


def _either_way(number: int, like: Tensor) -> Tensor:
    """Draw numbers between -1 and 1."""
    return 2 * torch.rand(number, dtype=like.dtype, device=like.device) - 1
