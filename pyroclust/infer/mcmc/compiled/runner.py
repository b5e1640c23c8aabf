"""The compiled loop over draws: one for all families, priors and moves, which it calls by their addresses."""

from typing import Any

import numpy as np
from numba import typeof

from pyroclust.compiling import compiled, lean
from pyroclust.infer.mcmc.compiled.chain import Chain, log_likelihood, write_labels
from pyroclust.infer.mcmc.compiled.pointers import Address, address_of, call_number, call_step
from pyroclust.infer.mcmc.compiled.protocol import step

__all__ = ["Program", "run_draws"]


@lean
def _step(move: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    step(move, family, state, prior, generator)


class Program:
    """What a draw does: the addresses of compiled steps, of the settings of each, and of the log-likelihood.

    Args:
        moves: named tuples that overload ``step``.
        chain: a chain of the kind that it is for.
    """

    def __init__(self, moves: tuple[Any, ...], chain: Chain) -> None:
        self._moves, self._chain = moves, chain
        self._settings = [Address(move) for move in moves]
        family, state, prior = (one.type for one in (chain.family_at, chain.state_at, chain.prior_at))
        generator = typeof(chain.generator)
        steps = [address_of(_step, one.type, family, state, prior, generator) for one in self._settings]
        self.steps = np.array(steps, dtype=np.intp)
        self.settings = np.array([one.number for one in self._settings], dtype=np.intp)
        self.log_likelihood = address_of(log_likelihood, family, state)

    def __reduce__(self) -> tuple[Any, ...]:
        """Compiled functions lie elsewhere in another process."""
        return Program, (self._moves, self._chain)


@compiled
def run_draws(
    steps: np.ndarray,
    settings: np.ndarray,
    likelihood: int,
    family: int,
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
        likelihood: address of the compiled log-likelihood.
        family: address of the tables and caches of the component family.
        state: state of the chain, changed in place.
        prior: tables of the prior.
        generator: numpy generator, advanced.
        thin: rounds a draw.
        family_hyper: the hyperparameters of the family, which moves may change.
        assignments: output, ``(draws, N)`` int64, canonical.
        score: output, ``(draws,)``: log-likelihood plus the log weights of the blocks, without log V_N(K).
        hyper: output, ``(draws, 2 + H)``: discount, concentration and the hyperparameters of the family.
    """
    for draw in range(len(score)):
        for _ in range(thin):
            for m in range(len(steps)):
                call_step(steps[m], (settings[m], family, state, prior, generator))
        score[draw] = call_number(likelihood, (family, state))
        for j in range(state.counters[0]):
            score[draw] += prior.log_weight[state.sizes[state.active[j]]]
        write_labels(state, assignments[draw])
        # Loops: an assignment of slices compiles numba's broadcasting with all its messages, for seconds.
        for h in range(2):
            hyper[draw, h] = prior.hyper[h]
        for h in range(len(family_hyper)):
            hyper[draw, 2 + h] = family_hyper[h]
