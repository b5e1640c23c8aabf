"""The exact no-look-ahead filter of graphs: a guide without weights, the baseline of tables of graphs."""

from typing import Any

from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import is_of_graphs
from pyroclust.distributions.sequential.filtered_graph import FilteredGraph
from pyroclust.guides.base import AmortizedGuide, checked_order, checked_permutations
from pyroclust.nn import Order, RandomOrder

__all__ = ["BlockFilter"]


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
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor but the model."""
        return {"order": self.order}

    @property
    def why_no_constraints(self) -> str:
        """Why posteriors cannot be held to constraints: no kernel of graphs moves groups of nodes."""
        return "graphs have no constraints, since no kernel moves groups of nodes"

    def posterior(self, data: Points, *, order: Tensor | None = None) -> FilteredGraph:
        """Return the distribution over the partitions of the nodes of graphs.

        Args:
            data: ``(*batch, N, N)``: a tensor, an array, a sparse matrix or a graph of networkx.
            order: permutations ``(*batch, N)`` or ``(N,)`` to visit the nodes in; the guide's own rule
                otherwise.

        Raises:
            ValueError: if the data are no undirected graphs, or the order is no permutation.

        Example:
            >>> import torch
            >>> from pyroclust.models import StochasticBlockModel
            >>> BlockFilter(StochasticBlockModel()).posterior(torch.zeros(6, 6)).sample().shape
            torch.Size([6])
        """
        graphs = self.points(data)
        batch, nodes = graphs.shape[:-2], graphs.shape[-1]
        if order is None:
            visit = self.order(graphs.reshape(-1, nodes, nodes))
        else:
            visit = checked_permutations(order.to(graphs.device), num_points=nodes, batch=batch)
        model = self.model
        prior, rates = model.prior, model.component  # type: ignore[attr-defined]
        return FilteredGraph(prior, rates, graphs, order=visit.view(*batch, nodes))
