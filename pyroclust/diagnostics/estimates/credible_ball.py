"""How far from the estimate the posterior reaches: Wade and Ghahramani's credible balls."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import check_number
from pyroclust.diagnostics.draws.frequencies import count_clusters
from pyroclust.diagnostics.draws.labels import checked_labels, distinct_draws
from pyroclust.diagnostics.draws.losses import PartitionLoss, VariationOfInformation
from pyroclust.partitions.raw_labels import DrawsLike

_DEFAULT_LOSS = VariationOfInformation()
# Losses are sums of some hundred terms: equal ones differ by less than this.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class CredibleBall:
    """The draws nearest to an estimate, and the partitions at the edges.

    Attributes:
        estimate: ``(N,)``, the centre.
        level: the probability that was asked for.
        radius: the largest loss in the ball.
        coverage: the probability of the ball, at least the level.
        horizontal: ``(H, N)``, the partitions of the ball farthest from the estimate.
        upper: ``(U, N)``, those with the fewest clusters, of these the farthest.
        lower: ``(L, N)``, those with the most clusters, of these the farthest.
        distances: ``(S,)``, the loss of each draw.
    """

    estimate: np.ndarray
    level: float
    radius: float
    coverage: float
    horizontal: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    distances: np.ndarray

    def holds(self, losses: np.ndarray) -> np.ndarray:
        """Say which partitions lie inside, by their losses to the estimate."""
        return np.asarray(losses) <= self.radius + _ROUNDING

    def __repr__(self) -> str:
        return f"CredibleBall({100 * self.level:g} %, radius {self.radius:.3g}, {len(self.distances)} draws)"


def credible_ball(
    draws: DrawsLike,
    estimate: np.ndarray,
    *,
    level: float = 0.95,
    loss: PartitionLoss = _DEFAULT_LOSS,
    weights: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
) -> CredibleBall:
    r"""Return the smallest ball around an estimate that holds a share of the draws.

    .. math::
        B_\varepsilon = \{c : L(\hat c, c) \le \varepsilon\}, \qquad
        \varepsilon^* = \min \{\varepsilon : \sum_s w_s 1[c^{(s)} \in B_\varepsilon] \ge \text{level}\}

    Draws at equal distance are in the ball together. Cost O(S N) in compiled code.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        estimate: the centre, ``(N,)``, such as :func:`point_estimate`.
        level: probability that the ball is to hold, above 0 and at most 1.
        loss: distance from the estimate, its first argument.
        weights: of the draws, ``(S,)``; equal by default.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Raises:
        ValueError: if labels, shapes or weights do not fit, or the level is not in (0, 1].

    References:
        Wade and Ghahramani (2018), Bayesian cluster analysis. https://doi.org/10.1214/17-BA1073

    Example:
        >>> ball = credible_ball(np.array([[0, 0]] * 9 + [[0, 1]]), np.array([0, 0]), level=0.9)
        >>> ball.radius, round(ball.coverage, 3), ball.lower.tolist()
        (0.0, 0.9, [[0, 0]])
    """
    level = check_number("level", level, above=0, at_most=1)
    found = distinct_draws(draws, weights=weights)
    estimate = checked_labels("estimate", estimate)
    if estimate.shape != found.partitions.shape[1:]:
        raise ValueError(f"estimate has shape {estimate.shape}, expected ({found.partitions.shape[1]},)")
    distances = loss(estimate, found.partitions, row_weights=row_weights)
    order = np.argsort(distances, kind="stable")
    reached = int(np.searchsorted(found.mass[order].cumsum(), level - _ROUNDING))
    radius = distances[order[min(reached, len(order) - 1)]]
    inside = (distances <= radius + _ROUNDING) & (found.mass > 0)
    partitions, away = found.partitions[inside], distances[inside]
    clusters = count_clusters(partitions)
    return CredibleBall(
        estimate=estimate,
        level=level,
        radius=float(away.max()),
        coverage=float(min(1.0, found.mass[inside].sum())),
        horizontal=_farthest(partitions, away),
        upper=_farthest(partitions[clusters == clusters.min()], away[clusters == clusters.min()]),
        lower=_farthest(partitions[clusters == clusters.max()], away[clusters == clusters.max()]),
        distances=distances[found.members],
    )


def _farthest(partitions: np.ndarray, distances: np.ndarray) -> np.ndarray:
    return partitions[distances >= distances.max() - _ROUNDING]
