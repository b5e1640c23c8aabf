"""The face of classical clustering methods."""

import time
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from pyroclust.baselines.result import BaselineResult
from pyroclust.diagnostics.membership import renumbered

__all__ = ["Baseline", "Clustering"]


@dataclass(frozen=True)
class Clustering:
    """What a method returns to :class:`Baseline`.

    Attributes:
        labels: one whole number a point, ``(N,)``, in any numbering.
        about: how they were chosen, in a sentence.
        notes: what went wrong or was cut short.
    """

    labels: np.ndarray
    about: str
    notes: tuple[str, ...] = field(default=())


class Baseline(ABC):
    """A method that makes one partition of points; subclasses are frozen dataclasses with ``_cluster``."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What tables call the method."""

    @abstractmethod
    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        """Cluster checked points whose smallest coordinates are 0, ``(N, D)``."""

    def partition(self, data: np.ndarray, *, seed: int) -> BaselineResult:
        """Cluster the points of one data set.

        Where columns have different units, standardise them first. Warnings of scikit-learn become notes.

        Args:
            data: the points.
            seed: of random starts.

        Shape:
            data: ``(N, D)``.

        Raises:
            ValueError: if there are fewer than two points, a number is not finite, or all points are equal.

        Example:
            >>> from pyroclust.baselines import KMeans
            >>> points = np.array([[0.0], [0.1], [5.0], [5.1]])
            >>> KMeans(num_clusters=2).partition(points, seed=0).assignments.tolist()
            [0, 0, 1, 1]
        """
        points = _checked(data)
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = self._cluster(points, seed)
        seconds = time.perf_counter() - start
        _, codes = np.unique(found.labels, return_inverse=True)
        labels = renumbered(codes.astype(np.int64)[None])[0]
        return BaselineResult(
            name=self.name,
            assignments=labels,
            num_clusters=int(labels.max()) + 1,
            seconds=seconds,
            about=found.about,
            notes=(*found.notes, *_sentences(caught)),
        )


def _checked(data: np.ndarray) -> np.ndarray:
    try:
        points = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("data is not an array of real numbers, expected one of shape (N, D)") from None
    if points.ndim != 2 or points.shape[1] == 0:
        raise ValueError(f"data has shape {points.shape}, expected (N, D): one row a point")
    if len(points) < 2:
        raise ValueError(f"data has {len(points)} point(s), expected at least 2 to cluster")
    if not np.isfinite(points).all():
        lost = (~np.isfinite(points)).sum()
        raise ValueError(f"data holds {lost} missing or infinite numbers; drop or fill those points")
    with np.errstate(over="ignore"):
        width = np.ptp(points, axis=0).max()
    if width == 0:
        raise ValueError("data is constant: all points are equal and there is nothing to cluster")
    if not 1e-100 < width < 1e100:
        raise ValueError(f"data has a range of {width:.3g}, too far from 1 to be squared; rescale it first")
    return points - points.min(0)


def _sentences(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return the first sentence of each warning once, in the order in which they came."""
    found = (" ".join(str(one.message).split()).split(". ")[0].rstrip(".") for one in caught)
    return tuple(dict.fromkeys(f"scikit-learn: {text}." for text in found))
