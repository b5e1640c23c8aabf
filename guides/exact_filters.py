"""The exact filters of points and of graphs: guides without weights, and hyperparameters that they find."""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Size, Tensor
from torch.distributions import biject_to

from pyroclust.core.random_state import seeded
from pyroclust.core.registry import register
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.families.clustered_data import block_moments
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
from pyroclust.guides.sequential_guide import SequentialGuide
from pyroclust.nn import Order, RandomOrder
from pyroclust.nn.compiled.filter import CompiledFilterScorer

# Places of the prior that are looked at first, in standard deviations, and draws at each place.
_FIRST, _DRAWS = torch.linspace(-1.8, 1.8, 7, dtype=torch.float64), 12
_GRID = 512


def integrated_names(model: Any) -> tuple[str, ...]:
    """Return the names of the random hyperparameters of a mixture's component that integrate out."""
    component = getattr(model, "component", None)
    return tuple(sorted(getattr(component, "integrated_names", ())))


def likely_hyperparameters(
    model: Any,
    flat: Tensor,
    number: int,
    *,
    draw: Callable[[dict[str, Tensor], int], tuple[Tensor, Tensor]],
) -> dict[str, Tensor]:
    r"""Return values of the random hyperparameters of a mixture's component that data sets make likely.

    .. math:: p(h \mid x) \approx \sum_s w_s \, p(h \mid c^{(s)}, x), \qquad
        w_s \propto p(c^{(s)}, x) / q(c^{(s)} \mid x, h_s)

    Partitions are drawn given values all over the prior, and then given those that come out; the values are
    quantiles of the law, ``(J, B)`` by name. The same data, the same result. Of values ``(J, B)`` and a
    number S, ``draw`` returns partitions ``(S, J, B, N)`` with their log-probabilities.
    """
    component, sets = model.component, len(flat)
    with seeded(0), torch.no_grad():
        values = {name: _over_prior(model.hyperpriors[name], sets) for name in integrated_names(model)}
        for quantiles in (max(number, 3), number):
            labels, log_q = draw(values, _DRAWS)
            labels, log_q = labels.flatten(0, 1), log_q.flatten(0, 1).double()
            weights = (model.log_joint(flat, labels) - log_q).softmax(0)
            found = component.over_hyperparameters(*block_moments(component, flat, labels))
            values = {
                name: one.transform(_quantiles(weights, one.mean, one.variance.sqrt(), quantiles))
                for name, one in found.items()
            }
    return values


def _over_prior(prior: Any, sets: int) -> Tensor:
    """Return places all over a prior, ``(J, B)``."""
    transform = biject_to(prior.support)
    real = transform.inv(prior.sample(Size((1001,))).double())
    place = real.median() + _FIRST * (real.quantile(0.84) - real.quantile(0.16)) / 2
    return transform(place).unsqueeze(-1).expand(-1, sets)


def _quantiles(weights: Tensor, means: Tensor, widths: Tensor, number: int) -> Tensor:
    """Return quantiles of mixtures of normal laws ``(S, B)`` in the middle of J equal parts, ``(J, B)``."""
    low, high = (means - 4 * widths).amin(0), (means + 4 * widths).amax(0)
    grid = low + (high - low) * torch.linspace(0, 1, _GRID, dtype=torch.float64).unsqueeze(-1)
    below = sum(
        weight * torch.special.ndtr((grid - mean) / width.clamp_min(1e-9))
        for weight, mean, width in zip(weights, means, widths, strict=True)
    )
    wanted = (torch.arange(number, dtype=torch.float64) + 0.5) / number
    place = (below.unsqueeze(0) < wanted.view(-1, 1, 1)).sum(1).clamp_max(_GRID - 1)
    return grid.gather(0, place)


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

    It needs no training and knows everything about the past, nothing about the points to come: a trained
    guide that does not beat it has learned nothing. Random hyperparameters of the component that integrate
    out have the values that draws of the filter itself find, one a data set.

    Args:
        model: a collapsed mixture with ``prior`` and ``component``.
        order: rule for the visiting order; random by default.
        conditions: names of random hyperparameters of the model that :meth:`condition` sets.
        num_orders: random orders that every posterior mixes, see :meth:`mixed`.

    Example:
        >>> import torch
        >>> from pyroclust.models import gaussian2d
        >>> PredictiveFilter(gaussian2d()).posterior(torch.zeros(4, 2)).sample((3,)).shape
        torch.Size([3, 4])
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

    What :class:`~pyroclust.guides.PredictiveFilter` is for mixtures.

    Args:
        model: a :class:`~pyroclust.models.StochasticBlockModel`.
        order: rule for the visiting order, which sees the rows of the adjacency matrix: nodes with the same
            neighbours are near one another. Random by default.

    Raises:
        ValueError: if the model is not one of graphs.

    Example:
        >>> import torch
        >>> from pyroclust.models import StochasticBlockModel
        >>> BlockFilter(StochasticBlockModel()).posterior(torch.zeros(3, 6, 6)).sample((5,)).shape
        torch.Size([5, 3, 6])
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
