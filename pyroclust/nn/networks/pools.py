"""Pooling a masked set of points into one vector: by learned gates, by attention, or by a plain sum."""

from typing import Protocol

import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.nn.attention import PooledAttention


class PointPool(Protocol):
    """Makes a module that pools ``(R, T, W)`` under a mask ``(R, T)`` into ``(R, W)``."""

    def __call__(self, width: int) -> nn.Module: ...


@register(PointPool)
class GatedPool(nn.Module):
    r"""Averages weighted by learned gates, together with the sums of the gates.

    .. math:: u_a = \frac{\sum_i \sigma(a^T p_i) \, V_a p_i}{1 + \sum_i \sigma(a^T p_i)}, \qquad
        \log\big(1 + \textstyle\sum_i \sigma(a^T p_i)\big)

    Cost O(T W^2) a set.
    """

    def __init__(self, width: int, num_gates: int = 4) -> None:
        super().__init__()
        width, num_gates = check_count("width", width), check_count("num_gates", num_gates)
        self.gate, self.value = nn.Linear(width, num_gates), nn.Linear(width, width)
        self.output = nn.Linear(width + num_gates, width)

    def forward(self, points: Tensor, mask: Tensor) -> Tensor:
        gate = self.gate(points).sigmoid() * mask.unsqueeze(-1)
        count = gate.sum(1)
        value = self.value(points).unflatten(-1, (gate.shape[-1], -1))
        pooled = torch.einsum("rtg,rtgv->rgv", gate, value) / (1 + count).unsqueeze(-1)
        output: Tensor = self.output(torch.cat([pooled.flatten(1), count.log1p()], -1))
        return output


@register(PointPool)
class AttentivePool(nn.Module):
    """Pooling by attention with one learned seed, :class:`~pyroclust.nn.attention.PooledAttention`."""

    def __init__(self, width: int, num_heads: int = 4) -> None:
        super().__init__()
        self.attention = PooledAttention(width, num_heads=num_heads)

    def forward(self, points: Tensor, mask: Tensor) -> Tensor:
        output: Tensor = self.attention(points, mask).squeeze(1)
        return output


@register(PointPool)
class SummedPool(nn.Module):
    r"""The published pooling: a plain sum :math:`\sum_i u(p_i)`, in units of ten points."""

    def __init__(self, width: int) -> None:
        super().__init__()
        width = check_count("width", width)
        self.network = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, points: Tensor, mask: Tensor) -> Tensor:
        return (self.network(points) * mask.unsqueeze(-1)).sum(1) / 10
