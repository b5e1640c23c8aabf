"""The light scorer: differences to cluster means, contexts once per data set; below it in compiled code."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pyroclust.core.compiling import inner
from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.pointers import from_place
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.nn.attention import Future, InducedSetAttention
from pyroclust.nn.compiled.filter import array_of, can_foresee
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.nn.compiled.networks import matrix, multiply, silu
from pyroclust.nn.compiled.prefixes import PrefixSampler, add_point
from pyroclust.nn.encoders import Encoder, vectors_of
from pyroclust.nn.features import AdaptiveShape, ClusterShape, ConditionInputs, ConditionShift, FixedShape
from pyroclust.nn.look_ahead import KernelLookAhead, Look, add_kernels
from pyroclust.nn.modules import MAX_BLOCKS, check_bandwidths
from pyroclust.nn.scorers.network_scorer import ForeseeingScorer, NetworkScorer, progress_of
from pyroclust.partitions.adjacency import in_order


@dataclass(frozen=True)
class LightEncoding:
    """Data sets in visiting order, encoded once for all draws."""

    positions: Tensor  # (B, N, D) float32, in units of the data set's own scale where that is a condition
    moments: Tensor  # (B, N, F) float64: the shape's, then the filter's
    context: Tensor  # (B, N, W)
    state_shift: Tensor | None  # (B, W), what the conditions add to the states
    filter: FilterEncoding | None
    foresight: Foresight | None


@register(NetworkScorer)
class LightScorer(ForeseeingScorer[LightEncoding]):
    r"""Scores candidates by a small network on what distinguishes them.

    .. math::
        \text{logit}_k = \ell_k + \text{head}\big(C_n + \text{pool}(\textstyle\sum_j g(t_j)) + A t_k +
        D\,\delta(x_n, k)\big)

    with contexts C_n of the points (embedding, progress, look-ahead at x_n) computed once per data set and
    order; states t_k of the clusters (mean, size, shape, look-ahead at the mean) refreshed when a cluster
    gains a point; and differences :math:`\delta` of the point to the cluster in the cluster's own frame.
    Where the model is conjugate, the exact filter's log-weights :math:`\ell_k` are added and the head starts
    at zero, so that training starts at the filter. Hyperparameters of the data set, the conditions, shift the
    contexts and the states. About ``W^2 + W (2 D + 4)`` multiply-adds a candidate; look-ahead costs O(N H) a
    point and a refreshed state.

    Args:
        shape: the frame of a cluster.
        encoder: maps data to positions whose differences and means make sense; None for vectors.
        width: W.
        bandwidths: of the look-ahead at the start, in units of ``shape.scale``; empty for none.
        second_moments: look also at the second moments of the neighbourhoods.
        num_attention: blocks of attention over all points of a data set, in the contexts; they help where the
            scale of clusters is unknown.
        future: attention to the points still to come, of the same width, added to the contexts; None for
            none.
        filter: log-weights of the exact filter of a conjugate model, or None.
        foresight: points to come that each candidate is tried on, see docs/real_data.md; 0 for none.
        conditions: how hyperparameters that :meth:`encode` takes enter; None for none.

    Raises:
        ValueError: if ``future`` has another width, or there is no filter to look ahead with.
    """

    def __init__(
        self,
        shape: ClusterShape,
        *,
        encoder: Encoder | None = None,
        width: int = 48,
        bandwidths: Sequence[float] = (0.7, 1.4, 2.8, 5.6),
        second_moments: bool = False,
        num_attention: int = 0,
        future: Future | None = None,
        filter: FilterScorer | None = None,
        foresight: int = 0,
        conditions: ConditionInputs | None = None,
    ) -> None:
        super().__init__()
        self.foresight = check_count("foresight", foresight, at_least=0)
        if self.foresight and not can_foresee(filter):
            raise ValueError(
                f"foresight is {foresight}, expected 0: it needs the exact filter of a compiled family, "
                "without conditions"
            )
        if future is not None and future.width != width:
            raise ValueError(f"future has width {future.width}, expected that of the scorer, {width}")
        width = check_count("width", width)
        num_attention = check_count("num_attention", num_attention, at_least=0, at_most=MAX_BLOCKS)
        self.conditions, self.future = conditions, future
        self.shape, self.width, self.filter = shape, width, filter
        self.second_moments, self.num_attention = second_moments, num_attention
        self.bandwidths = check_bandwidths(bandwidths)
        self.encoder: Any = encoder
        dim = shape.dim
        self.look_at_point = KernelLookAhead(dim, self.bandwidths, second_moments=second_moments)
        self.look_at_mean = KernelLookAhead(dim, self.bandwidths, second_moments=second_moments)
        look = self.look_at_point.num_features
        self.embed = nn.Sequential(
            nn.Linear(2 * dim, width), nn.SiLU(), nn.Linear(width, width), nn.LayerNorm(width)
        )
        self.attend = nn.Sequential(*(InducedSetAttention(width) for _ in range(num_attention)))
        self.context = nn.Linear(width + 3 + look + (0 if future is None else width), width)
        self.state = nn.Sequential(
            nn.Linear(dim + 3 + look, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )
        self.state_to_head = nn.Linear(width, width, bias=False)
        self.contribute = nn.Linear(width, width)
        self.pool = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        self.difference = nn.Linear(2 * dim + 1, width, bias=False)
        self._make_head(at_zero=filter is not None)
        if conditions is not None:
            self.condition_shift = ConditionShift(len(conditions.names), width)

    def take_conditions(self, inputs: ConditionInputs | None, *, num_columns: int) -> None:
        """Refuse conditions other than those that the scorer was built with.

        Raises:
            ValueError: if they are others.
        """
        own = () if self.conditions is None else self.conditions.names
        if inputs is not None and inputs.names != own:
            raise ValueError(
                f"conditions are {', '.join(inputs.names)}, expected those of the scorer, {list(own)}: build "
                "it with light_scorer_for(model, conditions=...)"
            )

    def encode(self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None) -> LightEncoding:
        """Encode data sets in visiting order: contexts, look-ahead at every point, moments."""
        return self._encode(vectors_of(self.encoder, data), data, hyperparameters)

    def encode_over_orders(
        self,
        data: Tensor,
        dataset: Tensor,
        order: Tensor,
        hyperparameters: Mapping[str, Tensor] | None = None,
    ) -> LightEncoding:
        """Encode data sets in several visiting orders; an encoder sees every data set once."""
        if self.encoder is None or self.filter is not None:
            return super().encode_over_orders(data, dataset, order, hyperparameters)
        encoded = super().in_order(self.encoder(data)[dataset], order)
        return self._encode(encoded, encoded, hyperparameters)

    def in_order(self, data: Tensor, order: Tensor) -> Tensor:
        """Bring points into visiting order, rows and columns where they are the nodes of graphs."""
        if getattr(self.encoder, "takes_graphs", False):
            return in_order(data, order)
        return super().in_order(data, order)

    def _encode(
        self, positions: Tensor, data: Tensor, hyperparameters: Mapping[str, Tensor] | None
    ) -> LightEncoding:
        """Encode positions, and the data themselves for the filter."""
        positions = positions.to(self.new_cluster.dtype)
        values = (
            {} if hyperparameters is None else {n: one.to(positions) for n, one in hyperparameters.items()}
        )
        context_shift, state_shift = self._shifts(values, len(positions))
        unit = None if self.conditions is None else self.conditions.units(values)
        if unit is not None:
            positions = positions / unit.view(-1, 1, 1)
        context = self._context(positions)
        if context_shift is not None:
            context = context + context_shift.unsqueeze(1)
        moments = self.shape.moments(positions)
        filtered = None if self.filter is None else self.filter.encode(data, hyperparameters)
        if filtered is not None:
            moments = torch.cat([moments, filtered.moments], -1)
        ahead = Foresight(filtered, self.foresight) if self.foresight and filtered is not None else None
        return LightEncoding(positions, moments, context, state_shift, filtered, ahead)

    def _context(self, positions: Tensor) -> Tensor:
        """Embed the points and look ahead at each of them."""
        steps = torch.arange(positions.shape[1], device=positions.device)
        scaled = positions / self.shape.scale
        embedded = self.attend(self.embed(torch.cat([scaled / 10, scaled.asinh()], -1)))
        frame = torch.eye(self.shape.dim, dtype=positions.dtype, device=positions.device) / self.shape.scale
        look = self.look_at_point(positions, positions, frame, steps)
        parts = [embedded, progress_of(positions), look]
        later = [] if self.future is None else [self.future(embedded)]
        return self.context(torch.cat([*parts, *later], -1))

    def _shifts(
        self, values: Mapping[str, Tensor], num_datasets: int
    ) -> tuple[Tensor, Tensor] | tuple[None, None]:
        """Return what the conditions add to contexts and states, ``(B, W)`` each."""
        if self.conditions is None:
            return None, None
        scores = self.conditions.scores(values)
        return self.condition_shift(scores.expand(num_datasets, scores.shape[-1]))

    def absorb(
        self, encoding: LightEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack mean, frame, head input, contribution and the filter's state of refreshed clusters."""
        own = moments[..., : self.shape.num_moments]
        frame = self.shape.frame(counts, own)
        dtype = encoding.positions.dtype
        mean, whiten, log_volume = (value.to(dtype) for value in frame)
        size = counts.to(dtype)
        positions = encoding.positions
        # Of one data set, a copy a row would be most of the memory that a step reads.
        look = self.look_at_mean(
            positions if len(positions) == 1 else positions[dataset], mean, whiten, steps
        )
        summary = torch.stack([size.log() / 3, 1 / size, log_volume], -1)
        features = torch.cat([(mean / self.shape.scale).asinh(), summary, look], -1)
        state = self._state(features, encoding.state_shift, dataset)
        parts = [mean, whiten.flatten(-2), self.state_to_head(state), self.contribute(state)]
        if self.filter is not None and encoding.filter is not None:
            rest = moments[..., self.shape.num_moments :]
            parts.append(self.filter.absorb(encoding.filter, dataset, steps, counts, rest).to(dtype))
        return torch.cat(parts, -1)

    def _state(self, features: Tensor, shift: Tensor | None, dataset: Tensor) -> Tensor:
        first = self.state[0](features)
        return self.state[1:](first if shift is None else first + shift[dataset].unsqueeze(1))

    def _sampler(self, encoding: LightEncoding) -> PrefixSampler | None:
        if self.filter is not None and not can_foresee(self.filter):
            return None
        if not isinstance(self.shape, AdaptiveShape | FixedShape):
            return None
        return PrefixSampler(
            self,
            encoding,
            encoding.moments,
            put=_put,
            see=_see,
            tables=lambda _: Light.of(self, encoding),
            num_kept=self.shape.dim * (1 + self.shape.dim),
            exponentials=self.width,
        )

    def contribution(self, states: Tensor) -> Tensor:
        """Return the part of a state that clusters sum up."""
        start = self.shape.dim * (1 + self.shape.dim) + self.width
        return states[..., start : start + self.width]

    def query(
        self, encoding: LightEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Pack the point's position, the head input shared by all candidates, and the filter's query."""
        dtype = encoding.positions.dtype
        shared = encoding.context[dataset, step] + self.pool(pooled.to(dtype))
        parts = [encoding.positions[dataset, step], shared]
        if self.filter is not None and encoding.filter is not None:
            parts.append(
                self.filter.query(encoding.filter, dataset, step, pooled[..., :0], clusters).to(dtype)
            )
        return torch.cat(parts, -1)

    def join(self, query: Tensor, states: Tensor, *, ahead: Tensor | None = None) -> Tensor:
        """Score existing clusters, told what they do to the points to come or not, ``(M, 8)``."""
        dim, width = self.shape.dim, self.width
        point, shared, filter_query = query.tensor_split((dim, dim + width), -1)
        cuts = (dim, dim + dim * dim, dim + dim * dim + width, dim + dim * dim + 2 * width)
        mean, whiten, state, _, filter_state = states.tensor_split(cuts, -1)
        offset = (whiten.unflatten(-1, (dim, dim)) * (point - mean).unsqueeze(-2)).sum(-1)
        squared = offset.square().sum(-1, keepdim=True)
        seen = torch.cat([offset.asinh(), ((point - mean) / self.shape.scale).asinh(), squared.log1p()], -1)
        logit = self._logit(shared, state + self.difference(seen), self.to_join, ahead)
        if self.filter is None:
            return logit
        # Families that compute in float64 whatever they are given would mix dtypes.
        return logit + self.filter.join(filter_query, filter_state).to(logit.dtype)

    def open(self, query: Tensor, *, ahead: Tensor | None = None) -> Tensor:
        """Score a new cluster, told what it does to the points to come or not, ``(Q, 8)``."""
        dim = self.shape.dim
        _, shared, filter_query = query.tensor_split((dim, dim + self.width), -1)
        logit = self._logit(shared, self.new_cluster, self.to_open, ahead)
        return logit if self.filter is None else logit + self.filter.open(filter_query)


class Light(NamedTuple):
    """Weights of the light scorer, float32, data sets laid end to end, and scratch space of a thread."""

    scale: float  # of the shape
    weight: float  # of the shape where it is adaptive
    adaptive: int  # whether it is
    stride: int  # of the points that are looked at
    looked: int  # how many these are of each data set
    look: Look  # these points, and kernels
    positions: np.ndarray  # (B N, D)
    bias: np.ndarray  # (B, W), of the first layer of the state network
    first: np.ndarray  # (inputs, W), its weights, as those of the others
    second: np.ndarray
    second_bias: np.ndarray
    difference: np.ndarray
    new_cluster: np.ndarray
    features: np.ndarray  # inputs of the state network
    seen: np.ndarray  # (2 D + 1,), what is seen of a point from a cluster
    sums: np.ndarray  # (H, 1 + D + C), of kernels
    frame: np.ndarray  # (2, D, D) float64, factor of a cluster's covariance, and the inverse of that
    middle: np.ndarray  # (D,), mean of a cluster
    whiten: np.ndarray  # (D, D)

    @classmethod
    def of(cls, scorer: Any, encoding: Any) -> "Light":
        """Lay out weights and data sets."""
        kernels, state, bias = scorer.look_at_mean, scorer.state, scorer.state[0].bias
        number, points, dim = encoding.positions.shape
        stride = kernels.stride(points)
        looked = array_of(encoding.positions[:, ::stride])
        bias = bias.expand(number, -1) if encoding.state_shift is None else bias + encoding.state_shift
        precision = array_of((-2 * kernels.log_bandwidths).exp())
        adaptive = isinstance(scorer.shape, AdaptiveShape)
        return cls(
            float(scorer.shape.scale),
            float(scorer.shape.weight) if adaptive else 0.0,
            int(adaptive),
            stride,
            looked.shape[1],
            Look.of(looked.reshape(-1, dim), precision, kernels.columns),
            array_of(encoding.positions.flatten(0, 1)),
            array_of(bias),
            matrix(state[0]),
            matrix(state[2]),
            array_of(state[2].bias),
            matrix(scorer.difference),
            array_of(scorer.new_cluster),
            np.zeros(state[0].in_features, np.float32),
            np.zeros(2 * dim + 1, np.float32),
            np.zeros((len(precision), 1 + dim + kernels.columns.shape[1]), np.float32),
            np.zeros((2, dim, dim)),
            np.zeros(dim, np.float32),
            np.zeros((dim, dim), np.float32),
        )


@inner
def _frame(own: Any, size: float, moments: Any) -> float:
    """Write mean and whitening matrix of a cluster, and return its log volume."""
    dim = len(own.middle)
    for d in range(dim):
        own.middle[d] = np.float32(moments[d] / size)
        for e in range(dim):
            own.whiten[d, e] = np.float32(1.0 / own.scale if d == e else 0.0)
    if own.adaptive == 0:
        return 0.0
    factor, inverse = own.frame[0], own.frame[1]
    volume = -dim * math.log(own.scale)
    for d in range(dim):
        for e in range(d + 1):
            entry = moments[dim + d * dim + e] - moments[d] * (moments[e] / size)
            if d == e:
                entry += own.weight * own.scale**2
            entry /= own.weight + size
            for c in range(e):
                entry -= factor[d, c] * factor[e, c]
            factor[d, e] = entry / factor[e, e] if e < d else math.sqrt(max(entry, 1e-12))
        volume += math.log(factor[d, d])
        for e in range(d + 1):
            entry = 1.0 if d == e else 0.0
            for c in range(e, d):
                entry -= factor[d, c] * inverse[c, e]
            inverse[d, e] = entry / factor[d, d]
            own.whiten[d, e] = np.float32(inverse[d, e])
    return volume


@inner
def _see_ahead(own: Any, dataset: int, step: int, at: int) -> None:
    """Write what kernels say of the points to come around a cluster, from a place in the features on."""
    look, begin = own.look, dataset * own.looked
    many = look.columns.shape[1]
    first = begin + (step + own.stride) // own.stride
    sums, kernels = own.sums, len(look.precision)
    for h in range(kernels):
        for c in range(sums.shape[1]):
            sums[h, c] = 0.0
    add_kernels(look, first, begin + own.looked, own.middle, own.whiten, sums)
    dim = len(own.middle)
    for h in range(kernels):
        count = sums[h, 0] * np.float32(own.stride)
        share = np.float32(own.stride) / (np.float32(1.0) + count)
        root = np.sqrt(look.precision[h])
        own.features[at + h] = np.log1p(count)
        for d in range(dim):
            own.features[at + kernels + h * dim + d] = sums[h, 1 + d] * share * root
        for c in range(many):
            place = at + kernels * (1 + dim) + h * many + c
            own.features[place] = sums[h, 1 + dim + c] * share * look.precision[h]


@inner
def _put(own: Any, room: Any, points: Any, prefixes: Any, dataset: int, point: int, at: int) -> None:
    """Put a point into a cluster, and write the state of that."""
    add_point(points, prefixes, at, point)
    width, dim, size, state = len(room.one), len(own.middle), prefixes.counts[at], prefixes.state[at]
    volume = _frame(own, size, prefixes.moments[at])
    for d in range(dim):
        state[2 * width + d] = own.middle[d]
        own.features[d] = np.arcsinh(own.middle[d] / np.float32(own.scale))
        for e in range(dim):
            state[2 * width + dim + d * dim + e] = own.whiten[d, e]
    own.features[dim] = np.float32(math.log(size) / 3.0)
    own.features[dim + 1] = np.float32(1.0 / size)
    own.features[dim + 2] = np.float32(volume)
    if len(own.look.precision):
        _see_ahead(own, dataset, point - dataset * points.num_points, dim + 3)
    one, two, bias = room.one, room.two, own.bias[dataset]
    for j in range(width):
        one[j], two[j] = bias[j], own.second_bias[j]
    multiply(own.first, own.features, one)
    silu(room, one, width)
    multiply(own.second, one, two)
    silu(room, two, width)


@inner
def _see(own: Any, room: Any, prefixes: Any, dataset: int, point: int, at: int) -> None:
    """Add to the input of the head what a cluster is, and how the point differs from it."""
    dim, width, scale = len(own.middle), len(room.one), np.float32(own.scale)
    if at < 0:
        for j in range(width):
            room.one[j] += own.new_cluster[j]
        return
    state, square = prefixes.state[at], np.float32(0.0)
    mean, whiten = from_place(state, 2 * width), from_place(state, 2 * width + dim)
    for d in range(dim):
        offset = np.float32(0.0)
        for e in range(d + 1):
            shift = own.positions[point, e] - mean[e]
            offset += whiten[d * dim + e] * shift
        square += offset * offset
        own.seen[d] = np.arcsinh(offset)
        own.seen[dim + d] = np.arcsinh((own.positions[point, d] - mean[d]) / scale)
    own.seen[2 * dim] = np.log1p(square)
    for j in range(width):
        room.one[j] += state[j]
    multiply(own.difference, own.seen, room.one)
