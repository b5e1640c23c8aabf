"""Long merge-split chains that other draws are held against, and how far these are from them."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.diagnostics import co_assignment, convergence, functionals, max_rhat
from pyroclust.infer.mcmc import FromDraws
from pyroclust.infer.mcmc.defaults import default_kernel
from pyroclust.infer.mcmc.long_chains import LongChains

REFERENCES = Path(__file__).parents[1] / "runs" / "references"
AGREED = 0.02
"""Halves of a reference may differ by less than this in any co-assignment probability."""
CHAINS = 8
_DRAWS, _EVERY, _KEPT = 500, 2, 50


@dataclass(frozen=True)
class Reference:
    """What long chains from starts far apart say.

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

    @property
    def agreed(self) -> bool:
        """Whether the halves differ by little enough."""
        return self.halves < AGREED

    def errors(self, together: np.ndarray) -> tuple[float, float]:
        """Return the largest and the mean difference over all pairs of different points."""
        gaps = np.abs(together - self.together)[np.triu_indices(len(together), 1)]
        return float(gaps.max()), float(gaps.mean())

    def floor(self, num_draws: int, *, repeats: int = 10) -> tuple[float, float]:
        """Return the expected errors of so many independent draws."""
        generator = np.random.default_rng(0)
        rows = (generator.integers(len(self.draws), size=num_draws) for _ in range(repeats))
        found = np.mean([self.errors(co_assignment(self.draws[some])) for some in rows], 0)
        return float(found[0]), float(found[1])


def long_chains(
    model: Any, data: Tensor, *, seed: int = 1, seconds: float = 60.0, starts: Tensor | None = None
) -> Reference:
    """Run eight chains until two halves of them agree, or time is up; by default from overdispersed starts.

    Every look is after twice as many draws as the last; the first quarter is dropped.
    """
    began = time.process_time()
    kernel = default_kernel(model)
    if starts is not None:
        kernel.init = FromDraws(starts)
    chains = LongChains(kernel, data.double(), num_chains=CHAINS, seed=seed)
    draws, log_joint, total = [], [], np.zeros((2, len(data), len(data)), dtype=np.float32)
    sums = {0: total.copy()}
    blocks = 0
    while True:
        found = chains.draw(_DRAWS, every=_EVERY)
        blocks += 1
        total += np.stack([co_assignment(half.numpy()) for half in _halves(found.assignments)])
        draws.append(found.assignments[:, :: _DRAWS // _KEPT].to(torch.int16).numpy())
        log_joint.append(found.log_joint[:, :: _DRAWS // _KEPT].numpy())
        if blocks & (blocks - 1):
            continue
        sums[blocks] = total.copy()
        dropped = blocks // 4
        means = (total - sums[dropped]) / (blocks - dropped)
        halves = float(np.abs(means[0] - means[1]).max())
        spent = time.process_time() - began
        if (blocks >= 8 and halves < AGREED) or 2 * spent > seconds:
            kept = np.concatenate(draws[dropped:], 1).astype(np.int64)
            rhat = largest_rhat(kept, np.concatenate(log_joint[dropped:], 1))
            together = means.mean(0).astype(np.float64)
            return Reference(together, halves, rhat, kept.reshape(-1, len(data)), chains.sweeps, spent)


def kept_reference(path: Path, make: Callable[[], Reference]) -> Reference:
    """Return the reference in a file, made and written there where there is none yet."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **asdict(make()))
    with np.load(path) as found:
        numbers = {name: found[name].item() for name in ("halves", "rhat", "sweeps", "seconds")}
        return Reference(together=found["together"], draws=found["draws"], **numbers)


def largest_rhat(draws: np.ndarray, log_joint: np.ndarray) -> float:
    """Return the largest R-hat of all functionals of chains, 1 where every one is constant.

    Shape:
        draws: ``(chains, draws, N)``; log_joint: ``(chains, draws)`` in nats.
    """
    best = np.unravel_index(log_joint.argmax(), log_joint.shape)
    values = functionals(draws, reference=draws[best]) | {"log_joint": log_joint}
    return max_rhat(convergence(values))


def _halves(draws: Tensor) -> tuple[Tensor, Tensor]:
    """Take every second chain: starts far apart go from few clusters to many."""
    return draws[::2], draws[1::2]
