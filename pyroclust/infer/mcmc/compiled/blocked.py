"""Compiled moves of all rows at once: given parameters of the clusters, rows know nothing of one another.

Rows are put into a random order. The first row of each cluster in it stays, and no row joins a cluster whose
first row comes after it: a cluster is known by its first row, so that none vanishes, none changes its name,
and what is drawn is a draw of the posterior given those rows and the number of clusters.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pyroclust.core.compiling import compiled, inner
from pyroclust.distributions.compiled.clusters import NEGLIGIBLE, draw_index
from pyroclust.distributions.compiled.protocol import (
    ROWS_AT_ONCE,
    add_log_densities,
    draw_log_gamma,
    draw_parameters,
    load_rows,
    refresh,
    tabulate,
)
from pyroclust.infer.mcmc.compiled.chain import accumulate, empty, put, release, step_of
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.proposals import (
    ACCEPTED,
    MERGES,
    PROPOSED,
    SPLITS,
    UNDECIDED,
    add_sums,
    allocate_in_turn,
    become_one,
    become_two,
    discard,
    draw_side,
    home_side,
    log_ratio_of_two,
    scan_sides,
)


class BlockedSweep(NamedTuple):
    """Draw weights and parameters of all clusters, then the cluster of every row but the first of each."""


class BlockedProposals(NamedTuple):
    """Split and merge clusters, all rows of them at once.

    Attributes:
        proposals: splits or merges proposed a step.
        split: share of splits among them.
        rows: most rows of a cluster that find where it may be split.
        scans: restricted Gibbs scans of these.
        stages: times that all rows are then drawn before the proposal.
        counts: splits and merges, proposed and accepted, ``(2, 2)``, added to.
    """

    proposals: int
    split: float
    rows: int
    scans: int
    stages: int
    counts: np.ndarray


@inner
def draw_cluster(family: Any, state: Any, prior: Any, slot: int, generator: Any) -> None:
    """Draw the parameters of a cluster into its cache, and its log weight, but for the sum, into its fit."""
    draw_parameters(family, state.sums, slot, state.sizes[slot], generator)
    state.fits[slot] = draw_log_gamma(math.exp(prior.log_join[state.sizes[slot]]), generator)


@inner
def _greatest_divisor(one: int, other: int) -> int:
    while other > 0:
        one, other = other, one % other
    return one


@inner
def _draw_order(num_rows: int, generator: Any) -> tuple[int, int]:
    """Draw the place of the first row in a random order of all, and of each row after the one before."""
    first = int(generator.random() * num_rows)
    step = 1 + int(generator.random() * num_rows)
    while _greatest_divisor(step, num_rows) > 1:
        step = 1 + int(generator.random() * num_rows)
    return first, step % num_rows


@inner
def _find_first_rows(state: Any, first: int, step: int) -> int:
    """Write the place of the first row of each cluster into ``members``; return the last of these places."""
    num_active, num_rows, place, last = state.counters[0], len(state.slot_of), first, 0
    for j in range(num_active):
        state.weights[state.active[j]] = j
        state.members[j] = num_rows
    for row in range(num_rows):
        j = int(state.weights[state.slot_of[row]])
        state.members[j] = min(state.members[j], place)
        place += step
        if place >= num_rows:
            place -= num_rows
    for j in range(num_active):
        last = max(last, state.members[j])
    return last


@step_of(BlockedSweep)
def _sweep_at_once(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    num_active, num_rows, rows = state.counters[0], len(state.slot_of), state.rows
    if num_active == 1:
        return
    for j in range(num_active):
        draw_cluster(family, state, prior, state.active[j], generator)
    place, step = _draw_order(num_rows, generator)
    last = _find_first_rows(state, place, step)
    for begin in range(0, num_rows, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, num_rows - begin)
        for r in range(count):
            rows[r] = begin + r
        load_rows(family, rows, count)
        for j in range(num_active):
            weigh_loaded(family, state, state.active[j], count, j)
        for r in range(count):
            if place > last or not _close_later(state, r, place):
                _draw_row(family, state, begin + r, r, generator)
            place += step
            if place >= num_rows:
                place -= num_rows
    for j in range(num_active):
        slot = state.active[j]
        refresh(family, state.sums, slot, state.sizes[slot])
        state.fits[slot] = np.nan


@inner
def weigh_loaded(family: Any, state: Any, slot: int, count: int, place: int) -> None:
    """Write the log weights of the loaded rows in a cluster into a row of ``densities``."""
    found = state.densities[place]
    for r in range(count):
        found[r] = state.fits[slot]
    add_log_densities(family, state.rows, count, slot, found)


@inner
def _close_later(state: Any, r: int, place: int) -> bool:
    """Close the clusters to a row whose first rows come after its place; return whether it is one of them."""
    is_first = False
    for j in range(state.counters[0]):
        is_first = is_first or state.members[j] == place
        if state.members[j] > place:
            state.densities[j, r] = -math.inf
    return is_first


@inner
def _draw_row(family: Any, state: Any, row: int, r: int, generator: Any) -> None:
    """Draw the cluster of a row, the r-th of those at once."""
    num_active, present, best = state.counters[0], state.slot_of[row], -math.inf
    for j in range(num_active):
        best = max(best, state.densities[j, r])
    worth, chosen = 0, 0
    for j in range(num_active):
        state.weights[j] = state.densities[j, r]
        if state.weights[j] > best + NEGLIGIBLE:
            worth, chosen = worth + 1, j
    if worth > 1:
        chosen = draw_index(state.weights, num_active, best, generator.random())
    slot = state.active[chosen]
    if slot != present:
        accumulate(state, row, present, -1.0)
        accumulate(state, row, slot, 1.0)
        state.sizes[present] -= 1
        state.sizes[slot] += 1
        state.slot_of[row] = slot


@inner
def _list_around_anchors(state: Any, one: int, other: int, generator: Any) -> tuple[int, int, int]:
    """List the rows of two clusters, which may be one, but a random row of each; return these and a count."""
    first_place, count = int(generator.random() * state.sizes[one]), 0
    second_place = int(generator.random() * (state.sizes[other] - (1 if one == other else 0)))
    if one == other and second_place >= first_place:
        second_place += 1
    left, of_one, of_other = state.sizes[one], 0, 0
    if one != other:
        left += state.sizes[other]
    first, second, row = 0, 0, 0
    while left > 0:
        slot = state.slot_of[row]
        if slot in (one, other):
            left -= 1
            listed = True
            if slot == one:
                if of_one == first_place:
                    first, listed = row, False
                of_one += 1
            if slot == other:
                if of_other == second_place:
                    second, listed = row, False
                of_other += 1
            if listed:
                state.members[count] = 2 * row
                count += 1
        row += 1
    return first, second, count


@inner
def _allocate_at_once(
    family: Any, state: Any, prior: Any, generator: Any, first: int, second: int, count: int, home: int
) -> float:
    """Draw parameters of both sides, then the side of every listed row, or take it home; return log q."""
    zero, one, total = state.active[state.counters[0]], state.active[state.counters[0] + 1], 0.0
    draw_cluster(family, state, prior, zero, generator)
    draw_cluster(family, state, prior, one, generator)
    empty(state, zero)
    empty(state, one)
    accumulate(state, first, zero, 1.0)
    accumulate(state, second, one, 1.0)
    ones = 1
    for begin in range(0, count, ROWS_AT_ONCE):
        some = min(ROWS_AT_ONCE, count - begin)
        for r in range(some):
            state.rows[r] = state.members[begin + r] >> 1
        load_rows(family, state.rows, some)
        weigh_loaded(family, state, zero, some, 0)
        weigh_loaded(family, state, one, some, 1)
        for r in range(some):
            row = state.rows[r]
            log_odds = state.densities[1, r] - state.densities[0, r]
            side, log_prob = draw_side(log_odds, home_side(state, row, home), generator)
            total += log_prob
            state.members[begin + r] = 2 * row + side
            accumulate(state, row, one if side == 1 else zero, 1.0)
            ones += side
    state.sizes[zero], state.sizes[one] = count + 2 - ones, ones
    return total


@inner
def _launch(
    move: Any, family: Any, state: Any, prior: Any, generator: Any, first: int, second: int, count: int
) -> None:
    """Let some rows find two sides around both anchors, then all; it knows nothing of where they are."""
    zero, one = state.active[state.counters[0]], state.active[state.counters[0] + 1]
    empty(state, zero)
    empty(state, one)
    put(family, state, first, zero)
    put(family, state, second, one)
    some = min(move.rows, count)
    for k in range(some):
        other = k + int(generator.random() * (count - k))
        state.members[k], state.members[other] = state.members[other], state.members[k]
    allocate_in_turn(family, state, prior, generator, some, UNDECIDED)
    for _ in range(move.scans):
        scan_sides(family, state, prior, generator, some, UNDECIDED)
    for _ in range(move.stages):
        _allocate_at_once(family, state, prior, generator, first, second, count, UNDECIDED)


@inner
def _propose_split(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    num_active = state.counters[0]
    whole = state.active[int(generator.random() * num_active)]
    size = state.sizes[whole]
    move.counts[SPLITS, PROPOSED] += 1
    opened = log_open(prior, num_active)
    if size == 1 or opened == -math.inf:
        return
    first, second, count = _list_around_anchors(state, whole, whole, generator)
    _launch(move, family, state, prior, generator, first, second, count)
    log_q = _allocate_at_once(family, state, prior, generator, first, second, count, UNDECIDED)
    zero, one = state.active[num_active], state.active[num_active + 1]
    log_ratio = opened + log_ratio_of_two(family, state, prior, zero, one, whole)
    log_ratio += _log_choice(move, state.sizes[zero], state.sizes[one], num_active + 1) - log_q
    if math.log(1.0 - generator.random()) >= log_ratio:
        discard(state)
        return
    move.counts[SPLITS, ACCEPTED] += 1
    become_two(state, first, second, count)
    release(state, whole)
    refresh(family, state.sums, zero, state.sizes[zero])
    refresh(family, state.sums, one, state.sizes[one])
    state.fits[zero] = state.fits[one] = np.nan


@inner
def _log_choice(move: Any, size: int, more: int, clusters: int) -> float:
    """Return the log-probability of a merge and its anchors, less that of the split that it takes back."""
    whole = float(size + more)
    log_pairs = math.log(whole * (whole - 1.0)) - math.log(float(clusters) * size * more)
    return log_pairs + math.log((1.0 - move.split) / move.split)


@inner
def _propose_merge(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    num_active = state.counters[0]
    move.counts[MERGES, PROPOSED] += 1
    if num_active == 1:
        return
    place = int(generator.random() * num_active)
    beside = int(generator.random() * (num_active - 1))
    one, other = state.active[place], state.active[beside + 1 if beside >= place else beside]
    whole = state.active[num_active + 2]
    add_sums(state, whole, one, other)
    log_ratio = log_open(prior, num_active - 1) + log_ratio_of_two(family, state, prior, one, other, whole)
    log_ratio += _log_choice(move, state.sizes[one], state.sizes[other], num_active)
    level = math.log(1.0 - generator.random())
    # Densities may have been written to the caches of both clusters; log q is not above 0.
    if level >= -log_ratio:
        return
    first, second, count = _list_around_anchors(state, one, other, generator)
    _launch(move, family, state, prior, generator, first, second, count)
    log_ratio -= _allocate_at_once(family, state, prior, generator, first, second, count, other)
    discard(state)
    if level >= -log_ratio:
        return
    move.counts[MERGES, ACCEPTED] += 1
    become_one(state, first, second, count)
    refresh(family, state.sums, one, state.sizes[one])
    state.fits[one] = np.nan


@step_of(BlockedProposals)
def _propose_at_once(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    if len(state.slot_of) < 2:
        return
    for _ in range(move.proposals):
        if generator.random() < move.split:
            _propose_split(move, family, state, prior, generator)
        else:
            _propose_merge(move, family, state, prior, generator)


@compiled
def extend_rows(
    family: Any, state: Any, prior: Any, generator: Any, rows: np.ndarray, labels: np.ndarray
) -> None:
    """Draw parameters given rows of known labels 0, 1, ..., then the cluster of every other row.

    Labels are in ``slot_of`` then, while sizes and sums are those of the known rows.
    """
    _extend(family, state, prior, generator, rows, labels)


@inner
def _extend(family: Any, state: Any, prior: Any, generator: Any, rows: Any, labels: Any) -> None:
    num_active, num_rows = 0, len(state.slot_of)
    for k in range(len(rows)):
        num_active = max(num_active, labels[k] + 1)
    for slot in range(num_active):
        state.active[slot], state.sizes[slot] = slot, 0
        empty(state, slot)
    state.counters[0] = num_active
    tabulate(family)
    for k in range(len(rows)):
        accumulate(state, rows[k], labels[k], 1.0)
        state.sizes[labels[k]] += 1
    for slot in range(num_active):
        draw_cluster(family, state, prior, slot, generator)
    for begin in range(0, num_rows, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, num_rows - begin)
        for r in range(count):
            state.rows[r] = begin + r
        load_rows(family, state.rows, count)
        for slot in range(num_active):
            weigh_loaded(family, state, slot, count, slot)
        for r in range(count):
            best = -math.inf
            for slot in range(num_active):
                state.weights[slot] = state.densities[slot, r]
                best = max(best, state.weights[slot])
            state.slot_of[begin + r] = draw_index(state.weights, num_active, best, generator.random())
    for k in range(len(rows)):
        state.slot_of[rows[k]] = labels[k]
