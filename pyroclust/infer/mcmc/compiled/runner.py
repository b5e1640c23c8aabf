"""The compiled loop over draws: one for all families, priors and moves, which it calls by their addresses."""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from pyroclust.core.compiling import compiled
from pyroclust.distributions.compiled.pointers import Address, address_of, caller
from pyroclust.infer.mcmc.compiled.chain import LINKED, Chain, RebuildSums, log_likelihood, write_labels
from pyroclust.infer.mcmc.compiled.hyperparameters import DrawComponents, DrawConcentration
from pyroclust.infer.mcmc.compiled.prior_tables import NUM_OF_PRIOR
from pyroclust.infer.mcmc.compiled.steps import (
    STEPS,
)

__all__ = ["END_OF_STEP", "Program", "run_draws", "total_of"]


_POINTER = types.voidptr
_GENERATOR = typeof(np.random.default_rng(0))
_call_step = caller(types.void(_POINTER, _POINTER, _POINTER, _POINTER, _GENERATOR))
_call_number = caller(types.float64(_POINTER, _POINTER))

# How a step ends that has moved points.
END_OF_STEP: tuple[NamedTuple, ...] = (DrawConcentration(), DrawComponents(), RebuildSums())


class Program:
    """What a draw does: the addresses of compiled steps, of the settings of each, and of the log-likelihood.

    Args:
        moves: named tuples with a registered step.
        chain: a chain of the kind that it is for.
    """

    def __init__(self, moves: tuple[Any, ...], chain: Chain) -> None:
        self._moves, self._chain = moves, chain
        kind, state, prior = type(chain.own_at.content), chain.state_at.type, chain.prior_at.type
        draws = {
            DrawConcentration: chain.prior.gamma_shape > 0.0,
            DrawComponents: len(chain.prior.log_components) > 0,
        }
        moves = tuple(one for one in moves if draws.get(type(one), True))
        self._places = {id(one): Address(one) for one in moves}
        steps = {}
        for key, place in self._places.items():
            move = type(place.content)
            family = chain.own_at if (move, kind) in STEPS else chain.family_at
            function = STEPS.get((move, kind)) or STEPS[move, None]
            steps[key] = address_of(function, place.type, family.type, state, prior, _GENERATOR)
        self.steps = np.array([steps[id(one)] for one in moves], dtype=np.intp)
        self.settings = np.array([self._places[id(one)].number for one in moves], dtype=np.intp)
        self._is_own = np.array([(type(one), kind) in STEPS for one in moves])
        likelihood = LINKED[kind].log_likelihood if kind in LINKED else log_likelihood
        self.log_likelihood = address_of(likelihood, chain.own_at.type, state)

    def families(self, chain: Chain) -> np.ndarray:
        """Return the address of the family that each step takes, ``(M,)``."""
        return np.where(self._is_own, chain.own_at.number, chain.family_at.number)

    def __reduce__(self) -> tuple[Any, ...]:
        """Compiled functions lie elsewhere in another process."""
        return Program, (self._moves, self._chain)


@compiled
def run_draws(
    steps: np.ndarray,
    settings: np.ndarray,
    families: np.ndarray,
    likelihood: int,
    own: int,
    state: Any,
    prior: Any,
    generator: Any,
    thin: int,
    family_hyper: np.ndarray,
    assignments: np.ndarray,
    score: np.ndarray,
    hyper: np.ndarray,
) -> None:
    """Advance a chain by ``thin`` rounds of its moves a draw and write the draws, releasing Python's lock.

    Args:
        steps: addresses of the compiled steps of the moves, ``(M,)``.
        settings: addresses of the moves, ``(M,)``.
        families: addresses of the families that they take, ``(M,)``.
        likelihood: address of the compiled log-likelihood.
        own: address of the family that it takes.
        state: state of the chain, changed in place.
        prior: tables of the prior.
        generator: numpy generator, advanced.
        thin: rounds a draw.
        family_hyper: the hyperparameters of the family, which moves may change.
        assignments: output, ``(draws, N)`` int64, canonical.
        score: output, ``(draws,)``: log-likelihood plus the log weights of the blocks, without log V_N(K).
        hyper: output, ``(draws, 4 + H)``: what the prior has, and the hyperparameters of the family.
    """
    for draw in range(len(score)):
        for _ in range(thin):
            for m in range(len(steps)):
                _call_step(steps[m], (settings[m], families[m], state, prior, generator))
        score[draw] = _call_number(likelihood, (own, state))
        for j in range(state.counters[0]):
            score[draw] += prior.log_weight[state.sizes[state.active[j]]]
        write_labels(state, assignments, draw)
        # Loops: an assignment of slices compiles numba's broadcasting with all its messages, for seconds.
        for h in range(NUM_OF_PRIOR):
            hyper[draw, h] = prior.hyper[h]
        for h in range(len(family_hyper)):
            hyper[draw, NUM_OF_PRIOR + h] = family_hyper[h]


@compiled
def total_of(likelihood: int, family: int, state: Any) -> float:
    """Return the log-likelihood of a chain where it is, its arguments as in :func:`run_draws`."""
    return _call_number(likelihood, (family, state))
