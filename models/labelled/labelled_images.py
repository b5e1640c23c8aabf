"""Labelled real images as a generative model."""

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pyroclust.core.arrays import on_host, refuse_masked
from pyroclust.core.image_files import read_image_folder
from pyroclust.distributions import PartitionPrior
from pyroclust.distributions.points import Points
from pyroclust.models.labelled.labelled_tables import LabelledTables, check_pairs

__all__ = ["LabelledImages"]


class LabelledImages(LabelledTables):
    """Data sets drawn from labelled images: :class:`LabelledTables` whose points keep their shape.

    Points have no useful distance here: a guide needs an encoder, as
    :class:`~pyroclust.nn.ImageEncoder`. What a guide should do with classes it has never seen, it learns best
    from many classes, each data set having a few of them.

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
        >>> import torch
        >>> from pyro import poutine
        >>> from sklearn.datasets import load_digits
        >>> model = LabelledImages([(load_digits().images / 16, load_digits().target)])
        >>> trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(3, 20, 8, 8))
        >>> {name: tuple(trace.nodes[name]["value"].shape) for name in ("assignments", "data")}
        {'assignments': (3, 20), 'data': (3, 20, 8, 8)}

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
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
        self._image_shape = shapes[0]
        flat = [one.reshape(len(one), math.prod(shapes[0])) for one in images]
        labels = [one for _, one in collections]
        super().__init__(list(zip(flat, labels, strict=True)), prior=prior, standardise=False, name=name)

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
            folder: see :func:`pyroclust.core.image_files.read_image_folder`.
            size: scale the images to so many pixels a side; None for images of one size.
            dark_ink: whether the writing is dark on a light ground; found out by default.
            prior: law of the partitions; None for the proportions of the folder.

        Raises:
            ValueError: if the folder cannot be read, or its images have no classes.

        Example:
            >>> import tempfile
            >>> from pathlib import Path
            >>> from PIL import Image
            >>> folder = Path(tempfile.mkdtemp())
            >>> for place in range(4):
            ...     (folder / "ab"[place % 2]).mkdir(exist_ok=True)
            ...     Image.new("L", (8, 8), 20 * place).save(folder / "ab"[place % 2] / f"{place}.png")
            >>> LabelledImages.from_folder(folder).event_shape
            (8, 8)
        """
        found = read_image_folder(folder, size=size, dark_ink=dark_ink)
        if found.classes is None:
            raise ValueError(
                f"'{folder}' has its images in itself, expected one folder of images a class: their names "
                "are the labels"
            )
        return cls([(found.images, list(found.classes))], prior=prior, name=Path(folder).resolve().name)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one image."""
        return self._image_shape
