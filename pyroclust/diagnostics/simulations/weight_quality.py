"""Whether a guide does as well on a data set as on simulations of its model: what its weights witness."""

from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import as_numbers
from pyroclust.diagnostics.simulations.familiarity import joint_p_value, unusualness
from pyroclust.diagnostics.weights.importance import importance_efficiency
from pyroclust.diagnostics.weights.orders import evidences_of_orders

_BAD = 0.95


@dataclass(frozen=True)
class WeightFigure:
    """One figure of a guide's draws on a data set, among those on simulated data sets."""

    name: str
    value: float
    median: float
    bad: float
    num_worse: int
    p_value: float


@dataclass(frozen=True)
class WeightQuality:
    """What the weights of a guide's draws on a data set say, beside those on simulations of its model."""

    rows: tuple[WeightFigure, ...]
    p_value: float
    num_simulations: int
    num_draws: int
    num_points: int

    def __repr__(self) -> str:
        return f"WeightQuality(p = {self.p_value:.3f} among {self.num_simulations} simulations)"


def weight_quality(log_weights: np.ndarray, *, num_points: int) -> WeightQuality:
    """Compare a guide's importance weights on a data set with those on simulations of its model."""
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
    return WeightQuality(
        tuple(_row(name, *both) for name, both in figures.items()),
        joint_p_value(np.stack([unusualness(bad, upper_only=True) for bad in badness])),
        num_simulations=sets - 1,
        num_draws=orders * draws,
        num_points=num_points,
    )


def _spread(log_weights: np.ndarray) -> float:
    return float(evidences_of_orders(log_weights.ravel(), num_orders=len(log_weights)).std())


def _row(name: str, values: np.ndarray, badness: np.ndarray) -> WeightFigure:
    as_bad = badness >= badness[0]
    worst = np.argsort(badness[1:], kind="stable")
    return WeightFigure(
        name=name,
        value=float(values[0]),
        median=float(np.median(values[1:])),
        bad=float(values[1:][worst[int(_BAD * len(worst))]]),
        num_worse=int(as_bad[1:].sum()),
        p_value=float(as_bad.mean()),
    )
