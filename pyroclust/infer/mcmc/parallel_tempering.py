"""Parallel tempering: copies of a chain under weaker likelihoods, which exchange partitions."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.counts import check_number
from pyroclust.core.threads import map_in_threads, num_threads
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.chain import Chain, place, start_chain
from pyroclust.infer.mcmc.compiled.runner import Program
from pyroclust.infer.mcmc.compiled_kernel import advance_chain, same_states, trace_of
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.loop import Transition
from pyroclust.infer.mcmc.powered_chains import (
    compiled_moves,
    powered_log_likelihood,
    require_compiled_moves,
)
from pyroclust.infer.mcmc.starts import Starts
from pyroclust.infer.mcmc.states import ChainStates, Trace

__all__ = ["POWERS", "ParallelTempering"]

POWERS = tuple(float(one) for one in np.geomspace(1.0, 0.8, 8))
"""Powers of the likelihood where nobody says otherwise."""


class ParallelTempering(PartitionKernel):
    r"""Run a kernel under several powers of the likelihood at once, and let neighbours exchange partitions.

    The copy with power :math:`\beta_r` has the target

    .. math:: \pi_r(c) \propto p(c) \, p(x \mid c)^{\beta_r}, \qquad 1 = \beta_1 > \beta_2 > \dots > \beta_R

    and only draws of the first are returned. A draw exchanges the partitions of copies r and r + 1, for all
    odd or all even r in turn, with probability
    :math:`\min(1, \exp((\beta_r - \beta_{r+1}) (\log p(x \mid c_{r+1}) - \log p(x \mid c_r))))`; then every
    copy takes a step of the kernel. Random hyperparameters go with the partitions.

    In many dimensions a chain may keep a cluster in many pieces for as long as anyone waits, since every
    piece fits its own points: under a likelihood that counts a little less the pieces join within some
    sweeps. Cost: R steps of the kernel, in threads, and about 40 microseconds of Python a copy and draw:
    of 60 points in two columns a Gibbs sweep takes 5. Every copy has arrays of its own, O(N F) numbers.

    The copies are kept from draw to draw, so that no other kernel may move points beside it.

    Args:
        kernel: one that is made of compiled moves, for instance a :class:`CollapsedGibbs`, or a
            :class:`Compose` of such.
        powers: of the likelihood, the first 1, falling. Look at the shares of exchanges in
            :meth:`diagnostics`: where the smallest is near 0, put powers in between.
        init: where chains start, all copies of a chain at the same partition; the kernel's choice by default.
        thin: exchanges, each with a step of the kernel, a draw.

    Raises:
        ValueError: if the kernel is of another kind, or the powers do not fall from 1 to above 0.

    Example:
        >>> import torch
        >>> from pyroclust.infer.mcmc import CollapsedGibbs, OneCluster
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel = ParallelTempering(CollapsedGibbs(gaussian2d()), powers=(1.0, 0.5), init=OneCluster())
        >>> kernel.run(data, num_draws=5, warmup=5, num_chains=2, seed=0).assignments[:, -1].tolist()
        [[0, 0, 1], [0, 0, 1]]

    References:
        Geyer (1991), Markov chain Monte Carlo maximum likelihood. https://hdl.handle.net/11299/58440
        Syed, Bouchard-Cote, Deligiannidis and Doucet (2022), Non-reversible parallel tempering.
        https://doi.org/10.1111/rssb.12464
    """

    def __init__(
        self,
        kernel: PartitionKernel,
        *,
        powers: Sequence[float] = POWERS,
        init: Starts | Tensor | None = None,
        thin: int = 1,
    ) -> None:
        require_compiled_moves(kernel)
        self.keeps_constraints = kernel.keeps_constraints
        super().__init__(kernel.model, init=kernel.init if init is None else init, thin=thin)
        self.kernel = kernel
        self.powers = _checked(powers)
        self._counts = np.zeros((2, max(1, len(self.powers) - 1)))

    def __repr__(self) -> str:
        """The kernel, and how far the powers go."""
        return f"ParallelTempering({self.kernel!r}, {len(self.powers)} powers down to {self.powers[-1]:.3g})"

    @property
    def updates(self) -> frozenset[str]:
        """Names of the random hyperparameters that the kernel samples."""
        return self.kernel.updates

    @property
    def keeps_parameters(self) -> bool:
        """True: the copies stay from draw to draw."""
        return True

    def diagnostics(self) -> dict[str, Any]:
        """Return the shares of exchanges accepted in the latest run, warm-up included: mean and smallest."""
        with np.errstate(invalid="ignore"):
            shares = self._counts[1] / self._counts[0]
        return {
            **super().diagnostics(),
            "exchanges accepted": float(shares.mean()),
            "fewest exchanges accepted": float(shares.min()),
        }

    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> Transition:
        """Prepare R copies of every chain."""
        self._counts = np.zeros_like(self._counts)
        moves = compiled_moves(self.kernel, len(data))
        return _Tempered(self, data, moves, states=states, generator=generator, counts=self._counts)


class _Tempered(Transition):
    """Copies of C chains, ``copies[chain][place]``, with the powers of the places."""

    def __init__(
        self,
        kernel: ParallelTempering,
        data: Tensor,
        moves: tuple[NamedTuple, ...],
        *,
        states: ChainStates,
        generator: np.random.Generator,
        counts: np.ndarray,
    ) -> None:
        self._model: CollapsedModel = kernel.model
        self._powers, self._thin, self._counts = np.array(kernel.powers), kernel.thin, counts
        self._copies = [
            [
                start_chain(self._model, data, own, power=power)
                for own, power in zip(generator.spawn(len(self._powers)), kernel.powers, strict=True)
            ]
            for _ in states.assignments
        ]
        self._generator = generator.spawn(1)[0]
        self._program = Program(moves, self._copies[0][0])
        self._names = tuple(states.hyperparameters)
        self._at: ChainStates | None = None
        self._first = 0

    def prepare(self, states: ChainStates) -> None:
        """Compile, or load from numba's cache."""
        self._place(states)
        one = self._copies[0][0]
        advance_chain(one, self._program, 0, thin=1)
        powered_log_likelihood(one, self._program)

    def step(self, states: ChainStates) -> ChainStates:
        """Advance every chain by one draw."""
        return self.advance(states, 1).last()

    def skip(self, states: ChainStates, num_draws: int) -> ChainStates:
        """Advance every chain by several draws and return where they are then."""
        return self._run(states, num_draws, kept=1).last() if num_draws > 0 else states

    def advance(self, states: ChainStates, num_draws: int) -> Trace:
        """Advance every chain by several draws and return them all."""
        return self._run(states, num_draws, kept=num_draws)

    def _run(self, states: ChainStates, num_draws: int, *, kept: int) -> Trace:
        self._place(states)
        found = []
        with ThreadPoolExecutor(max_workers=num_threads()) as pool:
            for draw in range(num_draws):
                for _ in range(self._thin):
                    self._exchange()
                    drawn = self._sweep(pool)
                if draw >= num_draws - kept:
                    found.append(drawn)
        columns = (torch.from_numpy(np.concatenate(column, 1)) for column in zip(*found, strict=True))
        trace = trace_of(self._model, self._names, *columns)
        self._at = trace.last()
        return trace

    def _sweep(self, pool: ThreadPoolExecutor) -> list[np.ndarray]:
        """Let every copy take a step; return the draws of the first ones, ``(C, 1, ...)`` each."""
        every = [one for row in self._copies for one in row]
        drawn = map_in_threads(pool, lambda one: advance_chain(one, self._program, 1, thin=1), every)
        return [np.stack(column) for column in zip(*drawn[:: len(self._powers)], strict=True)]

    def _exchange(self) -> None:
        """Exchange partitions of neighbours: the copies stay where they are, and take each other's power."""
        lower = np.arange(self._first, len(self._powers) - 1, 2)
        self._first = 1 - self._first
        if not len(lower):
            return
        fit = np.array([[powered_log_likelihood(one, self._program) for one in row] for row in self._copies])
        log_ratio = (self._powers[lower] - self._powers[lower + 1]) * (fit[:, lower + 1] - fit[:, lower])
        accepted = np.log1p(-self._generator.random(log_ratio.shape)) < log_ratio
        self._counts[:, lower] += [np.full(len(lower), len(accepted)), accepted.sum(0)]
        for chain, pair in np.argwhere(accepted):
            row, place_of_one = self._copies[chain], lower[pair]
            one, other = row[place_of_one], row[place_of_one + 1]
            row[place_of_one], row[place_of_one + 1] = other, one
            _give(other, self._powers[place_of_one])
            _give(one, self._powers[place_of_one + 1])

    def _place(self, states: ChainStates) -> None:
        """Move all copies to where a chain starts; later only the first, if something else has moved it."""
        if self._at is not None and same_states(self._at, states):
            return
        for copies in zip(*(row if self._at is None else row[:1] for row in self._copies), strict=True):
            place(
                copies,
                self._model,
                assignments=states.assignments,
                hyperparameters=states.hyperparameters,
            )
        self._at = states


def _give(chain: Chain, power: float) -> None:
    chain.state.log_alone[:] *= power / chain.family.power[0]
    chain.family.power[0] = power


def _checked(powers: Sequence[float]) -> tuple[float, ...]:
    found = tuple(check_number("powers", one, above=0) for one in powers)
    if not found or found[0] != 1.0 or any(one <= other for one, other in pairwise(found)):
        raise ValueError(
            f"powers is {tuple(powers)}, expected numbers that begin with 1 and fall to above 0, such as "
            "(1.0, 0.9, 0.8)"
        )
    return found
