"""The compiled loop over draws: one for all families, priors and moves, which it calls by their addresses."""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from pyroclust.core.compiling import compiled
from pyroclust.core.large_tables import label_type
from pyroclust.distributions.compiled.pointers import Address, address_of, caller
from pyroclust.infer.mcmc.compiled.chain import (
    LINKED,
    STEPS,
    Chain,
    RebuildSums,
    log_likelihood,
    write_labels,
)
from pyroclust.infer.mcmc.compiled.hyperparameters import DrawComponents, DrawConcentration
from pyroclust.infer.mcmc.compiled.prior_tables import NUM_OF_PRIOR

_POINTER = types.voidptr
_GENERATOR = typeof(np.random.default_rng(0))
_call_step = caller(types.void(_POINTER, _POINTER, _POINTER, _POINTER, _GENERATOR))
_call_number = caller(types.float64(_POINTER, _POINTER))

# How a step ends that has moved points.
END_OF_STEP: tuple[NamedTuple, ...] = (DrawConcentration(), DrawComponents(), RebuildSums())


class Program:
    """What a round of moves is: addresses of compiled steps and of their settings, and the log-likelihood."""

    def __init__(self, moves: tuple[Any, ...], chain: Chain) -> None:
        self._moves, self._chain = moves, chain
        kind, state, prior = type(chain.clusters_at.content), chain.state_at.type, chain.prior_at.type
        draws = {
            DrawConcentration: chain.prior.gamma_shape > 0.0,
            DrawComponents: len(chain.prior.log_components) > 0,
        }
        moves = tuple(one for one in moves if draws.get(type(one), True))
        self._places = {id(one): Address(one) for one in moves}
        steps = {}
        for key, place in self._places.items():
            move = type(place.content)
            family = chain.clusters_at if (move, kind) in STEPS else chain.family_at
            function = STEPS.get((move, kind)) or STEPS[move, None]
            steps[key] = address_of(function, place.type, family.type, state, prior, _GENERATOR)
        self.steps = np.array([steps[id(one)] for one in moves], dtype=np.intp)
        self.settings = np.array([self._places[id(one)].number for one in moves], dtype=np.intp)
        self._takes_clusters = np.array([(type(one), kind) in STEPS for one in moves])
        likelihood = LINKED[kind].log_likelihood if kind in LINKED else log_likelihood
        self._log_likelihood = address_of(likelihood, chain.clusters_at.type, state)

    def __reduce__(self) -> tuple[Any, ...]:
        """Compiled functions lie elsewhere in another process."""
        return Program, (self._moves, self._chain)

    def draw(self, chain: Chain, num_draws: int, thin: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Advance a chain by ``thin`` rounds a draw, releasing Python's lock.

        Return labels, ``(draws, N)`` canonical; log-likelihoods plus the log weights of the blocks, without
        log V_N(K), ``(draws,)``; and the hyperparameters of prior and family, ``(draws, 4 + H)``.
        """
        num_points = len(chain.state.row_of)
        assignments = np.empty((num_draws, num_points), dtype=label_type(num_points))
        score, hyper = np.empty(num_draws), np.empty((num_draws, NUM_OF_PRIOR + len(chain.family.hyper)))
        _draw(
            self.steps,
            self.settings,
            np.where(self._takes_clusters, chain.clusters_at.number, chain.family_at.number),
            self._log_likelihood,
            chain.clusters_at.number,
            chain.state_at,
            chain.prior_at,
            chain.generator,
            thin,
            chain.family.hyper,
            assignments,
            score,
            hyper,
        )
        return assignments, score, hyper

    def log_likelihood(self, chain: Chain) -> float:
        """Return log p(x | c) of where a chain is in nats, not raised to its power, in O(K F)."""
        total = _log_likelihood(self._log_likelihood, chain.clusters_at.number, chain.state_at)
        return float(total / chain.family.power[0])


@compiled
def _draw(
    steps: np.ndarray,
    settings: np.ndarray,
    families: np.ndarray,
    likelihood: int,
    clusters: int,
    state: Any,
    prior: Any,
    generator: Any,
    thin: int,
    family_hyper: np.ndarray,
    assignments: np.ndarray,
    score: np.ndarray,
    hyper: np.ndarray,
) -> None:
    for draw in range(len(score)):
        for _ in range(thin):
            for m in range(len(steps)):
                _call_step(steps[m], (settings[m], families[m], state, prior, generator))
        score[draw] = _call_number(likelihood, (clusters, state))
        for j in range(state.counters[0]):
            score[draw] += prior.log_weight[state.sizes[state.active[j]]]
        write_labels(state, assignments, draw)
        # Loops: an assignment of slices compiles numba's broadcasting with all its messages, for seconds.
        for h in range(NUM_OF_PRIOR):
            hyper[draw, h] = prior.hyper[h]
        for h in range(len(family_hyper)):
            hyper[draw, NUM_OF_PRIOR + h] = family_hyper[h]


@compiled
def _log_likelihood(likelihood: int, clusters: int, state: Any) -> float:
    return _call_number(likelihood, (clusters, state))
