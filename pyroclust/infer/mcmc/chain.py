"""The state of one compiled chain, as arrays."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions import Component, ConjugateComponent, GammaConcentration
from pyroclust.infer.mcmc.clusters import recompute
from pyroclust.infer.mcmc.hyper_places import NUM_OF_PRIOR, hyper_places
from pyroclust.infer.mcmc.prior_tables import PriorTables, prior_tables, tabulate_prior
from pyroclust.infer.mcmc.protocol import CollapsedModel, compile_family
from pyroclust.partitions import canonical

__all__ = ["Chain", "ChainState", "place", "start_chain"]

# Room for all points alone, and for the two clusters and the empty one that moves try out.
_SPARE_SLOTS = 3


class ChainState(NamedTuple):
    """What a chain remembers between moves.

    Clusters live in N + 3 slots; the first K entries of ``active`` are the slots in use, the others are free.

    Attributes:
        slot_of: slot of each point, ``(N,)``.
        sizes: points in each slot, ``(N + 3,)``.
        active: a permutation of the slots, ``(N + 3,)``.
        counters: number of clusters, sweeps since the sums were rebuilt, ``(2,)``.
        sums: summed moments of each slot, ``(N + 3, F)``.
        weights: scratch space, ``(N + 3,)``.
        members: scratch space for a list of points, ``(N,)``.
        moments: moments of single points, ``(N, F)``.
        log_alone: log prior predictive of single points, ``(N,)``.
    """

    slot_of: np.ndarray
    sizes: np.ndarray
    active: np.ndarray
    counters: np.ndarray
    sums: np.ndarray
    weights: np.ndarray
    members: np.ndarray
    moments: np.ndarray
    log_alone: np.ndarray


class Chain(NamedTuple):
    """One chain: family tables and caches, state, prior tables, random number generator."""

    family: Any
    state: ChainState
    prior: PriorTables
    generator: np.random.Generator


def start_chain(model: CollapsedModel, data: Tensor, generator: np.random.Generator) -> Chain:
    """Build a chain with no partition yet; :func:`place` comes next.

    Args:
        model: the model.
        data: points, ``(N, D)``.
        generator: where the chain takes its randomness from.
    """
    num_points = data.shape[-2]
    points = np.ascontiguousarray(data.detach().cpu().double().numpy())
    known = model.given({name: prior.sample() for name, prior in model.hyperpriors.items()})
    gamma = model.prior if isinstance(model.prior, GammaConcentration) else None
    moments = _moments(model.component, points)
    state = ChainState(
        slot_of=np.zeros(num_points, dtype=np.int64),
        sizes=np.zeros(num_points + _SPARE_SLOTS, dtype=np.int64),
        active=np.arange(num_points + _SPARE_SLOTS),
        counters=np.zeros(2, dtype=np.int64),
        sums=np.zeros((num_points + _SPARE_SLOTS, moments.shape[1])),
        weights=np.zeros(num_points + _SPARE_SLOTS),
        members=np.zeros(num_points, dtype=np.int64),
        moments=moments,
        log_alone=np.zeros(num_points),
    )
    family = compile_family(known.component, points, num_points + _SPARE_SLOTS)
    return Chain(family, state, prior_tables(known.prior, num_points, gamma=gamma), generator)


def _moments(component: Component, points: np.ndarray) -> np.ndarray:
    if not isinstance(component, ConjugateComponent):
        return np.zeros((len(points), 0))
    return np.ascontiguousarray(component.moments(torch.from_numpy(points)).numpy())


def place(chain: Chain, model: CollapsedModel, labels: np.ndarray, hyper: dict[str, float]) -> None:
    """Move a chain to a partition and to values of its hyperparameters, in O(N F)."""
    state, prior = chain.state, chain.prior
    state.slot_of[:] = canonical(torch.from_numpy(labels)).numpy()
    state.sizes[:] = np.bincount(state.slot_of, minlength=len(state.sizes))
    state.active[:] = np.arange(len(state.active))
    state.counters[0] = state.slot_of.max() + 1
    for name, index in hyper_places(model).items():
        if name not in hyper:
            continue
        if index < NUM_OF_PRIOR:
            prior.hyper[index] = hyper[name]
        else:
            chain.family.hyper[index - NUM_OF_PRIOR] = hyper[name]
    if hyper.keys() & model.prior.hyperpriors.keys():
        tabulate_prior(prior)
    recompute(chain.family, state)
