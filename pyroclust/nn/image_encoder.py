"""A convolutional network from images to vectors."""

from torch import Tensor, nn

from pyroclust.counts import check_count
from pyroclust.nn.encoders import Encoder
from pyroclust.registry import register

__all__ = ["ImageEncoder"]


@register(Encoder)
class ImageEncoder(nn.Module):
    """Turn every image of a data set into a vector, trained with the guide.

    Two convolutions of 3 x 3, each followed by halving the image, and two linear layers. Cost O(H W C^2) an
    image. Any module of the same shapes does as well.

    Args:
        height: H, at least 4.
        width: W, at least 4.
        dim: E, of the vectors.
        channels: C, of the first convolution; the second has twice as many.

    Shape:
        images: ``(B, N, H, W)`` or, as tables have them, ``(B, N, H W)``; output: ``(B, N, E)``.

    Raises:
        ValueError: if an image is too small to be halved twice.

    Example:
        >>> import torch
        >>> ImageEncoder(8, 8, dim=5)(torch.zeros(2, 7, 64)).shape
        torch.Size([2, 7, 5])
    """

    def __init__(self, height: int, width: int, *, dim: int = 64, channels: int = 16) -> None:
        super().__init__()
        height, width = check_count("height", height), check_count("width", width)
        if min(height, width) < 4:
            raise ValueError(f"height and width are {height} and {width}, expected at least 4 pixels each")
        dim, channels = check_count("dim", dim), check_count("channels", channels)
        self.height, self.width, self.dim, self.channels = height, width, dim, channels
        cells = (height // 4) * (width // 4)
        self.layers = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.SiLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(channels, 2 * channels, 3, padding=1),
            nn.SiLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(2 * channels * cells, 64),
            nn.SiLU(),
            nn.Linear(64, dim),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Encode each image on its own."""
        datasets, points = images.shape[:2]
        single = images.reshape(datasets * points, 1, self.height, self.width)
        vectors: Tensor = self.layers(single.to(next(self.parameters()).dtype))
        return vectors.view(datasets, points, self.dim)
