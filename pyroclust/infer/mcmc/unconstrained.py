"""The parameters of a component as vectors of real numbers."""

from collections.abc import Mapping
from typing import Any

import torch
from pyro import poutine
from torch import Size, Tensor
from torch.distributions import Distribution, Transform, biject_to

from pyroclust.distributions import Component

__all__ = ["UnconstrainedSpace"]


class UnconstrainedSpace:
    r"""Maps the parameters of clusters to vectors of P real numbers and back.

    Every site of ``component.parameters()`` goes through torch's ``biject_to(support)``, so that a density
    :math:`p(\theta)` becomes :math:`p(\theta(u)) \, |d\theta / du|`.

    Args:
        component: the family of the clusters.

    Raises:
        ValueError: if a parameter is discrete, its support depends on another parameter, or has no bijection.

    Example:
        >>> from pyroclust.distributions import NormalInverseGamma
        >>> UnconstrainedSpace(NormalInverseGamma(3, 0.1, shape=2.0, rate=1.0)).num_coordinates
        6
    """

    def __init__(self, component: Component) -> None:
        laws, others = _laws(component), _laws(component)
        self._transforms: dict[str, Transform] = {}
        self._events: dict[str, Size] = {}
        self._inner: dict[str, Size] = {}
        for name, law in laws.items():
            _check_site(name, law, others[name])
            transform = biject_to(law.support)
            self._transforms[name], self._events[name] = transform, law.event_shape
            self._inner[name] = Size(transform.inverse_shape(law.event_shape))
        self.num_coordinates = sum(inner.numel() for inner in self._inner.values())

    def unconstrain(self, parameters: Mapping[str, Tensor]) -> Tensor:
        """Return parameters as vectors of real numbers.

        Shape:
            parameters: ``(*batch, *event)`` by name; output: ``(*batch, P)`` float64.
        """
        columns = []
        for name, transform in self._transforms.items():
            value = parameters[name].double()
            batch = value.shape[: value.dim() - len(self._events[name])]
            columns.append(transform.inv(value).reshape(*batch, -1))
        return torch.cat(columns, -1)

    def constrain(self, vectors: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Return parameters, and the log of the volume that they take up.

        Shape:
            vectors: ``(*batch, P)``; output: ``(*batch, *event)`` by name, and ``(*batch)``.
        """
        batch = vectors.shape[:-1]
        parameters, log_jacobian = {}, vectors.new_zeros(batch)
        pieces = vectors.split([inner.numel() for inner in self._inner.values()], -1)
        for piece, (name, transform) in zip(pieces, self._transforms.items(), strict=True):
            inside = piece.reshape(*batch, *self._inner[name])
            parameters[name] = transform(inside)
            volume = transform.log_abs_det_jacobian(inside, parameters[name])
            log_jacobian = log_jacobian + volume.reshape(*batch, -1).sum(-1)
        return parameters, log_jacobian


def _laws(component: Component) -> dict[str, Distribution]:
    with torch.no_grad(), poutine.block():
        trace = poutine.trace(component.parameters).get_trace()
    laws: dict[str, Any] = {name: node["fn"] for name, node in trace.iter_stochastic_nodes()}
    return laws


def _check_site(name: str, law: Distribution, other: Distribution) -> None:
    """Refuse supports that no fixed bijection maps to real numbers."""
    if law.support is not None and law.support.is_discrete:
        raise ValueError(
            f"component.parameters has the discrete site {name!r}, expected continuous ones: "
            "sum it out in the likelihood"
        )
    try:
        zero = torch.zeros(biject_to(law.support).inverse_shape(law.event_shape))
    except NotImplementedError as error:
        raise ValueError(
            f"component.parameters has the site {name!r} with the support {law.support}, expected one that "
            "torch's biject_to knows: register a bijection, or use another parametrisation"
        ) from error
    if not torch.equal(biject_to(law.support)(zero), biject_to(other.support)(zero)):
        raise ValueError(
            f"component.parameters has the site {name!r} whose support depends on other parameters, "
            "expected a fixed one: sample it on a fixed range and scale it in the likelihood"
        )
