"""The exact no-look-ahead filter: a guide without weights, the baseline of every table."""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.points import Points
from pyroclust.distributions.programs import as_model
from pyroclust.distributions.protocols import CollapsedModel, Model
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.guides.base import AmortizedGuide, checked_names, refuse_a_view
from pyroclust.guides.hyper_law import integrated_names, likely_hyperparameters
from pyroclust.guides.sequential_guide import SequentialGuide
from pyroclust.nn import Order, RandomOrder
from pyroclust.nn.compiled.filter import CompiledFilterScorer

__all__ = ["PredictiveFilter", "filter_scorer"]


def filter_scorer(model: Model, *, conditions: Sequence[str] = ()) -> FilterScorer:
    """Return the log-weights of a model's exact filter.

    Args:
        model: a collapsed mixture.
        conditions: names of random hyperparameters that arrive with the data.

    Raises:
        ValueError: if the model is not conjugate, or a hyperparameter is random and no condition.
    """
    if not model.is_conjugate:
        raise ValueError(
            f"model '{model.name}' has no conjugate component family, expected one: the exact filter needs "
            "the predictive density of a point given its cluster; use NeuralClusteringProcess"
        )
    mixture = cast(CollapsedModel, model)
    return FilterScorer(mixture.prior, cast(ConjugateComponent, mixture.component), conditions=conditions)


@register(AmortizedGuide)
class PredictiveFilter(SequentialGuide):
    r"""Labels drawn in sequence from the collapsed predictive of a conjugate model.

    .. math:: q(c_n \mid c_{<n}, x) = p(c_n \mid c_{<n}, x_{\le n})

    It needs no training and knows everything about the past, nothing about the points to come. A trained
    guide that does not beat it has learned nothing. Random hyperparameters of the component that integrate
    out have the values that draws of the filter itself find, one a data set.

    Args:
        model: a collapsed mixture with ``prior`` and ``component``.
        order: rule for the visiting order; random by default.
        conditions: names of random hyperparameters of the model that :meth:`condition` sets; nothing is
            trained, the filter is exact for all values.
        num_orders: random orders that every posterior mixes, see :meth:`mixed`.

    Raises:
        ValueError: as :func:`filter_scorer`, or if ``num_orders`` is above 1 and ``order`` is a rule.

    Example:
        >>> import torch
        >>> from pyroclust.models import gaussian2d
        >>> posterior = PredictiveFilter(gaussian2d()).posterior(torch.zeros(4, 2))
        >>> posterior.log_prob(torch.zeros(4, dtype=torch.long)) < 0
        tensor(True)
    """

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        order: Order | None = None,
        conditions: Sequence[str] = (),
        num_orders: int = 1,
    ) -> None:
        model = as_model(model)
        conditions = checked_names(conditions)
        to_find = tuple(name for name in integrated_names(model) if name not in conditions)
        scorer = filter_scorer(model, conditions=(*conditions, *to_find))
        order = RandomOrder() if order is None else order
        super().__init__(model, scorer=scorer, order=order, conditions=conditions, num_orders=num_orders)
        self._to_find = to_find
        self._compiled = CompiledFilterScorer(scorer.prior, scorer.component, conditions=scorer.conditions)

    def posterior(
        self, data: Points, *, order: Tensor | None = None
    ) -> SequentialPartition | OrderAveragedPartition:
        """Return the distribution over partitions of data sets, as :meth:`SequentialGuide.posterior`."""
        if not self._to_find:
            return super().posterior(data, order=order)
        return self.with_hyperparameters_of(data).posterior(data, order=order)

    def with_hyperparameters_of(self, data: Points) -> "PredictiveFilter":
        """Return a view that knows the hyperparameters that draws of the filter find in data sets."""
        if not self._to_find:
            return self
        data = self.points(data)
        flat = data.reshape(-1, *data.shape[-2:])
        found = likely_hyperparameters(self.model, flat, 1, draw=partial(self._draws, flat))
        if len(flat) == 1 and self.constraints is None and not self.condition_values:
            # A filter of known numbers is the quicker one.
            known = self.model.given({name: one.item() for name, one in found.items()})
            return PredictiveFilter(known, order=self.order, num_orders=self.num_orders).train(self.training)
        return self._with_values({name: one.view(data.shape[:-2]) for name, one in found.items()})

    def _masked_scorer(self) -> Scorer[Any]:
        return self._compiled if self.constraints is None else super()._masked_scorer()

    def _draws(self, flat: Tensor, values: Mapping[str, Tensor], number: int) -> tuple[Tensor, Tensor]:
        (shape,) = {one.shape for one in values.values()}
        known = self._with_values(values).posterior(flat.expand(*shape, *flat.shape[1:]))
        return known.sample_and_log_prob((number,))

    def _with_values(self, values: Mapping[str, Tensor]) -> "PredictiveFilter":
        """Return a view that knows the values, beside those that were set, one a data set."""
        view = copy.copy(self)
        view._to_find, view.condition_values = (), self.condition_values | dict(values)
        return view

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor but the model."""
        refuse_a_view(self.condition_values)
        return {"order": self.order, "conditions": self.conditions, "num_orders": self.num_orders}
