"""From a guide's draws to draws of the posterior: weigh, resample, and move by a kernel."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.counts import check_count, check_seed
from pyroclust.diagnostics import LogEvidence, Round, log_evidences
from pyroclust.diagnostics.weights.importance import (
    importance_efficiency,
    importance_log_evidence,
    importance_weights,
    smooth_log_weights,
    stratified_draws,
)
from pyroclust.infer.checks import log_joint_of
from pyroclust.infer.mcmc.defaults import default_kernel
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.short_chains import ShortChains
from pyroclust.infer.refining.refined import Refined
from pyroclust.infer.refining.settling import Watch
from pyroclust.memory import check_memory
from pyroclust.points import Points, as_points
from pyroclust.progress import progress_bar
from pyroclust.protocols import CollapsedModel, PartitionGuide
from pyroclust.random_state import seed_from_torch, seeded

__all__ = ["refine"]

# The first look is after so many sweeps, every next one after twice as many; then it stops.
_FIRST_LOOK, _MOST_SWEEPS = 10, 640
# Numbers of a block of draws that is scored at once.
_AT_ONCE = 1 << 22
_BYTES_A_LABEL = 8


def refine(
    model: CollapsedModel,
    guide: PartitionGuide,
    data: Points,
    *,
    num_draws: int = 1000,
    proposals: int = 5,
    kernel: PartitionKernel | None = None,
    sweeps: int | None = None,
    num_orders: int = 8,
    seed: int | None = None,
    progress: bool = False,
) -> Refined:
    r"""Return draws near the posterior: a guide's, resampled by their weights and moved by a kernel.

    1. ``proposals * num_draws`` partitions are drawn from the guide, in equal parts from ``num_orders``
       posteriors, each of which visits the points in its own order where the guide allows it.
    2. Their weights p(c, x) / q(c | x) are smoothed, and ``num_draws`` are resampled by stratified sampling.
       Where the model has no ``log_joint``, the first ``num_draws`` go on as they are.
    3. From each a chain of the kernel runs, many at a time in threads. With ``sweeps=None`` the chains are
       looked at after 10, 20, 40, ... up to 640 sweeps: they have settled when a test finds no change since
       the look before, and the nested R-hat is at most 1.05 for every functional.

    Resampling mends what the guide has wrong of the whole, sweeps what it has wrong nearby. Chains from one
    ancestor are independent given it, and count as fewer draws while they are alike.

    Cost: that of the proposals with their log-probabilities, and S T sweeps; memory O((P + S) N) labels.

    Args:
        model: a mixture; kernels need its prior and family.
        guide: a guide whose ``posterior(data)`` has log-probabilities; ``PredictiveFilter(model)`` will do.
        data: one data set, ``(N, D)``.
        num_draws: S, draws to return.
        proposals: proposals a draw; more of them leave more distinct ancestors.
        kernel: a kernel of the model's posterior; by default merge-split moves and a Gibbs sweep, and for
            families that are not conjugate Gibbs sampling with auxiliary parameters.
        sweeps: draws of the kernel that each chain takes; ``None`` goes on until nothing moves.
        num_orders: posteriors that share the proposals.
        seed: same seed, same draws; None takes one from torch's generator.
        progress: show bars on standard error.

    Raises:
        ValueError: if the model has no prior and family to run a kernel on, the kernel belongs to another
            model, the data are no one finite data set, a number is out of range, or the draws do not fit into
            memory.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> model, data = gaussian2d(), torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> refined = refine(model, PredictiveFilter(model), data, num_draws=50, seed=0)
        >>> refined.assignments.shape, refined.settled
        (torch.Size([50, 3]), True)

    References:
        Margossian et al. (2024), Nested R-hat. https://doi.org/10.1214/24-BA1453
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html
    """
    num_draws, proposals = check_count("num_draws", num_draws), check_count("proposals", proposals)
    num_orders = check_count("num_orders", num_orders)
    if sweeps is not None:
        sweeps = check_count("sweeps", sweeps, at_least=0)
    kernel = _kernel_of(model, kernel)
    points = as_points(data, like=DOUBLE)
    kernel.check(points.double())
    _check_room(num_draws, proposals, len(points))
    root = seed_from_torch() if seed is None else check_seed(seed)
    clock = _Clock()
    with seeded(root), torch.no_grad():
        found = _Proposals.drawn(
            model, guide, points, num_draws * proposals, num_orders=num_orders, clock=clock, shown=progress
        )
        ancestors = found.resample(num_draws)
    with clock.timed("prepare"):
        chains = ShortChains(kernel, points.double(), found.assignments[ancestors], seed=root)
    rounds = _run(chains, ancestors.numpy(), sweeps=sweeps, seed=root, clock=clock, shown=progress)
    states = chains.states
    with clock.timed("score"), seeded(root), torch.no_grad():
        evidences = found.evidences(states.assignments, states.log_joint)
    return Refined(
        assignments=states.assignments,
        log_joint=states.log_joint,
        hyperparameters=states.hyperparameters,
        ancestors=ancestors,
        proposals=found.assignments,
        proposal_log_prob=found.log_prob,
        proposal_log_joint=found.log_joint,
        pareto_k=found.pareto_k,
        efficiency=found.efficiency,
        log_evidence_by_order=found.log_evidence_by_order(),
        evidences=evidences,
        rounds=rounds,
        seconds=clock.seconds,
    )


class _Clock:
    """Adds up the wall time of parts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - began


