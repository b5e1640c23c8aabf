"""The ELBO with a score-function gradient whose baseline are the other particles."""

from typing import Any

from pyro.infer import Trace_ELBO
from pyro.infer.trace_elbo import _compute_log_r
from pyro.poutine import Trace
from torch import Tensor

__all__ = ["LeaveOneOut"]

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
        if num_particles < 2:
            raise ValueError(f"num_particles is {num_particles}, expected at least 2: one has no others")
        super().__init__(num_particles=num_particles, vectorize_particles=True)

    def _differentiable_loss_particle(self, model_trace: Trace, guide_trace: Trace) -> tuple[float, Tensor]:
        elbo: Any = model_trace.log_prob_sum() - guide_trace.log_prob_sum()
        surrogate: Any = 0.0
        for site in _latent_sites(guide_trace):
            stack = site["cond_indep_stack"]
            cost = _log_ratio(model_trace, guide_trace).sum_to(stack)
            dim = next(frame.dim for frame in stack if frame.name == _PARTICLES)
            others = (cost.sum(dim, keepdim=True) - cost) / (self.num_particles - 1)
            surrogate = surrogate + ((cost - others).detach() * site["score_parts"].score_function).sum()
        return -elbo.item(), -surrogate


def _latent_sites(trace: Trace) -> list[Any]:
    return [trace.nodes[name] for name in trace.stochastic_nodes]


def _log_ratio(model_trace: Trace, guide_trace: Trace) -> Any:
    """Collect log p - log q by plates, as Pyro does for ``Trace_ELBO``."""
    return _compute_log_r(model_trace, guide_trace)
