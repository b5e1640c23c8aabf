"""How a loss goes through the choice of a cluster: relaxed samples, or the sum over all clusters."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import pyro
import pyro.distributions as dist
import torch
from torch import Tensor

from pyroclust.core.numbers import check_number
from pyroclust.core.registry import register


class Relaxation(ABC):
    r"""How :math:`E_{q(c)}[f(c)]` is estimated so that q gets gradients, c being one of K clusters.

    A new one is one class with ``@register(Relaxation)``.

    Attributes:
        is_exact: whether the expectation is exact, f given; c is then enumerated in Pyro programs.
    """

    is_exact: bool

    @abstractmethod
    def expect(self, log_shares: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the expectation of a function of codes, or an estimate that has gradients.

        Args:
            log_shares: log q, ``(*batch, K)``.
            value: from codes ``(*any, *batch, K)``, points of the simplex, to numbers ``(*any, *batch)``.

        Shape:
            output: ``(*batch)``.
        """

    @abstractmethod
    def sample(self, name: str, log_shares: Tensor) -> Tensor:
        """Sample a site of codes in a Pyro guide, ``(*batch, K)``."""


@register(Relaxation)
class GumbelSoftmax(Relaxation):
    r"""One relaxed sample a point: :math:`c = \text{softmax}((\log q + g) / \tau)`, g Gumbel noise.

    The site has no density: what the loss says of q is added by factors, so that stock ``Trace_ELBO`` has
    gradients through samples alone. Cost O(K).

    Args:
        temperature: :math:`\tau`; the lower it is, the nearer samples are to the corners, and the noisier
            are the gradients.
        straight_through: use the nearest corner, with the gradient of the relaxed sample.

    Example:
        >>> codes = GumbelSoftmax(0.5, straight_through=True).sample("code", torch.zeros(3, 2))
        >>> codes.sum(-1)
        tensor([1., 1., 1.])

    References:
        Jang, Gu and Poole (2017), Categorical reparameterization with Gumbel-softmax.
        https://arxiv.org/abs/1611.01144
    """

    is_exact = False

    def __init__(self, temperature: float = 1.0, *, straight_through: bool = False) -> None:
        self.temperature = check_number("temperature", temperature, above=0)
        self.straight_through = straight_through

    def expect(self, log_shares: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
        return value(self._law(log_shares).rsample())

    def sample(self, name: str, log_shares: Tensor) -> Tensor:
        codes: Tensor = pyro.sample(name, self._law(log_shares).mask(False))
        return codes

    def _law(self, log_shares: Tensor) -> dist.TorchDistribution:
        kinds = (dist.RelaxedOneHotCategorical, dist.RelaxedOneHotCategoricalStraightThrough)
        temperature = log_shares.new_tensor(self.temperature)
        return kinds[self.straight_through](temperature, logits=log_shares)


@register(Relaxation)
class ExactSum(Relaxation):
    r"""No relaxation: the sum over clusters, :math:`\sum_k q_k f(e_k)`.

    Cost O(K) evaluations of f, K times that of a sample; the gradients have no noise of the choice. In a Pyro
    guide the site is enumerated, by ``TraceEnum_ELBO``.

    Example:
        >>> shares = torch.tensor([0.2, 0.8]).log()
        >>> ExactSum().expect(shares, lambda codes: codes[..., 1])
        tensor(0.8000)
    """

    is_exact = True

    def expect(self, log_shares: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
        clusters = log_shares.shape[-1]
        corners = torch.eye(clusters, dtype=log_shares.dtype, device=log_shares.device)
        codes = corners.view(clusters, *(1,) * (log_shares.dim() - 1), clusters)
        found = value(codes.expand(clusters, *log_shares.shape))
        return (log_shares.exp().movedim(-1, 0) * found).sum(0)

    def sample(self, name: str, log_shares: Tensor) -> Tensor:
        law = dist.OneHotCategorical(logits=log_shares)
        codes: Tensor = pyro.sample(name, law, infer={"enumerate": "parallel"})
        return codes
