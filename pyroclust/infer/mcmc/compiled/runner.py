"""The compiled loop over draws: a tuple of moves applied in turn."""

from typing import Any

import numpy as np
from numba.extending import overload

from pyroclust.compiling import LEAN_OPTIONS, compiled
from pyroclust.infer.mcmc.compiled.chain import log_likelihood, write_labels
from pyroclust.infer.mcmc.compiled.protocol import step

__all__ = ["run_draws"]


def step_all(moves: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
    """Apply every move of a tuple in turn (a stub that numba unrolls)."""
    raise NotImplementedError


@overload(step_all, jit_options=LEAN_OPTIONS)
def _step_all(moves: Any, family: Any, state: Any, prior: Any, generator: Any) -> Any:
    if len(moves) == 1:

        def run(moves: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
            step(moves[0], family, state, prior, generator)

        return run

    def run_in_turn(moves: Any, family: Any, state: Any, prior: Any, generator: Any) -> None:
        step(moves[0], family, state, prior, generator)
        step_all(moves[1:], family, state, prior, generator)

    return run_in_turn


@compiled
def run_draws(
    moves: Any,
    family: Any,
    state: Any,
    prior: Any,
    generator: Any,
    thin: int,
    assignments: np.ndarray,
    score: np.ndarray,
    hyper: np.ndarray,
) -> None:
    """Advance a chain by ``thin`` rounds of its moves a draw and write the draws, releasing Python's lock.

    Args:
        moves: tuple of moves.
        family: tables and caches of the component family.
        state: state of the chain, changed in place.
        prior: tables of the prior.
        generator: numpy generator, advanced.
        thin: rounds a draw.
        assignments: output, ``(draws, N)`` int64, canonical.
        score: output, ``(draws,)``: log-likelihood plus the log weights of the blocks, without log V_N(K).
        hyper: output, ``(draws, 2 + H)``: discount, concentration and the hyperparameters of the family.
    """
    for draw in range(len(score)):
        for _ in range(thin):
            step_all(moves, family, state, prior, generator)
        score[draw] = log_likelihood(family, state)
        for j in range(state.counters[0]):
            score[draw] += prior.log_weight[state.sizes[state.active[j]]]
        write_labels(state, assignments[draw])
        hyper[draw, :2] = prior.hyper
        hyper[draw, 2:] = family.hyper
