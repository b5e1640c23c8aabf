"""The exact filter of any model that has one."""

from collections.abc import Sequence

from pyroclust.distributions.protocols import Model, is_of_graphs
from pyroclust.guides.block_filter import BlockFilter
from pyroclust.guides.predictive_filter import PredictiveFilter

__all__ = ["exact_filter"]


def exact_filter(model: Model, *, conditions: Sequence[str] = ()) -> PredictiveFilter | BlockFilter:
    """Return the exact filter of a model: of points, or of the nodes of graphs.

    Args:
        model: a conjugate model.
        conditions: names of random hyperparameters that the filter is told.

    Raises:
        ValueError: if the model has no filter.

    Example:
        >>> from pyroclust.models import StochasticBlockModel, gaussian2d
        >>> exact_filter(gaussian2d())
        PredictiveFilter(model=gaussian2d, no weights)
        >>> exact_filter(StochasticBlockModel())
        BlockFilter(model=stochastic_block_model, no weights)
    """
    if is_of_graphs(model) and model.is_conjugate and not conditions:
        return BlockFilter(model)
    return PredictiveFilter(model, conditions=conditions)
