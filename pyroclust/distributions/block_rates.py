"""Graphs given a partition of their nodes: edge rates within and between blocks, integrated out."""

import math
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from pyro.distributions import TorchDistribution
from scipy.special import gammaln
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.compiling import compiled
from pyroclust.core.numbers import check_number
from pyroclust.partitions import check_label_vectors, most_clusters

_LARGEST = 1e6
# Entries of a table; what lies beyond is computed.
_LONGEST_TABLE = 1 << 20
# Two laws a model, and room for those of a few models.
_KEPT = 8


@dataclass(frozen=True)
class BlockRates:
    r"""Laws of the probabilities of edges within and between the blocks of a graph.

    .. math::
        p_{kk} \sim \text{Beta}(a_w, b_w), \qquad p_{kl} \sim \text{Beta}(a_b, b_b), \quad k < l

    Args:
        within: (a, b) of an edge between two nodes of one block.
        between: (a, b) of an edge between nodes of two blocks.
        shared: whether there is one probability for all blocks, and one for all pairs of blocks.

    Raises:
        ValueError: if a number is not positive, or there are not two.

    Example:
        >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> BlockRates((1.0, 1.0), (1.0, 1.0)).log_marginal(path, torch.tensor([0, 0, 1])).exp()
        tensor(0.0833, dtype=torch.float64)
    """

    hyper_names: ClassVar[tuple[str, ...]] = ()

    within: Any
    between: Any
    _: KW_ONLY
    shared: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", _pair("within", self.within))
        object.__setattr__(self, "between", _pair("between", self.between))
        object.__setattr__(self, "shared", bool(self.shared))

    @property
    def hyperpriors(self) -> dict[str, Any]:
        """Priors of random hyperparameters: there are none."""
        return {}

    def log_marginal(self, adjacency: Tensor, assignments: Tensor) -> Tensor:
        r"""Return the log-probability of graphs given partitions, the rates integrated out, in nats.

        .. math::
            \log p(A \mid c) = \sum_{k \le l} \log \frac{B(a + e_{kl}, b + m_{kl} - e_{kl})}{B(a, b)}

        with e edges among the m pairs of nodes of two blocks, or within one. Cost O(N^2 K) a partition.

        Shape:
            adjacency: ``(..., N, N)``; assignments: ``(..., N)``, broadcast; output: ``(...)``, float64.
        """
        blocks = max(1, most_clusters(assignments))
        member = torch.nn.functional.one_hot(assignments.long(), blocks).double()
        linked = member.mT @ adjacency.double() @ member
        sizes = member.sum(-2)
        pairs = sizes.unsqueeze(-1) * sizes.unsqueeze(-2)
        own = linked.diagonal(dim1=-2, dim2=-1) / 2, sizes * (sizes - 1) / 2
        upper = torch.triu_indices(blocks, blocks, 1, device=member.device)
        others = linked[..., upper[0], upper[1]], pairs.expand(linked.shape)[..., upper[0], upper[1]]
        return self._log_ratio(*own, self.within) + self._log_ratio(*others, self.between)

    def _log_ratio(self, edges: Tensor, pairs: Tensor, law: tuple[float, float]) -> Tensor:
        """Return the log marginal likelihood of edges among pairs, summed over the last dimension."""
        if self.shared:
            edges, pairs = edges.sum(-1, keepdim=True), pairs.sum(-1, keepdim=True)
        return log_beta_binomial(edges, pairs, law).sum(-1)

    def log_predictive(self, links: Tensor, sizes: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        r"""Return what the edges of one more node to the nodes so far are worth in each block, in nats.

        .. math::
            \log p(A_{n, <n} \mid c_n = k, c_{<n}, A_{<n}) = \sum_l
            \log \frac{B(a_{kl} + r_l, b_{kl} + n_l - r_l)}{B(a_{kl}, b_{kl})}

        with r_l links of the node to block l of n_l nodes, and a, b of the law plus the edges and non-edges
        there are between the blocks k and l. Cost O(K^2), O(K) where blocks share their rates.

        Shape:
            links: r, ``(..., K)``; sizes: n, 0 where there is no block, ``(..., K)``; edges: e, those within
                a block once, ``(..., K, K)``; output: of joining each block ``(..., K)``, and of opening one
                ``(...)``, float64.
        """
        links, sizes, edges = links.double(), sizes.double(), edges.double()
        every, nodes = links.sum(-1), sizes.sum(-1)
        own, pairs = edges.diagonal(dim1=-2, dim2=-1), sizes * (sizes - 1) / 2
        if self.shared:
            e, m = own.sum(-1, keepdim=True), pairs.sum(-1, keepdim=True)
            between = (edges.sum((-2, -1)).unsqueeze(-1) - e) / 2
            among = (nodes * (nodes - 1) / 2).unsqueeze(-1) - m
            left, rest = every.unsqueeze(-1) - links, nodes.unsqueeze(-1) - sizes
            join = log_beta_gain(e, m, links, sizes, self.within) + log_beta_gain(
                between, among, left, rest, self.between
            )
            return join, log_beta_gain(
                between, among, every.unsqueeze(-1), nodes.unsqueeze(-1), self.between
            )[..., 0]
        linked, size = links.unsqueeze(-2), sizes.unsqueeze(-2)
        across = log_beta_gain(edges, sizes.unsqueeze(-1) * size, linked, size, self.between)
        others = ~torch.eye(links.shape[-1], dtype=torch.bool, device=links.device)
        join = log_beta_gain(own, pairs, links, sizes, self.within) + (across * others).sum(-1)
        return join, log_beta_binomial(links, sizes, self.between).sum(-1)

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw rates for all blocks, then graphs, in O(N^2 + K^2).

        Shape:
            assignments: ``(..., N)``; output: ``(..., N, N)`` of zeros and ones.
        """
        batch, nodes = assignments.shape[:-1], assignments.shape[-1]
        blocks = 1 if self.shared else max(1, most_clusters(assignments))
        with torch.no_grad():
            own = torch.distributions.Beta(*self.within).sample(Size((*batch, blocks)))
            other = torch.distributions.Beta(*self.between).sample(Size((*batch, blocks, blocks)))
            labels = torch.zeros_like(assignments) if self.shared else assignments.long()
            one, two = labels.unsqueeze(-1).expand(*batch, nodes, nodes), labels.unsqueeze(-2)
            low, high = torch.minimum(one, two), torch.maximum(one, two)
            between = other.flatten(-2).gather(-1, (low * blocks + high).flatten(-2)).view(one.shape)
            within = own.gather(-1, labels).unsqueeze(-1)
            same = assignments.unsqueeze(-1) == assignments.unsqueeze(-2)
            drawn = (torch.rand(one.shape) < torch.where(same, within, between)).triu(1)
            return (drawn | drawn.mT).to(torch.get_default_dtype())


def log_beta_binomial(edges: Tensor, pairs: Tensor, law: tuple[float, float]) -> Tensor:
    """Return the log-probability of certain edges among pairs whose common rate has a Beta law."""
    a, b = law
    start = torch.tensor([a, b, a + b], dtype=torch.float64).lgamma().tolist()
    found = (edges + a).lgamma() + (pairs - edges + b).lgamma() - (pairs + (a + b)).lgamma()
    return found - (start[0] + start[1] - start[2])


def log_beta_gain(
    edges: Tensor, pairs: Tensor, links: Tensor, size: Tensor, law: tuple[float, float]
) -> Tensor:
    """Return the log-probability of links among so many further pairs, after edges among pairs."""
    a, b = law
    linked, apart, every = edges + a, pairs - edges + b, pairs + (a + b)
    after = (linked + links).lgamma() + (apart + (size - links)).lgamma() - (every + size).lgamma()
    return after - (linked.lgamma() + apart.lgamma() - every.lgamma())


class GraphOfBlocks(TorchDistribution):
    """Undirected graphs whose blocks are known and whose edge rates are integrated out."""

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012
    support = constraints.independent(constraints.boolean, 2)

    def __init__(self, rates: BlockRates, assignments: Tensor) -> None:
        check_label_vectors("assignments", assignments)
        self.rates, self.assignments = rates, assignments.long()
        nodes = assignments.shape[-1]
        super().__init__(assignments.shape[:-1], Size((nodes, nodes)), validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "GraphOfBlocks":
        return GraphOfBlocks(self.rates, self.assignments.expand(*batch_shape, self.assignments.shape[-1]))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        return self.rates.sample(self.assignments.expand(*sample_shape, *self.assignments.shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return self.rates.log_marginal(value, self.assignments)


def _pair(name: str, law: Any) -> tuple[float, float]:
    values = tuple(law.tolist()) if isinstance(law, Tensor) else law
    if not isinstance(values, list | tuple) or len(values) != 2:
        raise ValueError(f"{name} is {law!r}, expected the two parameters (a, b) of a Beta distribution")
    first, second = (
        check_number(f"{name}[{place}]", one, above=0, at_most=_LARGEST) for place, one in enumerate(values)
    )
    return first, second


class RateTable(NamedTuple):
    """Values of log Gamma(x + i), i = 0, 1, ..., for the two numbers of a Beta law and their sum."""

    numbers: np.ndarray  # a, b and a + b, (3,)
    ones: np.ndarray  # those of a
    zeros: np.ndarray  # those of b
    both: np.ndarray  # those of a + b


@lru_cache(maxsize=_KEPT)
def rate_table(law: tuple[float, float], num_points: int) -> RateTable:
    """Return the table of a law of rates for graphs of so many nodes; all chains and draws share it."""
    values = np.array([law[0], law[1], law[0] + law[1]])
    num_pairs = num_points * (num_points - 1) // 2
    length = np.arange(min(num_pairs + 1, _LONGEST_TABLE), dtype=float)
    found = RateTable(values, *(gammaln(one + length) for one in values))
    for table in found:
        table.flags.writeable = False
    return found


@compiled(allocates=False)
def _log_gamma(table: np.ndarray, start: float, count: int) -> float:
    return table[count] if count < len(table) else math.lgamma(start + count)


@compiled(allocates=False)
def log_edges(table: RateTable, edges: int, pairs: int) -> float:
    """Return the log-probability of certain edges among pairs of nodes, up to a constant of the law."""
    found = _log_gamma(table.ones, table.numbers[0], edges)
    found += _log_gamma(table.zeros, table.numbers[1], pairs - edges)
    return found - _log_gamma(table.both, table.numbers[2], pairs)


@compiled(allocates=False)
def log_no_edges(table: RateTable) -> float:
    """Return that constant: what :func:`log_edges` gives where there are no pairs."""
    return table.ones[0] + table.zeros[0] - table.both[0]
