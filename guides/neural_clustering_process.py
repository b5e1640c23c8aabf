"""The Neural Clustering Process: an amortized guide that labels points one after the other."""

from collections.abc import Mapping
from typing import Any

from pyroclust.distributions.filter_scorer import FilterScorer
from pyroclust.guides.arguments import build_order, build_scorer, describe, describe_scorer
from pyroclust.guides.sequential_guide import CollapsedModel, SequentialGuide
from pyroclust.nn import AdaptiveShape, DensestFirst, FixedShape, LightScorer, Order, SummedScorer

__all__ = ["NeuralClusteringProcess", "light_scorer_for"]


class NeuralClusteringProcess(SequentialGuide):
    r"""Neural Clustering Process with the light scorer (default) or the published one.

    .. math:: q_\phi(c \mid x) = \prod_{n=2}^{N} \mathrm{softmax}_k\, \text{logit}_\phi(k; c_{<n}, x)

    Args:
        model: the Pyro model whose posterior is approximated.
        scorer: :class:`~pyroclust.nn.LightScorer` or :class:`~pyroclust.nn.SummedScorer`; the light one
            that fits the model by default.
        order: rule for the visiting order; densest neighbourhoods first by default.

    Example:
        >>> import torch
        >>> from pyroclust.models import gaussian2d
        >>> guide = NeuralClusteringProcess(gaussian2d())
        >>> guide.posterior(torch.zeros(2, 6, 2)).sample((3,)).shape
        torch.Size([3, 2, 6])

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """

    def __init__(
        self,
        model: CollapsedModel,
        *,
        scorer: LightScorer | SummedScorer | None = None,
        order: Order | None = None,
    ) -> None:
        scorer = light_scorer_for(model) if scorer is None else scorer
        order = DensestFirst(1.4 * model.component.typical_scale) if order is None else order
        super().__init__(model, scorer=scorer, order=order)

    @property
    def arguments(self) -> dict[str, Any]:
        """What :meth:`from_arguments` needs besides the model, ready for JSON."""
        return {"scorer": describe_scorer(self.scorer), "order": describe(self.order)}

    @classmethod
    def from_arguments(
        cls, model: CollapsedModel, *, scorer: Mapping[str, Any], order: Mapping[str, Any]
    ) -> "NeuralClusteringProcess":
        """Build a guide, without weights, from its card.

        Raises:
            ValueError: if a class is not known.
            TypeError: if arguments do not fit.
        """
        return cls(model, scorer=build_scorer(model, scorer), order=build_order(order))


def light_scorer_for(
    model: CollapsedModel,
    *,
    width: int = 48,
    num_bandwidths: int = 4,
    bandwidth_ratio: float = 2.0,
    second_moments: bool = False,
    num_attention: int = 0,
    use_filter: bool = True,
) -> LightScorer:
    """Build the light scorer whose frames and bandwidths fit a conjugate Gaussian model.

    Args:
        model: a collapsed mixture.
        width: hidden width.
        num_bandwidths: of the look-ahead, from 0.7 of a typical cluster's scale.
        bandwidth_ratio: of one bandwidth to the one before.
        second_moments: look also at the second moments of neighbourhoods.
        num_attention: blocks of attention over all points; they help where the scale of clusters is unknown.
        use_filter: add the exact filter's log-weights to the logits.
    """
    scale, dim = model.component.typical_scale, model.component.dim
    return LightScorer(
        FixedShape(dim, scale) if model.component.scale_is_known else AdaptiveShape(dim, scale),
        width=width,
        bandwidths=tuple(0.7 * bandwidth_ratio**i for i in range(num_bandwidths)),
        second_moments=second_moments,
        num_attention=num_attention,
        filter=FilterScorer(model.prior, model.component) if use_filter else None,
    )
