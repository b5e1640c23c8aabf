"""A guide for many points: it labels a few of them, the anchors, and the exact filter the others."""

from typing import Any, cast

import torch
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.points import Points
from pyroclust.distributions.sequential.partition import AnchoredPartition
from pyroclust.guides.base import AmortizedGuide, refuse_a_view
from pyroclust.guides.predictive_filter import PredictiveFilter
from pyroclust.nn import StratifiedAnchors
from pyroclust.nn.anchors import Anchors

__all__ = ["AnchoredGuide"]


@register(AmortizedGuide)
class AnchoredGuide(AmortizedGuide):
    r"""Another guide on A anchors, continued to all points by the exact filter of their model.

    .. math::
        q(c \mid x) = q_\phi(c_A \mid x_A) \prod_{i \notin A} p(c_i \mid c_{<i}, x_{\le i})

    A guide that was trained on a few hundred points decides what clusters there are; once these have members,
    the filter knows where the others belong. Log-probabilities are exact where the guide's are, cost and
    memory grow linearly with N beside the guide's cost for A points. The anchors are chosen by the data
    alone, and data sets of no more than A points are left to the guide.

    Args:
        guide: of a conjugate model, not conditioned.
        num_anchors: A.
        anchors: rule that chooses them; one of each of A parts of the data by default.

    Raises:
        ValueError: if the model is not conjugate, or the guide has conditions.

    Example:
        >>> from pyroclust import load_guide
        >>> guide = AnchoredGuide(load_guide("ncp-overlap2d"), num_anchors=50)
        >>> draws, log_q = guide.posterior(torch.randn(400, 2)).sample_and_log_prob((5,))
        >>> draws.shape, log_q.shape
        (torch.Size([5, 400]), torch.Size([5]))
    """

    def __init__(
        self, guide: AmortizedGuide, *, num_anchors: int = 100, anchors: Anchors | None = None
    ) -> None:
        super().__init__(guide.model)
        if guide.conditions:
            raise ValueError(
                f"guide has the conditions {', '.join(guide.conditions)}, expected one without: call "
                "guide.condition(...) first"
            )
        PredictiveFilter(guide.model)
        self.guide = guide
        self.num_anchors = check_count("num_anchors", num_anchors)
        self.anchors: Any = StratifiedAnchors() if anchors is None else anchors

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor.

        Raises:
            ValueError: if the guide is conditioned.
        """
        refuse_a_view(self.guide.condition_values)
        return {"guide": self.guide, "num_anchors": self.num_anchors, "anchors": self.anchors}

    @property
    def mixes_orders(self) -> bool:
        """Whether the posteriors of the guide are mixtures over visiting orders."""
        return bool(self.guide.mixes_orders)

    @property
    def why_no_constraints(self) -> str:
        """Why posteriors cannot be held to constraints."""
        return "anchors would be labelled without knowing which of the others are tied to them"

    def posterior(self, data: Points) -> Any:
        """Label the anchors by the guide and return the law that the exact filter continues.

        Args:
            data: ``(*batch, N, D)``; of at most A points the guide's own posterior is returned.

        Raises:
            ValueError: if the data do not fit the model.
        """
        data = self.points(data)
        batch, (points, dim) = data.shape[:-2], data.shape[-2:]
        if points <= self.num_anchors:
            return self.guide.posterior(data)
        flat = data.reshape(-1, points, dim)
        chosen = self.anchors(flat, self.num_anchors)
        order = _anchors_first(chosen, points)
        few = flat.gather(1, chosen.unsqueeze(-1).expand(-1, -1, dim))
        few = few.view(*batch, self.num_anchors, dim)
        filtered = PredictiveFilter(self.model).with_hyperparameters_of(few)
        rest = filtered.posterior(data, order=order.view(*batch, points))
        own = filtered.posterior(few, order=torch.arange(self.num_anchors, device=data.device))
        return AnchoredPartition(self.guide.posterior(few), cast(Any, rest), cast(Any, own))


def _anchors_first(anchors: Tensor, num_points: int) -> Tensor:
    """Return orders that begin with the anchors, the others at random, ``(B, A) -> (B, N)``."""
    key = torch.rand(len(anchors), num_points, dtype=torch.float64, device=anchors.device)
    number = anchors.shape[1]
    places = torch.arange(number, dtype=torch.float64, device=anchors.device) - number
    return key.scatter(1, anchors, places.expand(len(anchors), -1)).argsort(-1)
