"""The loss of guides that say themselves what a training minimises."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from pyroclust.infer.simulated_loss import SimulatedLoss

__all__ = ["HasLosses", "HasTerms", "OwnLoss", "check_has_data"]


@runtime_checkable
class HasLosses(Protocol):
    """A guide with a loss of its own, as :class:`~pyroclust.guides.SetTransformerMixture`."""

    def losses(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return what a training minimises, nats a data set.

        Shape:
            data: ``(*batch, N, *event_shape)``; assignments: ``(*batch, N)``; output: ``(*batch)``.
        """
        ...


@runtime_checkable
class HasTerms(HasLosses, Protocol):
    """A guide whose loss has several terms, and that is trained on data with its model."""

    def loss_terms(self, data: Tensor, known: Tensor) -> dict[str, Tensor]:
        """Return the terms by name, which add up to the losses.

        Shape:
            data: ``(*batch, N, *event_shape)``; known: ``(*batch, N)``, negative where a label is unknown;
            output: ``(*batch)`` each.
        """
        ...


def check_has_data(guide: object, data: object) -> None:
    """Refuse to train a guide that learns its model from data without any.

    Args:
        guide: any guide.
        data: what it is to be trained on; ``None`` for simulations of its model.

    Raises:
        ValueError: if there are none.
    """
    if isinstance(guide, HasTerms) and data is None:
        raise ValueError(
            f"data is None, expected what to train on: a {type(guide).__name__} learns its model from data; "
            "give a pyroclust.models.PartiallyLabelled, or [data] in a recipe"
        )


class OwnLoss(SimulatedLoss):
    r"""The mean over simulated data sets of the loss that a guide defines, in nats per data set.

    .. math:: L(\phi) = E_{p(c, x)}[\ell_\phi(x, c)]

    Args:
        choice: which simulations to keep; all by default.
        data: the law of the data, in place of the model: a program with the sites ``"data"`` and, of labels,
            ``"assignments"`` or ``"known"``.

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
        labels = nodes["assignments" if "assignments" in nodes else "known"]["value"]
        if isinstance(guide, HasTerms):
            terms = guide.loss_terms(nodes["data"]["value"], labels)
            self.terms = {name: one.mean().item() for name, one in terms.items()}
            losses = torch.stack(list(terms.values())).sum(0)
        else:
            losses = guide.losses(nodes["data"]["value"], labels)
        if self.choice is not None:
            self.choice.learn(losses)
        return losses
