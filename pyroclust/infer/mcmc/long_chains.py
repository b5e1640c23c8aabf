"""A few long chains that can be told to go on."""

import time

import numpy as np
from torch import Tensor

from pyroclust.core.random_state import seeded
from pyroclust.distributions.points import Points, as_points
from pyroclust.infer.large_tables import most_sweeps
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.loop import check_draws, run_blocks
from pyroclust.partitions import Draws

__all__ = ["MOST_SWEEPS", "LongChains"]

# Chains go no further.
MOST_SWEEPS = 128_000


class LongChains:
    """C chains of a kernel from its own starts, drawn from as often as wanted.

    Where :meth:`PartitionKernel.run` makes one run of a known length, these go on from where they are.

    Args:
        kernel: of the posterior.
        data: points, ``(N, D)``.
        num_chains: chains, each with its own start and random numbers.
        seed: same seed and same calls, same draws.

    Attributes:
        sweeps: draws of the kernel that each chain has taken.
        seconds: wall-clock seconds of these, compilation not among them.

    Raises:
        ValueError: if the kernel cannot run on the data.

    Example:
        >>> import torch
        >>> from pyroclust.infer.mcmc import CollapsedGibbs
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]], dtype=torch.float64)
        >>> chains = LongChains(CollapsedGibbs(gaussian2d()), data, num_chains=2, seed=0)
        >>> chains.draw(5, every=3).assignments.shape, chains.sweeps
        ((2, 5, 3), 15)
    """

    def __init__(self, kernel: PartitionKernel, data: Points, *, num_chains: int, seed: int) -> None:
        self._name = repr(kernel)
        self._data: Tensor = as_points(data, like=DOUBLE)
        kernel.check(self._data)
        self._generator = np.random.default_rng(seed)
        with seeded(seed):
            self._states = kernel.start(self._data, num_chains, self._generator)
            self._transition = kernel.bind(self._data, self._states, self._generator)
            self._transition.prepare(self._states)
        self.sweeps, self.seconds = 0, 0.0

    def draw(self, num_draws: int, *, warmup: int = 0, every: int = 1) -> Draws:
        """Advance every chain by ``warmup + num_draws * every`` sweeps; keep one in ``every`` of the latter.

        Raises:
            ValueError: if the draws do not fit into memory.
            KeyboardInterrupt: after Ctrl-C; what was drawn until then is lost.
        """
        check_draws(len(self._states.assignments), num_draws, len(self._data))
        began = time.perf_counter()
        # Samplers of hyperparameters use torch's generator: it goes on where the last call left it.
        with seeded(int(self._generator.integers(2**31))):
            trace, interrupted = run_blocks(
                self._transition,
                self._states,
                warmup=warmup,
                num_draws=num_draws,
                every=every,
                progress=False,
            )
        seconds = time.perf_counter() - began
        self.seconds += seconds
        if interrupted:
            made = trace.assignments.shape[1]
            raise KeyboardInterrupt(f"after {made:,} of {num_draws:,} draws of each chain")
        self._states = trace.last()
        self.sweeps += warmup + num_draws * every
        return trace.draws(self._name, seconds=seconds)

    def may_take(self, sweeps: int, *, times: int = 1) -> bool:
        """Return whether chains may take so many sweeps more, each; ``times`` as many as usual in all."""
        most = most_sweeps(
            len(self._data), num_chains=len(self._states.assignments), most=times * MOST_SWEEPS
        )
        return self.sweeps + sweeps <= most
