"""The collapsed mixture: any partition prior with any conjugate component, as a Pyro program."""

import pyro
import torch
from torch import Tensor

from pyroclust.distributions import ClusteredData, ConjugateComponent, PartitionPrior

__all__ = ["Mixture"]


class Mixture:
    r"""A mixture model over partitions, cluster parameters integrated out.

    .. math::
        c \sim \text{prior}, \qquad
        x \mid c \sim \prod_k \int \prod_{i: c_i=k} F(x_i; \theta) G_0(d\theta)

    Calling it runs the Pyro program, with sites ``"assignments"`` and ``"data"`` (and ``"concentration"``
    where that is random) inside one plate a batch dimension. A template ``torch.empty(B, N, D)`` under
    ``poutine.uncondition`` simulates B data sets.

    Args:
        prior: partition prior.
        component: conjugate component family.
        name: what reports call the model.

    Shape:
        data: ``(*batch, N, D)``; assignments: ``(*batch, N)`` int64.

    Example:
        >>> import pyro.poutine as poutine
        >>> from pyroclust.models import gaussian2d
        >>> trace = poutine.trace(poutine.uncondition(gaussian2d())).get_trace(torch.empty(3, 20, 2))
        >>> trace.nodes["data"]["value"].shape
        torch.Size([3, 20, 2])
    """

    event_dim = 2

    def __init__(
        self, prior: PartitionPrior, component: ConjugateComponent, *, name: str = "mixture"
    ) -> None:
        self.prior, self.component, self.name = prior, component, name

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on data sets (or a template of their shape) and return the data."""
        self._check_shape(data)
        with pyro.plate_stack("datasets", data.shape[: -self.event_dim]):
            assignments = pyro.sample("assignments", self.prior.partition(data.shape[-2]))
            return pyro.sample("data", ClusteredData(self.component, assignments), obs=data)

    def log_joint(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return log p(assignments, data) in nats, hyperparameters integrated out, float64.

        Shape:
            data: ``(..., N, D)``; assignments: ``(..., N)`` canonical; output: the broadcast of both batches.
            Cost O(N F) a partition, F the number of sufficient statistics.

        Raises:
            ValueError: if the shapes do not fit.

        Example:
            >>> from pyroclust.models import gaussian2d
            >>> gaussian2d().log_joint(torch.zeros(2, 2), torch.tensor([[0, 0], [0, 1]])).shape
            torch.Size([2])
        """
        self._check_shape(data)
        if assignments.shape[-1:] != data.shape[-2:-1]:
            raise ValueError(
                f"assignments has shape {tuple(assignments.shape)}, expected (..., {data.shape[-2]})"
            )
        batch = torch.broadcast_shapes(data.shape[:-2], assignments.shape[:-1])
        likelihood = ClusteredData(self.component, assignments.expand(*batch, -1))
        return self.prior.log_prob(assignments) + likelihood.log_prob(data)

    def _check_shape(self, data: Tensor) -> None:
        if data.dim() < 2 or data.shape[-1] != self.component.dim or data.shape[-2] < 1:
            raise ValueError(
                f"data has shape {tuple(data.shape)}, expected (..., N, {self.component.dim}) "
                "with at least one point"
            )
