"""Many chains of a kernel under a power of the likelihood, a few at a time."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.random_state import seeded
from pyroclust.core.threads import map_in_threads, num_threads
from pyroclust.infer.mcmc.compiled.chain import Chain, place, start_chain
from pyroclust.infer.mcmc.compiled.runner import Program, total_of
from pyroclust.infer.mcmc.compiled.steps import require_conjugate
from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel, advance_chain, trace_of
from pyroclust.infer.mcmc.compose import Compose
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.states import ChainStates

__all__ = ["PoweredChains", "compiled_moves", "powered_log_likelihood", "require_compiled_moves"]

# Chains side by side. It is the same on every machine, because each place has its own random numbers.
_AT_ONCE = 32


def require_compiled_moves(kernel: PartitionKernel) -> None:
    """Refuse kernels that cannot run under a power of the likelihood.

    Raises:
        ValueError: if the kernel moves no points, is not made of compiled moves alone, or its model is not
            conjugate.
    """
    if not all(isinstance(one, CompiledKernel) for one in _parts(kernel)) or not kernel.moves_points:
        raise ValueError(
            f"kernel is {kernel!r}, expected one that moves points and is made of compiled moves: take "
            "CollapsedGibbs, MergeSplit, SplitMerge, SliceHyperparameters or a Compose of these"
        )
    require_conjugate(kernel.model)


def compiled_moves(kernel: PartitionKernel, num_points: int) -> tuple[NamedTuple, ...]:
    """Return what a draw of such a kernel does, ``thin`` included, as tuples with a registered step."""
    rounds = kernel.thin if isinstance(kernel, Compose) else 1
    found = (one.moves(num_points) for one in _parts(kernel) if isinstance(one, CompiledKernel))
    return tuple(move for moves in found for move in moves) * rounds


def powered_log_likelihood(chain: Chain, program: Program) -> float:
    """Return log p(x | c) of where a chain is in nats, not raised to the power, in O(K F)."""
    found = total_of(program.log_likelihood, chain.own_at.number, chain.state_at)
    return float(found / chain.family.power[0])


class PoweredChains:
    r"""S chains of a kernel whose target has a power of the likelihood, :math:`p(c) \, p(x \mid c)^\beta`.

    Chains go in blocks of 32 side by side, which share the arrays of 32 chains: memory is that of S label
    vectors and of 32 chains at work, O((S + 32 F) N). Each call places every chain, in O(N F), and then takes
    its draws; where chains are, and at which power, is not remembered.

    Args:
        kernel: one that is made of compiled moves.
        data: points, ``(N, D)`` float64, checked by the kernel.
        seed: same seed and same calls, same states, whatever the number of cores.

    Raises:
        ValueError: if the kernel is of another kind.

    Example:
        >>> from pyroclust.infer.mcmc import CollapsedGibbs
        >>> from pyroclust.models import gaussian2d
        >>> kernel, data = CollapsedGibbs(gaussian2d()), torch.tensor([[0.0, 0.0], [9.0, 0.0]]).double()
        >>> chains = PoweredChains(kernel, data, seed=0)
        >>> starts = kernel.states_at(data, torch.zeros(100, 2, dtype=torch.int64))
        >>> few, many = (chains.advance(starts, power, 10)[0].assignments for power in (0.01, 1.0))
        >>> bool(few.sum() < many.sum())
        True
    """

    def __init__(self, kernel: PartitionKernel, data: Tensor, *, seed: int) -> None:
        require_compiled_moves(kernel)
        self._model, self._data = kernel.model, data
        self._generator = np.random.default_rng(seed)
        with seeded(seed):
            self._chains = [
                start_chain(kernel.model, data, own, power=1.0) for own in self._generator.spawn(_AT_ONCE)
            ]
        self._program = Program(compiled_moves(kernel, len(data)), self._chains[0])

    def advance(self, states: ChainStates, power: float, num_draws: int) -> tuple[ChainStates, Tensor]:
        r"""Advance every chain by so many draws of the kernel.

        Args:
            states: where the S chains are.
            power: of the likelihood, above 0.
            num_draws: may be 0.

        Returns:
            where they are then, ``log_joint`` with the likelihood to the power, and
            :math:`\log p(x \mid c)` there, ``(S,)`` in nats.
        """
        names = tuple(states.hyperparameters)
        rows: list[list[np.ndarray]] = []
        with ThreadPoolExecutor(max_workers=num_threads()) as pool:
            for begin in range(0, len(states.assignments), _AT_ONCE):
                block = slice(begin, begin + _AT_ONCE)
                labels = states.assignments[block]
                chains = self._chains[: len(labels)]
                for one in chains:
                    one.family.power[0] = power
                place(
                    chains,
                    self._model,
                    assignments=labels,
                    hyperparameters={name: values[block] for name, values in states.hyperparameters.items()},
                )
                rows.extend(map_in_threads(pool, lambda one: self._draw(one, num_draws), chains))
        if num_draws == 0:
            return states, torch.tensor([float(row[-1]) for row in rows], dtype=torch.float64)
        assignments, score, hyper, fit = (
            torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True)
        )
        return trace_of(self._model, names, assignments, score, hyper).last(), fit

    def _draw(self, chain: Chain, num_draws: int) -> list[np.ndarray]:
        drawn = advance_chain(chain, self._program, min(num_draws, 1), thin=num_draws)
        return [*drawn, np.array(powered_log_likelihood(chain, self._program))]


def _parts(kernel: PartitionKernel) -> tuple[PartitionKernel, ...]:
    return kernel.kernels if isinstance(kernel, Compose) else (kernel,)
