"""A partition prior as arrays that compiled chains work on."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from pyroclust.compiling import inner, lean
from pyroclust.distributions import PartitionPrior

__all__ = [
    "CONCENTRATION",
    "DISCOUNT",
    "PriorTables",
    "log_open",
    "prior_tables",
    "tabulate_prior",
]


DISCOUNT, CONCENTRATION = 0, 1
_ROWS_AT_LEAST = 64


class PriorTables(NamedTuple):
    r"""A Gibbs-type prior :math:`V_N(K) \prod_k w(n_k)` by cluster size and number of clusters.

    Attributes:
        hyper: discount and concentration, where the prior has them, ``(2,)``.
        log_join: log(n - d), the weight of joining a cluster of n points, ``(N + 1,)``.
        log_weight: log w(n), ``(N + 1,)``.
        log_open: log V_N(K + 1) - log V_N(K), one more than there may be clusters.
        filled: how many entries of ``log_open`` are valid, ``(1,)``.
        gamma_shape: shape of the Gamma prior of the concentration; 0 where it has no such prior.
        gamma_rate: its rate.
        fewest: the fewest clusters that there may be.
        most: the most.
    """

    hyper: np.ndarray
    log_join: np.ndarray
    log_weight: np.ndarray
    log_open: np.ndarray
    filled: np.ndarray
    gamma_shape: float
    gamma_rate: float
    fewest: int
    most: int


def prior_tables(
    prior: PartitionPrior,
    num_points: int,
    *,
    most_clusters: int,
    limits: tuple[int, int] | None,
    gamma: PartitionPrior | None,
) -> PriorTables:
    """Tabulate a prior whose hyperparameters are numbers.

    Chinese restaurant and Pitman-Yor priors are tabulated by compiled code, again whenever a move changes
    their hyperparameters; all others through their ``log_v``, once.

    Args:
        prior: the prior, given its hyperparameters.
        num_points: number of points N.
        most_clusters: how many clusters there can be, at most N.
        limits: the fewest and the most that there may be; None for any number.
        gamma: the prior with hyperparameters ``shape`` and ``rate`` that integrates the concentration out, if
            it has a Gamma prior.
    """
    sizes = torch.arange(1, num_points + 1)
    fewest, most = limits or (1, most_clusters)
    most = min(most, most_clusters)
    tables = PriorTables(
        hyper=np.zeros(2),
        log_join=np.append(-np.inf, (sizes - prior.block_discount).log().numpy()),
        log_weight=np.append(0.0, prior.log_block_weight(sizes).numpy()),
        log_open=np.full(most_clusters + 1, -np.inf),
        filled=np.zeros(1, dtype=np.int64),
        gamma_shape=0.0 if gamma is None else float(gamma.value("shape")),
        gamma_rate=0.0 if gamma is None else float(gamma.value("rate")),
        fewest=fewest,
        most=most,
    )
    if prior.is_pitman_yor:
        tables.hyper[:] = [float(prior.block_discount), float(prior.value("concentration"))]
    else:
        clusters = sizes[: most_clusters - 1]
        tables.log_open[1:-1] = prior.log_opening_odds(num_points - 1, clusters).numpy()
        tables.filled[0] = most_clusters + 1
    return tables


@lean
def tabulate_prior(prior: Any) -> None:
    """Recompute all tables from ``prior.hyper`` after a move has changed the discount."""
    discount = prior.hyper[DISCOUNT]
    one = math.lgamma(1.0 - discount)
    for size in range(1, len(prior.log_join)):
        prior.log_join[size] = math.log(size - discount)
        prior.log_weight[size] = math.lgamma(size - discount) - one
    prior.filled[0] = 0


@inner
def log_open(prior: Any, num_clusters: int) -> float:
    """Return the log weight of a new cluster beside others; the table grows when it is asked for more.

    Beside as many as there may be it is minus infinity.
    """
    if num_clusters >= prior.most:
        return -math.inf
    filled = prior.filled[0]
    if num_clusters >= filled:
        width = min(max(2 * num_clusters, _ROWS_AT_LEAST), len(prior.log_open))
        for k in range(filled, width):
            prior.log_open[k] = math.log(prior.hyper[CONCENTRATION] + k * prior.hyper[DISCOUNT])
        prior.filled[0] = width
    return prior.log_open[num_clusters]
