"""The exact no-look-ahead filter of the blocks of a graph, compiled."""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Size, Tensor

from pyroclust.core.compiling import compiled
from pyroclust.distributions.block_rates import BlockRates, RateTable, log_edges, rate_table
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.partitions import canonical


class _Ordered(NamedTuple):
    """A visiting order of a graph, and the neighbours of each node that are visited before it."""

    order: np.ndarray  # (N,)
    begin: np.ndarray  # where those of each node begin, (N + 1,)
    neighbour: np.ndarray  # their places in the order


def _ordered(graph: np.ndarray, order: np.ndarray) -> _Ordered:
    row, column = np.nonzero(np.tril(graph[np.ix_(order, order)]))
    return _Ordered(order, np.searchsorted(row, np.arange(len(order) + 1)), column)


@compiled
def _weights(
    edges: np.ndarray,
    sizes: np.ndarray,
    links: np.ndarray,
    within: RateTable,
    between: RateTable,
    number: int,
    weights: np.ndarray,
) -> None:
    """Add to the weights of all blocks, and of a new one, what the edges of a node are worth there."""
    for block in range(number + 1):
        size = sizes[block] if block < number else 0
        for other in range(number):
            if other == block:
                pairs = size * (size - 1) // 2
                weights[block] += log_edges(within, edges[block, block] + links[block], pairs + size)
                weights[block] -= log_edges(within, edges[block, block], pairs)
                continue
            seen = edges[block, other] if block < number else 0
            pairs = size * sizes[other]
            weights[block] += log_edges(between, seen + links[other], pairs + sizes[other])
            weights[block] -= log_edges(between, seen, pairs)


@compiled
def _shared_weights(
    totals: np.ndarray,
    sizes: np.ndarray,
    links: np.ndarray,
    within: RateTable,
    between: RateTable,
    number: int,
    weights: np.ndarray,
) -> None:
    """Do the same where all blocks share a rate; totals are edges and pairs within, and between."""
    every, nodes = links[:number].sum(), sizes[:number].sum()
    for block in range(number + 1):
        own, size = (links[block], sizes[block]) if block < number else (0, 0)
        weights[block] += log_edges(within, totals[0] + own, totals[1] + size)
        weights[block] -= log_edges(within, totals[0], totals[1])
        weights[block] += log_edges(between, totals[2] + every - own, totals[3] + nodes - size)
        weights[block] -= log_edges(between, totals[2], totals[3])


