"""The stochastic block model: undirected graphs whose nodes fall into blocks."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import pyro
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.core.registry import register
from pyroclust.distributions import BlockRates, ChineseRestaurantPrior, PartitionPrior
from pyroclust.distributions.block_rates import GraphOfBlocks
from pyroclust.distributions.hyperparameters import check_known
from pyroclust.distributions.protocols import Model
from pyroclust.partitions import check_num_points
from pyroclust.partitions.adjacency import as_adjacency


@register(Model, name="stochastic_block_model")
class StochasticBlockModel:
    r"""Undirected graphs: a partition of the nodes, and a probability of an edge for each pair of blocks.

    .. math::
        c \sim \text{prior}, \quad p_{kk} \sim \text{Beta}(a_w, b_w), \quad
        p_{kl} \sim \text{Beta}(a_b, b_b), \quad A_{ij} \sim \text{Bernoulli}(p_{c_i c_j}), \; i < j

    The points of a data set are the nodes of a graph, and the rates integrate out:

    .. math::
        \log p(A \mid c) = \sum_{k \le l} \log \frac{B(a + e_{kl}, b + m_{kl} - e_{kl})}{B(a, b)}

    with e edges among m pairs of nodes. Enumeration, collapsed Gibbs sampling, splits and merges, the exact
    filter, importance weights and refining work as for mixtures.

    Args:
        prior: law of the partition, its hyperparameters known; by default a Chinese restaurant process of
            concentration 0.7, as published but for a limit of 12 blocks.
        within: (a, b) of edges within a block.
        between: (a, b) of edges between blocks.
        shared: whether all blocks share one probability, and all pairs of blocks another one.

    Shape:
        data: ``(*batch, N, N)``, symmetric, zeros and ones with an empty diagonal; assignments:
            ``(*batch, N)`` int64.

    Raises:
        ValueError: if a number is not positive, or the prior is random.

    Example:
        >>> import torch
        >>> from pyroclust.infer import simulate
        >>> graphs, labels = simulate(StochasticBlockModel(), torch.empty(3, 20, 20))
        >>> graphs.shape, labels.shape
        (torch.Size([3, 20, 20]), torch.Size([3, 20]))

    References:
        Nowicki & Snijders (2001), Estimation and prediction for stochastic blockstructures.
        https://doi.org/10.1198/016214501753208735
        Pakman et al. (2020), Attentive clustering processes. https://arxiv.org/abs/2010.15727
    """

    name = "stochastic_block_model"
    event_shape = (-1,)
    event_dim = 2
    typical_scale = 1.0
    scale_is_known = False
    has_likelihood = True
    is_conjugate = True
    constraints = row_weights = None

    def __init__(
        self,
        prior: PartitionPrior | None = None,
        *,
        within: Sequence[float] = (6.0, 3.0),
        between: Sequence[float] = (1.0, 5.0),
        shared: bool = False,
    ) -> None:
        self.prior = ChineseRestaurantPrior(0.7) if prior is None else prior
        check_known("prior", self.prior)
        self.component: Any = BlockRates(within, between, shared=shared)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        own = self.component
        return {"prior": self.prior, "within": own.within, "between": own.between, "shared": own.shared}

    @property
    def partition_prior(self) -> PartitionPrior:
        """The law of the partitions."""
        return self.prior

    @property
    def hyperpriors(self) -> Mapping[str, Distribution]:
        """Priors of random hyperparameters: there are none."""
        return {}

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        """Return the model itself.

        Raises:
            ValueError: if there is a hyperparameter to set.
        """
        if values:
            raise ValueError(
                f"values has {', '.join(values)}, expected none: the numbers of a {type(self).__name__} are "
                "arguments of its constructor"
            )
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StochasticBlockModel)
            and self.prior == other.prior
            and self.component == other.component
        )

    def __hash__(self) -> int:
        return hash(self.component)

    def __repr__(self) -> str:
        return f"StochasticBlockModel({self.prior!r}, {self.component!r})"

    def __call__(self, data: Tensor) -> Tensor:
        if data.dim() < 2 or data.shape[-1] != data.shape[-2] or 0 in data.shape:
            raise ValueError(f"data has shape {tuple(data.shape)}, expected (..., N, N), a node a row")
        with pyro.plate_stack("datasets", data.shape[:-2]):
            assignments = pyro.sample("assignments", self.prior.partition(data.shape[-1]))
            return pyro.sample("data", GraphOfBlocks(self.component, assignments), obs=data)

    def log_joint(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return log p(assignments, data) in nats, float64.

        Shape:
            data: ``(..., N, N)``; assignments: ``(..., N)`` canonical; output: the broadcast of both batches.
            Cost O(N^2 K) a partition.

        Raises:
            ValueError: if the data are no graphs, the shapes do not fit, or the labels are not canonical.
        """
        graphs = as_adjacency(data, name="data").to(assignments.device)
        check_num_points("assignments", assignments, graphs.shape[-1])
        # The prior refuses labels that are not canonical.
        return self.prior.log_prob(assignments) + self.component.log_marginal(graphs, assignments)
