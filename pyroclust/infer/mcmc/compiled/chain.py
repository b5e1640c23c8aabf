"""The state of one compiled chain, as arrays, and the compiled operations on its clusters."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.compiled.protocol import (
    ROWS_AT_ONCE,
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
from pyroclust.partitions import canonical

STEPS: dict[tuple[type, type | None], Any] = {}
"""Compiled steps by the kind of move and the kind of family that they are for, or None for all others.

They take pointers to the move, the family, the state and the prior, and a random number generator.
"""


def step_of(kind: type, family: type | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function, which must not allocate arrays, as the step of a kind of move."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        STEPS[kind, family] = inner(function)
        return function

    return register


class Linked(NamedTuple):
    """Of families whose clusters bear on one another: how to count them anew, and their log-likelihood."""

    count: Any
    log_likelihood: Any


LINKED: dict[type, Linked] = {}
"""Compiled functions of such a family and the state, by the kind of family."""

# Room for all rows alone, and for the two clusters and the empty one that moves try out.
_SPARE_SLOTS = 3


class ChainState(NamedTuple):
    """Where a chain is.

    It moves G rows: points, or groups of points that belong together and stand for as many as their weights
    say. Clusters live in G + 3 slots; the first K entries of ``active`` are the slots in use, the others are
    free.

    Attributes:
        row_of: row of each point, ``(N,)``.
        weight: how many points each row stands for, ``(G,)``.
        rivals_begin: where the rows begin in ``rivals`` that may not share a cluster with each, ``(G + 1,)``.
        rivals: these rows.
        slot_of: slot of each row, ``(G,)``.
        sizes: points in each slot, ``(G + 3,)``.
        active: a permutation of the slots, ``(G + 3,)``.
        counters: number of clusters, steps since the sums were rebuilt, and whether ``log_alone`` waits to be
            computed anew, ``(3,)``.
        sums: summed moments of each slot, ``(G + 3, F)``.
        fits: log marginals of slots, nan where they are not known, ``(G + 3,)``.
        weights: scratch space, ``(G + 3,)``.
        members: scratch space for a list of rows, ``(G,)``.
        moments: summed moments of each row, ``(G, F)``.
        log_alone: log prior predictive of each row, ``(G,)``.
        rows: scratch space for the numbers of some rows, ``(64,)``.
        densities: scratch space for their log weights in clusters, ``(G + 3, 64)``.
    """

    row_of: np.ndarray
    weight: np.ndarray
    rivals_begin: np.ndarray
    rivals: np.ndarray
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
    rows: np.ndarray
    densities: np.ndarray


@inner
def accumulate(state: Any, row: int, slot: int, sign: float) -> None:
    """Add the moments of a row to a slot, or take them away."""
    for f in range(state.moments.shape[1]):
        state.sums[slot, f] += sign * state.moments[row, f]


@inner
def empty(state: Any, slot: int) -> None:
    """Set the summed moments of a slot to zero."""
    for f in range(state.sums.shape[1]):
        state.sums[slot, f] = 0.0


@inner
def put(family: Any, state: Any, row: int, slot: int) -> None:
    """Add a row to the size and the moments of a slot; who is in which slot does not change."""
    state.sizes[slot] += state.weight[row]
    accumulate(state, row, slot, 1.0)
    refresh(family, state.sums, slot, state.sizes[slot])
    state.fits[slot] = np.nan


@inner
def take(family: Any, state: Any, row: int, slot: int) -> None:
    """Take a row away from the size and the moments of a slot that keeps others."""
    state.sizes[slot] -= state.weight[row]
    accumulate(state, row, slot, -1.0)
    refresh(family, state.sums, slot, state.sizes[slot])
    state.fits[slot] = np.nan


@inner
def join(family: Any, state: Any, row: int, slot: int) -> None:
    """Put a row into a slot; an empty slot must be the first free one, ``active[K]``."""
    if state.sizes[slot] == 0:
        empty(state, slot)
        state.counters[0] += 1
    put(family, state, row, slot)


@inner
def release(state: Any, slot: int) -> None:
    """Free the slot of a cluster that is no more."""
    state.sizes[slot] = 0
    state.counters[0] -= 1
    last = state.counters[0]
    for j in range(last):
        if state.active[j] == slot:
            state.active[j], state.active[last] = state.active[last], slot
            return


@inner
def move_row(family: Any, state: Any, row: int, slot: int) -> None:
    """Move a row to another slot: joining first, since leaving may reorder the active slots."""
    before = state.slot_of[row]
    join(family, state, row, slot)
    if state.sizes[before] == state.weight[row]:
        release(state, before)
    else:
        take(family, state, row, before)
    state.slot_of[row] = slot


@inner
def rebuild(family: Any, state: Any) -> None:
    """Sum the moments of every cluster from scratch and refresh its cache, in O(G F)."""
    num_active = state.counters[0]
    for j in range(num_active):
        empty(state, state.active[j])
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


@inner
def empty_free_slot(family: Any, state: Any) -> int:
    """Bring the first free slot into the state of an empty cluster, and return it."""
    free: int = state.active[state.counters[0]]
    empty(state, free)
    # A number that is written here would have numba compile the functions for that number alone.
    refresh(family, state.sums, free, state.sizes[free])
    return free


@inner
def weigh_alone(family: Any, state: Any) -> None:
    """Compute the prior predictives of all rows, in O(G F), unless they are known."""
    if state.counters[2] == 0:
        return
    state.counters[2] = 0
    free = empty_free_slot(family, state)
    size = state.sizes[free]
    for i in range(len(state.slot_of)):
        if state.weight[i] == 1:
            state.log_alone[i] = log_predictive(family, i, free, size)
    # Only now: marginals may write to the cache of the empty slot.
    for i in range(len(state.slot_of)):
        if state.weight[i] > 1:
            for f in range(state.sums.shape[1]):
                state.sums[free, f] = state.moments[i, f]
            state.log_alone[i] = log_marginal(family, state.sums, free, state.weight[i])


@inner
def follow_hyperparameters(family: Any, state: Any) -> None:
    """Recompute what depends on the hyperparameters of the family in O(K F); rows alone wait for a sweep."""
    tabulate(family)
    for j in range(state.counters[0]):
        refresh(family, state.sums, state.active[j], state.sizes[state.active[j]])
    state.counters[2] = 1


@compiled(allocates=False)
def recompute(family: Any, state: Any) -> None:
    """Recompute all that depends on the hyperparameters of the family, in O(G F)."""
    tabulate(family)
    state.counters[2] = 1
    weigh_alone(family, state)
    rebuild(family, state)


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
    """Write the canonical labels of a chain into a row of draws, in O(N + K)."""
    for j in range(state.counters[0]):
        state.weights[state.active[j]] = -1.0
    following = 0
    for i in range(len(state.row_of)):
        slot = state.slot_of[state.row_of[i]]
        if state.weights[slot] < 0.0:
            state.weights[slot] = following
            following += 1
        assignments[draw, i] = int(state.weights[slot])


class Chain:
    """One chain, with the addresses at which compiled functions find it.

    Attributes:
        family: the component family, of no column where clusters bear on one another.
        clusters_at: address of the family, or of what stands for one whose clusters bear on one another.
    """

    def __init__(
        self, family: Any, state: ChainState, prior: PriorTables, generator: np.random.Generator
    ) -> None:
        self.family: Family = family if isinstance(family, Family) else join_families([], [])
        self.state, self.prior, self.generator = state, prior, generator
        self.family_at, self.state_at, self.prior_at = Address(self.family), Address(state), Address(prior)
        self.clusters_at = self.family_at if family is self.family else Address(family)


def start_chain(
    model: CollapsedModel,
    data: Tensor,
    generator: np.random.Generator,
    *,
    power: float = 1.0,
    beside: Chain | None = None,
) -> Chain:
    """Build a chain with no partition yet, under a power of the likelihood; :func:`place` comes next.

    It shares what is known of the rows with a chain of the same model and data ``beside`` it.
    """
    points = np.ascontiguousarray(data.detach().cpu().double().numpy())
    row_of, first, weight, moments = _rows(model, points, beside)
    num_rows, num_points = len(weight), int(weight.sum())
    rivals_begin, rivals = _rivals(model, len(points), num_rows)
    fixed = model.given({name: prior.sample() for name, prior in model.hyperpriors.items()})
    num_slots = num_rows + _SPARE_SLOTS
    state = ChainState(
        row_of=row_of,
        weight=weight,
        rivals_begin=rivals_begin,
        rivals=rivals,
        slot_of=np.zeros(num_rows, dtype=np.int64),
        sizes=np.zeros(num_slots, dtype=np.int64),
        active=np.arange(num_slots),
        counters=np.zeros(3, dtype=np.int64),
        sums=np.zeros((num_slots, moments.shape[1])),
        fits=np.full(num_slots, np.nan),
        weights=np.zeros(num_slots),
        members=np.zeros(num_rows, dtype=np.int64),
        moments=moments,
        log_alone=np.zeros(num_rows),
        rows=np.zeros(ROWS_AT_ONCE, dtype=np.int64),
        densities=np.zeros((num_slots, ROWS_AT_ONCE)),
    )
    family = family_of(fixed.component, points[first], num_slots, num_points)
    if power != 1.0:
        family.power[0] = power
    prior = prior_tables(
        fixed.prior,
        num_points,
        most_clusters=num_rows,
        limits=None if model.constraints is None else model.constraints.clusters,
        gamma=model.prior if "concentration" in model.prior.integrated_names else None,
        log_numbers=model.prior.log_drawn_components(num_points),
    )
    return Chain(family, state, prior, generator)


def _rows(
    model: CollapsedModel, points: np.ndarray, beside: Chain | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the row of each point; and of each row its first point, its weight and its summed moments."""
    num_points, component = len(points), model.component
    weight, moments = np.ones(num_points, dtype=np.int64), np.zeros((num_points, 0))
    if beside is not None and model.constraints is None:
        return beside.state.row_of, beside.state.row_of, beside.state.weight, beside.state.moments
    if isinstance(component, ConjugateComponent):
        moments = np.ascontiguousarray(component.moments(torch.from_numpy(points)).numpy())
    if model.row_weights is not None:
        weight = model.row_weights.numpy().copy()
        moments = weight[:, None] * moments
    if model.constraints is None:
        every = np.arange(num_points)
        return every, every, weight, moments
    constraints = model.constraints.over(num_points)
    row_of, num_rows = constraints.groups.numpy().copy(), constraints.num_groups
    of_row, summed = np.zeros(num_rows, dtype=np.int64), np.zeros((num_rows, moments.shape[1]))
    np.add.at(of_row, row_of, weight)
    np.add.at(summed, row_of, moments)
    return row_of, constraints.first.numpy(), of_row, summed


