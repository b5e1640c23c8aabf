"""The published scorer of the Neural Clustering Process: sums of clusters of sums of points."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["SummedEncoding", "SummedScorer"]


@dataclass(frozen=True)
class SummedEncoding:
    """Data sets in visiting order, encoded once for all draws."""

    moments: Tensor  # (B, N, W) float64: the first weights of g, applied to h(x_n)
    unassigned: Tensor  # (B, N, W): the first layer of f, applied to the sum of u over the points after n


class SummedScorer(nn.Module):
    r"""Scores a candidate by the pooled representation that would result.

    .. math::
        H_k = \sum_{i<n, c_i=k} h(x_i), \quad U = \sum_{i>n} u(x_i), \quad
        \text{logit}_k = f\big(G - g(H_k) + g(H_k + h(x_n)), U\big), \quad G = \sum_k g(H_k)

    G is kept incrementally, so that a decision costs K + 1 evaluations of g and f rather than O(K^2). The
    first layers of g and f are linear in sums, and are therefore applied to points and clusters rather than
    to candidates.

    Args:
        dim: dimension of the points.
        width: hidden width of all four networks.
        sizes: output sizes of h and u, and of g.

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """

    def __init__(self, dim: int, *, width: int = 128, sizes: Sequence[int] = (256, 512)) -> None:
        super().__init__()
        self.dim, self.width, self.sizes = dim, width, (int(sizes[0]), int(sizes[1]))
        point, cluster = self.sizes
        self.h = _PReLUNetwork(dim, width, point, hidden=4)
        self.u = _PReLUNetwork(dim, width, point, hidden=4)
        self.g = _PReLUNetwork(point, width, cluster, hidden=5)
        self.f = _PReLUNetwork(cluster + point, width, 1, hidden=5)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        return {"dim": self.dim, "width": self.width, "sizes": list(self.sizes)}

    def encode(self, data: Tensor) -> SummedEncoding:
        """Encode points and sum u over those to come, in O(N)."""
        u = self.u(data).double()
        after = (u.sum(1, keepdim=True) - u.cumsum(1)).to(self._dtype)
        into_g, (_, of_u) = self._first_of_g(), self._first_of_f()
        bias = cast("nn.Linear", self.f[0]).bias.to(self._dtype)
        points = self.h(data) @ into_g.T
        return SummedEncoding(points.double(), after @ of_u.T + bias)

    def absorb(
        self, encoding: SummedEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack the first layers of g and f, applied to H_k and to g(H_k)."""
        total = moments.to(self._dtype)
        return torch.cat([total, self._represent(total)], -1)

    def contribution(self, states: Tensor) -> Tensor:
        """Return the first layer of f applied to g(H_k)."""
        return states[..., self.width :]

    def query(
        self, encoding: SummedEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Pack the first layers of g and f, applied to h(x_n) and to G and U."""
        point = encoding.moments[dataset, step].to(self._dtype)
        return torch.cat([point, pooled.to(self._dtype) + encoding.unassigned[dataset, step]], -1)

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Evaluate g and f for existing clusters."""
        point, pooled = query.chunk(2, -1)
        total, represented = states.chunk(2, -1)
        return self.f.after_first(pooled - represented + self._represent(total + point)).squeeze(-1)

    def open(self, query: Tensor) -> Tensor:
        """Evaluate g and f for a cluster of the point alone."""
        point, pooled = query.chunk(2, -1)
        return self.f.after_first(pooled + self._represent(point)).squeeze(-1)

    @property
    def _dtype(self) -> torch.dtype:
        return torch.float32 if self.training else torch.float64

    def _first_of_g(self) -> Tensor:
        return cast("nn.Linear", self.g[0]).weight.to(self._dtype)

    def _first_of_f(self) -> tuple[Tensor, Tensor]:
        weight = cast("nn.Linear", self.f[0]).weight.to(self._dtype)
        of_g, of_u = weight.split([self.sizes[1], self.sizes[0]], 1)
        return of_g, of_u

    def _represent(self, total: Tensor) -> Tensor:
        """Apply g after its first weights, then the first weights of f, two linear maps folded into one."""
        hidden = self.g.between(total + cast("nn.Linear", self.g[0]).bias.to(self._dtype))
        last, (of_g, _) = cast("nn.Linear", self.g[-1]), self._first_of_f()
        folded = of_g @ last.weight.to(self._dtype)
        return hidden @ folded.T + of_g @ last.bias.to(self._dtype)


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
        return self._apply_layers(inputs, list(self))

    def after_first(self, inputs: Tensor) -> Tensor:
        """Apply all layers but the first linear one."""
        return self._apply_layers(inputs, list(self)[1:])

    def between(self, inputs: Tensor) -> Tensor:
        """Apply all layers but the first and the last linear ones."""
        return self._apply_layers(inputs, list(self)[1:-1])

    def _apply_layers(self, inputs: Tensor, layers: list[nn.Module]) -> Tensor:
        dtype = torch.float32 if self.training else torch.float64
        value = inputs.to(dtype)
        for layer in layers:
            if isinstance(layer, nn.Linear):
                value = F.linear(value, layer.weight.to(dtype), layer.bias.to(dtype))
            elif isinstance(layer, nn.PReLU):
                value = F.prelu(value, layer.weight.to(dtype))
        return value
