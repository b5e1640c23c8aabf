"""Classical rules for the number of clusters."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

__all__ = [
    "ChosenLabels",
    "check_num_clusters",
    "choose_by_silhouette",
    "num_distinct",
    "refuses_one_cluster",
]

_LEVEL = 0.001
_SILHOUETTE_POINTS = 2000


@dataclass(frozen=True)
class ChosenLabels:
    """Labels of the chosen number of clusters, ``(N,)``, and why it was chosen."""

    labels: np.ndarray
    reason: str


def check_num_clusters(name: str, value: int | None, num_points: int | None = None) -> None:
    """Refuse numbers of clusters below one, and above the number of points.

    Raises:
        ValueError: if the number is not possible.

    Example:
        >>> check_num_clusters("num_clusters", 5, 3)
        Traceback (most recent call last):
        ValueError: num_clusters is 5, expected at most 3, the number of points
    """
    if value is not None and value < 1:
        raise ValueError(f"{name} is {value}, expected at least 1")
    if value is not None and num_points is not None and value > num_points:
        raise ValueError(f"{name} is {value}, expected at most {num_points}, the number of points")


def num_distinct(data: np.ndarray) -> int:
    """Count the different points: there cannot be more clusters than that.

    Example:
        >>> num_distinct(np.array([[1.0], [2.0], [1.0]]))
        2
    """
    return len(np.unique(data, axis=0))


def choose_by_silhouette(
    data: np.ndarray, labels_of: Callable[[int], np.ndarray], *, max_clusters: int, seed: int
) -> ChosenLabels:
    """Choose between one cluster, by the Duda-Hart test, and more, by the largest mean silhouette.

    A silhouette is not defined for one cluster; R's ``fpc::pamk`` divides the question in the same way.
    Cost: O(M^2 D) for each number of clusters, M being N or 2000 points drawn at random if N is larger.

    Args:
        data: the points.
        labels_of: returns the labels for a number of clusters.
        max_clusters: largest number that is tried, at most N - 1 and the number of different points.
        seed: of the random points.

    Shape:
        data: ``(N, D)``.

    References:
        Rousseeuw (1987), Silhouettes. https://doi.org/10.1016/0377-0427(87)90125-7

    Example:
        >>> points = np.linspace(0, 1, 40)[:, None] + 9 * (np.arange(40) % 2)[:, None]
        >>> found = choose_by_silhouette(points, lambda k: np.arange(40) % k, max_clusters=4, seed=0)
        >>> int(found.labels.max()) + 1
        2
    """
    one = np.zeros(len(data), dtype=np.int64)
    tried = range(2, min(max_clusters, len(data) - 1, num_distinct(data)) + 1)
    if not tried:
        return ChosenLabels(one, "K = 1: there is nothing else to choose from")
    candidates = [labels_of(k) for k in tried]
    if not refuses_one_cluster(data, candidates[0]):
        return ChosenLabels(one, f"K = 1: the Duda-Hart test does not refuse one cluster at {_LEVEL}")
    size = min(len(data), _SILHOUETTE_POINTS)
    chosen = np.random.default_rng(seed).permutation(len(data))[:size]
    widths = [_mean_silhouette(data[chosen], labels[chosen]) for labels in candidates]
    best = int(np.argmax(widths))
    return ChosenLabels(
        candidates[best],
        f"K = {tried[best]} of 1 to {tried[-1]}: the largest mean silhouette ({widths[best]:.2f}), after the "
        f"Duda-Hart test refused one cluster at {_LEVEL}",
    )


def _mean_silhouette(data: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import silhouette_score

    # Equal points can leave fewer clusters than were asked for, or as many as points.
    if not 2 <= len(np.unique(labels)) < len(labels):
        return -1.0
    return float(silhouette_score(data, labels))


def refuses_one_cluster(data: np.ndarray, halves: np.ndarray) -> bool:
    r"""Say whether the Duda-Hart test refuses one cluster in favour of two, at the level 0.001.

    Of a normal cluster with equal variances in D dimensions, the best cut leaves about
    :math:`1 - 2 / (\pi D)` of the squared distances to the mean. One cluster is refused where

    .. math:: \frac{W_2}{W_1} < 1 - \frac{2}{\pi D} - z \sqrt{\frac{2 (1 - 8 / (\pi^2 D))}{N D}}

    Long clusters are cut too easily, and a few far points can hide that there are two.

    Shape:
        data: ``(N, D)``; halves: ``(N,)`` labels of two clusters.

    References:
        Duda and Hart (1973), Pattern classification and scene analysis, section 6.12.

    Example:
        >>> halves = np.arange(200) % 2
        >>> points = np.random.default_rng(0).normal(size=(200, 2))
        >>> refuses_one_cluster(points, points[:, 0] > 0)
        False
        >>> refuses_one_cluster(points + 9 * halves[:, None], halves)
        True
    """
    num_points, dimensions = data.shape
    _, codes = np.unique(halves, return_inverse=True)
    sizes = np.bincount(codes)
    means = np.stack([np.bincount(codes, weights=column) for column in data.T], axis=1) / sizes[:, None]
    ratio = np.square(data - means[codes]).sum() / np.square(data - data.mean(0)).sum()
    spread = np.sqrt(2 * (1 - 8 / (np.pi**2 * dimensions)) / (num_points * dimensions))
    return bool(ratio < 1 - 2 / (np.pi * dimensions) + ndtri(_LEVEL) * spread)
