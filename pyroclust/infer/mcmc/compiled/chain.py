"""The state of one compiled chain, as arrays, and the compiled operations on its clusters."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.compiled.protocol import (
    Family,
    family_of,
    join_families,
    log_marginal,
    log_predictive,
    refresh,
    tabulate,
)
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.prior_tables import (
    CONCENTRATION,
    DISCOUNT,
    NUM_OF_PRIOR,
    WEIGHT,
    PriorTables,
    draw_components,
    prior_tables,
    tabulate_prior,
)
from pyroclust.infer.mcmc.compiled.steps import (
    step_of,
)
from pyroclust.partitions import canonical

__all__ = [
    "LINKED",
    "Chain",
    "ChainState",
    "Linked",
    "RebuildSums",
    "accumulate",
    "hyper_places",
    "join",
    "leave",
    "log_likelihood",
    "move_point",
    "place",
    "rebuild",
    "recompute",
    "start_chain",
    "write_labels",
]


def hyper_places(model: CollapsedModel) -> dict[str, int]:
    """Return the places of hyperparameters by name: the prior's, then the family's.

    Of the prior only random ones are named; a name that both have is the prior's where it is random there.
    """
    of_prior = {"discount": DISCOUNT, "concentration": CONCENTRATION, "weight_concentration": WEIGHT}
    of_family = {name: NUM_OF_PRIOR + index for index, name in enumerate(model.component.hyper_names)}
    return of_family | {name: of_prior[name] for name in model.prior.hyperpriors if name in of_prior}


@inner
def accumulate(state: Any, point: int, slot: int, sign: float) -> None:
    """Add the moments of a point to a slot, or take them away."""
    for f in range(state.moments.shape[1]):
        state.sums[slot, f] += sign * state.moments[point, f]


@inner
def rebuild(family: Any, state: Any) -> None:
    """Sum the moments of every cluster from scratch and refresh its cache, in O(G F)."""
    num_active = state.counters[0]
    for j in range(num_active):
        for f in range(state.sums.shape[1]):
            state.sums[state.active[j], f] = 0.0
    for i in range(len(state.slot_of)):
        accumulate(state, i, state.slot_of[i], 1.0)
    for j in range(num_active):
        refresh(family, state.sums, state.active[j], state.sizes[state.active[j]])
    state.counters[1] = 0


# Steps between two rebuilds of the running sums; at 2e-16 a move the drift stays below 1e-12 of the sums.
REBUILD_EVERY = 100


class RebuildSums(NamedTuple):
    """End a step: rebuild the running sums every hundredth time."""


@step_of(RebuildSums)
def _rebuild_in_time(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    state.counters[1] += 1
    if state.counters[1] >= REBUILD_EVERY:
        rebuild(family, state)


@compiled(allocates=False)
def recompute(family: Any, state: Any) -> None:
    """Recompute all that depends on the hyperparameters of the family, in O(G F)."""
    tabulate(family)
    empty = state.active[state.counters[0]]
    for f in range(state.sums.shape[1]):
        state.sums[empty, f] = 0.0
    # A number that is written here would have numba compile the functions for that number alone.
    size = state.sizes[empty]
    refresh(family, state.sums, empty, size)
    for i in range(len(state.slot_of)):
        if state.weight[i] == 1:
            state.log_alone[i] = log_predictive(family, i, empty, size)
    # Only now: marginals may write to the cache of the empty slot.
    for i in range(len(state.slot_of)):
        if state.weight[i] > 1:
            for f in range(state.sums.shape[1]):
                state.sums[empty, f] = state.moments[i, f]
            state.log_alone[i] = log_marginal(family, state.sums, empty, state.weight[i])
    rebuild(family, state)


@inner
def leave(family: Any, state: Any, point: int, slot: int) -> None:
    """Take a point out of its slot; an empty slot becomes free."""
    state.sizes[slot] -= 1
    if state.sizes[slot] > 0:
        accumulate(state, point, slot, -1.0)
        refresh(family, state.sums, slot, state.sizes[slot])
        return
    state.counters[0] -= 1
    last = state.counters[0]
    for j in range(last):
        if state.active[j] == slot:
            state.active[j], state.active[last] = state.active[last], slot
            break


@inner
def join(family: Any, state: Any, point: int, slot: int) -> None:
    """Put a point into a slot; an empty slot must be the first free one, ``active[K]``."""
    if state.sizes[slot] == 0:
        for f in range(state.sums.shape[1]):
            state.sums[slot, f] = 0.0
        state.counters[0] += 1
    state.sizes[slot] += 1
    accumulate(state, point, slot, 1.0)
    refresh(family, state.sums, slot, state.sizes[slot])


@inner
def move_point(family: Any, state: Any, point: int, slot: int) -> None:
    """Move a point to another slot: joining first, since leaving may reorder the active slots."""
    own = state.slot_of[point]
    join(family, state, point, slot)
    leave(family, state, point, own)
    state.slot_of[point] = slot


@inner
def log_likelihood(family: Any, state: Any) -> float:
    """Return the log marginal likelihood of all clusters together in nats, in O(K F)."""
    total = 0.0
    for j in range(state.counters[0]):
        slot = state.active[j]
        total += log_marginal(family, state.sums, slot, state.sizes[slot])
    return total


@inner
def write_labels(state: Any, assignments: np.ndarray, draw: int) -> None:
    """Write the canonical labels of a chain into a row, in O(N + K)."""
    for j in range(state.counters[0]):
        state.weights[state.active[j]] = -1.0
    following = 0
    for i in range(len(state.row_of)):
        slot = state.slot_of[state.row_of[i]]
        if state.weights[slot] < 0.0:
            state.weights[slot] = following
            following += 1
        assignments[draw, i] = int(state.weights[slot])


class Linked(NamedTuple):
    """Functions of families whose clusters bear on one another, of the family and the state.

    Attributes:
        count: computes what is known of every cluster from the slots of the points.
        log_likelihood: of all clusters together, in nats.
    """

    count: Any
    log_likelihood: Any


LINKED: dict[type, Linked] = {}
"""By the kind of their named tuple."""

# Room for all points alone, and for the two clusters and the empty one that moves try out.
_SPARE_SLOTS = 3


class ChainState(NamedTuple):
    """What a chain remembers between moves.

    It moves G rows: the points, or groups of points that belong together and stand for as many as their
    weights say. Clusters live in G + 3 slots; the first K entries of ``active`` are the slots in use, the
    others are free.

    Attributes:
        row_of: row of each point, ``(N,)``.
        weight: how many points each row stands for, ``(G,)``.
        slot_of: slot of each row, ``(G,)``.
        sizes: points in each slot, ``(G + 3,)``.
        active: a permutation of the slots, ``(G + 3,)``.
        counters: number of clusters, steps since the sums were rebuilt, ``(2,)``.
        sums: summed moments of each slot, ``(G + 3, F)``.
        fits: scratch space for log marginals of slots, ``(G + 3,)``.
        weights: scratch space, ``(G + 3,)``.
        members: scratch space for a list of rows, ``(G,)``.
        moments: summed moments of each row, ``(G, F)``.
        log_alone: log prior predictive of each row, ``(G,)``.
    """

    row_of: np.ndarray
    weight: np.ndarray

    slot_of: np.ndarray
    sizes: np.ndarray
    active: np.ndarray
    counters: np.ndarray
    sums: np.ndarray
    fits: np.ndarray
    weights: np.ndarray
    members: np.ndarray
    moments: np.ndarray
    log_alone: np.ndarray


class Chain:
    """One chain, with the addresses at which compiled functions find it.

    Args:
        family: the component family, or what stands for one whose clusters bear on one another.
        state: where the chain is.
        prior: tables of the prior.
        generator: random number generator.

    Attributes:
        own_at: address of ``family``.
        family_at: the same, or of no family at all.
    """

    def __init__(
        self, family: Any, state: ChainState, prior: PriorTables, generator: np.random.Generator
    ) -> None:
        self.family: Family = family if isinstance(family, Family) else join_families([], [])
        self.state, self.prior, self.generator = state, prior, generator
        self.family_at, self.state_at, self.prior_at = Address(self.family), Address(state), Address(prior)
        self.own_at = self.family_at if family is self.family else Address(family)


def start_chain(
    model: CollapsedModel, data: Tensor, generator: np.random.Generator, *, power: float = 1.0
) -> Chain:
    """Build a chain with no partition yet; :func:`place` comes next.

    Args:
        model: the model.
        data: points, ``(N, D)``.
        generator: where the chain takes its randomness from.
        power: of the likelihood.
    """
    points = np.ascontiguousarray(data.detach().cpu().double().numpy())
    row_of, first, weight, moments = _rows(model, points)
    num_rows, num_points = len(weight), int(weight.sum())
    known = model.given({name: prior.sample() for name, prior in model.hyperpriors.items()})
    gamma = model.prior if "concentration" in model.prior.integrated_names else None
    num_slots = num_rows + _SPARE_SLOTS
    state = ChainState(
        row_of=row_of,
        weight=weight,
        slot_of=np.zeros(num_rows, dtype=np.int64),
        sizes=np.zeros(num_slots, dtype=np.int64),
        active=np.arange(num_slots),
        counters=np.zeros(2, dtype=np.int64),
        sums=np.zeros((num_slots, moments.shape[1])),
        fits=np.zeros(num_slots),
        weights=np.zeros(num_slots),
        members=np.zeros(num_rows, dtype=np.int64),
        moments=moments,
        log_alone=np.zeros(num_rows),
    )
    family = family_of(known.component, points[first], num_slots, num_points)
    if power != 1.0:
        family.power[0] = power
    limits = None if model.constraints is None else model.constraints.clusters
    prior = prior_tables(
        known.prior,
        num_points,
        most_clusters=num_rows,
        limits=limits,
        gamma=gamma,
        log_numbers=model.prior.log_drawn_components(num_points),
    )
    return Chain(family, state, prior, generator)


def _rows(model: CollapsedModel, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the row of each point; and of each row its first point, its weight and its summed moments."""
    num_points, component = len(points), model.component
    weight, moments = np.ones(num_points, dtype=np.int64), np.zeros((num_points, 0))
    if isinstance(component, ConjugateComponent):
        moments = np.ascontiguousarray(component.moments(torch.from_numpy(points)).numpy())
    if model.row_weights is not None:
        weight = model.row_weights.numpy().copy()
        moments = weight[:, None] * moments
    if model.constraints is None:
        every = np.arange(num_points)
        return every, every, weight, moments
    known = model.constraints.over(num_points)
    row_of, num_rows = known.groups.numpy().copy(), known.num_groups
    of_row, summed = np.zeros(num_rows, dtype=np.int64), np.zeros((num_rows, moments.shape[1]))
    np.add.at(of_row, row_of, weight)
    np.add.at(summed, row_of, moments)
    return row_of, known.first.numpy(), of_row, summed


