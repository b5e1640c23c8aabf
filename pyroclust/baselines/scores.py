"""How near a partition comes to a known one, and shares of clusters and learned features to classes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from pyroclust.core.numbers import as_numbers, check_seed, checked_weights
from pyroclust.diagnostics import AdjustedRand, variation_of_information
from pyroclust.partitions.raw_labels import as_class_labels


@dataclass(frozen=True)
class PartitionScores:
    """Scores of a partition against a known one; all but the last two are 1 for equal partitions.

    Attributes:
        adjusted_rand: Rand index adjusted for chance; 0 on average for unrelated partitions.
        adjusted_mutual_information: mutual information adjusted for chance, over the arithmetic mean of the
            two entropies.
        normalised_mutual_information_arithmetic: mutual information over the arithmetic mean of the two
            entropies; papers also divide by the geometric mean, the smaller or the larger, which differ.
        accuracy: largest share of points that fall into their own class when every cluster is matched with
            one class at most (Hungarian method).
        num_clusters_error: how many clusters too many, or too few, as a number that is not negative.
        variation_of_information: in bits, 0 for equal partitions.
    """

    adjusted_rand: float
    adjusted_mutual_information: float
    normalised_mutual_information_arithmetic: float
    accuracy: float
    num_clusters_error: int
    variation_of_information: float


def partition_scores(
    truth: ArrayLike, assignments: ArrayLike, *, row_weights: np.ndarray | None = None
) -> PartitionScores:
    """Score a partition against a known one.

    A noise label, such as -1, is a class like any other. Cost: O(N + K^3) for K clusters, and the expectation
    of mutual information.

    Args:
        truth: known labels, ``(N,)``: numbers or names.
        assignments: labels of the partition to score, ``(N,)``: numbers or names.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Raises:
        ValueError: if the shapes differ, there are no points, or a label is missing.

    References:
        Hubert and Arabie (1985), Comparing partitions. https://doi.org/10.1007/BF01908075
        Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison.
        https://jmlr.org/papers/v11/vinh10a.html

    Example:
        >>> scores = partition_scores(["a", "a", "b", "b"], [0, 0, 1, 2])
        >>> round(scores.adjusted_rand, 3), scores.accuracy, scores.num_clusters_error
        (0.571, 0.75, 1)
    """
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score
    from sklearn.metrics.cluster import contingency_matrix

    known, found = _codes("truth", truth), _codes("assignments", assignments)
    if known.shape != found.shape:
        raise ValueError(
            f"assignments has shape {found.shape}, expected {known.shape} as truth: one label a point"
        )
    if row_weights is not None:
        # The expectation of mutual information counts every row.
        times = checked_weights("row_weights", row_weights, num_rows=len(known))
        known, found = (np.repeat(one, times) for one in (known, found))
    table = contingency_matrix(known, found)
    matched = table[scipy.optimize.linear_sum_assignment(table, maximize=True)].sum()
    return PartitionScores(
        adjusted_rand=float(adjusted_rand_score(known, found)),
        adjusted_mutual_information=float(adjusted_mutual_info_score(known, found)),
        normalised_mutual_information_arithmetic=float(
            normalized_mutual_info_score(known, found, average_method="arithmetic")
        ),
        accuracy=float(matched / len(known)),
        num_clusters_error=abs(int(found.max()) - int(known.max())),
        variation_of_information=float(variation_of_information(known, found)),
    )


def scores_where_known(
    labels: np.ndarray | None, assignments: np.ndarray, *, row_weights: np.ndarray | None = None
) -> PartitionScores | None:
    """Score a partition against reference labels on the points that have one; ``None`` where none has."""
    shown = _where_known(labels, assignments, row_weights)
    return None if shown is None else partition_scores(*shown[:2], row_weights=shown[2])


def adjusted_rand_where_known(
    labels: np.ndarray | None, assignments: np.ndarray, *, row_weights: np.ndarray | None = None
) -> float | None:
    """Return the adjusted Rand index on the points that have a reference label; ``None`` where none has."""
    shown = _where_known(labels, assignments, row_weights)
    if shown is None:
        return None
    return 1.0 - float(AdjustedRand()(*(pd.factorize(one)[0] for one in shown[:2]), row_weights=shown[2]))


def _where_known(
    labels: np.ndarray | None, assignments: np.ndarray, row_weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """Return what there is of the points that have a reference label."""
    if labels is None:
        return None
    known = ~np.asarray(pd.isna(labels))
    if not known.any():
        return None
    return labels[known], assignments[known], None if row_weights is None else row_weights[known]


def _codes(name: str, labels: ArrayLike) -> np.ndarray:
    values = as_class_labels(name, labels)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{name} has shape {values.shape}, expected (N,) with at least one point")
    return pd.factorize(values)[0].astype(np.int64)


@dataclass(frozen=True)
class LabelFound:
    """Where the points of a known label are: in the cluster that holds most of them."""

    label: str
    points: int
    cluster: int
    share_found: float  # of the label's points that are in the cluster
    share_of_cluster: float  # of the cluster's labelled points that have the label


def labels_found(
    labels: np.ndarray, assignments: np.ndarray, *, row_weights: np.ndarray | None = None
) -> list[LabelFound]:
    """Say of each known label which cluster finds it, the label with most points first."""
    known = ~np.asarray(pd.isna(labels))
    codes, names = pd.factorize(np.asarray(labels)[known])
    table = np.zeros((len(names), int(assignments.max()) + 1))
    np.add.at(table, (codes, assignments[known]), 1 if row_weights is None else row_weights[known])
    sizes, best = table.sum(1), table.argmax(1)
    rows = [
        LabelFound(
            str(names[at]),
            int(sizes[at]),
            int(best[at]),
            float(table[at, best[at]] / sizes[at]),
            float(table[at, best[at]] / table[:, best[at]].sum()),
        )
        for at in range(len(names))
    ]
    return sorted(rows, key=lambda one: -one.points)


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
        shares: probabilities of the clusters for every point, ``(N, K)``.
        truth: classes: numbers or names, ``(N,)``.
        validation: whether a point's class is used to name clusters, and by its neighbours, ``(N,)``.
        features: what the encoder makes of every point, ``(N, E)``.
        num_neighbours: k of the nearest-neighbour errors.
        seed: of the choice of points for the silhouette.

    Raises:
        ValueError: if the shapes differ, or all points or none are for validation.

    Example:
        >>> shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
        >>> mask = np.array([True, False, True, False])
        >>> found = feature_scores(shares, ["a", "a", "b", "b"], validation=mask)
        >>> found.accuracy, found.accuracy_of_most_confident
        (0.5, 0.5)
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
    silhouette, errors = float("nan"), dict[int, float]()
    if features is not None:
        vectors = np.asarray(as_numbers("features", features), dtype=float)
        if vectors.ndim != 2 or len(vectors) != len(given):
            raise ValueError(f"features has shape {vectors.shape}, expected ({len(given)}, E)")
        silhouette = _silhouette(vectors[rest], found, seed=seed)
        for k in num_neighbours:
            classifier = KNeighborsClassifier(k).fit(vectors[mask], known[mask])
            errors[k] = float((classifier.predict(vectors[rest]) != own).mean())
    return FeatureScores(
        accuracy=partition_scores(own, found).accuracy,
        accuracy_of_most_confident=float((names[found] == own).mean()),
        normalised_mutual_information_arithmetic=float(
            normalized_mutual_info_score(own, found, average_method="arithmetic")
        ),
        normalised_mutual_information_geometric=float(
            normalized_mutual_info_score(own, found, average_method="geometric")
        ),
        silhouette=silhouette,
        neighbour_errors=errors,
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
