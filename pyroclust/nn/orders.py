"""In which order the points of a data set are visited."""

from typing import Any, Protocol

import torch
from torch import Tensor

__all__ = ["DensestFirst", "Order", "RandomOrder"]

_PAIRS_AT_ONCE = 1 << 23


class Order(Protocol):
    """A rule that turns positions ``(B, N, D)`` into permutations ``(B, N)``."""

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        ...

    def __call__(self, positions: Tensor) -> Tensor:
        """Return a permutation a data set."""
        ...


class RandomOrder:
    """A fresh uniform permutation for every data set.

    Example:
        >>> RandomOrder()(torch.zeros(2, 5, 2)).sort(-1).values.tolist()
        [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    """

    arguments: dict[str, Any] = {}  # noqa: RUF012

    def __call__(self, positions: Tensor) -> Tensor:
        """Sort uniform noise, O(N log N)."""
        return torch.rand(positions.shape[:2], device=positions.device).argsort(-1)


class DensestFirst:
    r"""Points by decreasing Gaussian-kernel density, a function of the data alone.

    .. math:: \rho_i = \sum_j \exp(-|x_i - x_j|^2 / 2h^2)

    Early decisions are then about points that have company, where a wrong one is least likely. Cost O(N^2)
    time, in blocks of bounded memory.

    Args:
        bandwidth: h, in data units.
    """

    def __init__(self, bandwidth: float) -> None:
        if not bandwidth > 0:
            raise ValueError(f"bandwidth is {bandwidth}, expected a positive number")
        self.bandwidth = float(bandwidth)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments, ready for JSON."""
        return {"bandwidth": self.bandwidth}

    def __call__(self, positions: Tensor) -> Tensor:
        """Rank the points by density."""
        scaled = positions.detach() / self.bandwidth
        rows = max(1, _PAIRS_AT_ONCE // (scaled.shape[0] * scaled.shape[1]))
        blocks = [
            torch.cdist(block, scaled, compute_mode="donot_use_mm_for_euclid_dist")
            .square_()
            .mul_(-0.5)
            .exp_()
            .sum(-1)
            for block in scaled.split(rows, dim=1)
        ]
        return torch.cat(blocks, 1).argsort(dim=-1, descending=True, stable=True)
