"""How near a partition comes to a known one."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from pyroclust.core.arrays import checked_weights
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

    A noise label, such as -1, is a class like any other: take those points out first where they are to count
    for nothing. Cost: O(N + K^3) for K clusters, and the expectation of mutual information.

    Args:
        truth: known labels: numbers or names.
        assignments: labels of the partition to score: numbers or names.
        row_weights: how many equal rows each point stands for, whole numbers; one by default.

    Shape:
        truth, assignments, row_weights: ``(N,)``.

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
