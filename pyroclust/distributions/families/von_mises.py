"""Clusters of angles: von Mises components."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from pyro import sample as site
from pyro.distributions import Gamma, TorchDistribution, Uniform, VonMises
from torch import Tensor
from torch.distributions import constraints

from pyroclust.core.numbers import check_number
from pyroclust.core.registry import register
from pyroclust.distributions.families.component import Component
from pyroclust.distributions.families.pyro_component import PyroComponent

# Pi as float32 has it: a little above pi, so that angles survive the cast to float64.
_LARGEST_ANGLE = torch.tensor(math.pi, dtype=torch.float32).item()


@dataclass(frozen=True)
class _VonMises:
    """The two pieces of the component; a class so that it pickles."""

    shape: float
    rate: float
    dim: int

    def parameters(self) -> dict[str, Tensor]:
        loc = Uniform(-math.pi, math.pi, validate_args=False).expand((self.dim,))
        concentration = Gamma(self.shape, self.rate, validate_args=False).expand((self.dim,))
        return {
            "loc": site("loc", loc.to_event(1)),
            "precision": site("precision", concentration.to_event(1)),
        }

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return VonMises(parameters["loc"], parameters["precision"], validate_args=False).to_event(1)


@register(Component)
def von_mises(dim: int = 1, *, shape: float = 2.0, rate: float = 0.1) -> PyroComponent:
    r"""Return clusters of angles in (-pi, pi], von Mises in every column; not conjugate.

    .. math::
        \mu_{kd} \sim \mathrm{Uniform}(-\pi, \pi), \quad \tau_{kd} \sim \mathrm{Gamma}(a, b), \quad
        p(x_{id}) = \frac{\exp(\tau_{kd} \cos(x_{id} - \mu_{kd}))}{2 \pi I_0(\tau_{kd})}

    Parameters of a cluster: ``"loc"`` and ``"precision"``, the concentration about it, ``(D,)``.

    Args:
        dim: number D of angles a point has.
        shape: a of the gamma prior of the precisions.
        rate: b of the gamma prior of the precisions, in squared radians.

    Raises:
        ValueError: if dim, shape or rate is not positive.

    Example:
        >>> bool((von_mises().sample(torch.tensor([0, 0, 1])).abs() <= 3.15).all())
        True

    References:
        Mardia & Jupp (2000), Directional Statistics, section 3.5.4. https://doi.org/10.1002/9780470316979
    """
    for name, value in {"shape": shape, "rate": rate}.items():
        check_number(name, value, above=0, at_most=1e30)
    family = _VonMises(float(shape), float(rate), dim)
    component = PyroComponent(
        family.parameters,
        family.likelihood,
        dim=dim,
        support=constraints.independent(constraints.interval(-_LARGEST_ANGLE, _LARGEST_ANGLE), 1),
        typical_scale=(rate / shape) ** 0.5,
    )
    component.expected = "angles between -pi and pi"
    return component
