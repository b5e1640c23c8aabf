"""The contract of classical clustering methods, and what they return."""

import threading
import time
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from pyroclust.core.numbers import as_numbers, check_count, short_seed
from pyroclust.partitions.raw_labels import renumbered


@dataclass(frozen=True)
class BaselineResult:
    """One partition from a method that is not Bayesian about partitions.

    Attributes:
        name: what tables call the method.
        assignments: canonical labels, ``(N,)`` int64.
        num_clusters: how many clusters it has.
        seconds: wall time.
        about: how the partition, and its number of clusters, was chosen, in a sentence.
        notes: what went wrong or was cut short, such as a fit that did not converge.
    """

    name: str
    assignments: np.ndarray
    num_clusters: int
    seconds: float
    about: str
    notes: tuple[str, ...] = ()

    @property
    def draws(self) -> np.ndarray:
        """The partition as the one draw of one chain, ``(1, 1, N)``, for every function of draws."""
        return self.assignments[None, None, :]


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
    notes: tuple[str, ...] = ()


# Who records warnings changes the filters of the whole process.
_lock = threading.RLock()


class Baseline(ABC):
    """A method that makes one partition of points; subclasses are frozen dataclasses with ``_cluster``."""

    name: ClassVar[str]
    """What tables call the method."""

    def __post_init__(self) -> None:
        for name in ("num_clusters", "max_clusters", "num_starts", "min_points"):
            if (value := getattr(self, name, None)) is not None:
                check_count(name, value)

    @abstractmethod
    def _cluster(self, data: np.ndarray, seed: int) -> Clustering:
        """Cluster checked points whose smallest coordinates are 0, ``(N, D)``."""

    def partition(self, data: np.ndarray, *, seed: int) -> BaselineResult:
        """Cluster the points of one data set, ``(N, D)``.

        Where columns have different units, standardise them first. Warnings of scikit-learn become notes.

        Raises:
            ValueError: if there are fewer than two points, a number is not finite, or all points are equal.

        Example:
            >>> from pyroclust.baselines import KMeans
            >>> points = np.array([[0.0], [0.1], [5.0], [5.1]])
            >>> KMeans(num_clusters=2).partition(points, seed=0).assignments.tolist()
            [0, 0, 1, 1]
        """
        points, seed = _checked(data), short_seed(seed)
        if (given := getattr(self, "num_clusters", None)) is not None:
            check_count("num_clusters", given, at_most=len(points), hint="the number of points")
        start = time.perf_counter()
        # The matrices have a few rows: threads wait for one another longer than they work.
        with _lock, threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
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
    points = as_numbers("data", data)
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
