"""The classifier's accuracy, draw by draw as its definition says."""

import numpy as np
import pytest

from pyroclust.diagnostics import pairwise_loss
from pyroclust.diagnostics.differences.two_sample import accuracies, permuted_memberships


def neighbour_weights(losses: np.ndarray, draw: int) -> np.ndarray:
    """The nearest others count one each; those that are equally far at the edge share what is left."""
    number = max(1, round(len(losses) ** 0.5))
    others = [other for other in range(len(losses)) if other != draw]
    edge = sorted(losses[draw, others])[number - 1]
    nearer = [other for other in others if losses[draw, other] < edge]
    tied = [other for other in others if losses[draw, other] == edge]
    weights = np.zeros(len(losses))
    weights[nearer] = 1.0
    weights[tied] = (number - len(nearer)) / len(tied)
    return weights


def accuracy(losses: np.ndarray, in_a: np.ndarray) -> float:
    """A draw is called one of A if A, without it, has the larger share near it; as many draws as A has."""
    size = {True: in_a.sum(), False: (~in_a).sum()}
    score = []
    for draw, own in enumerate(in_a):
        near = neighbour_weights(losses, draw)
        share = {side: near[in_a == side].sum() / (size[side] - (own == side)) for side in (True, False)}
        score.append(round(share[True] - share[False], 9))
    ranked = np.array(score)
    edge = np.sort(ranked)[::-1][size[True] - 1]
    above, tied = ranked > edge, ranked == edge
    says_a = above + tied * (size[True] - above.sum()) / tied.sum()
    return (says_a[in_a].mean() + (1 - says_a[~in_a]).mean()) / 2


@pytest.mark.parametrize("sizes", [(7, 13), (13, 7), (2, 9)])
@pytest.mark.parametrize("points", [3, 12])
def test_accuracy_equals_its_definition(sizes, points):
    # Three points have few partitions: nearly all distances are tied.
    rng = np.random.default_rng(points)
    draws = np.concatenate(
        [rng.integers(2, size=(sizes[0], points)), rng.integers(3, size=(sizes[1], points))]
    )
    losses = pairwise_loss(draws, draws).round(9)
    members = permuted_memberships(*sizes, num_permutations=20, seed=0)
    expected = [accuracy(losses, row.astype(bool)) for row in members]
    np.testing.assert_allclose(accuracies(losses, members), expected, atol=1e-9)
