"""Whether the visiting order of a guide matters: estimates of the evidence by order, beside chance."""

from dataclasses import dataclass

import numpy as np

from pyroclust.arrays import as_numbers

__all__ = ["OrderSpread", "order_spread"]

# Below the smallest normal number a sum of weights is none.
_VANISHED = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class OrderSpread:
    """How far estimates of log p(x) from equal shares of a guide's draws lie apart, one share an order.

    Attributes:
        log_evidence: by each order alone, ``(M,)`` in nats; where all its weights vanish beside the largest
            of all orders, some 700 nats below that.
        spread: their standard deviation, in nats.
        by_chance: the median of the same where draws are dealt to the orders at random, in nats.
        p_value: how often chance makes it as large.
    """

    log_evidence: np.ndarray
    spread: float
    by_chance: float
    p_value: float

    def __repr__(self) -> str:
        """Return the spread and its p-value."""
        orders = len(self.log_evidence)
        return f"OrderSpread({self.spread:.2f} nats over {orders} orders, p = {self.p_value:.3f})"


def order_spread(
    log_weights: np.ndarray, *, num_orders: int, seed: int, num_permutations: int = 999
) -> OrderSpread | None:
    r"""Compare the evidence by each visiting order with what chance makes of the same weights.

    With :math:`\hat Z_m` the mean weight of the draws of order m, the statistic is the standard deviation of
    :math:`\log \hat Z_m`. Where the order does not matter, draws can be exchanged between the orders,
    whatever the tail of their weights: the p-value is exact. Cost: O(P S) for P permutations.

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
        >>> order_spread(weights, num_orders=4, seed=0).p_value > 0.05
        True
        >>> order_spread(weights + np.repeat([0, 1, 2, 3], 100), num_orders=4, seed=0).p_value
        0.001
    """
    weights = as_numbers("log_weights", log_weights)
    if num_orders < 2 or len(weights) < 2 * num_orders:
        return None
    sizes = np.array([len(part) for part in np.array_split(np.arange(len(weights)), num_orders)])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    largest = weights.max()
    shares = np.exp(weights - largest)

    def by_order(values: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(np.add.reduceat(values, starts), _VANISHED)) - np.log(sizes)

    rng = np.random.default_rng(seed)
    found = by_order(shares)
    null = np.array([by_order(rng.permutation(shares)).std() for _ in range(num_permutations)])
    spread = float(found.std())
    p_value = (1 + int((null >= spread - 1e-9).sum())) / (1 + num_permutations)
    return OrderSpread(found + largest, spread, float(np.median(null)), p_value)
