"""The published scorer of the Neural Clustering Process: sums of clusters of sums of points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.sequential.scorer import ForcedSteps
from pyroclust.nn.attention import Future
from pyroclust.nn.encoders import Encoder, vectors_of
from pyroclust.nn.features import ConditionInputs
from pyroclust.nn.scorers.network_scorer import NetworkScorer


class SummedPoints(NamedTuple):
    """What depends on the points of data sets and not on the order in which they are visited."""

    moments: Tensor  # (B, N, W): the first weights of g, applied to h(x)
    alone: Tensor  # (B, N, W): the first layer of f, applied to g(h(x))
    future: Tensor  # (B, N, W): u(x); without attention the first layer of f, applied to it
    weight: Tensor  # (W, W): the last layer of g and the first of f in one
    bias: Tensor  # (W,)


@dataclass(frozen=True)
class SummedEncoding:
    """Data sets in visiting order, encoded once for all draws."""

    moments: Tensor  # (B, N, W): the first weights of g, applied to h(x_n); float64 in evaluation mode
    alone: Tensor  # (B, N, W): the first layer of f, applied to g(h(x_n))
    unassigned: Tensor  # (B, N, W): the first layer of f, applied to what is known of the points after n
    weight: Tensor  # (W, W): the last layer of g and the first of f in one
    bias: Tensor  # (W,)


@register(NetworkScorer)
class SummedScorer(NetworkScorer[SummedEncoding]):
    r"""Scores a candidate by the pooled representation that would result.

    .. math::
        H_k = \sum_{i<n, c_i=k} h(x_i), \quad U = \sum_{i>n} u(x_i), \quad
        \text{logit}_k = f\big(G - g(H_k) + g(H_k + h(x_n)), U\big), \quad G = \sum_k g(H_k)

    G is kept incrementally, so that a decision costs K + 1 evaluations of g and f rather than O(K^2). With
    ``future``, attention of the point at hand to those after it takes the place of the sum, :math:`U_n =
    \text{future}(u(x))_n`, once a data set and order.

    Args:
        dim: dimension of the points, or of what the encoder makes of them.
        width: hidden width of all four networks.
        sizes: output sizes of h and u, and of g.
        future: contexts of the points still to come, whose width u then has; None for the sum.
        encoder: maps data ``(B, N, ...)`` to vectors ``(B, N, dim)``, shared by h and u; None for vectors.

    Raises:
        ValueError: if a width or a size is not possible.

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """

    def __init__(
        self,
        dim: int,
        *,
        width: int = 128,
        sizes: Sequence[int] = (256, 512),
        future: Future | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__()
        if len(sizes) != 2:
            raise ValueError(f"sizes has {len(sizes)} numbers, expected 2: those of points and of clusters")
        self.dim, self.width = check_count("dim", dim), check_count("width", width)
        self.sizes = (check_count("sizes[0]", sizes[0]), check_count("sizes[1]", sizes[1]))
        self.future = future
        self.encoder: Any = encoder
        point, cluster = self.sizes
        context = point if future is None else future.width
        self.h = _PReLUNetwork(dim, width, point, hidden=4)
        self.u = _PReLUNetwork(dim, width, context, hidden=4)
        self.g = _PReLUNetwork(point, width, cluster, hidden=5)
        self.f = _PReLUNetwork(cluster + context, width, 1, hidden=5)

    def take_conditions(self, inputs: ConditionInputs | None, *, num_columns: int) -> None:
        """Take the standard scores of the conditions as further columns of the points.

        Raises:
            ValueError: if ``dim`` is not that of the data and the conditions together.
        """
        if inputs is not None and self.dim != num_columns + len(inputs.names):
            raise ValueError(
                f"scorer has dim {self.dim}, expected {num_columns + len(inputs.names)}, the columns of the "
                f"data and the conditions {', '.join(inputs.names)}"
            )
        self.conditions = inputs

    def encode(self, data: Tensor, hyperparameters: Mapping[str, Tensor] | None = None) -> SummedEncoding:
        """Encode points and what comes after each: a sum in O(N), or what ``future`` costs."""
        if self.conditions is not None and hyperparameters:
            scores = self.conditions.scores(hyperparameters).to(data)
            columns = scores.unsqueeze(-2).expand(*data.shape[:2], scores.shape[-1])
            data = torch.cat([data, columns], -1)
        visit = torch.arange(data.shape[1], device=data.device).expand(len(data), -1)
        dataset = torch.arange(len(data), device=data.device)
        return self.arrange(self.encode_points(data), dataset, visit)

    def encode_over_orders(
        self,
        data: Tensor,
        dataset: Tensor,
        order: Tensor,
        hyperparameters: Mapping[str, Tensor] | None = None,
    ) -> SummedEncoding:
        """Encode single points once for all orders, unless conditions differ from row to row."""
        if hyperparameters:
            return super().encode_over_orders(data, dataset, order, hyperparameters)
        return self.arrange(self.encode_points(data), dataset, order)

    def encode_points(self, data: Tensor) -> SummedPoints:
        """Evaluate h, u and g for every point on its own: what several visiting orders can share."""
        into_g, (_, of_u) = cast("nn.Linear", self.g[0]).weight.to(self._dtype), self._first_of_f()
        weight, bias = self._between_g_and_f()
        points = vectors_of(self.encoder, data)
        moments = self.h(points) @ into_g.T
        alone = self._represent(self._biased(moments), weight, bias)
        future = self.u(points)
        future = future @ of_u.T if self.future is None else future
        return SummedPoints(moments, alone, future, weight, bias)

    def arrange(self, points: SummedPoints, dataset: Tensor, order: Tensor) -> SummedEncoding:
        """Bring encoded points into the visiting orders of R rows, and look at those to come."""
        count = points.moments.shape[1]
        index = (dataset.unsqueeze(-1) * count + order).reshape(-1)
        moments, alone, future = (
            value.flatten(0, 1).index_select(0, index).view(*order.shape, -1) for value in points[:3]
        )
        return SummedEncoding(moments, alone, self._look_ahead(future), points.weight, points.bias)

    def _look_ahead(self, points: Tensor) -> Tensor:
        """Apply the first layer of f to what is known of the points after each."""
        bias = cast("nn.Linear", self.f[0]).bias.to(self._dtype)
        if self.future is None:
            running = points.cumsum(1)
            return running[:, -1:] - running + bias
        _, of_u = self._first_of_f()
        # Contexts are averages, which float32 does no harm, and are computed once for both paths.
        context = self.future(points.to(cast("nn.Linear", self.f[0]).weight.dtype))
        return context.to(self._dtype) @ of_u.T + bias

    def forced_logits(
        self, encoding: SummedEncoding, dataset: Tensor, steps: ForcedSteps
    ) -> tuple[Tensor, Tensor]:
        """Evaluate all decisions of given partitions, O(N K) evaluations of g and f and O(N^2) additions.

        The state of a cluster that has just gained a point is the candidate that was chosen, and a cluster of
        one point is a point on its own: neither is evaluated again.
        """
        moments, alone = encoding.moments[dataset], encoding.alone[dataset]
        total = (steps.together(self._dtype) @ moments).flatten(0, 1)
        points = moments.flatten(0, 1).index_select(0, steps.point)
        joined = self._represent(
            total.index_select(0, steps.member) + self._biased(points), encoding.weight, encoding.bias
        )
        chosen = joined.index_select(0, steps.taken)
        states = alone.flatten(0, 1).index_copy(0, steps.point.index_select(0, steps.taken), chosen)
        pooled = steps.present(self._dtype) @ states.view_as(alone)
        shared = (pooled + encoding.unassigned[dataset, 1:]).flatten(0, 1)
        join = shared.index_select(0, steps.decision) - states.index_select(0, steps.member) + joined
        opening = shared + alone[:, 1:].flatten(0, 1)
        return self.f.after_first(join).squeeze(-1), self.f.after_first(opening).squeeze(-1)

    def absorb(
        self, encoding: SummedEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack the first layers of g and f, applied to H_k and to g(H_k)."""
        total = moments.to(self._dtype)
        return torch.cat([total, self._represent(self._biased(total), encoding.weight, encoding.bias)], -1)

    def contribution(self, states: Tensor) -> Tensor:
        """Return the first layer of f applied to g(H_k)."""
        return states[..., self.width :]

    def query(
        self, encoding: SummedEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Pack the first layers of g and f, applied to h(x_n), to G and U, and to g(h(x_n))."""
        point = encoding.moments[dataset, step].to(self._dtype)
        shared = pooled.to(self._dtype) + encoding.unassigned[dataset, step]
        return torch.cat([point, shared, encoding.alone[dataset, step]], -1)

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Evaluate g and f for existing clusters."""
        point, shared, _ = query.chunk(3, -1)
        total, represented = states.chunk(2, -1)
        joined = self._represent(self._biased(total + point), *self._between_g_and_f())
        return self.f.after_first(shared - represented + joined).squeeze(-1)

    def open(self, query: Tensor) -> Tensor:
        """Evaluate f for a cluster of the point alone."""
        _, shared, alone = query.chunk(3, -1)
        return self.f.after_first(shared + alone).squeeze(-1)

    @property
    def _dtype(self) -> torch.dtype:
        return torch.float32 if self.training else torch.float64

    def _first_of_f(self) -> tuple[Tensor, Tensor]:
        weight = cast("nn.Linear", self.f[0]).weight.to(self._dtype)
        return weight[:, : self.sizes[1]], weight[:, self.sizes[1] :]

    def _between_g_and_f(self) -> tuple[Tensor, Tensor]:
        """Fold the last layer of g and the first weights of f, linear both, into one."""
        last, (of_g, _) = cast("nn.Linear", self.g[-1]), self._first_of_f()
        return of_g @ last.weight.to(self._dtype), of_g @ last.bias.to(self._dtype)

    def _represent(self, biased: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Apply g after its first layer, then the first weights of f."""
        return self.g.after_first(biased, last=(weight, bias))

    def _biased(self, total: Tensor) -> Tensor:
        return total + cast("nn.Linear", self.g[0]).bias.to(self._dtype)


class _PReLUNetwork(nn.Sequential):
    """Linear and PReLU layers: float32 in training mode, float64 in evaluation mode.

    Sums over hundreds of points reach the layers unnormalised and amplify rounding: in float32 the
    log-probability of 1000 points would depend on the batch it is computed in by tenths of a nat.
    """

    def __init__(self, inputs: int, width: int, outputs: int, *, hidden: int) -> None:
        sizes = [inputs, *[width] * hidden, outputs]
        layers: list[nn.Module] = []
        for fan_in, fan_out in pairwise(sizes):
            linear = nn.Linear(fan_in, fan_out)
            # PyTorch's default initialisation leaves a plateau of thousands of steps.
            nn.init.kaiming_normal_(linear.weight, a=0.25)
            nn.init.zeros_(linear.bias)
            layers += [linear, nn.PReLU()]
        super().__init__(*layers[:-1])

    def forward(self, inputs: Tensor) -> Tensor:
        """Apply the layers in the precision of the mode."""
        first, dtype = cast("nn.Linear", self[0]), self._dtype
        value = F.linear(inputs.to(dtype), first.weight.to(dtype), first.bias.to(dtype))
        return self.after_first(value)

    def after_first(self, value: Tensor, *, last: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """Apply all layers but the first linear one, with another last one if given."""
        dtype, layers = self._dtype, list(self)
        linears = [(layer.weight, layer.bias) for layer in cast("list[nn.Linear]", layers[2::2])]
        # Sums over points are too large to be rounded.
        with torch.autocast(value.device.type, enabled=False):
            value = value.to(dtype)
            for prelu, (weight, bias) in zip(
                cast("list[nn.PReLU]", layers[1::2]), [*linears[:-1], last or linears[-1]], strict=True
            ):
                value = F.prelu(value, prelu.weight.to(dtype))
                value = F.linear(value, weight.to(dtype), bias.to(dtype))
        return value

    @property
    def _dtype(self) -> torch.dtype:
        return torch.float32 if self.training else torch.float64
