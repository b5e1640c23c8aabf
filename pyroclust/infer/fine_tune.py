"""Fine-tuning of a guide to given, unlabelled data sets by Pyro's own objectives."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyro
import torch
from pyro.infer import ELBO, ReweightedWakeSleep, TraceGraph_ELBO
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from pyroclust.core.counts import check_count, check_number, check_seed
from pyroclust.core.interrupts import interrupt_between_steps
from pyroclust.core.progress import progress_bar
from pyroclust.core.random_state import pyro_seeded
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.checks import MAX_LEARNING_RATE, require_likelihood
from pyroclust.infer.objectives import BatchedWakeSleep, decaying_baseline
from pyroclust.infer.quality import AmortizationGap, amortization_gap
from pyroclust.infer.simulation import group_by_size

_BASELINE_DECAY = 0.9


@dataclass(frozen=True)
class FineTuning:
    """What a fine-tuning did.

    Attributes:
        gap_before: divergences from the posterior of every data set before.
        gap_after: the same after.
        losses: the objective at every step, nats per data set, ``(steps done,)`` float64.
        seconds: wall time of the steps, without the measurements.
        interrupted: whether Ctrl-C ended it early.
    """

    gap_before: AmortizationGap
    gap_after: AmortizationGap
    losses: Tensor
    seconds: float
    interrupted: bool


def fine_tune(
    model: CollapsedModel,
    guide: nn.Module,
    data: Points | Sequence[Points],
    *,
    objective: ELBO | None = None,
    steps: int = 300,
    learning_rate: float = 1e-3,
    batch_size: int = 64,
    num_draws: int = 1000,
    seed: int = 0,
    progress: bool = True,
) -> FineTuning:
    r"""Fit a guide, in place, to unlabelled data sets; measure the amortization gap before and after.

    .. math:: \log p(x) = \mathrm{ELBO}(q) + KL(q(c \mid x) \,\|\, p(c \mid x))

    The guide specialises to these data sets: for others it may become worse, so keep a copy. Objectives are
    instances of Pyro's ELBO classes and of ours, and minimise different divergences:

    * ``BatchedWakeSleep(16)``, the default, and ``pyro.infer.ReweightedWakeSleep(16)``: KL(p || q), which
      covers modes. The stock class weighs all data sets of a call together, so it gets them one by one.
    * ``LeaveOneOut(16)``: KL(q || p), the gap itself.
    * ``pyro.infer.TraceGraph_ELBO()``: the same with Pyro's decaying average as baseline, one a data set.
    * ``pyro.infer.Trace_ELBO()``: the same without any baseline, and hardly of use: on overlapping clusters
      the variance of its gradient is some 30 to 1000 times that of ``LeaveOneOut`` or ``TraceGraph_ELBO``.

    Divergences KL(q || p) do not find a mode that the guide never draws. Adam, its rate falling linearly to
    0, gradients per point clipped at 1.

    Args:
        model: a collapsed model, with ``log_joint``.
        guide: a guide of the model, or of another one: see :func:`pyroclust.guides.retarget`.
        data: data sets of one size or of several.
        objective: ``BatchedWakeSleep()`` by default.
        steps: optimiser steps, each on one batch of data sets of equal size.
        learning_rate: of Adam at the start.
        batch_size: data sets a step.
        num_draws: for the gaps of data sets that are too large to enumerate.
        seed: of all random numbers.
        progress: show a progress bar on standard error.

    Shape:
        data: ``(*batch, N, D)``, or a sequence of ``(N, D)``.

    Raises:
        ValueError: if a count is not positive, the data do not fit, or a loss is not finite; the guide then
            has the weights it came with.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import overlap2d
        >>> model = overlap2d()
        >>> guide = NeuralClusteringProcess(model)
        >>> done = fine_tune(model, guide, torch.randn(4, 6, 2), steps=2, progress=False)
        >>> done.gap_after.gap.shape, len(done.losses)
        (torch.Size([4]), 2)

    References:
        Cremer, Li & Duvenaud (2018), Inference suboptimality in variational autoencoders.
        https://arxiv.org/abs/1801.03558
    """
    steps, batch_size = check_count("steps", steps), check_count("batch_size", batch_size)
    seed = check_seed(seed)
    learning_rate = check_number("learning_rate", learning_rate, above=0, at_most=MAX_LEARNING_RATE)
    objective = BatchedWakeSleep() if objective is None else objective
    require_likelihood(model, what="fine-tuning to given data")
    groups = group_by_size(data, model.component.dim)
    batches = [batch for _, sets in groups for batch in sets.split(batch_size)]
    start, tuned = cast(Any, copy.deepcopy(guide)), cast(Any, guide)
    with progress_bar("fine-tuning", steps, shown=progress) as tell, pyro_seeded(seed):
        began = time.perf_counter()
        training = _Training(model, guide, objective, batches, steps=steps, learning_rate=learning_rate)
        losses, interrupted = _run(training, steps, tell, start)
        seconds = time.perf_counter() - began
    before = amortization_gap(model, start, data, num_draws=num_draws, others=(tuned,), seed=seed)
    after = amortization_gap(model, tuned, data, num_draws=num_draws, others=(start,), seed=seed)
    return FineTuning(before, after, torch.tensor(losses, dtype=torch.float64), seconds, interrupted)


class _Training:
    """Optimiser, schedule, and one scope of Pyro's parameter store a batch, for its baselines."""

    def __init__(
        self,
        model: Any,
        guide: nn.Module,
        objective: ELBO,
        batches: Sequence[Tensor],
        *,
        steps: int,
        learning_rate: float,
    ) -> None:
        self.model, self.guide, self.objective, self.batches = model, guide, objective, batches
        self.parameters = [p for p in guide.parameters() if p.requires_grad]
        if not self.parameters:
            raise ValueError("guide has no weights to train, expected at least one; train another guide")
        self.optimizer = torch.optim.Adam(self.parameters, lr=learning_rate, betas=(0.9, 0.99))
        self.schedule = LambdaLR(self.optimizer, lambda step: 1 - step / steps)
        self.queue: list[int] = []
        self.scopes: dict[int, Any] = {}

    def step(self) -> float:
        """Take one step on the next batch and return its loss in nats a data set."""
        self.queue = self.queue or torch.randperm(len(self.batches)).tolist()
        index = self.queue.pop()
        batch = self.batches[index]
        with pyro.get_param_store().scope(self.scopes.get(index)) as scope:
            if index not in self.scopes and isinstance(self.objective, TraceGraph_ELBO):
                # The averages, which Pyro starts at 0, get the costs of a first draw.
                self._loss_and_grads(batch, decay=0.0)
            self.optimizer.zero_grad(set_to_none=True)
            loss = self._loss_and_grads(batch)
        self.scopes[index] = scope
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.grad /= batch.shape[0] * batch.shape[1]
        norm = nn.utils.clip_grad_norm_(self.parameters, 1.0)
        if math.isfinite(loss) and bool(norm.isfinite()):
            self.optimizer.step()
            self.schedule.step()
            return loss / len(batch)
        return math.nan

    def _loss_and_grads(self, batch: Tensor, *, decay: float = _BASELINE_DECAY) -> float:
        guide: Any = self.guide
        objective: Any = self.objective
        if isinstance(objective, TraceGraph_ELBO):
            guide = decaying_baseline(guide, decay=decay)
        if not isinstance(objective, ReweightedWakeSleep):
            return objective.loss_and_grads(self.model, guide, batch)
        pieces = [batch] if isinstance(objective, BatchedWakeSleep) else batch.split(1)
        # The sleep phase hands what it simulated to model and guide; the model ignores it.
        adapted = (lambda data, observations=None: self.model(data)), _taking_observations(guide)
        return sum(objective.loss_and_grads(*adapted, piece)[1] for piece in pieces)


