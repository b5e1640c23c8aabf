"""Rules that choose the points a block move re-draws, without looking at the chains."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from pyroclust.infer.mcmc.guide_moves import neighbour_blocks, uniform_blocks

__all__ = ["BlockRule", "NeighbourBlocks", "UniformBlocks"]


class BlockRule(Protocol):
    """Chooses a block of points for every chain; exactness needs that it looks at the data alone."""

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor:
        """Return distinct points, ``(num_chains, F)`` int64."""
        ...


@dataclass(frozen=True)
class UniformBlocks:
    """A uniform random subset of the points.

    Args:
        size: points in a block; all of them where there are fewer.

    Example:
        >>> import torch
        >>> UniformBlocks(2)(torch.zeros(5, 1), 3, generator=np.random.default_rng(0)).shape
        torch.Size([3, 2])
    """

    size: int

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor:
        """Return a subset for every chain, in O(C N)."""
        size = min(self.size, len(data))
        return uniform_blocks(num_chains, len(data), block_size=size, generator=generator)


@dataclass(frozen=True)
class NeighbourBlocks:
    """A uniform random point and its nearest neighbours: what a split or a merge would move.

    Args:
        size: points in a block; all of them where there are fewer.

    Example:
        >>> import torch
        >>> NeighbourBlocks(2)(torch.zeros(5, 1), 3, generator=np.random.default_rng(0)).shape
        torch.Size([3, 2])
    """

    size: int

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor:
        """Return a neighbourhood for every chain, in O(C N D)."""
        size = min(self.size, len(data))
        return neighbour_blocks(data, num_chains, block_size=size, generator=generator)
