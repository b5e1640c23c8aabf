"""The scorer of the nodes of graphs: the exact filter, and what the whole graph says of the nodes to come."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.block_rates import BlockRates, log_beta_binomial, log_beta_gain
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.sampling import Prefixes
from pyroclust.distributions.sequential.scorer import ForcedSteps, pooled_before, prefix_sums
from pyroclust.nn.encoders import Encoder
from pyroclust.nn.graph_encoders import GraphEncoder
from pyroclust.nn.scorers.network_scorer import NetworkScorer
from pyroclust.partitions.adjacency import in_order, profile_correlations

__all__ = ["GraphEncoding", "GraphScorer"]

# That a later node is of the block at hand, before its edges are seen: a probability of .3.
_PRIOR_LOG_ODDS = math.log(0.3 / 0.7)
_SCALARS = 7
_PAIR_INPUTS, _PAIR_WIDTH = 6, 8
_LOWEST = -1e4


@dataclass(frozen=True)
class GraphEncoding:
    """Graphs in visiting order, encoded once for all draws."""

    moments: Tensor  # (B, N, 4 N + E) float64 of every node: edges, indicator, likenesses, vector
    later: Tensor  # (B, N, N), edges to later nodes
    vectors: Tensor  # (B, N, E)
    context: Tensor  # (B, N, W)
    alone: Tensor  # (B, N), what later nodes say of a block of the node alone
    opening: Tensor  # (N, N) float64, the prior's log-weight of a new block after n nodes in K


@dataclass(frozen=True)
class _Decisions:
    """What D decisions among K blocks are about; entries of blocks that do not exist mean nothing."""

    dataset: Tensor  # (D,)
    step: Tensor  # (D,)
    pooled: Tensor  # (D, W)
    exists: Tensor  # (D, K)
    sizes: Tensor  # (D, K)
    links: Tensor  # (D, K), edges of the node to each block
    edges: Tensor  # (D, K, K), those within a block once
    alike: Tensor  # (D, K, 2), means over the block
    look: Tensor  # (D, K), nats
    means: Tensor  # (D, K, E)
    states: Tensor  # (D, K, W)


@register(NetworkScorer)
class GraphScorer(NetworkScorer[GraphEncoding]):
    r"""Scores the blocks that a node of a graph may join: the exact filter and a small network.

    .. math::
        \text{logit}_k = \log p(c_n = k \mid c_{<n}, A_{\le n}) + \gamma_n\, s_k +
        \text{head}\big(C_n + \text{pool}(\textstyle\sum_j g(t_j)) + t_k + D\,\delta(n, k)\big)

    The filter knows the edges among the nodes so far. How well the edges of the node to each later one go
    with those that block k has there, is

    .. math::
        s_k = \sum_{j > n} \log \big(\pi_{kj}\, p_w(A_{nj}) + (1 - \pi_{kj})\, p_b(A_{nj})\big)

    where that node is of block k with probability :math:`\pi_{kj}`, and an edge then as probable as the edges
    within k make it; otherwise as the edges that k has to it. :math:`\pi_{kj}` is the model's likelihood
    ratio and a network of a few units, which sees how much alike j and the members of k are. Contexts C_n are
    vectors of an encoder that has seen the whole graph; states t_k are made of the mean vector of a block and
    its size; :math:`\delta` compares the node with the members. Training starts at the filter.

    Cost of a data set O(N^3) once; of a decision O(K (N + K + W)) beside the head, ``W^2`` a candidate.

    Args:
        prior: law of the partition, its hyperparameters numbers.
        component: laws of the probabilities of edges.
        encoder: of the nodes, :class:`~pyroclust.nn.GraphEncoder` by default.
        width: W.

    Example:
        >>> from pyroclust.distributions import BlockRates, ChineseRestaurantPrior
        >>> scorer = GraphScorer(ChineseRestaurantPrior(0.7), BlockRates((6.0, 3.0), (1.0, 5.0)))
        >>> scorer.encode(torch.zeros(2, 5, 5)).vectors.shape
        torch.Size([2, 5, 16])
    """

    def __init__(
        self,
        prior: PartitionPrior,
        component: BlockRates,
        *,
        encoder: Encoder | None = None,
        width: int = 48,
    ) -> None:
        super().__init__()
        self.prior, self.component = prior, component
        self.encoder: Any = GraphEncoder() if encoder is None else encoder
        self.width = width = check_count("width", width)
        dim = self.encoder.dim
        self.same = nn.Sequential(nn.Linear(_PAIR_INPUTS, _PAIR_WIDTH), nn.SiLU(), nn.Linear(_PAIR_WIDTH, 1))
        self.context = nn.Sequential(nn.Linear(dim + 4, width), nn.SiLU(), nn.Linear(width, width))
        self.state = nn.Sequential(nn.Linear(dim + 3, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.state_to_head = nn.Linear(width, width, bias=False)
        self.contribute = nn.Linear(width, width)
        self.pool = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        self.difference = nn.Linear(dim + 1 + _SCALARS, width, bias=False)
        self.new_block = nn.Parameter(torch.zeros(width))
        self.best_others = nn.Linear(_SCALARS, width, bias=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.to_join, self.to_open, self.to_gain = (nn.Linear(width, 1) for _ in range(3))
        for layer in (self.to_join, self.to_open, self.to_gain, cast(nn.Linear, self.same[-1])):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor but prior and component, which are those of the guide's model."""
        return {"encoder": self.encoder, "width": self.width}

    def in_order(self, data: Tensor, order: Tensor) -> Tensor:
        """Bring rows and columns into visiting order."""
        return in_order(data, order)

    def encode(self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None) -> GraphEncoding:
        """Encode graphs ``(B, N, N)`` whose nodes are in visiting order, O(N^3)."""
        straight = torch.arange(data.shape[1], device=data.device).expand(data.shape[:2])
        return self.encode_over_orders(data, torch.arange(len(data), device=data.device), straight)

    def encode_over_orders(
        self,
        data: Tensor,
        dataset: Tensor,
        order: Tensor,
        hyperparameters: Mapping[str, Tensor] | None = None,
    ) -> GraphEncoding:
        """Encode every graph once, and bring what was found into the visiting orders."""
        dtype, nodes = self.new_block.dtype, data.shape[1]
        data = data.to(dtype)
        found = self.encoder(data)
        rows = order.unsqueeze(-1)
        vectors = found[dataset].gather(1, rows.expand(*order.shape, found.shape[-1]))
        graphs = in_order(data[dataset], order)
        alike = profile_correlations(data).to(dtype)
        alike = torch.stack([in_order(one[dataset], order) for one in alike.unbind(1)], 1)
        step = torch.arange(nodes, device=data.device)
        progress = torch.stack([step.log1p() / 3, (nodes - 1 - step).log1p() / 3, step / nodes], -1).to(dtype)
        degree = graphs.mean(-1, keepdim=True)
        context = self.context(torch.cat([vectors, progress.expand(*order.shape, 3), degree], -1))
        own = torch.eye(nodes, dtype=torch.float64, device=data.device).expand(len(order), nodes, nodes)
        likenesses = alike.transpose(1, 2).flatten(2)
        moments = torch.cat([graphs.double(), own, likenesses.double(), vectors.double()], -1)
        later = graphs.triu(1)
        none = torch.zeros(order.shape, dtype=torch.float64, device=data.device)
        nothing = torch.zeros_like(graphs)
        edge, no_edge = self._later(none, none, nothing, alike, vectors, vectors)
        return GraphEncoding(
            moments=moments,
            later=later,
            vectors=vectors,
            context=context,
            alone=((edge - no_edge) * later + no_edge.triu(1)).sum(-1),
            opening=self.prior.log_opening_table(nodes, nodes).to(data.device),
        )

    def _later(
        self,
        sizes: Tensor,
        own: Tensor,
        links: Tensor,
        alike: Tensor,
        means: Tensor,
        vectors: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities that a node of a block has an edge to each node, and that it has none.

        Shape:
            sizes, own: of blocks and the edges within them, ``(R, S)``; links: to each node, ``(R, S, N)``;
            alike: ``(R, 2, S, N)``; means: ``(R, S, E)``; vectors: ``(R, N, E)``; output: ``(R, S, N)``.
        """
        dtype = vectors.dtype
        sizes, own, links = sizes.unsqueeze(-1), own.unsqueeze(-1), links.double()
        pairs = sizes * (sizes - 1) / 2
        (a, b), between = self.component.within, self.component.between
        within = log_beta_gain(own, pairs, links, sizes, (a, b))
        ratio = (within - log_beta_binomial(links, sizes, between)).to(dtype)
        inside = ((own + links + a) / (pairs + sizes + (a + b))).to(dtype)
        outside = ((links + between[0]) / (sizes + sum(between))).to(dtype)
        squares = means.square().sum(-1, keepdim=True) + vectors.square().sum(-1).unsqueeze(1)
        distance = (squares - 2 * means @ vectors.mT).clamp(min=0).log1p()
        size = (sizes.log1p() / 3).to(dtype).expand_as(ratio)
        seen = torch.stack([*alike.unbind(1), distance, ratio.asinh() / 2, inside, size], -1)
        same = ratio + _PRIOR_LOG_ODDS + self.same(seen).squeeze(-1)
        yes, no = nn.functional.logsigmoid(same), nn.functional.logsigmoid(-same)
        edge = torch.logaddexp(yes + inside.log(), no + outside.log())
        return edge, torch.logaddexp(yes + (-inside).log1p(), no + (-outside).log1p())

    def absorb(
        self, encoding: GraphEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack what later nodes say, the mean vector, the head's input and the contribution of blocks."""
        nodes = encoding.later.shape[-1]
        to_all, member, *alike = moments[..., : 4 * nodes].detach().split(nodes, -1)
        own = (to_all * member).sum(-1) / 2
        size = counts.unsqueeze(-1)
        dtype = encoding.later.dtype
        mean = (moments[..., 4 * nodes :] / size).to(dtype)
        likeness = torch.stack([(one / size).to(dtype) for one in alike], 1)
        edge, no_edge = self._later(counts.double(), own, to_all, likeness, mean, encoding.vectors[dataset])
        left = no_edge.sum(-1, keepdim=True) - no_edge.cumsum(-1)
        degree = to_all.mean(-1, keepdim=True).to(dtype) / size.to(dtype)
        state = self.state(torch.cat([mean, size.to(dtype).log() / 3, 1 / size.to(dtype), degree], -1))
        parts = [edge - no_edge, left, mean, self.state_to_head(state), self.contribute(state)]
        return torch.cat(parts, -1)

    def contribution(self, states: Tensor) -> Tensor:
        """Return the part of a state that blocks sum up."""
        return states[..., -self.width :]

    def step_logits(self, encoding: GraphEncoding, step: int, prefixes: Prefixes) -> Tensor:
        """Score where the node of one step may go after each of many prefixes, O(K (N + K)) a prefix."""
        nodes, slots = encoding.later.shape[-1], int(prefixes.clusters.max())
        dtype, dataset = encoding.later.dtype, prefixes.dataset
        to_all, member, *alike = prefixes.moments[:, :slots, : 4 * nodes].split(nodes, -1)
        change, left, means, states = self._split(prefixes.states[:, :slots], nodes)
        later = encoding.later[dataset, step]
        sizes = prefixes.counts[:, :slots]
        likeness = torch.stack([one[..., step] for one in alike], -1) / sizes.clamp(min=1).unsqueeze(-1)
        exists = torch.arange(slots, device=dataset.device) < prefixes.clusters.unsqueeze(-1)
        decisions = _Decisions(
            dataset=dataset,
            step=torch.full_like(dataset, step),
            pooled=prefixes.pooled,
            exists=exists,
            sizes=sizes,
            links=to_all[..., step],
            edges=to_all.to(dtype) @ member.to(dtype).mT,
            alike=likeness.to(dtype),
            look=(change * later.unsqueeze(1)).sum(-1) + left[..., step],
            means=means,
            states=states,
        )
        joined, opened = self._score(encoding, decisions)
        logits = nn.functional.pad(joined.masked_fill(~exists, -torch.inf), (0, 1), value=-torch.inf)
        return logits.scatter(1, prefixes.clusters.unsqueeze(-1), opened.unsqueeze(-1))

    def forced_logits(
        self, encoding: GraphEncoding, dataset: Tensor, steps: ForcedSteps
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of all decisions of given partitions, O(N^3 + N K (K + W)) a partition."""
        rows, nodes = steps.labels.shape
        dtype, device = encoding.later.dtype, dataset.device
        counts, sums, previous = prefix_sums(encoding.moments[dataset], steps.labels)
        states = self.absorb(encoding, dataset, torch.arange(nodes, device=device), counts, sums)
        pooled = pooled_before(self.contribution(states), previous)[:, :-1].flatten(0, 1)
        to_all, member, *alike = sums[..., : 4 * nodes].detach().split(nodes, -1)
        change, left, means, own = self._split(states, nodes)
        look = change @ encoding.later[dataset].mT + left
        likeness = (torch.stack(alike, 1) / counts[:, None, :, None]).to(dtype)

        slots = steps.width - 1
        exists = torch.zeros(len(steps.clusters), slots, dtype=torch.bool, device=device)
        exists[steps.decision, steps.cluster] = True
        state = torch.zeros(exists.shape, dtype=torch.int64, device=device)
        state[steps.decision, steps.cluster] = steps.member % nodes
        row = torch.arange(rows, device=device).repeat_interleave(nodes - 1).unsqueeze(-1)
        point = torch.arange(1, nodes, device=device).repeat(rows).unsqueeze(-1)
        edges = (to_all.to(dtype) @ member.to(dtype).mT)[
            row.unsqueeze(-1), state.unsqueeze(-1), state.unsqueeze(-2)
        ]
        decisions = _Decisions(
            dataset=dataset.repeat_interleave(nodes - 1),
            step=point.squeeze(-1),
            pooled=pooled,
            exists=exists,
            sizes=counts[row, state],
            links=to_all[row, state, point],
            edges=edges,
            alike=likeness[row, :, state, point],
            look=look[row, state, point],
            means=means[row, state],
            states=own[row, state],
        )
        joined, opened = self._score(encoding, decisions)
        return joined[exists], opened

    def _split(self, states: Tensor, nodes: int) -> tuple[Tensor, ...]:
        """Take states apart: what an edge to each later node changes, what none are worth, mean, head."""
        return states.split((nodes, nodes, self.encoder.dim, self.width, self.width), -1)[:4]

    def _score(self, encoding: GraphEncoding, of: _Decisions) -> tuple[Tensor, Tensor]:
        """Return the logits of joining each block, where it exists, and of a new one."""
        dtype = encoding.later.dtype
        exists = of.exists
        sizes = torch.where(exists, of.sizes, 0.0)
        both = exists.unsqueeze(-1) & exists.unsqueeze(-2)
        half = 1 - torch.eye(exists.shape[-1], dtype=of.edges.dtype, device=exists.device) / 2
        edges = torch.where(both, of.edges * half, 0.0)
        links = torch.where(exists, of.links, 0.0)
        join, opening = self.component.log_predictive(links, sizes, edges)
        join = join + (sizes - self.prior.block_discount.to(sizes)).clamp(min=1e-9).log()
        join = join.masked_fill(~exists, -torch.inf)
        opening = opening + encoding.opening[of.step, exists.sum(-1)]
        total = torch.cat([join, opening.unsqueeze(-1)], -1).logsumexp(-1, keepdim=True)
        # What a prior rules out has a log-weight of minus infinity, which no layer can take.
        filtered = torch.where(exists, join - total, 0.0).clamp(min=_LOWEST).to(dtype)
        filtered_new = (opening.unsqueeze(-1) - total).clamp(min=_LOWEST).to(dtype).squeeze(-1)

        look_new = encoding.alone[of.dataset, of.step]
        look = torch.where(exists, of.look, -torch.inf)
        best = torch.maximum(look.amax(-1), look_new)
        look, look_new = torch.where(exists, look - best.unsqueeze(-1), 0.0), look_new - best

        sizes, links = sizes.to(dtype), links.to(dtype)
        pairs = sizes * (sizes - 1) / 2
        within = (edges.diagonal(dim1=-2, dim2=-1).to(dtype) + 1) / (pairs + 2)
        share = links / sizes.clamp(min=1)
        scalars = [share, sizes.clamp(min=1).log() / 3, within, filtered.asinh() / 2, look.asinh() / 2]
        seen = torch.cat([torch.stack(scalars, -1), of.alike], -1).masked_fill(~exists.unsqueeze(-1), 0.0)
        offset = encoding.vectors[of.dataset, of.step].unsqueeze(1) - of.means
        distance = offset.square().sum(-1, keepdim=True).log1p()
        context = encoding.context[of.dataset, of.step]
        shared = context + self.pool(of.pooled.to(dtype))
        different = self.difference(torch.cat([offset.asinh(), distance, seen], -1))
        hidden = self.head(shared.unsqueeze(1) + of.states + different)
        gain = self.to_gain(context)
        joined = join.masked_fill(~exists, 0.0) + gain * look + self.to_join(hidden).squeeze(-1)
        own = torch.stack([filtered_new.asinh() / 2, look_new.asinh() / 2], -1)
        most = seen.masked_fill(~exists.unsqueeze(-1), -torch.inf).amax(1)[:, [0, 1, 2, 5, 6]]
        hidden_new = self.head(shared + self.new_block + self.best_others(torch.cat([most, own], -1)))
        opened = opening + gain.squeeze(-1) * look_new + self.to_open(hidden_new).squeeze(-1)
        return joined, opened
