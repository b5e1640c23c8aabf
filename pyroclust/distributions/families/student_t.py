"""Clusters with heavy tails: Student-t components."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyro import sample as site
from pyro.distributions import Gamma, Normal, StudentT, TorchDistribution
from torch import Tensor

from pyroclust.core.numbers import check_number
from pyroclust.core.registry import register
from pyroclust.distributions.families.component import Component
from pyroclust.distributions.families.pyro_component import PyroComponent


@dataclass(frozen=True)
class _StudentT:
    """The two pieces of the component; a class so that it pickles."""

    dof: float
    mean: float
    prior_scale: float
    shape: float
    rate: float
    dim: int

    def parameters(self) -> dict[str, Tensor]:
        loc = Normal(self.mean, self.prior_scale, validate_args=False).expand((self.dim,))
        precision = Gamma(self.shape, self.rate, validate_args=False).expand((self.dim,))
        return {
            "loc": site("loc", loc.to_event(1)),
            "precision": site("precision", precision.to_event(1)),
        }

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        scale = parameters["precision"].rsqrt()
        return StudentT(self.dof, parameters["loc"], scale, validate_args=False).to_event(1)


@register(Component)
def student_t(
    dim: int = 1,
    *,
    dof: float = 4.0,
    mean: float = 0.0,
    prior_scale: float = 1.6,
    shape: float = 2.0,
    rate: float = 0.2,
) -> PyroComponent:
    r"""Return clusters whose points are Student-t in every column, robust to outliers; not conjugate.

    .. math::
        \mu_{kd} \sim N(m, \lambda^2), \quad \tau_{kd} \sim \mathrm{Gamma}(a, b), \quad
        x_{id} \sim t_\nu(\mu_{kd}, \tau_{kd}^{-1/2})

    The defaults are for columns of mean 0 and variance 1. Parameters of a cluster: ``"loc"`` and
    ``"precision"`` ``(D,)``.

    Args:
        dim: dimension D.
        dof: degrees of freedom nu.
        mean: prior mean m of the centres.
        prior_scale: prior standard deviation of the centres.
        shape: a of the gamma prior of the precisions.
        rate: b of the gamma prior of the precisions, in squared data units.

    Raises:
        ValueError: if dim, dof, prior_scale, shape or rate is not positive.

    Example:
        >>> import torch
        >>> student_t(2, dof=3.0).sample(torch.tensor([0, 0, 1])).shape
        torch.Size([3, 2])

    References:
        Peel & McLachlan (2000), Robust mixture modelling using the t distribution.
        https://doi.org/10.1023/A:1008981510081
    """
    for name, value in {"dof": dof, "prior_scale": prior_scale, "shape": shape, "rate": rate}.items():
        check_number(name, value, above=0, at_most=1e30)
    mean = check_number("mean", mean)
    family = _StudentT(float(dof), float(mean), float(prior_scale), float(shape), float(rate), dim)
    scale = (rate / (shape + 0.5)) ** 0.5
    return PyroComponent(family.parameters, family.likelihood, dim=dim, typical_scale=scale)
