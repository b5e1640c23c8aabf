"""Compiled births and deaths of clusters among all rows: given parameters of the clusters, labels sum out.

A large cluster may have a smaller one on top of it that the data hardly speak against. By moves of rows that
one grows and shrinks by the root of its size a step, and ends after as many steps as it has rows.
"""

import math
from typing import Any, NamedTuple

from pyroclust.core.compiling import inner
from pyroclust.distributions.compiled.clusters import NEGLIGIBLE, draw_index
from pyroclust.distributions.compiled.protocol import (
    ROWS_AT_ONCE,
    draw_log_gamma,
    draw_parameters,
    load_rows,
    log_marginal,
    refresh,
)
from pyroclust.infer.mcmc.compiled.blocked import draw_cluster, weigh_loaded
from pyroclust.infer.mcmc.compiled.chain import accumulate, empty, release, step_of
from pyroclust.infer.mcmc.compiled.prior_tables import log_open
from pyroclust.infer.mcmc.compiled.proposals import add_sums
from pyroclust.infer.mcmc.compiled.sweep import accepted

# Nobody is in it.
_NONE = -1
# Shares of all rows that a cluster may be born with: from one row to so many times the root of all.
_LEAST, _MOST = 1.0, 2.0


class BirthsAndDeaths(NamedTuple):
    """Propose that a cluster is born among all rows, or dies, its rows joining others.

    Attributes:
        proposals: how many.
        rows: most rows from which the parameters of one that is born are drawn.
    """

    proposals: int
    rows: int


@inner
def _log_limits(num_rows: int) -> tuple[float, float]:
    return math.log(_LEAST / num_rows), math.log(min(0.5, _MOST / math.sqrt(num_rows)))


@inner
def _draw_others(family: Any, state: Any, prior: Any, dying: int, generator: Any) -> None:
    """Draw parameters of all clusters but one, and their log weights, which sum to one."""
    total = -math.inf
    for j in range(state.counters[0]):
        slot = state.active[j]
        if slot != dying:
            draw_cluster(family, state, prior, slot, generator)
            high, low = max(total, state.fits[slot]), min(total, state.fits[slot])
            total = high + math.log1p(math.exp(low - high))
    for j in range(state.counters[0]):
        state.fits[state.active[j]] -= total


@inner
def _draw_component(family: Any, state: Any, row: int, dying: int, generator: Any) -> int:
    """Draw the cluster of a row given parameters, among all but one; return its place."""
    best = -math.inf
    state.rows[0] = row
    load_rows(family, state.rows, 1)
    for j in range(state.counters[0]):
        state.weights[j] = -math.inf
        if state.active[j] != dying:
            weigh_loaded(family, state, state.active[j], 1, j)
            state.weights[j] = state.densities[j, 0]
            best = max(best, state.weights[j])
    return draw_index(state.weights, state.counters[0], best, generator.random())