@dataclass(frozen=True)
class _Proposals:
    """Draws of several posteriors of one guide, with their weights.

    Attributes:
        assignments: ``(P, N)``.
        log_prob: log q of each by the posterior that it came from, ``(P,)`` in nats.
        log_joint: ``(P,)`` in nats; nan where the model has none.
        posteriors: with the numbers of draws of each.
    """

    assignments: Tensor
    log_prob: Tensor
    log_joint: Tensor
    posteriors: tuple[tuple[Any, int], ...]

    @classmethod
    def drawn(
        cls,
        model: CollapsedModel,
        guide: PartitionGuide,
        data: Tensor,
        number: int,
        *,
        num_orders: int,
        clock: _Clock,
        shown: bool,
    ) -> "_Proposals":
        own = data.to(_dtype_of(guide, data))
        labels, log_prob, log_joint, posteriors = [], [], [], []
        rows = max(1, _AT_ONCE // data.numel())
        done = 0
        with progress_bar("proposals", number, shown=shown) as tell:
            for size in (len(part) for part in torch.arange(number).tensor_split(min(num_orders, number))):
                with clock.timed("draw"):
                    posterior = guide.posterior(own)
                    parts = [posterior.sample_and_log_prob((count,)) for count in _blocks(size, rows)]
                labels += [part for part, _ in parts]
                log_prob += [own_log_prob.double() for _, own_log_prob in parts]
                if model.has_likelihood:
                    with clock.timed("weigh"):
                        log_joint += [log_joint_of(model, data, part).double() for part, _ in parts]
                posteriors.append((posterior, size))
                done += size
                tell(done, "")
        scores = torch.cat(log_prob)
        joint = torch.cat(log_joint) if log_joint else torch.full_like(scores, math.nan)
        return cls(torch.cat(labels), scores, joint, tuple(posteriors))

    @property
    def has_weights(self) -> bool:
        return not bool(self.log_joint.isnan().any())

    @property
    def log_weights(self) -> Tensor:
        return self.log_joint - self.log_prob

    @property
    def pareto_k(self) -> float:
        return smooth_log_weights(self.log_weights.numpy())[1] if self.has_weights else math.nan

    @property
    def efficiency(self) -> float:
        return importance_efficiency(self.log_weights.numpy()) if self.has_weights else math.nan

    def resample(self, num_draws: int) -> Tensor:
        """Return the proposals that go on, ``(S,)`` in order; without weights the first ones."""
        if not self.has_weights:
            return torch.arange(num_draws)
        weights = importance_weights(self.log_weights.numpy())
        uniform = torch.rand(num_draws, dtype=torch.float64).numpy()
        return torch.from_numpy(stratified_draws(weights, uniform))

    def evidences(self, assignments: Tensor, log_joint: Tensor) -> tuple[LogEvidence, ...]:
        """Estimate log p(data) from the weights, and from draws after the sweeps where these have log q.

        Each posterior scores its share of those draws: the identities behind reciprocal and bridge sampling
        hold for every posterior, and so for their sums.
        """
        if not self.has_weights:
            return ()
        weights = self.log_weights.numpy()
        alone = LogEvidence(
            "importance sampling", *importance_log_evidence(weights), smooth_log_weights(weights)[1]
        )
        if not all(posterior.is_exact for posterior, _ in self.posteriors):
            return (alone,)
        every = len(self.posteriors)
        scored = torch.empty_like(log_joint)
        for place, (posterior, _) in enumerate(self.posteriors):
            scored[place::every] = posterior.merged_log_prob(assignments[place::every]).double()
        if not bool(scored.isfinite().all()):
            return (alone,)
        return log_evidences(
            log_joint.numpy(),
            scored.numpy(),
            guide_log_joint=self.log_joint.numpy(),
            guide_log_prob=self.log_prob.numpy(),
        )

    def log_evidence_by_order(self) -> Tensor:
        """Return the estimate of log p(data) from the proposals of each posterior alone, ``(M,)`` in nats."""
        parts = self.log_weights.split([size for _, size in self.posteriors])
        return torch.stack([part.logsumexp(0) - math.log(len(part)) for part in parts])


def _kernel_of(model: CollapsedModel, kernel: PartitionKernel | None) -> PartitionKernel:
    if not (hasattr(model, "prior") and hasattr(model, "component")):
        raise ValueError(
            f"model is a {type(model).__name__} that can only be simulated, expected a mixture of a prior "
            "and a component family: refine moves draws by a kernel, which needs the likelihood of a cluster"
        )
    if kernel is None:
        return default_kernel(model)
    if kernel.model != model:
        raise ValueError(
            f"kernel belongs to the model '{kernel.model.name}', expected '{model.name}': make it of the same"
        )
    return kernel


def _dtype_of(guide: PartitionGuide, data: Tensor) -> torch.dtype:
    """Return the dtype of a guide's weights, and that of the data where it has none."""
    parameters = getattr(guide, "parameters", None)
    first = None if parameters is None else next(iter(parameters()), None)
    return data.dtype if first is None else first.dtype


def _check_room(num_draws: int, proposals: int, num_points: int) -> None:
    check_memory(
        2 * (proposals + 3) * num_draws * num_points * _BYTES_A_LABEL,
        f"num_draws is {num_draws} and proposals {proposals}: partitions of {num_points} points",
        remedy="take fewer",
    )


def _blocks(number: int, most: int) -> list[int]:
    return [min(most, number - done) for done in range(0, number, most)]


def _run(
    chains: ShortChains,
    ancestors: np.ndarray,
    *,
    sweeps: int | None,
    seed: int,
    clock: _Clock,
    shown: bool,
) -> tuple[Round, ...]:
    """Advance the chains and look at them, as :func:`refine` says."""
    looks = _doubling(_FIRST_LOOK, _MOST_SWEEPS) if sweeps is None else _halves(sweeps)
    if not looks:
        return ()
    rounds: list[Round] = []
    watch = Watch(ancestors, seed=seed)
    with clock.timed("look"):
        watch.first(chains.states.assignments, chains.states.log_joint)
    with progress_bar("sweeps", looks[-1], shown=shown) as tell:
        for until in looks:
            with clock.timed("sweep"):
                chains.advance(until - chains.sweeps)
            with clock.timed("look"):
                rounds.append(watch.again(chains.states.assignments, chains.states.log_joint, sweeps=until))
            tell(until, "")
            # The first look compares with the guide's own draws, which are to move.
            if sweeps is None and len(rounds) > 1 and rounds[-1].has_settled:
                break
    return tuple(rounds)


def _doubling(first: int, most: int) -> list[int]:
    found = [first]
    while 2 * found[-1] <= most:
        found.append(2 * found[-1])
    return found


def _halves(sweeps: int) -> list[int]:
    return sorted({sweeps // 2, sweeps} - {0})
