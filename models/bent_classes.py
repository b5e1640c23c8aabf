"""Many classes of images out of few, for fine-tuning on few."""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional as F

from pyroclust.core.arrays import on_host
from pyroclust.core.counts import check_count, check_number, check_seed
from pyroclust.distributions.points import Points
from pyroclust.partitions.raw_labels import as_class_labels

__all__ = ["bent_classes"]

# Of the affine part and of the smooth part, in units of half an image.
_AFFINE, _SMOOTH = 0.25, 0.15
_COARSE = 4


def bent_classes(
    images: Points,
    labels: ArrayLike,
    *,
    collections: int,
    variants: int = 2,
    strength: float = 1.0,
    seed: int = 0,
) -> list[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    r"""Return collections of images in which each class is bent by a field of its own.

    .. math:: x'(p) = x(A_k \, p + u_k(p)), \qquad A_k = I + 0.25 \, s \, Z_k

    with Z a matrix of standard normal numbers and u a smooth field, one pair for all images of a class and
    variant. All images of a collection are turned by quarters and mirrored alike. What tells two classes
    apart is so another thing in every collection, and a guide that goes on learning from few classes cannot
    learn them by heart. What such collections are for: ``LabelledImages(bent_classes(...), prior=...)``.

    Args:
        images: ``(n, H, W)``, square.
        labels: the class of each.
        collections: how many to make, each with all images, ``variants`` times.
        variants: classes that are made of each class.
        strength: s, of the bending.
        seed: same seed, same collections.

    Raises:
        ValueError: if the images are not square, there is not one label an image, or a number is out of
            range.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> digits = load_digits()
        >>> made = bent_classes(digits.images / 16, digits.target, collections=3)
        >>> [(one.shape, len(set(classes.tolist()))) for one, classes in made][0]
        ((3594, 8, 8), 20)
    """
    check_count("collections", collections)
    check_count("variants", variants)
    check_number("strength", strength, at_least=0, at_most=3)
    check_seed(seed)
    pixels = torch.as_tensor(np.asarray(on_host(images), dtype=np.float32))
    if pixels.dim() != 3 or pixels.shape[1] != pixels.shape[2] or not len(pixels):
        raise ValueError(f"images has shape {tuple(pixels.shape)}, expected (n, H, H) with n of at least 1")
    names = as_class_labels("labels", labels)
    if names.shape != pixels.shape[:1]:
        raise ValueError(f"labels has shape {names.shape}, expected ({len(pixels)},): one label an image")
    number, classes = np.unique(names, return_inverse=True)
    generator = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(collections):
        turns, mirrored = (int(torch.randint(most, (), generator=generator)) for most in (4, 2))
        fields = _fields(len(number) * variants, pixels.shape[1], strength, generator)
        parts = [_bent(pixels, fields[classes * variants + one]) for one in range(variants)]
        bent = torch.rot90(torch.cat(parts), turns, (1, 2))
        bent = bent.flip(2) if mirrored else bent
        own = np.concatenate([classes * variants + one for one in range(variants)])
        made.append((bent.numpy(), own))
    return made


def _fields(number: int, side: int, strength: float, generator: torch.Generator) -> Tensor:
    """Draw where each pixel of each class looks, ``(number, side, side, 2)``."""
    step = (torch.arange(side) + 0.5) / side * 2 - 1
    grid = torch.stack(torch.meshgrid(step, step, indexing="xy"), -1)
    affine = torch.eye(2) + _AFFINE * strength * torch.randn(number, 2, 2, generator=generator)
    coarse = _SMOOTH * strength * torch.randn(number, 2, _COARSE, _COARSE, generator=generator)
    smooth = F.interpolate(coarse, size=(side, side), mode="bicubic", align_corners=True)
    return torch.einsum("mij,hwj->mhwi", affine, grid) + smooth.permute(0, 2, 3, 1)


def _bent(pixels: Tensor, places: Tensor) -> Tensor:
    return F.grid_sample(pixels.unsqueeze(1), places, align_corners=False).squeeze(1)
