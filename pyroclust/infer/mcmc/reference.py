"""Chains that go on until two halves of them agree: what other draws are held against."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.numbers import check_count, check_number
from pyroclust.diagnostics import co_assignment, max_rhat
from pyroclust.diagnostics.chains import convergence_with_log_joint
from pyroclust.distributions.points import Points, as_points
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.infer.mcmc.starts import FromDraws

AGREED = 0.02
"""Halves of a reference may differ by less than this in any co-assignment probability."""
NUM_CHAINS = 8
"""Chains of a reference."""
_DRAWS, _EVERY, _KEPT = 500, 2, 50
_FEWEST_BLOCKS = 8


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
        """Return how long the chains are, and how far their halves are apart."""
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

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> found = reference_chains(gaussian2d(), torch.tensor([[0.0, 0.0], [9.0, 0.0]]), seconds=20.0)
        >>> found.agreed, bool(found.together[0, 1] < 0.1)
        (True, True)
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
