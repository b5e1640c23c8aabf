"""A partition prior as arrays that compiled chains work on."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions import PartitionPrior

DISCOUNT, CONCENTRATION, WEIGHT, NUM_COMPONENTS = range(4)
NUM_OF_PRIOR = 4
_ROWS_AT_LEAST = 64


class PriorTables(NamedTuple):
    r"""A Gibbs-type prior :math:`V_N(K) \prod_k w(n_k)` by cluster size and number of clusters.

    Attributes:
        hyper: discount and concentration, where the prior has them; where components are drawn, also the
            Dirichlet weight of each and their number, ``(4,)``.
        log_join: log(n - d), the weight of joining a cluster of n points, ``(N + 1,)``.
        log_weight: log w(n), ``(N + 1,)``.
        log_open: log V_N(K + 1) - log V_N(K), one more than there may be clusters.
        filled: how many entries of ``log_open`` are valid, ``(1,)``.
        discount: the discount of the tables by size, nan before compiled code has filled them, ``(1,)``.
        gamma_shape: shape of the Gamma prior of the concentration; 0 where it has no such prior.
        gamma_rate: its rate.
        fewest: the fewest clusters that there may be.
        most: the most.
        log_components: log p(M) for M = 0, ..., T; empty where no number of components is drawn.
        log_highest: the largest of those from M on, ``(T + 1,)``.
        keeps_concentration: whether a drawn number of components changes their weights rather than the sum.
    """

    hyper: np.ndarray
    log_join: np.ndarray
    log_weight: np.ndarray
    log_open: np.ndarray
    filled: np.ndarray
    discount: np.ndarray
    gamma_shape: float
    gamma_rate: float
    fewest: int
    most: int
    log_components: np.ndarray
    log_highest: np.ndarray
    keeps_concentration: bool


def prior_tables(
    prior: PartitionPrior,
    num_points: int,
    *,
    most_clusters: int,
    limits: tuple[int, int] | None,
    gamma: PartitionPrior | None,
    log_numbers: Tensor | None,
) -> PriorTables:
    """Tabulate a prior whose hyperparameters are numbers.

    Chinese restaurant and Pitman-Yor priors are tabulated by compiled code, again whenever a move changes
    their hyperparameters; all others through their ``log_v``, once. ``most_clusters`` is how many clusters
    there can be, ``limits`` how many there may be. ``gamma`` is the prior with a Gamma concentration
    integrated out, ``log_numbers`` log p(M) for M = 1, ... where chains draw the number of components.
    """
    log_components, keeps_concentration = np.zeros(0), False
    if log_numbers is not None:
        log_components = np.append(-np.inf, log_numbers.detach().numpy())
        # The number is drawn where a chain is placed.
        keeps_concentration = "concentration" in prior.hyper_names
        prior = prior.with_components(torch.tensor(1))
    sizes = torch.arange(1, num_points + 1)
    fewest, most = limits or (1, most_clusters)
    most = min(most, most_clusters)
    tables = PriorTables(
        hyper=np.zeros(NUM_OF_PRIOR),
        log_join=np.append(-np.inf, (sizes - prior.block_discount).log().numpy()),
        log_weight=np.append(0.0, prior.log_block_weight(sizes).numpy()),
        log_open=np.full(most_clusters + 1, -np.inf),
        filled=np.zeros(1, dtype=np.int64),
        discount=np.full(1, np.nan),
        gamma_shape=0.0 if gamma is None else float(gamma.value("shape")),
        gamma_rate=0.0 if gamma is None else float(gamma.value("rate")),
        fewest=fewest,
        most=most,
        log_components=log_components,
        log_highest=np.maximum.accumulate(log_components[::-1])[::-1].copy(),
        keeps_concentration=keeps_concentration,
    )
    if log_numbers is not None:
        weight = -float(prior.block_discount)
        tables.hyper[:] = [-weight, weight, weight, 1.0]
    elif prior.is_pitman_yor:
        tables.hyper[:2] = [float(prior.block_discount), float(prior.value("concentration"))]
    else:
        clusters = sizes[: most_clusters - 1]
        tables.log_open[1:-1] = prior.log_opening_odds(num_points - 1, clusters).numpy()
        tables.filled[0] = most_clusters + 1
    return tables


@compiled(allocates=False)
def tabulate_prior(prior: Any) -> None:
    """Bring all tables in line with ``prior.hyper`` after a move has changed it."""
    discount = prior.hyper[DISCOUNT]
    prior.filled[0] = 0
    if prior.discount[0] == discount:
        return
    prior.discount[0] = discount
    one = math.lgamma(1.0 - discount)
    for size in range(1, len(prior.log_join)):
        prior.log_join[size] = math.log(size - discount)
        prior.log_weight[size] = math.lgamma(size - discount) - one


@inner
def _opening_weight(prior: Any, num_clusters: int) -> float:
    """Return the weight of a new cluster beside others; not above 0 where there is no component left."""
    if prior.hyper[NUM_COMPONENTS] > 0.0:
        return prior.hyper[WEIGHT] * (prior.hyper[NUM_COMPONENTS] - num_clusters)
    return prior.hyper[CONCENTRATION] + num_clusters * prior.hyper[DISCOUNT]


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
            weight = _opening_weight(prior, k)
            prior.log_open[k] = math.log(weight) if weight > 0.0 else -math.inf
        prior.filled[0] = width
    return prior.log_open[num_clusters]


@inner
def set_weight(prior: Any) -> None:
    """Bring the others in line after the number of components, or what it keeps, has changed."""
    components = prior.hyper[NUM_COMPONENTS]
    if components > 0.0:
        if prior.keeps_concentration:
            prior.hyper[WEIGHT] = prior.hyper[CONCENTRATION] / components
        else:
            prior.hyper[CONCENTRATION] = components * prior.hyper[WEIGHT]
        prior.hyper[DISCOUNT] = -prior.hyper[WEIGHT]


@inner
def log_prior_of_partition(state: Any, prior: Any) -> float:
    """Return the log-probability of the partition under the prior with ``prior.hyper``, in O(K)."""
    discount, concentration = prior.hyper[DISCOUNT], prior.hyper[CONCENTRATION]
    num_points, num_active = len(prior.log_join) - 1, state.counters[0]
    total = math.lgamma(concentration + 1.0) - math.lgamma(concentration + num_points)
    total -= num_active * math.lgamma(1.0 - discount)
    for j in range(num_active):
        if j > 0:
            weight = _opening_weight(prior, j)
            if weight <= 0.0:
                return -math.inf
            total += math.log(weight)
        total += math.lgamma(state.sizes[state.active[j]] - discount)
    return total


@inner
def draw_components(state: Any, prior: Any, level: float, generator: Any) -> None:
    """Draw the number of components given the partition: anew, or in the slice of its law above a level.

    Each in turn takes the place of what was chosen before with the chance that its weight has so far. Beside
    more clusters than there can be components it is the most there can be.
    """
    chosen, total = float(len(prior.log_components) - 1), -math.inf
    for m in range(state.counters[0], len(prior.log_components)):
        if prior.log_highest[m] < level:
            break
        if prior.log_components[m] == -math.inf or prior.log_components[m] < level:
            continue
        prior.hyper[NUM_COMPONENTS] = m
        set_weight(prior)
        log_weight = log_prior_of_partition(state, prior)
        if level == -math.inf:
            log_weight += prior.log_components[m]
        high, low = max(total, log_weight), min(total, log_weight)
        total = high + math.log1p(math.exp(low - high))
        if math.log(1.0 - generator.random()) < log_weight - total:
            chosen = float(m)
    prior.hyper[NUM_COMPONENTS] = chosen
    set_weight(prior)
    tabulate_prior(prior)
