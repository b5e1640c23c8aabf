"""Chains of a kernel that can be told to go on: starts with few clusters, and references, by such chains."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.large_tables import most_sweeps
from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.random_state import seeded
from pyroclust.diagnostics import co_assignment, max_rhat
from pyroclust.diagnostics.chains import convergence_with_log_joint
from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.distributions.points import Points, as_points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel, Transition, check_draws, run
from pyroclust.infer.mcmc.named_kernels import allowed_kernel_name, default_kernel, named_kernel
from pyroclust.infer.mcmc.states import ChainStates, FromDraws
from pyroclust.partitions import Draws

# Chains go no further.
MOST_SWEEPS = 128_000
# Chains side by side. It is the same on every machine, because each place has its own random numbers.
_AT_ONCE = 32
# A new cluster costs 21 nats beside what it costs at concentration 1.
_CONCENTRATION = 1e-9

NUM_CHAINS = 8
"""Chains of a reference."""
AGREED = 0.02
"""Halves of a reference may differ by less than this in any co-assignment probability."""
_DRAWS, _EVERY, _KEPT = 500, 2, 50
_FEWEST_BLOCKS = 8


class Chains:
    """Chains of a kernel on one data set, which go on from where they are.

    Starts are a number of chains, which begin where the kernel says, or partitions ``(S, N)``, canonical.
    From partitions 32 chains go side by side, and share the arrays of 32 chains: memory is that of S label
    vectors and of 32 chains at work. Kernels that keep parameters have arrays of their own for every 32.

    Attributes:
        states: where the chains are.
        sweeps: draws of the kernel that each chain has taken.
        seconds: wall-clock seconds of those that were drawn, compilation not among them.
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

    def draw(
        self,
        num_draws: int,
        *,
        warmup: int = 0,
        every: int = 1,
        expect: Callable[[float], None] = lambda seconds: None,
    ) -> Draws:
        """Advance every chain by ``warmup + num_draws * every`` sweeps; keep one in ``every`` of the latter.

        ``expect`` is told after a second how many processor seconds all of them take.

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
                expect=expect,
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
    model: CollapsedModel,
    data: Points,
    *,
    num_chains: int,
    sweeps: int = 200,
    seed: int,
    expect: Callable[[float], None] = lambda seconds: None,
) -> tuple[FromDraws, float]:
    r"""Return starts that chains reach under a prior of very few clusters, and the seconds this took.

    In many dimensions a partition into many small clusters, once there, stays: its points fit a large cluster
    badly that has not taken in the others yet. Wine with 13 columns keeps 20 of them for tens of thousands of
    sweeps, 25 nats below the posterior. Under a Chinese restaurant prior with concentration :math:`10^{-9}`
    most of them go within tens of sweeps. Chains from these starts alone may all miss the same side.
    """
    few = copy(model)
    few.prior = ChineseRestaurantPrior(_CONCENTRATION)
    kernel = named_kernel(allowed_kernel_name("merge-split+gibbs", few), few)
    # The chains that start here must not repeat these random numbers.
    chains = Chains(kernel, data, num_chains, seed=int(np.random.default_rng(seed).integers(2**31)))
    starts = FromDraws(chains.draw(1, warmup=sweeps - 1, expect=expect).assignments[:, 0])
    return starts, chains.seconds


@dataclass(frozen=True)
class Reference:
    """What long chains from overdispersed starts say.

    Attributes:
        together: co-assignment probabilities, ``(N, N)``.
        halves: largest difference of these between four of the chains and the other four.
        rhat: largest R-hat of all functionals.
        draws: some draws of all chains, nearly independent, ``(S, N)``.
        sweeps: of each chain, the first quarter of which was dropped.
        seconds: processor seconds.
    """

    together: np.ndarray
    halves: float
    rhat: float
    draws: np.ndarray
    sweeps: int
    seconds: float

    def __repr__(self) -> str:
        return f"Reference({len(self.together)} points, {self.sweeps} sweeps, halves {self.halves:.3f} apart)"

    @property
    def agreed(self) -> bool:
        """Whether the halves differ by little enough."""
        return self.halves < AGREED

    def errors(self, together: np.ndarray) -> tuple[float, float]:
        """Return the largest and the mean difference from ``(N, N)`` over all pairs of different points."""
        gaps = np.abs(together - self.together)[np.triu_indices(len(together), 1)]
        return float(gaps.max()), float(gaps.mean())

    def floor(self, num_draws: int, *, repeats: int = 10) -> tuple[float, float]:
        """Return the expected errors of so many independent draws."""
        generator = np.random.default_rng(0)
        rows = (generator.integers(len(self.draws), size=num_draws) for _ in range(repeats))
        errors = np.mean([self.errors(co_assignment(self.draws[some])) for some in rows], 0)
        return float(errors[0]), float(errors[1])


def reference_chains(
    model: Any,
    data: Points,
    *,
    seed: int = 1,
    seconds: float | None = 60.0,
    sweeps: int | None = None,
    starts: Tensor | None = None,
) -> Reference:
    """Run eight chains of the default kernel until two halves of them agree, or a limit is reached.

    Every look is after twice as many sweeps as the last, at first 8,000; the first quarter is dropped. Halves
    that do not agree are said, not hidden: see :attr:`Reference.agreed`. Memory O(N^2).

    Limits are processor seconds and sweeps of each chain; a look that would come later is not waited for.
    Chains begin at ``starts``, ``(8, N)``, by default at overdispersed ones.
    """
    if seconds is None and sweeps is None:
        raise ValueError("seconds and sweeps are both None, expected a limit: chains may never agree")
    most_seconds = np.inf if seconds is None else check_number("seconds", seconds, above=0)
    most_sweeps = np.inf if sweeps is None else check_count("sweeps", sweeps)
    points = as_points(data, like=torch.empty(0, dtype=torch.float64))
    began = time.process_time()
    kernel = default_kernel(model)
    if starts is not None:
        kernel.init = FromDraws(starts)
    chains = Chains(kernel, points, NUM_CHAINS, seed=seed)
    draws, log_joint, total = [], [], np.zeros((2, len(points), len(points)), dtype=np.float32)
    sums = {0: total.copy()}
    blocks = 0
    while True:
        drawn = chains.draw(_DRAWS, every=_EVERY)
        blocks += 1
        # Every second chain: starts far apart go from few clusters to many.
        total += np.stack([co_assignment(half) for half in (drawn.assignments[::2], drawn.assignments[1::2])])
        draws.append(drawn.assignments[:, :: _DRAWS // _KEPT].astype(np.int16))
        log_joint.append(np.asarray(drawn.log_joint)[:, :: _DRAWS // _KEPT])
        if blocks & (blocks - 1):
            continue
        sums[blocks] = total.copy()
        dropped = blocks // 4
        means = (total - sums[dropped]) / (blocks - dropped)
        halves = float(np.abs(means[0] - means[1]).max())
        spent = time.process_time() - began
        over = 2 * spent > most_seconds or 2 * chains.sweeps > most_sweeps
        if (blocks >= _FEWEST_BLOCKS and halves < AGREED) or over:
            kept = np.concatenate(draws[dropped:], 1).astype(np.int64)
            rhat = largest_rhat(kept, np.concatenate(log_joint[dropped:], 1))
            together = means.mean(0).astype(np.float64)
            return Reference(together, halves, rhat, kept.reshape(-1, len(points)), chains.sweeps, spent)


def largest_rhat(draws: np.ndarray, log_joint: np.ndarray) -> float:
    """Return the largest R-hat of all functionals of chains, 1 where every one is constant."""
    return max_rhat(convergence_with_log_joint(draws, log_joint))
