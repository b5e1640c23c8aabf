"""Objectives of fine-tuning to given data: leave-one-out gradients, batched wake-sleep, a baseline."""

from collections.abc import Callable
from typing import Any

import torch
from pyro import poutine
from pyro.infer import ReweightedWakeSleep, Trace_ELBO
from pyro.infer.trace_elbo import _compute_log_r
from pyro.poutine import Trace
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.infer.losses import InclusiveKL

_PARTICLES = "num_particles_vectorized"


class LeaveOneOut(Trace_ELBO):
    r"""Pyro's ``Trace_ELBO`` with a leave-one-out control variate for every data set.

    .. math::
        \nabla = \frac{1}{P} \sum_p \Big(f_p - \frac{1}{P - 1} \sum_{r \ne p} f_r\Big) \nabla \log q(c_p),
        \qquad f_p = \log \frac{p(c_p, x)}{q(c_p \mid x)}

    Unbiased, as the other particles are independent of ``c_p``. ``Trace_ELBO`` itself has no baseline: the
    noise of its gradient is the size of the evidence, here it is the spread of log p - log q. Needs no memory
    between steps, in contrast to the decaying average of ``TraceGraph_ELBO``. Latent sites must be discrete,
    or at least not reparametrised.

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

    The stock class gives one weight to a particle of the whole batch, the product over data sets, which
    leaves one particle alive where there are many data sets. For one data set the two agree. The bias is that
    of self-normalised importance sampling, of order 1/P. The sleep phase is
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
