"""The Neural Clustering Process of models whose clusters share a scale that nobody knows."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Self

import torch
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Model, as_model
from pyroclust.distributions.sequential.partition import OrderAveragedPartition
from pyroclust.guides.base import AmortizedGuide
from pyroclust.guides.exact_filters import integrated_names, likely_hyperparameters
from pyroclust.guides.neural_clustering_process import NeuralClusteringProcess
from pyroclust.nn import NetworkScorer, Order

_REFERENCE = 0.2


@register(AmortizedGuide)
class ScaleAveragedProcess(NeuralClusteringProcess):
    r"""A Neural Clustering Process for clusters of one scale, averaged over what that scale may be.

    .. math:: q(c \mid x) = \frac1J \sum_j  q_\phi\!\left(c \,\Big|\, x \sqrt{s_0 / s_j(x)}\right)

    The posterior for a known scale s is that for :math:`s_0` of the same points in other units, so that one
    network serves all scales of normal clusters. Where to look is found by draws: partitions given the scale,
    then the law of the scale given these partitions, whose quantiles are averaged over. It is an exact
    distribution, whatever these are.

    Args:
        model: a mixture of normal clusters with one random hyperparameter, their scale.
        scorer: of the model with a known scale; the light one by default.
        order: rule for the visiting order.
        reference: the known scale :math:`s_0`.
        num_scales: J.

    Example:
        >>> import torch
        >>> from pyroclust.models import normal_mixture
        >>> guide = ScaleAveragedProcess(normal_mixture(2))
        >>> guide.posterior(torch.randn(3, 6, 2)).sample((5,)).shape
        torch.Size([5, 3, 6])
    """

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        scorer: NetworkScorer[Any] | None = None,
        order: Order | None = None,
        reference: float = _REFERENCE,
        num_scales: int = 3,
    ) -> None:
        model = as_model(model)
        known = self.model_of_network(model, {"reference": reference})
        super().__init__(known, scorer=scorer, order=order)
        self.known, self.model, self.scale_name = known, model, scale_name(model)
        self.reference, self.num_scales = reference, check_count("num_scales", num_scales)
        self._scales: Tensor | None = None

    @classmethod
    def model_of_network(cls, model: Any, arguments: Mapping[str, Any]) -> Any:
        return model.given({scale_name(model): arguments.get("reference", _REFERENCE)})

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "scorer": self.scorer,
            "order": self.order,
            "reference": self.reference,
            "num_scales": self.num_scales,
        }

    @property
    def mixes_orders(self) -> bool:
        return True

    def posterior(self, data: Points, *, order: Tensor | None = None) -> OrderAveragedPartition:
        data = self.points(data)
        flat = data.reshape(-1, *data.shape[-2:])
        visit = None if order is None else order.expand(data.shape[:-1]).reshape(flat.shape[:-1])
        scales = self._scales
        if scales is None or scales.shape[-1] != len(flat):
            scales = self._likely_scales(flat, visit)
        inner = self._in_units(flat, scales, visit)
        return OrderAveragedPartition(inner.on(inner.dataset.view(-1, *data.shape[:-2])))

    def with_hyperparameters_of(self, data: Points) -> Self:
        view = copy.copy(self)
        data = self.points(data)
        view._scales = self._likely_scales(data.reshape(-1, *data.shape[-2:]), None)
        return view

    def _likely_scales(self, flat: Tensor, visit: Tensor | None) -> Tensor:
        return likely_hyperparameters(
            self.model,
            flat,
            self.num_scales,
            draw=lambda values, number: self._draws(flat, values[self.scale_name], visit, number),
        )[self.scale_name]

    def _draws(
        self, flat: Tensor, scales: Tensor, visit: Tensor | None, number: int
    ) -> tuple[Tensor, Tensor]:
        labels, log_q = self._in_units(flat, scales, visit).sample_and_log_prob((number,))
        return labels.unflatten(1, scales.shape), log_q.unflatten(1, scales.shape)

    def _in_units(self, flat: Tensor, scales: Tensor, visit: Tensor | None) -> Any:
        """Return the network's posteriors in a row, of data sets ``(B, N, D)`` with scales ``(..., B)``."""
        factor = (self.reference / scales).sqrt().to(flat)[..., None, None]
        shares = columns_of_scale(self.model).to(flat.device)
        copies = (flat * torch.where(shares, factor, 1.0)).reshape(-1, *flat.shape[1:])
        return super().posterior(
            copies, order=None if visit is None else visit.repeat(len(copies) // len(flat), 1)
        )

    def of(self, model: Model | Callable[[Tensor], Any]) -> Self:
        """Return the guide of another model whose clusters share a scale, with the same weights."""
        model = as_model(model)
        view = super().of(self.model_of_network(model, {"reference": self.reference}))
        view.known, view.model, view.scale_name = view.model, model, scale_name(model)
        view._scales = None
        return view


def scale_name(model: Any) -> str:
    """Return the name of the random scale of normal clusters."""
    names = integrated_names(model)
    if len(names) != 1 or names[0].split(".")[-1] not in ("scale", "rate"):
        raise ValueError(
            f"model '{model.name}' has the random hyperparameters {list(names)}, expected the scale of "
            "normal clusters alone: take NeuralClusteringProcess"
        )
    return names[0]


def columns_of_scale(model: Any) -> Tensor:
    """Say which columns ``(D,)`` share the random scale: in a product of families those of its part."""
    name, parts = scale_name(model), getattr(model.component, "parts", (model.component,))
    which = int(name.split(".")[0]) if "." in name else 0
    return torch.cat([torch.full((part.dim,), place == which) for place, part in enumerate(parts)])
