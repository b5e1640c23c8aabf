"""Whether the visiting order of a guide matters: what the draws of each order say, beside chance."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import as_numbers

# Below the smallest normal number a sum of weights is none.
_VANISHED = np.finfo(np.float64).tiny
# Sums of the same numbers in another order differ by less.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class OrderSpread:
    """How far a figure of equal shares of a guide's draws lies apart, one share an order."""

    by_order: np.ndarray
    spread: float
    by_chance: float
    p_value: float

    def __repr__(self) -> str:
        return f"OrderSpread({self.spread:.2f} over {len(self.by_order)} orders, p = {self.p_value:.3f})"


def evidence_by_order(
    log_weights: np.ndarray, *, num_orders: int, seed: int, num_permutations: int = 999
) -> OrderSpread | None:
    """Compare the evidence by each visiting order with what chance makes of the same weights."""
    return _spread(*_log_means(log_weights), num_orders, seed, num_permutations)


def evidences_of_orders(log_weights: np.ndarray, *, num_orders: int) -> np.ndarray:
    """Return the log evidence by each visiting order alone, ``(M,)`` in nats, as above."""
    return _of_orders(*_log_means(log_weights), num_orders)


def mean_by_order(
    values: np.ndarray, *, num_orders: int, seed: int, num_permutations: int = 999
) -> OrderSpread | None:
    """Compare the mean of a functional by each visiting order with what chance makes of the same draws."""
    return _spread(as_numbers("values", values), lambda means: means, num_orders, seed, num_permutations)


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
    values: np.ndarray, figure: _Figure, num_orders: int, seed: int, num_permutations: int
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
