"""Labelled real images as a generative model, and many classes of images out of few."""

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional as F

from pyroclust.core.image_files import read_image_folder
from pyroclust.core.numbers import check_count, check_number, check_seed, on_host, refuse_masked
from pyroclust.distributions import PartitionPrior
from pyroclust.distributions.points import Points
from pyroclust.models.training_data.labelled_tables import LabelledTables, check_pairs
from pyroclust.partitions.raw_labels import as_class_labels


class LabelledImages(LabelledTables):
    """Data sets drawn from labelled images: :class:`LabelledTables` whose points keep their shape.

    Points have no useful distance here: a guide needs an encoder, as :class:`~pyroclust.nn.ImageEncoder`.

    Args:
        collections: pairs of images ``(n, H, W)`` and class labels ``(n,)``, numbers or text.
        prior: law of the partitions, its hyperparameters known; None for the proportions of the collections.
        name: what reports call the model.

    Shape:
        data: ``(*batch, N, H, W)``; assignments: ``(*batch, N)`` int64.

    Raises:
        ValueError: if there is no collection, or one is not finite, reaches beyond 1e38, has other shapes, or
            not one label an image; or the prior is random.

    Example:
        >>> from pyroclust.infer import simulate
        >>> from sklearn.datasets import load_digits
        >>> model = LabelledImages([(load_digits().images / 16, load_digits().target)])
        >>> images, labels = simulate(model, torch.empty(3, 20, 8, 8))
        >>> images.shape, labels.shape
        (torch.Size([3, 20, 8, 8]), torch.Size([3, 20]))
    """

    def __init__(
        self,
        collections: Sequence[tuple[Points, ArrayLike]],
        *,
        prior: PartitionPrior | None = None,
        name: str = "labelled_images",
    ) -> None:
        check_pairs("collections", collections, "images and labels")
        for one, _ in collections:
            refuse_masked("collections", one)
        images = [np.asarray(on_host(one)) for one, _ in collections]
        shapes = sorted({one.shape[1:] for one in images})
        if len(shapes) != 1 or len(shapes[0]) < 2:
            raise ValueError(
                f"collections have images of shapes {shapes}, expected one shape, (H, W), in all: crop or "
                "scale them first"
            )
        flat = [one.reshape(len(one), math.prod(shapes[0])) for one in images]
        labels = [one for _, one in collections]
        super().__init__(list(zip(flat, labels, strict=True)), prior=prior, standardise=False, name=name)
        self.event_shape = shapes[0]

    @classmethod
    def from_folder(
        cls,
        folder: str | PathLike[str],
        *,
        size: int | None = None,
        dark_ink: bool | None = None,
        prior: PartitionPrior | None = None,
    ) -> Self:
        """Read labelled images from a folder that has one folder of images a class.

        Args:
            folder: of images, in folders.
            size: scale the images to so many pixels a side; None for images of one size.
            dark_ink: whether the writing is dark on a light ground; found out by default.
            prior: law of the partitions; None for the proportions of the folder.

        Raises:
            ValueError: if the folder cannot be read, or its images have no classes.
        """
        found = read_image_folder(folder, size=size, dark_ink=dark_ink)
        if found.classes is None:
            raise ValueError(
                f"'{folder}' has its images in itself, expected one folder of images a class: their names "
                "are the labels"
            )
        return cls([(found.images, list(found.classes))], prior=prior, name=Path(folder).resolve().name)


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
    apart is another thing in every collection, so that a guide cannot learn few classes by heart:
    ``LabelledImages(bent_classes(...), prior=...)``.

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