@compiled
def _filter(
    begin: np.ndarray,
    neighbour: np.ndarray,
    within: RateTable,
    between: RateTable,
    shared: Any,
    log_join: np.ndarray,
    log_open: np.ndarray,
    uniforms: np.ndarray,
    labels: np.ndarray,
    log_prob: np.ndarray,
) -> None:
    """Label the nodes of a graph in their order, or score labels, ``(S, N)``, if there are no uniforms."""
    draws, nodes = labels.shape
    edges, sizes = np.zeros((nodes, nodes), dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    links, totals = np.zeros(nodes, dtype=np.int64), np.zeros(4, dtype=np.int64)
    weights = np.zeros(nodes + 1)
    for s in range(draws):
        number, total = 0, 0.0
        totals[:] = 0
        for n in range(nodes):
            links[:number] = 0
            for k in range(begin[n], begin[n + 1]):
                links[labels[s, neighbour[k]]] += 1
            for block in range(number):
                weights[block] = log_join[sizes[block]]
            weights[number] = log_open[n, number]
            if shared:
                _shared_weights(totals, sizes, links, within, between, number, weights)
            else:
                _weights(edges, sizes, links, within, between, number, weights)
            best = weights[: number + 1].max()
            norm = 0.0
            for block in range(number + 1):
                norm += math.exp(weights[block] - best)
            if len(uniforms):
                target, chosen, running = uniforms[s, n] * norm, 0, math.exp(weights[0] - best)
                while chosen < number and running <= target:
                    chosen += 1
                    running += math.exp(weights[chosen] - best)
                labels[s, n] = chosen
            chosen = labels[s, n]
            total += weights[chosen] - best - math.log(norm)
            if chosen == number:
                sizes[number] = 0
                edges[number, : number + 1] = 0
                edges[: number + 1, number] = 0
                links[number] = 0
                number += 1
            for other in range(number):
                if other == chosen:
                    totals[0] += links[other]
                    totals[1] += sizes[other]
                    edges[chosen, chosen] += links[other]
                else:
                    totals[2] += links[other]
                    totals[3] += sizes[other]
                    edges[chosen, other] += links[other]
                    edges[other, chosen] += links[other]
            sizes[chosen] += 1
        log_prob[s] = total


class FilteredGraph(PartitionDistribution):
    r"""Blocks of the nodes of graphs, drawn in sequence from the collapsed predictive.

    .. math:: q(c \mid A) = \prod_n p(c_n \mid c_{<n}, A_{\le n, \le n})

    It looks at no edge of a later node. O(N K^2) a draw for K blocks, O(N K) where blocks share their rates.
    """

    def __init__(self, prior: PartitionPrior, rates: BlockRates, adjacency: Tensor, *, order: Tensor) -> None:
        self.prior, self.rates, self.adjacency = prior, rates, adjacency
        nodes, batch = adjacency.shape[-1], adjacency.shape[:-2]
        self.order = order.expand(*batch, nodes)
        super().__init__(nodes, batch_shape=batch)
        sizes = torch.arange(1, nodes + 1)
        self._log_join = np.append(-np.inf, (sizes - prior.block_discount).log().numpy())
        self._log_open = prior.log_opening_table(nodes, nodes).numpy()
        # The first node has no choice.
        self._log_open[0, 0] = 0.0

    def expand(self, batch_shape: Any, _instance: Any = None) -> "FilteredGraph":
        nodes = self.num_points
        adjacency = self.adjacency.expand(*batch_shape, nodes, nodes)
        return FilteredGraph(self.prior, self.rates, adjacency, order=self.order.expand(*batch_shape, nodes))

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        draws, nodes, device = sample_shape.numel(), self.num_points, self.adjacency.device
        found, scores = [], []
        # Graphs have different numbers of edges: one compiled call for all draws of each.
        for graph in self._graphs:
            uniforms = torch.rand(draws, nodes, dtype=torch.float64).numpy()
            labels, log_prob = np.zeros((draws, nodes), dtype=np.int64), np.zeros(draws)
            self._run(graph, uniforms, labels, log_prob)
            back = np.argsort(graph.order)
            found.append(canonical(torch.from_numpy(labels[:, back])))
            scores.append(torch.from_numpy(log_prob))
        shape = (*sample_shape, *self.batch_shape)
        labels_of_all = torch.stack(found, 1).view(*shape, nodes).to(device)
        return labels_of_all, torch.stack(scores, 1).view(shape).to(device)

    def _log_prob(self, value: Tensor) -> Tensor:
        batch = broadcast_shapes(value.shape[:-1], self.batch_shape)
        value = value.expand(*batch, self.num_points).detach().cpu()
        extra = len(batch) - len(self.batch_shape)
        sets = value.reshape(Size(batch[:extra]).numel(), -1, self.num_points)
        places = torch.arange(len(self._graphs)).view(self.batch_shape).expand(batch[extra:])
        scores = []
        for column, place in enumerate(places.flatten().tolist()):
            graph = self._graphs[place]
            labels = canonical(sets[:, column, torch.from_numpy(graph.order)]).numpy()
            log_prob = np.zeros(len(labels))
            self._run(graph, np.zeros((0, 0)), np.ascontiguousarray(labels), log_prob)
            scores.append(torch.from_numpy(log_prob))
        return torch.stack(scores, 1).view(batch).to(self.adjacency.device)

    @cached_property
    def _graphs(self) -> list[_Ordered]:
        nodes = self.num_points
        graphs = self.adjacency.reshape(-1, nodes, nodes).cpu().numpy()
        orders = self.order.reshape(-1, nodes).cpu().numpy()
        return [_ordered(*pair) for pair in zip(graphs, orders, strict=True)]

    def _run(self, graph: _Ordered, uniforms: np.ndarray, labels: np.ndarray, log_prob: np.ndarray) -> None:
        within, between = (
            rate_table(law, self.num_points) for law in (self.rates.within, self.rates.between)
        )
        _filter(
            graph.begin,
            graph.neighbour,
            within,
            between,
            self.rates.shared,
            self._log_join,
            self._log_open,
            uniforms,
            labels,
            log_prob,
        )
