"""The published scorer of the Neural Clustering Process: sums of clusters of sums of points."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["SummedEncoding", "SummedScorer"]


@dataclass(frozen=True)
class SummedEncoding:
    """Data sets in visiting order, encoded once for all draws."""

    moments: Tensor  # (B, N, H) float64: h(x_n)
    unassigned: Tensor  # (B, N, U): sum of u over the points after n


class SummedScorer(nn.Module):
    r"""Scores a candidate by the pooled representation that would result.

    .. math::
        H_k = \sum_{i<n, c_i=k} h(x_i), \quad U = \sum_{i>n} u(x_i), \quad
        \text{logit}_k = f\big(G - g(H_k) + g(H_k + h(x_n)), U\big), \quad G = \sum_k g(H_k)

    G is kept incrementally, so that a decision costs K + 1 evaluations of g and f rather than O(K^2).

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
        u = self.u(data)
        after = u.double().sum(1, keepdim=True) - u.double().cumsum(1)
        return SummedEncoding(self.h(data).double(), after.to(u.dtype))

    def absorb(
        self, encoding: SummedEncoding, dataset: Tensor, steps: Tensor, counts: Tensor, moments: Tensor
    ) -> Tensor:
        """Pack H_k and g(H_k)."""
        total = moments.to(encoding.unassigned.dtype)
        return torch.cat([total, self.g(total)], -1)

    def contribution(self, states: Tensor) -> Tensor:
        """Return g(H_k)."""
        return states[..., self.sizes[0] :]

    def query(
        self, encoding: SummedEncoding, dataset: Tensor, step: Tensor, pooled: Tensor, clusters: Tensor
    ) -> Tensor:
        """Pack h(x_n), G and U."""
        unassigned = encoding.unassigned[dataset, step]
        point = encoding.moments[dataset, step].to(unassigned.dtype)
        return torch.cat([point, pooled.to(unassigned.dtype), unassigned], -1)

    def join(self, query: Tensor, states: Tensor) -> Tensor:
        """Evaluate g and f for existing clusters."""
        point, pooled, unassigned = query.split([self.sizes[0], self.sizes[1], self.sizes[0]], -1)
        total, represented = states.split(list(self.sizes), -1)
        return self.f(torch.cat([pooled - represented + self.g(total + point), unassigned], -1)).squeeze(-1)

    def open(self, query: Tensor) -> Tensor:
        """Evaluate g and f for a cluster of the point alone."""
        point, pooled, unassigned = query.split([self.sizes[0], self.sizes[1], self.sizes[0]], -1)
        return self.f(torch.cat([pooled + self.g(point), unassigned], -1)).squeeze(-1)


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
        if self.training:
            return super().forward(inputs.float())
        value = inputs.double()
        for layer in self:
            if isinstance(layer, nn.Linear):
                value = F.linear(value, layer.weight.double(), layer.bias.double())
            elif isinstance(layer, nn.PReLU):
                value = F.prelu(value, layer.weight.double())
        return value
