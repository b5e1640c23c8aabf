"""Reweighted wake-sleep over a batch of data sets."""

from collections.abc import Callable
from typing import Any

import torch
from pyro.infer import ReweightedWakeSleep
from pyro.poutine import Trace
from torch import Tensor

from pyroclust.infer.inclusive_kl import InclusiveKL

__all__ = ["BatchedWakeSleep"]


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
        if num_particles < 2:
            raise ValueError(f"num_particles is {num_particles}, expected at least 2 to normalise weights")
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
            template = (torch.empty(self.num_sleep_particles, *one.shape).to(one) for one in args)
            sleep = InclusiveKL().per_dataset(model, guide, *template).sum() / self.num_sleep_particles
        return evidence, self.insomnia * wake + (1 - self.insomnia) * sleep


def _by_plates(trace: Trace) -> Tensor:
    """Add the log-probabilities of all sites, ``(particles, *datasets)``."""
    sites = [site["log_prob"] for site in trace.nodes.values() if site["type"] == "sample"]
    return torch.stack(torch.broadcast_tensors(*sites)).sum(0)
