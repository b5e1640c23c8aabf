"""Fine-tuning of a guide to unlabelled data sets: objectives beside Pyro's own, and the loop."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyro
import torch
from pyro import poutine
from pyro.infer import ELBO, ReweightedWakeSleep, Trace_ELBO, TraceGraph_ELBO
from pyro.infer.trace_elbo import _compute_log_r
from pyro.poutine import Trace
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from pyroclust.core.long_runs import interrupt_between_steps, progress_bar
from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.core.random_state import pyro_seeded
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.checks import MAX_LEARNING_RATE, require_likelihood
from pyroclust.infer.losses import InclusiveKL
from pyroclust.infer.quality import AmortizationGap, amortization_gap
from pyroclust.infer.simulation import group_by_size

_BASELINE_DECAY = 0.9
_PARTICLES = "num_particles_vectorized"


class LeaveOneOut(Trace_ELBO):
    r"""Pyro's ``Trace_ELBO`` with a leave-one-out control variate for every data set.

    .. math::
        \nabla = \frac{1}{P} \sum_p \Big(f_p - \frac{1}{P - 1} \sum_{r \ne p} f_r\Big) \nabla \log q(c_p),
        \qquad f_p = \log \frac{p(c_p, x)}{q(c_p \mid x)}

    Unbiased, as the other particles are independent of ``c_p``. The noise of the gradient of ``Trace_ELBO``
    is the size of the evidence, here it is the spread of log p - log q. Latent sites must not be
    reparametrised.

    Args:
        num_particles: P, drawn in one batch.

    Raises:
        ValueError: if there are fewer than two particles.

    Example:
        >>> import torch
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d
        >>> loss = LeaveOneOut(num_particles=4)(gaussian2d(), NeuralClusteringProcess(gaussian2d()))
        >>> loss(torch.zeros(3, 5, 2)).shape  # the sum over 3 data sets
        torch.Size([])

    References:
        Kool, van Hoof & Welling (2019), Buy 4 REINFORCE samples, get a baseline for free!
        https://openreview.net/forum?id=r1lgTGL5DE
    """

    def __init__(self, num_particles: int = 8) -> None:
        check_count("num_particles", num_particles, at_least=2, hint="each is compared with the others")
        super().__init__(num_particles=num_particles, vectorize_particles=True)

    def _differentiable_loss_particle(self, model_trace: Trace, guide_trace: Trace) -> tuple[float, Tensor]:
        elbo: Any = model_trace.log_prob_sum() - guide_trace.log_prob_sum()
        surrogate: Any = 0.0
        # Log p - log q by plates, as Pyro does it for Trace_ELBO.
        log_ratio = _compute_log_r(model_trace, guide_trace)
        for name in guide_trace.stochastic_nodes:
            site: Any = guide_trace.nodes[name]
            stack = site["cond_indep_stack"]
            cost = log_ratio.sum_to(stack)
            dim = next(frame.dim for frame in stack if frame.name == _PARTICLES)
            others = (cost.sum(dim, keepdim=True) - cost) / (self.num_particles - 1)
            surrogate = surrogate + ((cost - others).detach() * site["score_parts"].score_function).sum()
        return -elbo.item(), -surrogate


class BatchedWakeSleep(ReweightedWakeSleep):
    r"""Pyro's ``ReweightedWakeSleep`` with weights normalised data set by data set.

    .. math::
        -\sum_b \sum_p \bar w_{pb} \log q(c_{pb} \mid x_b), \qquad
        \bar w_{pb} = \frac{w_{pb}}{\sum_r w_{rb}}, \quad w_{pb} = \frac{p(c_{pb}, x_b)}{q(c_{pb} \mid x_b)}

    The stock class weighs a particle of the whole batch, which leaves one alive where there are many data
    sets. The bias is that of self-normalised importance sampling, of order 1/P. The sleep phase is
    :class:`~pyroclust.infer.InclusiveKL`, one batch of P simulations for every data set.

    Args:
        num_particles: P, drawn in one batch.
        insomnia: share of the wake phase; the rest is sleep.

    Raises:
        ValueError: if there are fewer than two particles, or ``insomnia`` is not between 0 and 1.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d
        >>> guide = NeuralClusteringProcess(gaussian2d())
        >>> theta, phi = BatchedWakeSleep(4).loss(gaussian2d(), guide, torch.zeros(3, 5, 2))
        >>> phi.shape  # the sum over 3 data sets
        torch.Size([])

    References:
        Bornschein & Bengio (2015), Reweighted wake-sleep. https://arxiv.org/abs/1406.2751
        Le et al. (2019), Revisiting reweighted wake-sleep. https://arxiv.org/abs/1805.10469
    """

    def __init__(self, num_particles: int = 16, *, insomnia: float = 1.0) -> None:
        check_count("num_particles", num_particles, at_least=2, hint="their weights are normalised")
        if not 0 <= insomnia <= 1:
            raise ValueError(f"insomnia is {insomnia}, expected 0 (sleep only) to 1 (wake only)")
        super().__init__(num_particles=num_particles, insomnia=insomnia, model_has_params=False)

    def _loss(
        self, model: Callable[..., Any], guide: Callable[..., Any], args: Any, kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        wake = sleep = evidence = torch.zeros(())
        if self.insomnia > 0:
            model_trace, guide_trace = next(iter(self._get_traces(model, guide, args, kwargs)))
            log_q = _by_plates(guide_trace)
            log_weights = _by_plates(model_trace) - log_q.detach()
            total = log_weights.logsumexp(0)
            wake = -((log_weights - total).exp().detach() * log_q).sum()
            evidence = -(total - torch.tensor(float(self.num_particles)).log()).sum().detach()
        if self.insomnia < 1:
            template = (torch.empty(self.num_sleep_particles, *data.shape).to(data) for data in args)
            sleep = InclusiveKL().per_dataset(model, guide, *template).sum() / self.num_sleep_particles
        return evidence, self.insomnia * wake + (1 - self.insomnia) * sleep


def _by_plates(trace: Trace) -> Tensor:
    """Add the log-probabilities of all sites, ``(particles, *datasets)``."""
    sites = [site["log_prob"] for site in trace.nodes.values() if site["type"] == "sample"]
    return torch.stack(torch.broadcast_tensors(*sites)).sum(0)


def decaying_baseline(guide: Callable[..., Any], *, decay: float) -> Callable[..., Any]:
    """Give the guide's site Pyro's own baseline for ``TraceGraph_ELBO``: a decaying average of the cost.

    One average for every data set and particle, in Pyro's parameter store under a name that guides share:
    train one batch of data sets in one ``pyro.get_param_store().scope()``.
    """
    baseline: Any = {"baseline": {"use_decaying_avg_baseline": True, "baseline_beta": decay}}
    handled: Any = poutine.infer_config(guide, lambda site: baseline if site["name"] == "assignments" else {})
    return handled


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

    * ``BatchedWakeSleep(16)``, the default, and ``pyro.infer.ReweightedWakeSleep(16)``, which gets the data
      sets one by one: KL(p || q), which covers modes.
    * ``LeaveOneOut(16)``, ``pyro.infer.TraceGraph_ELBO()`` with a decaying average as baseline, and
      ``pyro.infer.Trace_ELBO()``, whose gradients are far noisier: KL(q || p), the gap itself. They do not
      find a mode that the guide never draws.

    The optimiser is Adam, its rate falling linearly to 0, gradients per point clipped at 1.

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
