"""Chains under powers of the likelihood: parallel tempering, and many chains at one power after another."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.machine import map_in_threads, num_threads
from pyroclust.core.numbers import check_number
from pyroclust.core.random_state import seeded
from pyroclust.infer.mcmc.compiled.chain import Chain, place, start_chain
from pyroclust.infer.mcmc.compiled.runner import Program
from pyroclust.infer.mcmc.compiled_kernel import (
    CompiledKernel,
    moves_in_turn,
    require_conjugate,
    same_states,
    trace_of,
)
from pyroclust.infer.mcmc.compose import Compose
from pyroclust.infer.mcmc.kernel import PartitionKernel, Transition
from pyroclust.infer.mcmc.states import ChainStates, Starts, Trace

POWERS = tuple(float(one) for one in np.geomspace(1.0, 0.8, 8))
"""Powers of the likelihood where nobody says otherwise."""
# Chains side by side. It is the same on every machine, because each place has its own random numbers.
_AT_ONCE = 32


def _compiled_parts(kernel: PartitionKernel) -> list[CompiledKernel]:
    """Return the kernels that one is made of; refuse one that is not made of compiled moves alone."""
    parts = kernel.kernels if isinstance(kernel, Compose) else (kernel,)
    compiled = [one for one in parts if isinstance(one, CompiledKernel)]
    takes_powers = len(compiled) == len(parts) and all(one.takes_powers for one in compiled)
    if not takes_powers or not kernel.moves_points:
        raise ValueError(
            f"kernel is {kernel!r}, expected one that moves points and is made of compiled moves: take "
            "CollapsedGibbs, MergeSplit, SplitMerge, SliceHyperparameters or a Compose of these"
        )
    require_conjugate(kernel.model)
    return compiled


def _compiled_moves(kernel: PartitionKernel, num_points: int) -> tuple[NamedTuple, ...]:
    rounds = kernel.thin if isinstance(kernel, Compose) else 1
    return moves_in_turn(_compiled_parts(kernel), num_points) * rounds


class PoweredChains:
    r"""S chains of a kernel whose target has a power of the likelihood, :math:`p(c) \, p(x \mid c)^\beta`.

    Chains go in blocks of 32 side by side, which share the arrays of 32 chains: memory is O((S + 32 F) N).
    """

    def __init__(self, kernel: PartitionKernel, data: Tensor, *, seed: int) -> None:
        moves = _compiled_moves(kernel, len(data))
        self._model, generator = kernel.model, np.random.default_rng(seed)
        with seeded(seed):
            self._chains = [start_chain(kernel.model, data, one) for one in generator.spawn(_AT_ONCE)]
        self._program = Program(moves, self._chains[0])

    def advance(self, states: ChainStates, power: float, num_draws: int) -> tuple[ChainStates, Tensor]:
        r"""Advance S chains by so many draws of the kernel, or none, at a power above 0.

        Return where they are then, ``log_joint`` with the likelihood to the power, and
        :math:`\log p(x \mid c)` there, ``(S,)`` in nats.
        """
        rows: list[tuple[np.ndarray, ...]] = []
        fits: list[float] = []
        with ThreadPoolExecutor(max_workers=num_threads()) as pool:
            for begin in range(0, len(states.assignments), _AT_ONCE):
                block = states.of_chains(slice(begin, begin + _AT_ONCE))
                chains = self._chains[: len(block.assignments)]
                for one in chains:
                    one.family.power[0] = power
                place(chains, self._model, block)
                if num_draws:
                    rows += map_in_threads(pool, lambda one: self._program.draw(one, 1, num_draws), chains)
                fits += [self._program.log_likelihood(one) for one in chains]
        if num_draws:
            states = trace_of(self._model, tuple(states.hyperparameters), rows).last()
        return states, torch.tensor(fits, dtype=torch.float64)


class ParallelTempering(PartitionKernel):
    r"""Run a kernel under several powers of the likelihood at once, and let neighbours exchange partitions.

    The copy with power :math:`\beta_r` has the target

    .. math:: \pi_r(c) \propto p(c) \, p(x \mid c)^{\beta_r}, \qquad 1 = \beta_1 > \beta_2 > \dots > \beta_R

    and only draws of the first are returned. A draw exchanges the partitions of copies r and r + 1, for all
    odd or all even r in turn, with probability
    :math:`\min(1, \exp((\beta_r - \beta_{r+1}) (\log p(x \mid c_{r+1}) - \log p(x \mid c_r))))`; then every
    copy takes a step of the kernel. Random hyperparameters go with the partitions.

    In many dimensions a chain may keep a cluster in many pieces, since every piece fits its own points: under
    a likelihood that counts a little less they join. Cost: R steps of the kernel, in threads, and about 40
    microseconds of Python a copy and draw. Every copy has arrays of its own, O(N F) numbers. The copies stay
    from draw to draw, so that no other kernel may move points beside it.

    Args:
        kernel: one that is made of compiled moves, for instance a :class:`CollapsedGibbs`, or a
            :class:`Compose` of such.
        powers: of the likelihood, the first 1, falling; put more in between where :meth:`diagnostics` has few
            exchanges.
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
        _compiled_parts(kernel)
        self.keeps_constraints = kernel.keeps_constraints
        super().__init__(kernel.model, init=kernel.init if init is None else init, thin=thin)
        self.kernel = kernel
        self.powers = _checked_powers(powers)
        self._counts = np.zeros((2, max(1, len(self.powers) - 1)))

    def __repr__(self) -> str:
        return f"ParallelTempering({self.kernel!r}, {len(self.powers)} powers down to {self.powers[-1]:.3g})"

    @property
    def updates(self) -> frozenset[str]:
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
        self._counts = np.zeros_like(self._counts)
        moves = _compiled_moves(self.kernel, len(data))
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
        self._model = kernel.model
        self._powers, self._counts = np.array(kernel.powers), counts
        self._copies = [
            [
                start_chain(self._model, data, one, power=power)
                for one, power in zip(generator.spawn(len(self._powers)), kernel.powers, strict=True)
            ]
            for _ in states.assignments
        ]
        self._generator = generator.spawn(1)[0]
        self._program = Program(moves, self._copies[0][0])
        self._names = tuple(states.hyperparameters)
        self._at: ChainStates | None = None
        self._first = 0

    def prepare(self, states: ChainStates) -> None:
        self._place(states)
        self._program.draw(self._copies[0][0], 0, 1)
        self._program.log_likelihood(self._copies[0][0])

    def advance(self, states: ChainStates, num_draws: int, *, every: int = 1) -> Trace:
        self._place(states)
        kept = []
        with ThreadPoolExecutor(max_workers=num_threads()) as pool:
            for _ in range(num_draws):
                for _ in range(every):
                    self._exchange()
                    drawn = self._sweep(pool)
                kept.append(drawn)
        chains = zip(*kept, strict=True)
        columns = [[np.concatenate(column) for column in zip(*one, strict=True)] for one in chains]
        trace = trace_of(self._model, self._names, columns)
        self._at = trace.last()
        return trace

    def _sweep(self, pool: ThreadPoolExecutor) -> list[tuple[np.ndarray, ...]]:
        """Let every copy take a step; return the draw of the first copy of each chain."""
        every = [one for row in self._copies for one in row]
        drawn = map_in_threads(pool, lambda one: self._program.draw(one, 1, 1), every)
        return drawn[:: len(self._powers)]

    def _exchange(self) -> None:
        """Exchange partitions of neighbours: the copies stay where they are, and take each other's power."""
        lower = np.arange(self._first, len(self._powers) - 1, 2)
        self._first = 1 - self._first
        if not len(lower):
            return
        fit = np.array([[self._program.log_likelihood(one) for one in row] for row in self._copies])
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
            place(copies, self._model, states)
        self._at = states


def _give(chain: Chain, power: float) -> None:
    chain.state.log_alone[:] *= power / chain.family.power[0]
    chain.family.power[0] = power


def _checked_powers(powers: Sequence[float]) -> tuple[float, ...]:
    checked = tuple(check_number("powers", one, above=0) for one in powers)
    if not checked or checked[0] != 1.0 or any(one <= other for one, other in pairwise(checked)):
        raise ValueError(
            f"powers is {tuple(powers)}, expected numbers that begin with 1 and fall to above 0, such as "
            "(1.0, 0.9, 0.8)"
        )
    return checked
