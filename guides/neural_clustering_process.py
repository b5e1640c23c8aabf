"""The Neural Clustering Process: an amortized guide that labels points one after the other."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, cast

from torch import Tensor

from pyroclust.core.registry import arguments_of, register
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.protocols import CollapsedModel, Model, as_model, is_of_graphs
from pyroclust.guides.base import AmortizedGuide, bandwidths, num_columns
from pyroclust.guides.exact_filters import filter_scorer
from pyroclust.guides.sequential_guide import SequentialGuide
from pyroclust.nn import (
    AdaptiveShape,
    ClusterShape,
    ColumnScorer,
    DensestFirst,
    FixedShape,
    Future,
    GraphScorer,
    LightScorer,
    NeighbourScorer,
    NetworkScorer,
    Order,
    RandomOrder,
    SummedScorer,
)
from pyroclust.nn.encoders import Encoder
from pyroclust.nn.features import ConditionInputs


def network_inputs(
    model: Model, conditions: Sequence[str] | ConditionInputs, *, own: ConditionInputs | None = None
) -> ConditionInputs | None:
    """Return how the conditions enter the network, None where there are none."""
    names = conditions.names if isinstance(conditions, ConditionInputs) else tuple(conditions)
    if own is not None and names in ((), own.names):
        conditions = own
    names = conditions.names if isinstance(conditions, ConditionInputs) else names
    if not names:
        return None
    component = cast(CollapsedModel, model).component if model.hyperpriors else None
    measured = ConditionInputs.of_priors(names, model.hyperpriors, component)
    return conditions if isinstance(conditions, ConditionInputs) else measured


def typical_model(model: Model, inputs: ConditionInputs | None) -> Model:
    """Return the model under the medians of those conditions that say how wide clusters are."""
    medians = {} if inputs is None else inputs.medians
    powers = {} if inputs is None else inputs.inputs
    return model.given({name: medians[name] for name, one in powers.items() if one.scale_power})


@register(AmortizedGuide)
class NeuralClusteringProcess(SequentialGuide):
    r"""Neural Clustering Process with the light scorer (default) or the published one.

    .. math:: q_\phi(c \mid x) = \prod_{n=2}^{N} \mathrm{softmax}_k\, \text{logit}_\phi(k; c_{<n}, x)

    With conditions, one guide serves many priors: hyperparameters of the model that are random, and of which
    each simulated data set has its own, are inputs of the network, and ``guide.condition(name=value, ...)``
    is the guide for these values. Other random hyperparameters are integrated over by simulation.

    Args:
        model: the Pyro model whose posterior is approximated.
        scorer: the light one that fits the model by default. The published one takes the standard scores of
            the conditions as further columns of the points, so its ``dim`` is that of the data plus their
            number.
        order: rule for the visiting order; by default densest neighbourhoods first, and for the nodes of
            graphs a random order.
        conditions: names of random hyperparameters of the model, or how they enter; those of the scorer by
            default.
        num_orders: random orders that every posterior mixes, see :meth:`mixed`.

    Example:
        >>> import torch
        >>> from pyroclust.models import sensitivity2d
        >>> guide = NeuralClusteringProcess(sensitivity2d(), conditions=["concentration", "prior_scale"])
        >>> known = guide.condition(concentration=1.0, prior_scale=3.0)
        >>> known.posterior(torch.zeros(2, 6, 2)).sample((3,)).shape
        torch.Size([3, 2, 6])

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """

    network_argument = "scorer"

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        scorer: NetworkScorer[Any] | None = None,
        order: Order | None = None,
        conditions: Sequence[str] | ConditionInputs = (),
        num_orders: int = 1,
    ) -> None:
        model = as_model(model)
        inputs = network_inputs(model, conditions, own=None if scorer is None else scorer.conditions)
        if scorer is None and is_of_graphs(model):
            scorer = graph_scorer_for(model)
        if scorer is None:
            scorer = light_scorer_for(model, conditions=inputs or ())
        scorer.take_conditions(inputs, num_columns=num_columns(model))
        if order is None:
            scale = typical_model(model, inputs).typical_scale
            order = RandomOrder() if is_of_graphs(model) else DensestFirst(1.4 * scale)
        names = () if inputs is None else inputs.names
        super().__init__(model, scorer=scorer, order=order, conditions=names, num_orders=num_orders)
        self.inputs = inputs

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor but the model."""
        own = self.inputs is not None and "conditions" not in arguments_of(self.scorer)
        return super().arguments | {"conditions": self.inputs if own else ()}

    @property
    def fits_any_model(self) -> bool:
        return cast(NetworkScorer[Any], self.scorer).fits_any_model

    def of(self, model: Model | Callable[[Tensor], Any]) -> Self:
        """Return the guide of another model: a view with the same weights, nothing is copied.

        Only where the scorer fits models of any kind, as :class:`~pyroclust.nn.ColumnScorer` does.

        Example:
            >>> import torch
            >>> from pyroclust.models import table_mixture
            >>> model = table_mixture(numbers=2)
            >>> guide = NeuralClusteringProcess(model, scorer=column_scorer_for(model))
            >>> other = guide.of(table_mixture(numbers=1, yes_no=1, levels=[3], missing=True))
            >>> other.posterior(torch.tensor([[0.2, 1.0, 2.0], [torch.nan, 0.0, 2.0]])).sample().shape
            torch.Size([2])
        """
        mixture = _conjugate(model)
        scorer = cast(NetworkScorer[Any], self.scorer)
        view = copy.copy(self)
        # A module keeps its parts in a table, which a shallow copy shares.
        view.__dict__["_modules"] = dict(self._modules)
        view.model = mixture
        view.scorer = scorer.of(mixture.prior, cast(ConjugateComponent, mixture.component))
        return view

    def _visit(self, flat: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        scorer = cast(NetworkScorer[Any], self.scorer)
        flat = scorer.positions(flat)
        unit = None if self.inputs is None else self.inputs.units(values)
        return self.order(flat if unit is None else flat / unit.to(flat).view(-1, 1, 1))


@register(NeuralClusteringProcess, name="light")
def light_scorer_for(
    model: Model | Callable[[Tensor], Any],
    *,
    width: int = 48,
    num_bandwidths: int = 4,
    bandwidth_ratio: float = 2.0,
    second_moments: bool = False,
    num_attention: int = 0,
    future: Future | None = None,
    encoder: Encoder | None = None,
    use_filter: bool = True,
    foresight: int = 0,
    conditions: Sequence[str] | ConditionInputs = (),
) -> LightScorer:
    """Build the light scorer whose frames and bandwidths fit a model, or an encoder.

    Arguments that are not listed are those of :class:`~pyroclust.nn.LightScorer`. Bandwidths of the
    look-ahead begin at 0.7 of a typical cluster's scale, ``num_bandwidths`` of them, each ``bandwidth_ratio``
    times the one before. An encoder's vectors are looked at in units of 1, without a filter. With
    ``use_filter`` the exact filter's log-weights are added to the logits where the model is conjugate. Where
    one of the ``conditions`` is the scale of clusters, frames and bandwidths are in units of the data set's
    own scale.
    """
    model = as_model(model)
    inputs = network_inputs(model, conditions)
    names = () if inputs is None else inputs.names
    has_filter = use_filter and encoder is None and model.is_conjugate
    return LightScorer(
        _shape(typical_model(model, inputs), encoder),
        encoder=encoder,
        width=width,
        bandwidths=bandwidths(num_bandwidths, ratio=bandwidth_ratio),
        second_moments=second_moments,
        num_attention=num_attention,
        future=future,
        filter=filter_scorer(cast(CollapsedModel, model), conditions=names) if has_filter else None,
        foresight=foresight,
        conditions=inputs,
    )


@register(NeuralClusteringProcess, name="published")
def summed_scorer_for(
    model: Model | Callable[[Tensor], Any],
    *,
    width: int = 128,
    sizes: Sequence[int] = (256, 512),
    encoder: Encoder | None = None,
    future: Future | None = None,
    conditions: Sequence[str] | ConditionInputs = (),
) -> SummedScorer:
    """Build the published scorer that fits a model; conditions are further columns of its points."""
    model = as_model(model)
    inputs = network_inputs(model, conditions)
    columns = 0 if inputs is None else len(inputs.names)
    dim = num_columns(model) + columns if encoder is None else encoder.dim
    return SummedScorer(dim, width=width, sizes=sizes, future=future, encoder=encoder)


@register(NeuralClusteringProcess, name="columns")
def column_scorer_for(
    model: Model | Callable[[Tensor], Any], *, width: int = 48, column_width: int = 24, foresight: int = 48
) -> ColumnScorer:
    """Build the :class:`~pyroclust.nn.ColumnScorer` of a model, whose weights fit tables of any columns."""
    mixture = _conjugate(model)
    return ColumnScorer(
        mixture.prior,
        cast(ConjugateComponent, mixture.component),
        width=width,
        column_width=column_width,
        foresight=foresight,
    )


@register(NeuralClusteringProcess, name="neighbours")
def neighbour_scorer_for(model: Model | Callable[[Tensor], Any], *, width: int = 48) -> NeighbourScorer:
    """Build the neighbour scorer in units of the model's typical scale."""
    return NeighbourScorer(as_model(model).typical_scale, width=width)


@register(NeuralClusteringProcess, name="graph")
def graph_scorer_for(
    model: Model | Callable[[Tensor], Any], *, width: int = 48, encoder: Encoder | None = None
) -> GraphScorer:
    """Build the scorer of the nodes of graphs, with the exact filter of a stochastic block model."""
    model = as_model(model)
    if not (is_of_graphs(model) and model.is_conjugate):
        raise ValueError(
            f"model '{model.name}' is no stochastic block model, expected one: take light_scorer_for for "
            "points that are no nodes of a graph, or a graph encoder in it"
        )
    collapsed: Any = model
    return GraphScorer(collapsed.prior, collapsed.component, encoder=encoder, width=width)


def _conjugate(model: Model | Callable[[Tensor], Any]) -> CollapsedModel:
    """Return a mixture of a conjugate family."""
    model = as_model(model)
    if not model.is_conjugate:
        raise ValueError(
            f"model '{model.name}' has no exact filter, expected a mixture of a conjugate family: columns "
            "speak through their predictive densities"
        )
    return cast(CollapsedModel, model)


def _shape(model: Model, encoder: Encoder | None) -> ClusterShape:
    """Return the frame of clusters of points, or of what an encoder makes of them."""
    if encoder is not None:
        return FixedShape(encoder.dim, 1.0)
    kind = FixedShape if model.scale_is_known else AdaptiveShape
    return kind(num_columns(model), model.typical_scale)
