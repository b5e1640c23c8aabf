"""Classical rules for the number of clusters."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

_LEVEL = 0.001
_SILHOUETTE_POINTS = 2000


@dataclass(frozen=True)
class ChosenLabels:
    """Labels of the chosen number of clusters, ``(N,)``, and why it was chosen."""

    labels: np.ndarray
    reason: str


def check_num_clusters(name: str, value: int | None, num_points: int | None = None) -> None:
    """Refuse numbers of clusters below one, and above the number of points."""
    if value is not None and value < 1:
        raise ValueError(f"{name} is {value}, expected at least 1")
    if value is not None and num_points is not None and value > num_points:
        raise ValueError(f"{name} is {value}, expected at most {num_points}, the number of points")


def num_distinct(data: np.ndarray) -> int:
    """Count the different points: there cannot be more clusters than that."""
    return len(np.unique(data, axis=0))


def choose_by_silhouette(
    data: np.ndarray, labels_of: Callable[[int], np.ndarray], *, max_clusters: int, seed: int
) -> ChosenLabels:
    """Choose between one cluster, by the Duda-Hart test, and more, by the largest mean silhouette."""
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
    """Say whether the Duda-Hart test refuses one cluster in favour of two, at the level 0.001."""
    num_points, dimensions = data.shape
    _, codes = np.unique(halves, return_inverse=True)
    sizes = np.bincount(codes)
    means = np.stack([np.bincount(codes, weights=column) for column in data.T], axis=1) / sizes[:, None]
    ratio = np.square(data - means[codes]).sum() / np.square(data - data.mean(0)).sum()
    spread = np.sqrt(2 * (1 - 8 / (np.pi**2 * dimensions)) / (num_points * dimensions))
    return bool(ratio < 1 - 2 / (np.pi * dimensions) + ndtri(_LEVEL) * spread)
