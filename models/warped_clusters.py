"""Curved clusters whose density has no formula: a model to simulate from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from pyro import sample as site
from pyro.distributions import Binomial, Normal, Uniform
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.distributions import Component, FiniteMixturesPrior, PartitionPrior, PyroComponent
from pyroclust.distributions.protocols import LawWithoutDensity
from pyroclust.models.mixture import Mixture

_TURN = 0.4 * 2 * math.pi
_NOISE = 0.1


class WarpedArc(LawWithoutDensity):
    r"""Points along an arc of an ellipse in the plane, with noise across it; no density.

    .. math::
        \phi = 0.8 \pi \, (m + s \, \epsilon), \qquad
        x = \text{centre} + R_\rho \Big[ (a \cos\phi, b \sin\phi) + 0.1 \, \epsilon' \,
        \frac{(b \cos\phi, a \sin\phi)}{\|(b \cos\phi, a \sin\phi)\|} \Big]
    """

    support = constraints.real_vector

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        self.parameters = dict(parameters)
        super().__init__(self.parameters["angle"].shape, Size((2,)), validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "WarpedArc":
        batch = len(self.batch_shape)
        parameters = self.parameters.items()
        return WarpedArc({name: one.expand(*batch_shape, *one.shape[batch:]) for name, one in parameters})

    def _draw(self, shape: Size) -> Tensor:
        angle, spread, rotation = (self.parameters[name] for name in ("angle", "log_spread", "rotation"))
        angle = _TURN * (angle + spread.exp() * torch.randn(shape[:-1]))
        circle = torch.stack([angle.cos(), angle.sin()], -1)
        half_axes = self.parameters["half_axes"]
        across = torch.nn.functional.normalize(half_axes.flip(-1) * circle, dim=-1)
        point = half_axes * circle + _NOISE * torch.randn(shape[:-1]).unsqueeze(-1) * across
        cos, sin = rotation.cos(), rotation.sin()
        x, y = point.unbind(-1)
        return self.parameters["centre"] + torch.stack([cos * x - sin * y, sin * x + cos * y], -1)


@dataclass(frozen=True)
class _ArcParameters:
    """The prior of an arc; a class so that it pickles."""

    centre_scale: float

    def __call__(self) -> dict[str, Tensor]:
        plane = torch.zeros(2)
        return {
            "angle": site("angle", Normal(0.0, 3.0)),
            "log_spread": site("log_spread", Normal(math.log(0.25), 0.1)),
            "half_axes": site("half_axes", Normal(plane, 2.0).to_event(1)),
            "rotation": site("rotation", Uniform(0.0, 2 * math.pi)),
            "centre": site("centre", Normal(plane, self.centre_scale).to_event(1)),
        }


@register(Component)
def warped_arcs(dim: int = 2, *, centre_scale: float = 4.0) -> PyroComponent:
    r"""Return clusters along arcs of ellipses in the plane: a family to simulate from.

    .. math::
        m_k \sim N(0, 3^2), \; \log s_k \sim N(\log 0.25, 0.1^2), \; a_k, b_k \sim N(0, 2^2), \;
        \rho_k \sim U(0, 2 \pi), \; \text{centre}_k \sim N(0, \lambda^2 I), \;
        x_i \sim \text{WarpedArc}_{c_i}

    Args:
        dim: dimension of the points; arcs lie in the plane.
        centre_scale: standard deviation of the centres.

    Raises:
        ValueError: if ``dim`` is not 2 or ``centre_scale`` not positive.

    References:
        Lee, Lee & Teh (2019), Deep amortized clustering. https://arxiv.org/abs/1909.13433
    """
    check_count("dim", dim, at_least=2, at_most=2, hint="arcs lie in the plane")
    scale = check_number("centre_scale", centre_scale, above=0, at_most=1e30)
    return PyroComponent(_ArcParameters(scale), WarpedArc, dim=2, typical_scale=1.0)


@register(Mixture)
def warped_clusters(
    prior: PartitionPrior | None = None, *, dim: int = 2, centre_scale: float = 4.0
) -> Mixture:
    r"""Return a mixture of :func:`warped_arcs`, with no tractable likelihood: simulate only.

    The default prior is that of the published training sets: four components, each after the first kept with
    probability one half, and weights from Dirichlet(5) renormalised over those kept, which is the mixture of
    finite mixtures with :math:`M - 1 \sim \text{Binomial}(3, 1/2)` and :math:`\gamma = 5`. Published test
    sets have up to twelve components, ``FiniteMixturesPrior(5.0, Binomial(11, 0.5))``.

    Args:
        prior: any partition prior.
        dim: dimension of the points; arcs lie in the plane.
        centre_scale: standard deviation of the centres.

    Example:
        >>> from pyroclust.infer import simulate
        >>> simulate(warped_clusters(), torch.empty(3, 100, 2))[0].shape
        torch.Size([3, 100, 2])

    References:
        Lee, Lee & Teh (2019), Deep amortized clustering. https://arxiv.org/abs/1909.13433
    """
    component = warped_arcs(dim, centre_scale=centre_scale)
    published = FiniteMixturesPrior(5.0, Binomial(3, torch.tensor(0.5)))
    return Mixture(published if prior is None else prior, component, name="warped_clusters")
