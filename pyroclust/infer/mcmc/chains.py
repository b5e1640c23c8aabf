"""Chains of a kernel that can be told to go on, and starts with few clusters that such chains find."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy

import numpy as np
from torch import Tensor

from pyroclust.core.large_tables import most_sweeps
from pyroclust.core.random_state import seeded
from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.distributions.points import Points, as_points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel, Transition, check_draws, run
from pyroclust.infer.mcmc.named_kernels import allowed_kernel_name, named_kernel
from pyroclust.infer.mcmc.starts import FromDraws
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.partitions import Draws

# Chains go no further.
MOST_SWEEPS = 128_000
# Chains side by side. It is the same on every machine, because each place has its own random numbers.
_AT_ONCE = 32
# A new cluster costs 21 nats beside what it costs at concentration 1.
_CONCENTRATION = 1e-9


class Chains:
    """Chains of a kernel on one data set, which go on from where they are.

    Starts are a number of chains, which begin where the kernel says, or partitions ``(S, N)``, canonical.
    From partitions 32 chains go side by side, and share the arrays of 32 chains: memory is that of S label
    vectors and of 32 chains at work. Kernels that keep parameters have arrays of their own for every 32.

    Attributes:
        states: where the chains are.
        sweeps: draws of the kernel that each chain has taken.
        seconds: wall-clock seconds of those that were drawn, compilation not among them.

    Example:
        >>> import torch
        >>> from pyroclust.infer.mcmc import CollapsedGibbs
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]], dtype=torch.float64)
        >>> chains = Chains(CollapsedGibbs(gaussian2d()), data, 2, seed=0)
        >>> chains.draw(5, every=3).assignments.shape, chains.sweeps
        ((2, 5, 3), 15)
        >>> chains = Chains(CollapsedGibbs(gaussian2d()), data, torch.zeros(50, 3, dtype=torch.int64), seed=0)
        >>> chains.advance(10)
        >>> chains.states.assignments.tolist()[0]
        [0, 0, 1]
    """

    def __init__(self, kernel: PartitionKernel, data: Points, starts: int | Tensor, *, seed: int) -> None:
        self._name, self._thin = repr(kernel), kernel.thin
        self._data = as_points(data, like=DOUBLE)
        self._generator = np.random.default_rng(seed)
        with seeded(seed):
            if isinstance(starts, Tensor):
                self.states, self._at_once = kernel.states_at(self._data, starts), _AT_ONCE
            else:
                kernel.check(self._data)
                self.states = kernel.start(self._data, starts, self._generator)
                self._at_once = starts
            self._transitions = self._bound(kernel)
        self.sweeps, self.seconds = 0, 0.0

    def draw(self, num_draws: int, *, warmup: int = 0, every: int = 1) -> Draws:
        """Advance every chain by ``warmup + num_draws * every`` sweeps; keep one in ``every`` of the latter.

        After Ctrl-C ``KeyboardInterrupt`` is raised, and what this call has drawn is lost.
        """
        (transition,) = self._transitions
        check_draws(len(self.states.assignments), num_draws, len(self._data))
        began = time.perf_counter()
        with self._seeded():
            trace, interrupted = run(
                transition,
                self.states,
                warmup=warmup * self._thin,
                num_draws=num_draws,
                every=every * self._thin,
            )
        seconds = time.perf_counter() - began
        self.seconds += seconds
        if interrupted:
            made = trace.assignments.shape[1]
            raise KeyboardInterrupt(f"after {made:,} of {num_draws:,} draws of each chain")
        self.states = trace.last()
        self.sweeps += warmup + num_draws * every
        return trace.draws(self._name, seconds=seconds)

    def advance(self, sweeps: int, *, tell: Callable[[int], None] = lambda done: None) -> None:
        """Advance every chain, and tell how many chains have come as far, after every 32."""
        moved: list[ChainStates] = []
        with self._seeded():
            for block, transition in zip(self._blocks(), self._transitions, strict=True):
                moved.append(transition.advance(block, 1, every=sweeps * self._thin).last())
                tell(sum(len(one.assignments) for one in moved))
        self.states = ChainStates.concatenate(moved)
        self.sweeps += sweeps

    def may_take(self, sweeps: int, *, times: int = 1) -> bool:
        """Return whether chains may take so many sweeps more, each; ``times`` as many as usual in all."""
        most = most_sweeps(len(self._data), num_chains=len(self.states.assignments), most=times * MOST_SWEEPS)
        return self.sweeps + sweeps <= most

    def _seeded(self) -> AbstractContextManager[None]:
        """Samplers of hyperparameters use torch's generator: it goes on where the last call left it."""
        return seeded(int(self._generator.integers(2**31)))

    def _bound(self, kernel: PartitionKernel) -> list[Transition]:
        """Return a transition for every block: all share one, but the last, which may be shorter."""
        blocks = self._blocks()
        if kernel.keeps_parameters or len(blocks) == 1:
            bound = [kernel.bind(self._data, block, self._generator) for block in blocks]
        else:
            first, last = (kernel.bind(self._data, blocks[place], self._generator) for place in (0, -1))
            bound = [first] * (len(blocks) - 1) + [last]
        for transition, block in {bound[0]: blocks[0], bound[-1]: blocks[-1]}.items():
            transition.prepare(block)
        return bound

    def _blocks(self) -> list[ChainStates]:
        firsts = range(0, len(self.states.assignments), self._at_once)
        return [self.states.of_chains(slice(first, first + self._at_once)) for first in firsts]


def coarse_starts(
    model: CollapsedModel, data: Points, *, num_chains: int, sweeps: int = 200, seed: int
) -> tuple[FromDraws, float]:
    r"""Return starts that chains reach under a prior of very few clusters, and the seconds this took.

    In many dimensions a partition into many small clusters, once there, stays: each of these is worth keeping
    as long as the others are, since its points, one by one or a cluster at a time, fit a large cluster badly
    that has not taken in the others yet. Wine with 13 columns keeps 20 of them for tens of thousands of
    sweeps, at a log joint 25 nats below that of the posterior. Under a Chinese restaurant prior with
    concentration :math:`10^{-9}` most of them go within tens of sweeps.

    Compilation is not among the seconds. Chains from these starts alone may all miss the same side:
    :func:`~pyroclust.analysis.chains.overdispersed_starts` has others beside them.

    Example:
        >>> import torch
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [0.0, 0.3]], dtype=torch.float64)
        >>> starts, seconds = coarse_starts(gaussian2d(), data, num_chains=2, seed=0)
        >>> starts.draws.tolist()
        [[0, 0, 0], [0, 0, 0]]
    """
    few = copy(model)
    few.prior = ChineseRestaurantPrior(_CONCENTRATION)
    kernel = named_kernel(allowed_kernel_name("merge-split+gibbs", few), few)
    # The chains that start here must not repeat these random numbers.
    chains = Chains(kernel, data, num_chains, seed=int(np.random.default_rng(seed).integers(2**31)))
    starts = FromDraws(chains.draw(1, warmup=sweeps - 1).assignments[:, 0])
    return starts, chains.seconds
