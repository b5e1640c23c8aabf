"""Whether the visiting order of a guide matters: what the draws of each order say, beside chance."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyroclust.core.arrays import as_numbers

__all__ = ["OrderSpread", "evidence_by_order", "evidences_of_orders", "mean_by_order"]

# Below the smallest normal number a sum of weights is none.
_VANISHED = np.finfo(np.float64).tiny
# Sums of the same numbers in another order differ by less.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class OrderSpread:
    """How far a figure of equal shares of a guide's draws lies apart, one share an order.

    Attributes:
        by_order: the figure by each order alone, ``(M,)``.
        spread: their standard deviation, in the unit of the figure.
        by_chance: the median of the same where draws are dealt to the orders at random.
        p_value: how often chance makes it as large.
    """

    by_order: np.ndarray
    spread: float
    by_chance: float
    p_value: float

    def __repr__(self) -> str:
        """Return the spread and its p-value."""
        return f"OrderSpread({self.spread:.2f} over {len(self.by_order)} orders, p = {self.p_value:.3f})"


def evidence_by_order(
    log_weights: np.ndarray, *, num_orders: int, seed: int, num_permutations: int = 999
) -> OrderSpread | None:
    r"""Compare the evidence by each visiting order with what chance makes of the same weights.

    With :math:`\hat Z_m` the mean weight of the draws of order m, the figures are :math:`\log \hat Z_m`, in
    nats; where all weights of an order vanish beside the largest of all, some 700 nats below that. Where the
    order does not matter, draws can be exchanged between the orders, whatever the tail of their weights: the
    p-value is exact. Cost: O(P S) for P permutations.

    Shape:
        log_weights: ``(S,)`` in nats, the draws of each order one after the other, in shares as equal as can
        be.

    Args:
        log_weights: log p(c, x) - log q(c).
        num_orders: M.
        seed: of the permutations.
        num_permutations: P.

    Returns:
        ``None`` where there are fewer than two orders, or an order has fewer than two draws.

    Example:
        >>> weights = np.random.default_rng(0).normal(size=400)
        >>> evidence_by_order(weights, num_orders=4, seed=0).p_value > 0.05
        True
        >>> evidence_by_order(weights + np.repeat([0, 1, 2, 3], 100), num_orders=4, seed=0).p_value
        0.001
    """
    weights, log_mean = _log_means(log_weights)
    return _spread(
        weights,
        log_mean,
        num_orders=num_orders,
        seed=seed,
        num_permutations=num_permutations,
    )


def evidences_of_orders(log_weights: np.ndarray, *, num_orders: int) -> np.ndarray:
    """Return the log evidence by each visiting order alone, ``(M,)`` in nats, as above.

    Shape:
        log_weights: ``(S,)`` in nats, the draws of each order one after the other.

    Args:
        log_weights: log p(c, x) - log q(c).
        num_orders: M.

    Example:
        >>> evidences_of_orders(np.log([1.0, 3.0, 4.0, 4.0]), num_orders=2).round(3)
        array([0.693, 1.386])
    """
    return _of_orders(*_log_means(log_weights), num_orders)


def mean_by_order(
    values: np.ndarray, *, num_orders: int, seed: int, num_permutations: int = 999
) -> OrderSpread | None:
    """Compare the mean of a functional by each visiting order with what chance makes of the same draws.

    Shape:
        values: ``(S,)``, the draws of each order one after the other, in shares as equal as can be.

    Args:
        values: the functional, such as the number of clusters.
        num_orders: M.
        seed: of the permutations.
        num_permutations: P.

    Returns:
        ``None`` where there are fewer than two orders, or an order has fewer than two draws.

    Example:
        >>> mean_by_order(np.repeat([3, 3, 5, 3], 100), num_orders=4, seed=0).by_order
        array([3., 3., 5., 3.])
    """
    return _spread(
        as_numbers("values", values),
        lambda means: means,
        num_orders=num_orders,
        seed=seed,
        num_permutations=num_permutations,
    )


_Figure = Callable[[np.ndarray], np.ndarray]


def _log_means(log_weights: np.ndarray) -> tuple[np.ndarray, _Figure]:
    """Return weights beside the largest of all, and what makes log evidences of their means."""
    weights = as_numbers("log_weights", log_weights)
    largest = weights.max(initial=-np.inf)
    return np.exp(weights - largest), lambda means: np.log(np.maximum(means, _VANISHED)) + largest


def _of_orders(values: np.ndarray, figure: _Figure, num_orders: int) -> np.ndarray:
    sizes = np.array([len(part) for part in np.array_split(np.arange(len(values)), num_orders)])
    return figure(np.add.reduceat(values, np.cumsum(sizes) - sizes) / sizes)


def _spread(
    values: np.ndarray,
    figure: _Figure,
    *,
    num_orders: int,
    seed: int,
    num_permutations: int,
) -> OrderSpread | None:
    if num_orders < 2 or len(values) < 2 * num_orders:
        return None
    rng = np.random.default_rng(seed)
    found = _of_orders(values, figure, num_orders)
    null = np.array(
        [_of_orders(rng.permutation(values), figure, num_orders).std() for _ in range(num_permutations)]
    )
    spread = float(found.std())
    p_value = (1 + int((null >= spread - _ROUNDING).sum())) / (1 + num_permutations)
    return OrderSpread(found, spread, float(np.median(null)), p_value)
