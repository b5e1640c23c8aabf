"""Whether a guide does as well on a data set as on simulations of its model: what its weights witness."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.arrays import as_numbers
from pyroclust.diagnostics.simulations.familiarity import one_p_value, unusualness
from pyroclust.diagnostics.weights.importance import importance_efficiency
from pyroclust.diagnostics.weights.orders import evidences_of_orders

__all__ = ["Witness", "Witnesses", "witnesses"]

_BAD = 0.95


@dataclass(frozen=True)
class Witness:
    """One figure of a guide's draws on a data set, among those on simulated data sets.

    Attributes:
        name: what is measured, as words.
        value: on the data.
        median: on the simulations.
        bad: what the worst twentieth of the simulations begin with.
        num_worse: simulations on which the figure is as bad, or worse.
        p_value: share of data sets, this one included, on which it is as bad.
    """

    name: str
    value: float
    median: float
    bad: float
    num_worse: int
    p_value: float


@dataclass(frozen=True)
class Witnesses:
    """What the weights of a guide's draws on a data set say, beside those on simulations of its model.

    Attributes:
        rows: each figure on its own.
        p_value: of all of them together.
        num_simulations: data sets simulated.
        num_draws: draws of each data set, the same number of all.
        num_points: of each data set: of larger data so many random rows.
    """

    rows: tuple[Witness, ...]
    p_value: float
    num_simulations: int
    num_draws: int
    num_points: int

    def __repr__(self) -> str:
        """Return the p-value."""
        return f"Witnesses(p = {self.p_value:.3f} among {self.num_simulations} simulations)"


def witnesses(log_weights: np.ndarray, *, num_points: int) -> Witnesses:
    r"""Compare a guide's importance weights on a data set with those on simulations of its model.

    The figures are the efficiency of the weights, of which small ones are bad, and the standard deviation of
    the log evidence over visiting orders, of which large ones are:

    .. math::
        p = \frac{1 + \#\{s: t_s \text{ is as bad as } t\}}{1 + S}

    The p-value of both together ranks the larger of their distances from the median, in units of that of the
    95 % quantile, among those of all data sets, as :func:`~pyroclust.diagnostics.familiarity` does. Every
    p-value is exact for data from the model, whatever the guide is worth. So a small one says that the guide
    does worse here than where it was trained, and a large one does not say that it is right: on some data
    sets of its own model a guide is wrong.

    Shape:
        log_weights: ``(S + 1, M, R)``, the data first: R draws by each of M visiting orders.

    Args:
        log_weights: log p(c, x) - log q(c) in nats.
        num_points: of each data set.

    Raises:
        ValueError: if the shape is another, there are fewer than 20 simulations, or a data set has no finite
            weight.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> log_weights = rng.normal(size=(200, 4, 8))
        >>> witnesses(log_weights, num_points=50).p_value > 0.05
        True
        >>> log_weights[0] *= 9
        >>> found = witnesses(log_weights, num_points=50)
        >>> found.p_value, [row.num_worse for row in found.rows]
        (0.005, [0, 0])
    """
    log_weights = as_numbers("log_weights", log_weights)
    if log_weights.ndim != 3 or len(log_weights) < 21 or not log_weights[0].size:
        raise ValueError(
            f"log_weights has shape {log_weights.shape}, expected (S + 1, M, R), the data and at least 20 "
            "simulations with M orders of R draws"
        )
    sets, orders, draws = log_weights.shape
    efficiency = np.array([importance_efficiency(one) for one in log_weights])
    figures = {"the efficiency of the weights": (efficiency, -np.log(efficiency))}
    if orders > 1:
        spread = np.array([_spread(one) for one in log_weights])
        figures["the spread of the log evidence over visiting orders, in nats"] = spread, spread
    badness = [bad for _, bad in figures.values()]
    return Witnesses(
        tuple(_row(name, *both) for name, both in figures.items()),
        one_p_value(np.stack([unusualness(bad, upper_only=True) for bad in badness])),
        num_simulations=sets - 1,
        num_draws=orders * draws,
        num_points=num_points,
    )


def _spread(log_weights: np.ndarray) -> float:
    return float(evidences_of_orders(log_weights.ravel(), num_orders=len(log_weights)).std())


def _row(name: str, values: np.ndarray, badness: np.ndarray) -> Witness:
    as_bad = badness >= badness[0]
    worst = np.argsort(badness[1:], kind="stable")
    return Witness(
        name=name,
        value=float(values[0]),
        median=float(np.median(values[1:])),
        bad=float(values[1:][worst[int(_BAD * len(worst))]]),
        num_worse=int(as_bad[1:].sum()),
        p_value=float(as_bad.mean()),
    )
