"""The loss of guides whose posteriors are spanning forests: what it costs to keep known labels."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.distributions import PerturbedSpanningForest
from pyroclust.infer.simulated_loss import SimulatedLoss

__all__ = ["PartialFenchelYoungLoss"]


class PartialFenchelYoungLoss(SimulatedLoss):
    r"""By how much the heaviest forest is heavier than one that keeps what is known, mean over data sets.

    .. math::
        L(\phi) = E_{p(c, x)} \big[ F_{k, \epsilon}(S_\phi(x)) - F_{k, \epsilon}(S_\phi(x); c) \big], \qquad
        \nabla_S L = A_{k, \epsilon}(S) - A_{k, \epsilon}(S; c)

    The model is run without its conditions on a template, as by :class:`~pyroclust.infer.InclusiveKL`. The
    labels that are known are those of its site ``"known"``, negative where a label is unknown, as
    :class:`~pyroclust.models.PartiallyLabelled` has it; of a model without that site, all of
    ``"assignments"``. Points of one label must be together, points of different labels apart. The guide is
    run on ``"data"``, and its site ``"assignments"`` must be drawn from a
    :class:`~pyroclust.distributions.PerturbedSpanningForest`, as that of
    :class:`~pyroclust.guides.SpanningForestGuide` is. The loss is never negative, and zero with zero gradient
    where the labels change nothing.

    Works as ``SVI(model, guide, optim, PartialFenchelYoungLoss())`` and, with torch optimisers, as
    ``PartialFenchelYoungLoss()(model, guide)``. Cost of a data set: O(num_draws n^2).

    Args:
        num_draws: draws of noise for each data set, in pairs of opposite signs.

    Raises:
        ValueError: if ``num_draws`` is no count.

    Example:
        >>> import torch
        >>> from pyroclust.guides import SpanningForestGuide
        >>> from pyroclust.models import PartiallyLabelled
        >>> model = PartiallyLabelled(torch.randn(90, 2), torch.arange(90) % 4 - 1)  # -1: unknown
        >>> loss = PartialFenchelYoungLoss(num_draws=20)(model, SpanningForestGuide(model, num_clusters=3))
        >>> loss(torch.empty(1, 64, 2)).shape  # one batch of 64 points, 32 of which have a label
        torch.Size([])

    References:
        Stewart et al. (2023), Differentiable clustering with perturbed spanning forests.
        https://arxiv.org/abs/2305.16358
    """

    def __init__(self, num_draws: int = 1000) -> None:
        super().__init__()
        self.num_draws = check_count("num_draws", num_draws)

    def per_dataset(self, model: Callable[..., Any], guide: Callable[..., Any], *template: Any) -> Tensor:
        """Return the loss of a fresh simulation for every data set of the template, in units of similarity.

        Shape:
            template: a tensor like the model's argument, ``(*batch, N, ...)``; output: ``(*batch,)``.

        Raises:
            ValueError: if the model has no data or no labels, or the guide does not draw partitions from
                spanning forests.
        """
        simulated, replayed = self._get_trace(model, guide, template, {})
        nodes: Any = simulated.nodes
        labels = nodes.get("known", nodes.get("assignments"))
        if labels is None:
            raise ValueError(
                f"model has the sites {', '.join(nodes)}, expected labels at 'known' or 'assignments'"
            )
        if not bool((labels["value"] >= 0).any()):
            raise ValueError("labels are all negative, expected some that are known: 0 or more")
        drawn: Any = replayed.nodes.get("assignments")
        law = None if drawn is None else drawn["fn"]
        if not isinstance(law, PerturbedSpanningForest):
            raise ValueError(
                f"guide draws assignments from a {type(law).__name__}, expected a PerturbedSpanningForest: "
                "train a SpanningForestGuide, or this guide by InclusiveKL"
            )
        return law.partial_losses(labels["value"], num_draws=self.num_draws)
