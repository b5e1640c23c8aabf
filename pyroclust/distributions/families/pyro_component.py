"""Components of any kind, made of two pieces of Pyro."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from pyro.distributions import TorchDistribution
from torch import Tensor
from torch.distributions import constraints

from pyroclust.core.numbers import check_number
from pyroclust.core.random_state import preserved_random_state
from pyroclust.distributions.compiled.protocol import Family, compile_family, join_families
from pyroclust.distributions.families.component import Component, ParameterProgram


class PyroComponent(Component):
    r"""A component family written by its user: no conjugacy asked for.

    .. math:: \theta_k \sim \text{parameters}, \qquad x_i \mid c, \theta \sim \text{likelihood}(\theta_{c_i})

    It simulates, so guides can be trained on it, and kernels that keep the parameters of clusters apply.
    Functions that live in a module keep it picklable.

    Args:
        parameters: Pyro program that samples the parameters of a cluster and returns them by site name: sites
            have a batch shape of ``()``, all else goes to the event by ``.expand([...]).to_event(...)``, and
            there is no plate.
        likelihood: the law of a point given parameters ``(*batch, *event)`` by name: batch shape
            ``(*batch)``, event shape ``(dim,)``.
        dim: dimension D of a point.
        support: where points lie, a constraint of event dimension 1.
        typical_scale: a typical standard deviation within a cluster, in data units.

    Attributes:
        origin: name and arguments of the registered function that made it, ``None`` where none did.

    Raises:
        ValueError: if ``dim`` or ``typical_scale`` is not positive, or the shapes do not fit.

    Example:
        >>> import pyro.distributions as dist, torch
        >>> from pyro import sample
        >>> laplace = PyroComponent(
        ...     lambda: {"loc": sample("loc", dist.Normal(0.0, 5.0))},
        ...     lambda parameters: dist.Laplace(parameters["loc"].unsqueeze(-1), 1.0).to_event(1),
        ... )
        >>> laplace.sample(torch.tensor([[0, 0, 1], [0, 1, 2]])).shape
        torch.Size([2, 3, 1])
    """

    origin: tuple[str, Mapping[str, Any]] | None = None

    def __init__(
        self,
        parameters: ParameterProgram,
        likelihood: Callable[[Mapping[str, Tensor]], TorchDistribution],
        *,
        dim: int = 1,
        support: constraints.Constraint = constraints.real_vector,
        typical_scale: float = 1.0,
    ) -> None:
        super().__init__(dim)
        self._parameters, self._likelihood = parameters, likelihood
        self.support, self.expected = support, f"points in {support}"
        self._typical_scale = check_number("typical_scale", typical_scale, above=0)
        self._check_shapes()

    def __repr__(self) -> str:
        name, arguments = self.origin or (
            "PyroComponent",
            {"dim": self.dim, "typical_scale": self.typical_scale},
        )
        return f"{name}({', '.join(f'{key}={one:g}' for key, one in arguments.items())})"

    def __eq__(self, other: object) -> bool:
        if self.origin is None or not isinstance(other, PyroComponent):
            return self is other
        return self.origin == other.origin

    def __hash__(self) -> int:
        return hash(type(self))

    @property
    def typical_scale(self) -> float:
        return self._typical_scale

    def parameters(self) -> dict[str, Tensor]:
        return self._parameters()

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return self._likelihood(parameters)

    def _check_shapes(self) -> None:
        """Draw parameters of 2 x 3 clusters, in a forked generator, and look at the shapes."""
        with preserved_random_state():
            parameters = self.sample_prior((2, 3))
        for name, value in parameters.items():
            if value.shape[:2] != (2, 3):
                raise ValueError(
                    f"parameters gives {name!r} of shape {tuple(value.shape)} for 2 x 3 clusters, "
                    "expected (2, 3, *event): sample it as a site with batch shape ()"
                )
        law = self.likelihood(parameters)
        if law.batch_shape != (2, 3) or law.event_shape != (self.dim,):
            raise ValueError(
                f"likelihood has batch shape {tuple(law.batch_shape)} and event shape "
                f"{tuple(law.event_shape)} for 2 x 3 clusters, expected (2, 3) and ({self.dim},)"
            )


@compile_family.register
def _(component: PyroComponent, data: np.ndarray, num_slots: int, num_points: int) -> Family:
    """Without a likelihood: compiled moves beside an uncollapsed sampler may update the prior alone."""
    return join_families([], [])