def _rivals(model: CollapsedModel, num_points: int, num_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where the rivals of each row begin, and those of all rows."""
    if model.constraints is None:
        return np.zeros(num_rows + 1, np.int64), np.empty(0, np.int64)
    apart = model.constraints.over(num_points).apart.numpy()
    pairs = np.concatenate([apart, apart[:, ::-1]])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    begin = np.searchsorted(pairs[:, 0], np.arange(num_rows + 1))
    return begin, np.ascontiguousarray(pairs[:, 1])


def hyper_places(model: CollapsedModel) -> dict[str, int]:
    """Return the places of hyperparameters by name: the prior's, then the family's.

    Of the prior only random ones are named; a name that both have is the prior's where it is random there.
    """
    of_prior = {"discount": DISCOUNT, "concentration": CONCENTRATION, "weight_concentration": WEIGHT}
    of_family = {name: NUM_OF_PRIOR + index for index, name in enumerate(model.component.hyper_names)}
    return of_family | {name: of_prior[name] for name in model.prior.hyperpriors if name in of_prior}


@compiled
def _draw_anew(state: Any, prior: Any, generator: Any) -> None:
    draw_components(state, prior, -np.inf, generator)


def place(chains: Sequence[Chain], model: CollapsedModel, states: Any) -> None:
    """Move C chains to where states are, in O(N + G F) each; hyperparameters not named there stay."""
    labels, hyper = canonical(states.assignments).cpu().numpy(), states.hyperparameters
    places = hyper_places(model)
    values = {places[name]: value.tolist() for name, value in hyper.items() if name in places}
    is_of_prior = bool(hyper.keys() & model.prior.hyperpriors.keys())
    for index, chain in enumerate(chains):
        state = chain.state
        state.slot_of[state.row_of] = labels[index]
        state.sizes[:] = np.bincount(state.slot_of, weights=state.weight, minlength=len(state.sizes))
        state.active[:] = np.arange(len(state.active))
        state.counters[0] = labels[index].max() + 1
        for where, value in values.items():
            if where < NUM_OF_PRIOR:
                chain.prior.hyper[where] = value[index]
            else:
                chain.family.hyper[where - NUM_OF_PRIOR] = value[index]
        if len(chain.prior.log_components):
            _draw_anew(chain.state_at, chain.prior_at, chain.generator)
        elif is_of_prior:
            tabulate_prior(chain.prior_at)
        recompute(chain.family_at, chain.state_at)
        if type(chain.clusters_at.content) in LINKED:
            LINKED[type(chain.clusters_at.content)].count(chain.clusters_at, chain.state_at)
