"""The exact filters of points and of graphs: guides without weights, the baselines of every table."""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel, Model, as_model, is_of_graphs
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.distributions.sequential.filtered_graph import FilteredGraph
from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.guides.base import (
    AmortizedGuide,
    checked_names,
    checked_order,
    visiting_order,
)
from pyroclust.guides.hyperparameters import integrated_names, likely_hyperparameters
from pyroclust.guides.sequential_guide import SequentialGuide
from pyroclust.nn import Order, RandomOrder
from pyroclust.nn.compiled.filter import CompiledFilterScorer


def filter_scorer(model: Model, *, conditions: Sequence[str] = ()) -> FilterScorer:
    """Return the log-weights of a model's exact filter."""
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
        if not self._to_find:
            return super().posterior(data, order=order)
        return self.with_hyperparameters_of(data).posterior(data, order=order)

    def with_hyperparameters_of(self, data: Points) -> "PredictiveFilter":
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


@register(AmortizedGuide)
class BlockFilter(AmortizedGuide):
    r"""Blocks of nodes drawn in sequence from the collapsed predictive of a stochastic block model.

    .. math:: q(c_n \mid c_{<n}, A) = p(c_n \mid c_{<n}, A_{\le n, \le n})

    As :class:`~pyroclust.guides.PredictiveFilter` of mixtures it needs no training, knows everything about
    the past and nothing about the nodes to come.

    Args:
        model: a :class:`~pyroclust.models.StochasticBlockModel`.
        order: rule for the visiting order, which sees the rows of the adjacency matrix: nodes with the same
            neighbours are near one another. Random by default.

    Raises:
        ValueError: if the model is not one of graphs.

    Example:
        >>> import torch
        >>> from pyroclust.models import StochasticBlockModel
        >>> posterior = BlockFilter(StochasticBlockModel()).posterior(torch.zeros(3, 6, 6))
        >>> partitions, log_q = posterior.sample_and_log_prob((5,))
        >>> partitions.shape, log_q.shape
        (torch.Size([5, 3, 6]), torch.Size([5, 3]))
    """

    def __init__(self, model: Any, *, order: Order | None = None) -> None:
        super().__init__(model)
        if not is_of_graphs(self.model):
            raise ValueError(
                f"model '{self.model.name}' is not one of graphs, expected a StochasticBlockModel: take "
                "PredictiveFilter for mixtures"
            )
        self.order = checked_order(RandomOrder() if order is None else order)

    @property
    def why_no_constraints(self) -> str:
        return "graphs have no constraints, since no kernel moves groups of nodes"

    def posterior(self, data: Points, *, order: Tensor | None = None) -> FilteredGraph:
        """Return the distribution over the partitions of the nodes of graphs.

        Args:
            data: ``(*batch, N, N)``: a tensor, an array, a sparse matrix or a graph of networkx.
            order: permutations ``(*batch, N)`` or ``(N,)`` to visit the nodes in, in place of the rule.
        """
        graphs = self.points(data)
        visit = visiting_order(self.order, self._flat(graphs)[0], order, graphs.shape[:-2])
        model: Any = self.model
        return FilteredGraph(model.prior, model.component, graphs, order=visit.view(graphs.shape[:-1]))


def exact_filter(model: Model, *, conditions: Sequence[str] = ()) -> PredictiveFilter | BlockFilter:
    """Return the exact filter of a model: of points, or of the nodes of graphs."""
    if is_of_graphs(model) and model.is_conjugate and not conditions:
        return BlockFilter(model)
    return PredictiveFilter(model, conditions=conditions)
