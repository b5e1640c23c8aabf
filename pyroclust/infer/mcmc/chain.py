"""The state of one chain and the tables of the prior, as arrays that compiled code works on."""

from typing import NamedTuple, cast

import numpy as np
import torch
from scipy.special import gammaln
from torch import Tensor

from pyroclust.distributions import GammaConcentration
from pyroclust.infer.mcmc.protocol import CollapsedModel, compile_family
from pyroclust.infer.mcmc.sweep import NUM_COUNTERS, rebuild
from pyroclust.partitions import canonical

__all__ = ["Chain", "ChainState", "PriorTables", "place", "start_chain"]


class PriorTables(NamedTuple):
    r"""A Gibbs-type prior :math:`V_N(K) \prod_k \Gamma(n_k)` by cluster size and number of clusters.

    Attributes:
        log_size: log n, the weight of joining a cluster of n points, ``(N + 1,)``.
        log_gamma: log Gamma(n), ``(N + 1,)``.
        log_new: log weight of a new cluster beside K others, alpha apart where random, ``(N + 1,)``.
        log_v: log V_N(K) with a random concentration integrated out, ``(N + 1,)``.
        gamma_shape: shape of the Gamma prior of the concentration; 0 where the concentration is not sampled.
        gamma_rate: its rate.
    """

    log_size: np.ndarray
    log_gamma: np.ndarray
    log_new: np.ndarray
    log_v: np.ndarray
    gamma_shape: float
    gamma_rate: float


class ChainState(NamedTuple):
    """What a chain remembers between sweeps.

    Clusters live in N + 1 slots; the first K entries of ``active`` are the slots in use, the others are free.

    Attributes:
        slot_of: slot of each point, ``(N,)``.
        sizes: points in each slot, ``(N + 1,)``.
        active: a permutation of the slots, ``(N + 1,)``.
        counters: number of clusters, sweeps since the sums were rebuilt, ``(2,)``.
        log_concentration: log alpha, 0 where the concentration is not sampled, ``(1,)``.
        sums: summed moments of each slot, ``(N + 1, F)``.
        weights: scratch space, ``(N + 1,)``.
        moments: moments of single points, ``(N, F)``.
        log_alone: log prior predictive of single points, ``(N,)``.
    """

    slot_of: np.ndarray
    sizes: np.ndarray
    active: np.ndarray
    counters: np.ndarray
    log_concentration: np.ndarray
    sums: np.ndarray
    weights: np.ndarray
    moments: np.ndarray
    log_alone: np.ndarray


class Chain(NamedTuple):
    """One chain: family tables and caches, state, prior tables, random number generator."""

    family: NamedTuple
    state: ChainState
    prior: PriorTables
    generator: np.random.Generator


def prior_tables(model: CollapsedModel, num_points: int) -> PriorTables:
    """Tabulate the prior of a model for N points."""
    size = np.arange(1, num_points + 1, dtype=np.float64)
    log_v = model.prior.log_v(num_points, torch.arange(1, num_points + 1)).numpy()
    sampled = isinstance(model.prior, GammaConcentration)
    log_new = np.zeros(num_points) if sampled else np.append(np.diff(log_v), -np.inf)
    return PriorTables(
        log_size=np.append(-np.inf, np.log(size)),
        log_gamma=np.append(0.0, gammaln(size)),
        log_new=np.append(-np.inf, log_new),
        log_v=np.append(-np.inf, log_v),
        gamma_shape=cast(GammaConcentration, model.prior).shape if sampled else 0.0,
        gamma_rate=cast(GammaConcentration, model.prior).rate if sampled else 0.0,
    )


def start_chain(
    model: CollapsedModel, data: Tensor, start: np.ndarray, generator: np.random.Generator
) -> Chain:
    """Build a chain at a partition, the concentration drawn from its prior.

    Args:
        model: the collapsed model.
        data: points, ``(N, D)``.
        start: labels of the first partition, ``(N,)``.
        generator: where the chain takes its randomness from; it is advanced.
    """
    num_points = data.shape[-2]
    points = np.ascontiguousarray(data.detach().cpu().double().numpy())
    prior = prior_tables(model, num_points)
    moments = np.ascontiguousarray(model.component.moments(torch.from_numpy(points)).numpy())
    alone = model.component.log_predictive(
        torch.from_numpy(points), model.component.prior_predictive_parameters()
    )
    state = ChainState(
        slot_of=np.zeros(num_points, dtype=np.int64),
        sizes=np.zeros(num_points + 1, dtype=np.int64),
        active=np.arange(num_points + 1),
        counters=np.zeros(NUM_COUNTERS, dtype=np.int64),
        log_concentration=np.zeros(1),
        sums=np.zeros((num_points + 1, moments.shape[1])),
        weights=np.zeros(num_points + 1),
        moments=moments,
        log_alone=np.ascontiguousarray(alone.numpy()),
    )
    chain = Chain(compile_family(model.component, points, num_points + 1), state, prior, generator)
    sampled = prior.gamma_shape > 0
    place(chain, start, generator.gamma(prior.gamma_shape, 1.0 / prior.gamma_rate) if sampled else 1.0)
    return chain


def place(chain: Chain, labels: np.ndarray, concentration: float) -> None:
    """Move a chain to a partition and a concentration (1 where the concentration is not sampled)."""
    state = chain.state
    state.slot_of[:] = canonical(torch.from_numpy(labels)).numpy()
    state.sizes[:] = np.bincount(state.slot_of, minlength=len(state.sizes))
    state.active[:] = np.arange(len(state.active))
    state.counters[0] = state.slot_of.max() + 1
    state.log_concentration[0] = np.log(max(concentration, np.finfo(np.float64).tiny))
    rebuild(chain.family, state)
