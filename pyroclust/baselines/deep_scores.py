"""How good shares of clusters and learned features are, given the classes of some points."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyroclust.baselines.scores import partition_scores
from pyroclust.core.arrays import as_numbers
from pyroclust.core.counts import check_seed
from pyroclust.partitions.raw_labels import as_class_labels

# Silhouettes take all pairs of points.
_MOST_POINTS = 5000


@dataclass(frozen=True)
class FeatureScores:
    """Scores of shares of clusters, and of the features that they come from, against classes.

    Attributes:
        accuracy: share of the points of its class, every cluster being matched with one class at most
            (Hungarian method).
        accuracy_of_most_confident: the same where every cluster has the class of the validation point that is
            surest of it; two clusters may have one class.
        normalised_mutual_information_arithmetic: over the arithmetic mean of the two entropies.
        normalised_mutual_information_geometric: over their geometric mean.
        silhouette: mean silhouette of the clusters among the features, of at most 5,000 points; nan for one
            cluster, or without features.
        neighbour_errors: share of the points whose class is not that of most of their k nearest validation
            points among the features, by k; empty without features.
        sureness: mean of the largest share of a point.
    """

    accuracy: float
    accuracy_of_most_confident: float
    normalised_mutual_information_arithmetic: float
    normalised_mutual_information_geometric: float
    silhouette: float
    neighbour_errors: dict[int, float]
    sureness: float


def feature_scores(
    shares: ArrayLike,
    truth: ArrayLike,
    *,
    validation: ArrayLike,
    features: ArrayLike | None = None,
    num_neighbours: tuple[int, ...] = (3, 5, 10),
    seed: int = 0,
) -> FeatureScores:
    """Score a deep clustering on the points that are not for validation.

    Args:
        shares: probabilities of the clusters for every point.
        truth: classes: numbers or names.
        validation: whether a point's class is used to name clusters, and by its neighbours.
        features: what the encoder makes of every point.
        num_neighbours: k of the nearest-neighbour errors.
        seed: of the choice of points for the silhouette.

    Shape:
        shares: ``(N, K)``; truth, validation: ``(N,)``; features: ``(N, E)``.

    Raises:
        ValueError: if the shapes differ, or all points or none are for validation.

    Example:
        >>> shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
        >>> mask = np.array([True, False, True, False])
        >>> found = feature_scores(shares, ["a", "a", "b", "b"], validation=mask)
        >>> found.accuracy, found.accuracy_of_most_confident
        (0.5, 0.5)

    References:
        Arias Figueroa and Ramirez Rivera (2017), Is simple better? Revisiting simple generative models for
        unsupervised clustering. NIPS workshop on Bayesian deep learning.
    """
    from sklearn.metrics import normalized_mutual_info_score
    from sklearn.neighbors import KNeighborsClassifier

    given = np.asarray(as_numbers("shares", shares), dtype=float)
    known = pd.factorize(as_class_labels("truth", truth))[0]
    mask = np.asarray(validation)
    if given.ndim != 2 or len(known) != len(given) or mask.shape != known.shape or mask.dtype != bool:
        raise ValueError(
            f"shares, truth and validation have shapes {given.shape}, {known.shape} and {mask.shape}, "
            "expected (N, K), (N,) and (N,), the last true or false"
        )
    if mask.all() or not mask.any():
        raise ValueError(f"validation has {mask.sum()} of {len(mask)} points, expected some and not all")
    rest = ~mask
    labels = given.argmax(-1)
    own, found = known[rest], labels[rest]
    names = known[mask][given[mask].argmax(0)]
    vectors = None if features is None else np.asarray(as_numbers("features", features), dtype=float)
    if vectors is not None and (vectors.ndim != 2 or len(vectors) != len(given)):
        raise ValueError(f"features has shape {vectors.shape}, expected ({len(given)}, E)")
    return FeatureScores(
        accuracy=partition_scores(own, found).accuracy,
        accuracy_of_most_confident=float((names[found] == own).mean()),
        normalised_mutual_information_arithmetic=float(
            normalized_mutual_info_score(own, found, average_method="arithmetic")
        ),
        normalised_mutual_information_geometric=float(
            normalized_mutual_info_score(own, found, average_method="geometric")
        ),
        silhouette=float("nan") if vectors is None else _silhouette(vectors[rest], found, seed=seed),
        neighbour_errors={}
        if vectors is None
        else {
            one: float(
                (
                    KNeighborsClassifier(one).fit(vectors[mask], known[mask]).predict(vectors[rest]) != own
                ).mean()
            )
            for one in num_neighbours
        },
        sureness=float(given[rest].max(-1).mean()),
    )


def _silhouette(vectors: np.ndarray, labels: np.ndarray, *, seed: int) -> float:
    from sklearn.metrics import silhouette_score

    if not 1 < len(np.unique(labels)) < len(labels):
        return float("nan")
    size = min(len(vectors), _MOST_POINTS)
    chosen = np.random.default_rng(check_seed(seed)).permutation(len(vectors))[:size]
    if len(np.unique(labels[chosen])) < 2:
        return float("nan")
    return float(silhouette_score(vectors[chosen], labels[chosen]))
