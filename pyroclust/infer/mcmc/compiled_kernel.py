"""Kernels made of compiled moves, and the chains they advance."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.machine import num_threads
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.priors.prior import block_sizes, log_block_weights
from pyroclust.distributions.protocols import CollapsedModel, is_of_graphs
from pyroclust.infer.mcmc.compiled.chain import hyper_places, place, start_chain
from pyroclust.infer.mcmc.compiled.prior_tables import DISCOUNT
from pyroclust.infer.mcmc.compiled.runner import Program
from pyroclust.infer.mcmc.kernel import PartitionKernel, Transition
from pyroclust.infer.mcmc.states import ChainStates, Starts, Trace, log_hyperprior, log_prior_of_states
from pyroclust.partitions import label_range

_THREADS_A_CORE = 4


def require_conjugate(model: CollapsedModel) -> None:
    """Refuse a model whose component parameters do not integrate out."""
    ConjugateComponent.of(model.component, otherwise="use AuxiliaryGibbs")


class CompiledKernel(PartitionKernel):
    """A kernel that is a tuple of compiled moves; neighbours in a :class:`Compose` run as one compiled loop.

    Every compiled move of points also draws the concentration where that has a Gamma prior.

    Attributes:
        needs_marginals: whether it needs the marginal likelihood of clusters, and with it a conjugate family.
        takes_powers: whether it runs under powers of the likelihood.
    """

    keeps_constraints = True
    needs_marginals = True
    takes_powers = True

    def __init__(self, model: CollapsedModel, *, init: Starts | Tensor | None = None, thin: int = 1) -> None:
        if self.needs_marginals and not is_of_graphs(model):
            require_conjugate(model)
        super().__init__(model, init=init, thin=thin)

    @abstractmethod
    def moves(self, num_points: int) -> tuple[NamedTuple, ...]:
        """Return what a step of the kernel does on so many points, as tuples with a registered step."""

    @property
    def updates(self) -> frozenset[str]:
        """The concentration, where it has a Gamma prior."""
        return self.model.prior.integrated_names

    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> Transition:
        moves = self.moves(len(data))
        return CompiledTransition(self.model, data, moves, states=states, generator=generator)


def moves_in_turn(kernels: Iterable[CompiledKernel], num_points: int) -> tuple[NamedTuple, ...]:
    """Return what a draw of each kernel does, one after the other."""
    return tuple(move for one in kernels for move in one.moves(num_points) * one.thin)


class CompiledTransition(Transition):
    """Compiled chains, advanced in threads: a round of moves a step."""

    def __init__(
        self,
        model: CollapsedModel,
        data: Tensor,
        moves: tuple[NamedTuple, ...],
        *,
        states: ChainStates,
        generator: np.random.Generator,
    ) -> None:
        self.model = model
        generators = generator.spawn(len(states.assignments))
        first = start_chain(model, data, generators[0])
        self._chains = [first, *(start_chain(model, data, one, beside=first) for one in generators[1:])]
        self._program = Program(moves, self._chains[0])
        self._at: ChainStates | None = None
        self._names = tuple(states.hyperparameters)

    def prepare(self, states: ChainStates) -> None:
        self._place(states)
        self._program.draw(self._chains[0], 0, 1)

    def advance(self, states: ChainStates, num_draws: int, *, every: int = 1) -> Trace:
        self._place(states)
        program = self._program
        if len(self._chains) == 1:
            columns = [program.draw(self._chains[0], num_draws, every)]
        else:
            # Some more threads than cores, so that three chains take as long on two as one and a half.
            threads = min(len(self._chains), _THREADS_A_CORE * num_threads())
            with ThreadPoolExecutor(max_workers=threads) as pool:
                columns = list(pool.map(lambda one: program.draw(one, num_draws, every), self._chains))
        trace = trace_of(self.model, self._names, columns)
        if not self.model.is_conjugate:
            trace = self._beside_parameters(trace, states)
        self._at = trace.last()
        return trace

    def _place(self, states: ChainStates) -> None:
        if self._at is not None and same_states(self._at, states):
            return
        place(self._chains, self.model, states)
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


def trace_of(model: CollapsedModel, names: Sequence[str], columns: Sequence[Sequence[np.ndarray]]) -> Trace:
    """Return draws, with the named hyperparameters, from what :meth:`Program.draw` returned of each chain."""
    assignments, score, hyper = (torch.from_numpy(np.stack(column)) for column in zip(*columns, strict=True))
    places, marginal = hyper_places(model), model.prior.integrated_names
    values = {name: hyper[..., places[name]] for name in names}
    fixed = {
        name: values[name] for name in model.prior.hyperpriors if name in values and name not in marginal
    }
    prior = model.prior.given(fixed) if fixed else model.prior
    if model.prior.drawn_components is not None:
        # The score has the weights of blocks given the number of components, which the prior sums over.
        of_blocks = log_block_weights(block_sizes(assignments, model.row_weights), hyper[..., DISCOUNT])
        log_v = prior.log_prob(assignments, weights=model.row_weights) - of_blocks.sum(-1)
    else:
        num_points = assignments.shape[-1] if model.row_weights is None else int(model.row_weights.sum())
        log_v = prior.log_v(num_points, label_range(assignments))
    return Trace(assignments, values, score + log_v + log_hyperprior(model, values))
