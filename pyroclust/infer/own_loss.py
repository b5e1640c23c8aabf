"""The loss of guides that say themselves what a training minimises."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from pyroclust.infer.simulated_loss import SimulatedLoss

__all__ = ["HasLosses", "OwnLoss"]


@runtime_checkable
class HasLosses(Protocol):
    """A guide with a loss of its own, as :class:`~pyroclust.guides.SetTransformerMixture`."""

    def losses(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return what a training minimises, nats a data set.

        Shape:
            data: ``(*batch, N, *event_shape)``; assignments: ``(*batch, N)``; output: ``(*batch)``.
        """
        ...


class OwnLoss(SimulatedLoss):
    r"""The mean over simulated data sets of the loss that a guide defines, in nats per data set.

    .. math:: L(\phi) = E_{p(c, x)}[\ell_\phi(x, c)]

    Args:
        choice: which simulations to keep; all by default.

    Example:
        >>> import torch
        >>> from pyroclust.guides import SetTransformerMixture
        >>> from pyroclust.models import set_transformer_clusters
        >>> model = set_transformer_clusters(4)
        >>> loss = OwnLoss().backward(model, SetTransformerMixture(model), torch.empty(4, 50, 2))
        >>> loss > 0
        True
    """

    def per_dataset(self, model: Callable[..., Any], guide: Any, *template: Any) -> Tensor:
        """Return the guide's loss of a fresh simulation for every data set of the template.

        Shape:
            template: a tensor like the model's argument; output: ``(*batch,)``.
        """
        nodes: Any = self.simulate(model, *template).nodes
        losses: Tensor = guide.losses(nodes["data"]["value"], nodes["assignments"]["value"])
        if self.choice is not None:
            self.choice.learn(losses)
        return losses