def _run(
    training: _Training, steps: int, tell: Callable[[int, str], None], start: nn.Module
) -> tuple[list[float], bool]:
    """Take all steps, or those before a Ctrl-C; on a loss that is not finite put the old weights back."""
    losses: list[float] = []
    guide, was_training = training.guide, training.guide.training
    guide.train()
    try:
        with interrupt_between_steps() as interrupt:
            while len(losses) < steps and not interrupt.requested:
                loss = training.step()
                if not math.isfinite(loss):
                    guide.load_state_dict(start.state_dict())
                    raise ValueError(
                        f"loss is not finite at step {len(losses)}, expected a finite number: lower the "
                        "learning rate, or standardise the data; the guide has its old weights"
                    )
                losses.append(loss)
                tell(len(losses), f"{loss:.3f} nats/data set")
            return losses, interrupt.requested
    finally:
        guide.train(was_training)


def _taking_observations(guide: Any) -> Callable[..., Any]:
    """Run the guide on simulated data where ``ReweightedWakeSleep`` hands them over.

    Simulations have a dimension of particles in front, whose plate is open already.
    """

    def run(data: Tensor, observations: Any = None) -> Any:
        if observations is None:
            return guide(data)
        with pyro.plate_stack("datasets", data.shape[:-2]):
            return pyro.sample("assignments", guide.posterior(observations["data"]))

    return run