@inner
def _learn_from(
    move: Any, family: Any, state: Any, anchor: int, slot: int, dying: int, generator: Any
) -> int:
    """Sum a row and some that are drawn from the cluster that it is drawn from; return how many these are."""
    num_rows = len(state.slot_of)
    most = max(1, min(move.rows, num_rows // 2))
    wanted = int(math.exp(generator.random() * math.log(most + 1.0)))
    chosen, count = _draw_component(family, state, anchor, dying, generator), 1
    empty(state, slot)
    accumulate(state, anchor, slot, 1.0)
    for _ in range(16 * wanted):
        row = int(generator.random() * num_rows)
        if count < wanted and _draw_component(family, state, row, dying, generator) == chosen:
            accumulate(state, row, slot, 1.0)
            count += 1
    return count


@inner
def _compare_all(
    family: Any, state: Any, generator: Any, anchor: int, new: int, log_share: float, dying: int, born: int
) -> tuple[float, int]:
    """Return the log ratio of all rows with one cluster more, and how many are listed.

    In ``members`` are the rows of the one that is born, drawn but for the anchor, whose sums are those of
    ``born`` then; or of the one that dies, each with the slot that it is drawn to. The log-probability of the
    anchor in the new one is added to the ratio.
    """
    num_active, num_rows, rows = state.counters[0], len(state.slot_of), state.rows
    log_rest, total, count = math.log1p(-math.exp(log_share)), 0.0, 0
    state.fits[new] = log_share
    for begin in range(0, num_rows, ROWS_AT_ONCE):
        some = min(ROWS_AT_ONCE, num_rows - begin)
        for r in range(some):
            rows[r] = begin + r
        load_rows(family, rows, some)
        for j in range(num_active):
            if state.active[j] != dying:
                weigh_loaded(family, state, state.active[j], some, j)
        weigh_loaded(family, state, new, some, num_active)
        for r in range(some):
            row, own, best = begin + r, state.densities[num_active, r], -math.inf
            dies = dying != _NONE and state.slot_of[row] == dying
            for j in range(num_active):
                if state.active[j] != dying:
                    best = max(best, state.densities[j, r])
            if own < best + log_rest + NEGLIGIBLE and row != anchor and not dies:
                total += log_rest
                continue
            others = 0.0
            for j in range(num_active):
                state.weights[j] = -math.inf
                if state.active[j] != dying:
                    state.weights[j] = state.densities[j, r]
                    others += math.exp(state.weights[j] - best)
            log_others = best + math.log(others)
            high, low = max(own, log_others + log_rest), min(own, log_others + log_rest)
            log_mix = high + math.log1p(math.exp(low - high))
            total += log_mix - log_others
            if row == anchor:
                total += own - log_mix
            if dies:
                slot = state.active[draw_index(state.weights, num_active, best, generator.random())]
                state.members[count] = row * len(state.sizes) + slot
                count += 1
            elif dying == _NONE and (row == anchor or generator.random() < math.exp(own - log_mix)):
                state.members[count] = row
                accumulate(state, row, born, 1.0)
                count += 1
    return total, count


@inner
def _log_choice(prior: Any, num_rows: int, num_others: int, size: int, log_share: float) -> float:
    """Return the log ratio of priors, shares and anchors of a birth."""
    low, high = _log_limits(num_rows)
    discount = 1.0 - math.exp(prior.log_join[1])
    of_sizes = math.lgamma(num_rows - (num_others + 1) * discount) - math.lgamma(1.0 - discount)
    of_sizes -= math.lgamma(num_rows - num_others * discount)
    of_shares = math.log(high - low) - discount * log_share
    of_shares -= (num_others * discount + 1.0) * math.log1p(-math.exp(log_share))
    return log_open(prior, num_others) + of_sizes + of_shares + math.log(num_rows / size)


@inner
def _log_bayes(family: Any, state: Any, one: int, size: int, other: int, more: int, whole: int) -> float:
    """Return the log marginal of two sums of rows less that of both together, which are written."""
    add_sums(state, whole, one, other)
    total = log_marginal(family, state.sums, one, size) + log_marginal(family, state.sums, other, more)
    return total - log_marginal(family, state.sums, whole, size + more)


@inner
def _birth(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> bool:
    num_active, num_rows = state.counters[0], len(state.slot_of)
    born, seed, whole = state.active[num_active], state.active[num_active + 1], state.active[num_active + 2]
    if log_open(prior, num_active) == -math.inf:
        return False
    _draw_others(family, state, prior, _NONE, generator)
    anchor = int(generator.random() * num_rows)
    more = _learn_from(move, family, state, anchor, seed, _NONE, generator)
    draw_parameters(family, state.sums, seed, more, generator)
    low, high = _log_limits(num_rows)
    log_share = low + generator.random() * (high - low)
    empty(state, born)
    log_ratio, size = _compare_all(family, state, generator, anchor, seed, log_share, _NONE, born)
    if size + more > num_rows:
        return False
    for j in range(num_active):
        state.weights[state.active[j]] = 0.0
    for k in range(size):
        state.weights[state.slot_of[state.members[k]]] += 1.0
    most, small = math.exp(high) * num_rows, 1
    for j in range(num_active):
        left = state.sizes[state.active[j]] - state.weights[state.active[j]]
        if left < 0.5:
            return False
        small += 1 if left <= most else 0
    if size > most:
        return False
    log_ratio += _log_choice(prior, num_rows, num_active, size, log_share) - math.log(small)
    log_ratio += _log_bayes(family, state, born, size, seed, more, whole)
    if not accepted(log_ratio, generator):
        return False
    for k in range(size):
        row = state.members[k]
        accumulate(state, row, state.slot_of[row], -1.0)
        state.sizes[state.slot_of[row]] -= 1
        state.slot_of[row] = born
    state.sizes[born] = size
    state.counters[0] += 1
    return True


@inner
def _death(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> bool:
    num_active, num_rows, small = state.counters[0], len(state.slot_of), 0
    low, high = _log_limits(num_rows)
    most = math.exp(high) * num_rows
    for j in range(num_active):
        small += 1 if state.sizes[state.active[j]] <= most else 0
    if num_active == 1 or small == 0:
        return False
    place, skipped = -1, int(generator.random() * small)
    while skipped >= 0:
        place += 1
        skipped -= 1 if state.sizes[state.active[place]] <= most else 0
    dying = state.active[place]
    seed, whole = state.active[num_active], state.active[num_active + 1]
    size, discount = state.sizes[dying], 1.0 - math.exp(prior.log_join[1])
    own = draw_log_gamma(size - discount, generator)
    rest = draw_log_gamma(num_rows - size - (num_active - 1) * discount, generator)
    log_share = own - max(own, rest) - math.log1p(math.exp(-abs(own - rest)))
    if log_share < low or log_share > high:
        return False
    _draw_others(family, state, prior, dying, generator)
    anchor, skipped = -1, int(generator.random() * size)
    while skipped >= 0:
        anchor += 1
        if state.slot_of[anchor] == dying:
            skipped -= 1
    more = _learn_from(move, family, state, anchor, seed, dying, generator)
    if size + more > num_rows:
        return False
    add_sums(state, whole, dying, seed)
    draw_parameters(family, state.sums, whole, size + more, generator)
    log_ratio, _ = _compare_all(family, state, generator, anchor, whole, log_share, dying, _NONE)
    log_ratio += _log_choice(prior, num_rows, num_active - 1, size, log_share) - math.log(small)
    log_ratio += _log_bayes(family, state, dying, size, seed, more, whole)
    if not accepted(-log_ratio, generator):
        return False
    for k in range(size):
        row, slot = state.members[k] // len(state.sizes), state.members[k] % len(state.sizes)
        accumulate(state, row, slot, 1.0)
        state.sizes[slot] += 1
        state.slot_of[row] = slot
    release(state, dying)
    return True


@step_of(BirthsAndDeaths)
def _be_born_and_die(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    for _ in range(move.proposals):
        if generator.random() < 0.5:
            _birth(move, family, state, prior, generator)
        else:
            _death(move, family, state, prior, generator)
        for j in range(state.counters[0]):
            slot = state.active[j]
            refresh(family, state.sums, slot, state.sizes[slot])
            state.fits[slot] = math.nan
