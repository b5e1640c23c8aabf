"""Partitions of some points, continued to the others by the exact filter: of anchors, and of draws."""

from typing import Any, cast

import torch
from torch import Size, Tensor

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import Points
from pyroclust.distributions.sequential.partition import AnchoredPartition
from pyroclust.guides.base import AmortizedGuide
from pyroclust.guides.exact_filters import PredictiveFilter, exact_filter
from pyroclust.nn import StratifiedAnchors
from pyroclust.nn.orders import Anchors


@register(AmortizedGuide)
class AnchoredGuide(AmortizedGuide):
    r"""Another guide on A anchors, continued to all points by the exact filter of their model.

    .. math::
        q(c \mid x) = q_\phi(c_A \mid x_A) \prod_{i \notin A} p(c_i \mid c_{<i}, x_{\le i})

    A guide that was trained on a few hundred points decides what clusters there are; the filter knows where
    the others belong. Log-probabilities are exact where the guide's are, cost and memory linear in N beside
    the guide's for A points. The anchors are chosen by the data alone.

    Args:
        guide: of a conjugate model, not conditioned; it labels data sets of no more than A points by itself.
        num_anchors: A.
        anchors: rule that chooses them; one of each of A parts of the data by default.

    Raises:
        ValueError: if the model is not conjugate, or the guide has conditions.

    Example:
        >>> from pyroclust import load_guide
        >>> guide = AnchoredGuide(load_guide("ncp-overlap2d"), num_anchors=50)
        >>> guide.posterior(torch.randn(400, 2)).sample((5,)).shape
        torch.Size([5, 400])
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
    def mixes_orders(self) -> bool:
        return bool(self.guide.mixes_orders)

    @property
    def why_no_constraints(self) -> str:
        return "anchors would be labelled without knowing which of the others are tied to them"

    def posterior(self, data: Points) -> Any:
        """Label the anchors by the guide and return the law that the exact filter continues."""
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


class DrawsOfRows(PartitionDistribution):
    r"""Draws of a posterior as a law of it: sampling takes one of them, each as often as another.

    Its log-probability is the log joint density :math:`\log p(c, x)`, which the posterior's exceeds by
    :math:`-\log p(x)`: weights of what is built upon it are relative to that evidence.
    """

    def __init__(self, model: Any, data: Tensor, draws: Tensor) -> None:
        self._model, self._rows, self._draws = model, data, draws
        self._joint: Tensor = model.log_joint(data, draws)
        super().__init__(len(data), batch_shape=Size(), validate_args=False)

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        some = torch.randint(len(self._draws), (sample_shape.numel(),))
        return self._draws[some].reshape(*sample_shape, -1), self._joint[some].reshape(sample_shape)

    def _sample(self, sample_shape: Size) -> Tensor:
        return self._sample_and_log_prob(sample_shape)[0]

    def _log_prob(self, value: Tensor) -> Tensor:
        found: Tensor = self._model.log_joint(self._rows, value)
        return found


class ContinuedDraws:
    r"""A guide of a table that grows: old rows as they were drawn, new ones by the exact filter.

    .. math:: q(c) = p(c_{old} \mid x_{old}) \prod_{i\ new} p(c_i \mid c_{<i}, x_{\le i})

    The mean of importance weights is the evidence :math:`p(x_{new} \mid x_{old})`.
    """

    def __init__(self, model: Any, draws: Tensor) -> None:
        self.model, self._draws = model, draws

    def posterior(self, data: Tensor) -> AnchoredPartition:
        """Return the law of the partition of all rows, ``(N + M, D)``, the old ones first."""
        old = self._draws.shape[-1]
        first = torch.arange(old)
        order = torch.cat([first, old + torch.randperm(len(data) - old)])
        filtered = self._filter(data[:old])
        return AnchoredPartition(
            DrawsOfRows(self.model, data[:old], self._draws),
            filtered.posterior(data, order=order),
            filtered.posterior(data[:old], order=first),
        )

    def _filter(self, rows: Tensor) -> Any:
        """Return the exact filter, with random hyperparameters of clusters as draws have them on average."""
        component = self.model.component
        found = component.over_hyperparameters(*block_moments(component, rows, self._draws))
        known = {name: float(one.transform(one.mean.mean())) for name, one in found.items()}
        return exact_filter(self.model.given(known)).eval()