@compiled
def _draw_anew(state: Any, prior: Any, generator: Any) -> None:
    draw_components(state, prior, -np.inf, generator)


def place(
    chains: Sequence[Chain],
    model: CollapsedModel,
    *,
    assignments: Tensor,
    hyperparameters: Mapping[str, Tensor],
) -> None:
    """Move chains to partitions and to values of their hyperparameters, in O(N + G F) each.

    Args:
        chains: C of them.
        model: theirs.
        assignments: labels, ``(C, N)``.
        hyperparameters: values of those that are not to stay as they are, ``(C,)`` each.
    """
    labels = canonical(assignments).cpu().numpy()
    known = hyper_places(model)
    values = {known[name]: one.tolist() for name, one in hyperparameters.items() if name in known}
    is_of_prior = bool(hyperparameters.keys() & model.prior.hyperpriors.keys())
    for index, chain in enumerate(chains):
        state = chain.state
        state.slot_of[state.row_of] = labels[index]
        state.sizes[:] = np.bincount(state.slot_of, weights=state.weight, minlength=len(state.sizes))
        state.active[:] = np.arange(len(state.active))
        state.counters[0] = labels[index].max() + 1
        for where, one in values.items():
            if where < NUM_OF_PRIOR:
                chain.prior.hyper[where] = one[index]
            else:
                chain.family.hyper[where - NUM_OF_PRIOR] = one[index]
        if len(chain.prior.log_components):
            _draw_anew(chain.state_at, chain.prior_at, chain.generator)
        elif is_of_prior:
            tabulate_prior(chain.prior_at)
        recompute(chain.family_at, chain.state_at)
        if type(chain.own_at.content) in LINKED:
            LINKED[type(chain.own_at.content)].count(chain.own_at, chain.state_at)
