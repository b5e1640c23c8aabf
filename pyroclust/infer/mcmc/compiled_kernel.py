"""Kernels made of compiled moves, and the chains they advance."""

from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.threads import num_threads
from pyroclust.distributions.priors.gibbs_type import block_sizes, log_block_weights
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.chain import Chain, hyper_places, place, start_chain
from pyroclust.infer.mcmc.compiled.prior_tables import DISCOUNT, NUM_OF_PRIOR
from pyroclust.infer.mcmc.compiled.runner import Program, run_draws
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.loop import Transition
from pyroclust.infer.mcmc.states import (
    ChainStates,
    Trace,
    log_hyperprior,
    log_prior_of_states,
)
from pyroclust.partitions import label_range

__all__ = ["CompiledKernel", "CompiledTransition", "advance_chain", "same_states", "trace_of"]

_THREADS_A_CORE = 4


class CompiledKernel(PartitionKernel):
    """A kernel that is a tuple of compiled moves; neighbours in a :class:`Compose` run as one compiled loop.

    Every compiled move also draws the concentration where that has a Gamma prior.
    """

    @abstractmethod
    def moves(self, num_points: int) -> tuple[NamedTuple, ...]:
        """Return what a draw of the kernel does, ``thin`` included, as tuples with a registered step.

        Args:
            num_points: N of the data set.
        """

    @property
    def updates(self) -> frozenset[str]:
        """The concentration, where it has a Gamma prior."""
        return self.model.prior.integrated_names

    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> Transition:
        """Prepare one compiled chain a state."""
        moves = self.moves(len(data))
        return CompiledTransition(self.model, data, moves, thin=1, states=states, generator=generator)


class CompiledTransition(Transition):
    """Compiled chains, advanced in threads.

    Args:
        model: the model.
        data: points, ``(N, D)``.
        moves: what a round does.
        thin: rounds a draw.
        states: where the chains start.
        generator: to spawn one generator a chain from.
    """

    def __init__(
        self,
        model: CollapsedModel,
        data: Tensor,
        moves: tuple[NamedTuple, ...],
        *,
        thin: int,
        states: ChainStates,
        generator: np.random.Generator,
    ) -> None:
        self.model, self.moves, self.thin = model, moves, thin
        self._chains = [start_chain(model, data, own) for own in generator.spawn(len(states.assignments))]
        self._program = Program(moves, self._chains[0])
        self._at: ChainStates | None = None
        self._names = tuple(states.hyperparameters)

    def prepare(self, states: ChainStates) -> None:
        """Compile, or load from numba's cache."""
        self._place(states)
        advance_chain(self._chains[0], self._program, 0, thin=self.thin)

    def step(self, states: ChainStates) -> ChainStates:
        """Advance every chain by one draw."""
        return self.advance(states, 1).last()

    def skip(self, states: ChainStates, num_draws: int) -> ChainStates:
        """Advance every chain by several draws and return where they are then."""
        return self._advance(states, 1, self.thin * num_draws).last() if num_draws > 0 else states

    def advance(self, states: ChainStates, num_draws: int) -> Trace:
        """Advance every chain by several draws, all chains at once."""
        return self._advance(states, num_draws, self.thin)

    def _advance(self, states: ChainStates, num_draws: int, thin: int) -> Trace:
        self._place(states)
        if len(self._chains) == 1:
            columns = [advance_chain(self._chains[0], self._program, num_draws, thin=thin)]
        else:
            # Some more threads than cores, so that three chains take as long on two as one and a half.
            threads = min(len(self._chains), _THREADS_A_CORE * num_threads())
            with ThreadPoolExecutor(max_workers=threads) as pool:
                program = self._program
                work = [
                    pool.submit(advance_chain, one, program, num_draws, thin=thin) for one in self._chains
                ]
                columns = [one.result() for one in work]
        found = (torch.from_numpy(np.stack(column)) for column in zip(*columns, strict=True))
        trace = trace_of(self.model, self._names, *found)
        if not self.model.is_conjugate:
            trace = self._beside_parameters(trace, states)
        if num_draws > 0:
            self._at = trace.last()
        return trace

    def _place(self, states: ChainStates) -> None:
        if self._at is not None and same_states(self._at, states):
            return
        place(
            self._chains,
            self.model,
            assignments=states.assignments,
            hyperparameters=states.hyperparameters,
        )
        self._at = states

    def _beside_parameters(self, trace: Trace, states: ChainStates) -> Trace:
        """Add what another kernel's cluster parameters put into the log joint, which no move here changes."""
        before = log_prior_of_states(self.model, states.assignments, states.hyperparameters)
        kept = (states.log_joint - before).unsqueeze(-1)
        return Trace(trace.assignments, trace.hyperparameters, trace.log_joint + kept)


def same_states(one: ChainStates, other: ChainStates) -> bool:
    """Return whether these are the same labels in memory, with equal hyperparameters."""
    return one is other or (
        one.assignments.data_ptr() == other.assignments.data_ptr()
        and one.assignments.shape == other.assignments.shape
        and one.assignments.stride() == other.assignments.stride()
        and all(
            torch.equal(values, other.hyperparameters[name]) for name, values in one.hyperparameters.items()
        )
    )


def advance_chain(
    chain: Chain, program: Program, num_draws: int, *, thin: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Advance one chain; return labels ``(draws, N)``, scores and hyperparameters, see :func:`run_draws`."""
    num_points = len(chain.state.row_of)
    assignments = np.empty((num_draws, num_points), dtype=np.int64)
    score, hyper = np.empty(num_draws), np.empty((num_draws, NUM_OF_PRIOR + len(chain.family.hyper)))
    run_draws(
        program.steps,
        program.settings,
        program.families(chain),
        program.log_likelihood,
        chain.own_at.number,
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


def trace_of(
    model: CollapsedModel, names: Sequence[str], assignments: Tensor, score: Tensor, hyper: Tensor
) -> Trace:
    """Return draws of chains from what :func:`run_draws` wrote of each.

    Shape:
        assignments: ``(C, draws, N)``; score: ``(C, draws)``; hyper: ``(C, draws, 4 + H)``.

    Args:
        model: the model.
        names: of the random hyperparameters.
        assignments: canonical labels.
        score: log-likelihood plus the log weights of the blocks, in nats.
        hyper: values of all hyperparameters.
    """
    places = hyper_places(model)
    found = {name: hyper[..., places[name]] for name in names}
    marginal = model.prior.integrated_names
    given = {name: found[name] for name in model.prior.hyperpriors if name in found and name not in marginal}
    prior = model.prior.given(given) if given else model.prior
    if model.prior.drawn_components is not None:
        # The score has the weights of blocks given the number of components, which the prior sums over.
        of_blocks = log_block_weights(block_sizes(assignments, model.row_weights), hyper[..., DISCOUNT])
        log_v = prior.log_prob(assignments, weights=model.row_weights) - of_blocks.sum(-1)
    else:
        num_points = assignments.shape[-1] if model.row_weights is None else int(model.row_weights.sum())
        log_v = prior.log_v(num_points, label_range(assignments))
    return Trace(assignments, found, score + log_v + log_hyperprior(model, found))
