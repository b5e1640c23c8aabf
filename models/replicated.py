"""Replicates of a data set, for posterior predictive checks."""

from typing import cast

import pyro
import torch
from pyro import poutine
from torch import Tensor

from pyroclust.distributions import ConjugateComponent, block_moments
from pyroclust.distributions.components import parameters_of_points
from pyroclust.models.mixture import Mixture

__all__ = ["Replicated"]


class Replicated:
    r"""A Pyro program that replicates data: the same partition, new points.

    .. math:: \theta_k \mid c, x \sim p(\theta_k \mid x_{c = k}), \qquad x^{rep}_i \sim F(\theta_{c_i})

    Run it with ``pyro.infer.Predictive`` and posterior draws of the site ``"assignments"``, and of the
    component's random hyperparameters where it has any; what is not given comes from the prior. New points
    are the site ``"replicated"``. Compare a statistic of theirs with the same of the data.

    Args:
        model: a mixture with a conjugate component.
        data: what to replicate.

    Shape:
        data: ``(*batch, N, D)``; replicates: the same.

    Raises:
        ValueError: if the component is not conjugate.

    Example:
        >>> import torch
        >>> from pyro.infer import Predictive
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> draws = {"assignments": torch.tensor([[0, 0, 1], [0, 1, 2]])}
        >>> replicate = Predictive(Replicated(gaussian2d(), data), posterior_samples=draws, parallel=True)
        >>> replicate()["replicated"].shape
        torch.Size([2, 3, 2])

    References:
        Gelman, Meng & Stern (1996), Posterior predictive assessment of model fitness via realized
        discrepancies. https://www.jstor.org/stable/24306036
    """

    def __init__(self, model: Mixture, data: Tensor) -> None:
        if not isinstance(model.component, ConjugateComponent):
            raise ValueError(
                f"model.component is a {type(model.component).__name__}, expected a conjugate family: "
                "its parameters have no posterior in closed form"
            )
        self.model, self.data = model, data
        self._dtype = data.dtype if data.is_floating_point() else torch.get_default_dtype()

    def __call__(self) -> Tensor:
        """Run the program and return replicated data."""
        with pyro.plate_stack("datasets", self.data.shape[:-2]):
            with poutine.block():
                prior = self.model.prior.sampled().partition(self.data.shape[-2])
            component = cast(ConjugateComponent, self.model.component.sampled())
            labels = pyro.sample("assignments", prior)
            draws = component.sample_parameters(*block_moments(component, self.data, labels))
            parameters = {name: one.to(self._dtype) for name, one in draws.items()}
            law = component.likelihood(parameters_of_points(parameters, labels))
            return pyro.sample("replicated", law.to_event(1))
