"""Many short chains from given partitions, a few at a time."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.random_state import seeded
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.loop import Transition
from pyroclust.infer.mcmc.states import ChainStates

__all__ = ["ShortChains"]

# Chains side by side. It is the same on every machine, because each place has its own random numbers.
_AT_ONCE = 32


class ShortChains:
    """S chains of a kernel, each from its own partition, of which only the present states are kept.

    Chains go in blocks of 32 side by side, which share the arrays of 32 chains: memory is that of S label
    vectors and of 32 chains at work, O((S + 32 F) N). Kernels that keep cluster parameters have arrays of
    their own for every block.

    Args:
        kernel: of the posterior that the chains are to approach.
        data: points, ``(N, D)`` float64, checked by the kernel.
        assignments: where the chains start, ``(S, N)`` canonical.
        seed: of the chains; same seed, same states, whatever the number of cores.

    Example:
        >>> from pyroclust.infer.mcmc import CollapsedGibbs
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]], dtype=torch.float64)
        >>> starts = torch.zeros(5, 3, dtype=torch.int64)
        >>> chains = ShortChains(CollapsedGibbs(gaussian2d()), data, starts, seed=0)
        >>> chains.advance(10)
        >>> chains.states.assignments.tolist()[0]
        [0, 0, 1]
    """

    def __init__(self, kernel: PartitionKernel, data: Tensor, assignments: Tensor, *, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self.sweeps = 0
        with seeded(seed):
            self.states = kernel.states_at(data, assignments)
            self._transitions = self._bind(kernel, data)

    def advance(self, sweeps: int, *, tell: Callable[[int], None] | None = None) -> None:
        """Advance every chain by so many draws of the kernel, in O(S sweeps) of them.

        Args:
            sweeps: draws of the kernel.
            tell: called with the number of chains that have come as far, after every block.
        """
        moved: list[ChainStates] = []
        # Samplers of hyperparameters use torch's generator: it goes on where the last call left it.
        with seeded(int(self._generator.integers(2**31))):
            for block, transition in zip(self._blocks(), self._transitions, strict=True):
                moved.append(transition.skip(block, sweeps))
                if tell is not None:
                    tell(sum(len(one.assignments) for one in moved))
        self.states = _joined(moved)
        self.sweeps += sweeps

    def _bind(self, kernel: PartitionKernel, data: Tensor) -> list[Transition]:
        blocks = self._blocks()
        if kernel.keeps_parameters:
            found = [kernel.bind(data, block, self._generator) for block in blocks]
        else:
            found = [kernel.bind(data, blocks[0], self._generator)] * (len(blocks) - 1)
            # The last block may be shorter.
            found.append(kernel.bind(data, blocks[-1], self._generator))
        for transition, block in ((found[0], blocks[0]), (found[-1], blocks[-1])):
            transition.prepare(block)
        return found

    def _blocks(self) -> list[ChainStates]:
        states = self.states
        return [
            ChainStates(
                labels,
                {name: values[place : place + _AT_ONCE] for name, values in states.hyperparameters.items()},
                states.log_joint[place : place + _AT_ONCE],
            )
            for place, labels in zip(
                range(0, len(states.assignments), _AT_ONCE), states.assignments.split(_AT_ONCE), strict=True
            )
        ]


def _joined(blocks: list[ChainStates]) -> ChainStates:
    names = blocks[0].hyperparameters
    return ChainStates(
        torch.cat([one.assignments for one in blocks]),
        {name: torch.cat([one.hyperparameters[name] for one in blocks]) for name in names},
        torch.cat([one.log_joint for one in blocks]),
    )
